// Workgroups that wait for each other run in turns.
#include "support.h"

extern "C" hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t, unsigned, unsigned, unsigned,
                                                       unsigned, unsigned, unsigned, unsigned,
                                                       hipStream_t, void **);

namespace {

/// Runs all_sums over `groups` workgroups and checks every sum.
void allSums(unsigned groups, bool cooperative) {
  TestModule module("cooperative.gfx942.co");
  DeviceBuffer<int> arrived(1), data(groups), out(groups);
  arrived.write({0});
  int count = static_cast<int>(groups);
  void *arguments[] = {&arrived.data, &data.data, &out.data, &count};
  hipFunction_t function = module.function("all_sums");
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
