// Workgroups that wait for each other are run in turns.
#include "support.h"

#include <flydsl/emulator.h>

extern "C" hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t, unsigned, unsigned, unsigned,
                                                       unsigned, unsigned, unsigned, unsigned,
                                                       hipStream_t, void **);

// Of HIP 7, by the layout of its header.
struct Attribute {
  unsigned id, unused;
  union {
    char room[64];
    unsigned cluster[3];
  };
};
struct Configuration {
  unsigned grid[3], block[3], sharedBytes;
  hipStream_t stream;
  Attribute *attributes;
  unsigned attributeCount;
};
extern "C" hipError_t hipDrvLaunchKernelEx(const Configuration *, hipFunction_t, void **, void **);

namespace {

/// Runs all_sums, or what does the same, over `groups` workgroups and checks every sum.
void allSums(unsigned groups, bool cooperative, const char *kernel = "all_sums") {
  TestModule module("cooperative.gfx942.co");
  DeviceBuffer<int> arrived(1), data(groups), out(groups);
  arrived.write({0});
  int count = static_cast<int>(groups);
  void *arguments[] = {&arrived.data, &data.data, &out.data, &count};
  hipFunction_t function = module.function(kernel);
  if (cooperative)
    HIP_OK(
        hipModuleLaunchCooperativeKernel(function, groups, 1, 1, 128, 1, 1, 0, nullptr, arguments));
  else
    HIP_OK(
        hipModuleLaunchKernel(function, groups, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  HIP_OK(hipDeviceSynchronize());
  const int expected = count * (count + 1) / 2 * (1 + 2 + 3);
  CHECK(out.read() == std::vector<int>(groups, expected));
}

} // namespace

TEST_CASE("A barrier of the whole grid, written by hand, in a cooperative launch") {
  allSums(1, true);
  allSums(100, true);
}

TEST_CASE("The barriers of the whole grid that compiled HIP code uses") {
  const char *kernel = GENERATE("gws_sums", "words_sums");
  allSums(1, true, kernel);
  allSums(60, true, kernel);
}

TEST_CASE("Such a barrier in a launch that is not cooperative is a fault that says so") {
  TestModule module("cooperative.gfx942.co");
  DeviceBuffer<int> words(16);
  int count = 2;
  void *arguments[] = {&words.data, &words.data, &words.data, &count};
  auto run = [&](const char *kernel) {
    HIP_OK(hipModuleLaunchKernel(module.function(kernel), 2, 1, 1, 64, 1, 1, 0, nullptr, arguments,
                                 nullptr));
    const hipError_t status = hipDeviceSynchronize();
    INFO(flydslEmulatorErrorText());
    if (std::string(kernel) == "gws_sums")
      CHECK_THAT(flydslEmulatorErrorText(), Catch::Contains("launch that is not cooperative") &&
                                                Catch::Contains("cooperative.c:"));
    else // the runtime has given no words
      CHECK_THAT(flydslEmulatorErrorText(), Catch::Contains("address 0x2"));
    HIP_OK(hipDeviceReset());
    return status;
  };
  SECTION("GWS") { CHECK(run("gws_sums") == hipErrorLaunchFailure); }
  SECTION("words") { CHECK(run("words_sums") == hipErrorIllegalAddress); }
  (void)hipGetLastError();
}

// Run with a low FLYDSL_EMULATOR_INSTRUCTION_LIMIT.
TEST_CASE("A workgroup that does not come to the grid's barrier", "[.limit]") {
  TestModule module("cooperative.gfx942.co");
  int count = 3;
  void *arguments[] = {&count};
  HIP_OK(hipModuleLaunchCooperativeKernel(module.function("gws_alone"), 3, 1, 1, 64, 1, 1, 0,
                                          nullptr, arguments));
  CHECK(hipDeviceSynchronize() == hipErrorLaunchTimeOut);
  CHECK_THAT(flydslEmulatorErrorText(),
             Catch::Contains("at a barrier of the grid where others do not come"));
  HIP_OK(hipDeviceReset());
  (void)hipGetLastError();
}

TEST_CASE("Workgroups of a plain launch may wait for each other while all are resident") {
  allSums(40, false);
}

TEST_CASE("A cooperative launch that the device does not hold is refused") {
  TestModule module("cooperative.gfx942.co");
  DeviceBuffer<int> words(16);
  int count = 0;
  void *arguments[] = {&words.data, &words.data, &words.data, &count};
  hipFunction_t function = module.function("all_sums");
  // 64 KiB of LDS: one workgroup for each of 304 multiprocessors.
  CHECK(hipModuleLaunchCooperativeKernel(function, 305, 1, 1, 128, 1, 1, 65536, nullptr,
                                         arguments) == hipErrorCooperativeLaunchTooLarge);
  CHECK(hipModuleLaunchCooperativeKernel(function, 304 * 32 + 1, 1, 1, 64, 1, 1, 0, nullptr,
                                         arguments) == hipErrorCooperativeLaunchTooLarge);
  CHECK(hipModuleLaunchCooperativeKernel(nullptr, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments) ==
        hipErrorInvalidHandle);
  int supported = 0;
  HIP_OK(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0));
  CHECK(supported == 1);
  (void)hipGetLastError();
}

TEST_CASE("A launch with attributes runs, and those that the device does not have are refused") {
  TestModule module("cooperative.gfx942.co");
  DeviceBuffer<int> arrived(1), data(1), out(1);
  arrived.write({0});
  int count = 1;
  void *arguments[] = {&arrived.data, &data.data, &out.data, &count};
  hipFunction_t function = module.function("all_sums");
  Attribute attribute = {};
  Configuration configuration = {{1, 1, 1}, {128, 1, 1}, 0, nullptr, &attribute, 1};
  const auto refused = [&](unsigned id, unsigned x, hipError_t status, const char *why) {
    attribute.id = id;
    attribute.cluster[0] = x;
    attribute.cluster[1] = attribute.cluster[2] = 1;
    CHECK(hipDrvLaunchKernelEx(&configuration, function, arguments, nullptr) == status);
    CHECK_THAT(flydslEmulatorErrorText(), Catch::Contains(why));
  };
  refused(8, 0, hipErrorNotSupported, "launch attribute 8");
  refused(4, 2, hipErrorInvalidConfiguration, "is no whole number of clusters of 2x1x1");
  configuration.grid[0] = 2;
  refused(4, 2, hipErrorInvalidConfiguration, "clusters of 2x1x1; gfx942 has none");
  refused(2, 1, hipErrorNotSupported, "a cooperative launch");
  CHECK(hipDrvLaunchKernelEx(nullptr, function, arguments, nullptr) == hipErrorInvalidValue);
  configuration.grid[0] = 1;
  attribute.id = 4;
  attribute.cluster[0] = 1;
  HIP_OK(hipDrvLaunchKernelEx(&configuration, function, arguments, nullptr));
  HIP_OK(hipDeviceSynchronize());
  CHECK(out.read() == std::vector<int>(1, 6));
  (void)hipGetLastError();
}
