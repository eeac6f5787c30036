// Two devices that exchange words, with caches between them and memory. Run by itself, with
// FLYDSL_EMULATOR_MEMORY_MODEL=weak and two devices, on the targets whose instructions tell system
// scope from device scope.
#include "support.h"

#include <memory>

namespace {
constexpr int kGroups = 8;

/// What the kernel of a device works on.
struct Side {
  DeviceBuffer<int> word{32}, flag{32}, out{32}, arrived{64}, parts{32 * kGroups};
  TestModule module;
  hipFunction_t kernel;
  Side(const std::string &target, const char *name)
      : module("weak." + target + ".co"), kernel(module.function(name)) {
    for (const DeviceBuffer<int> *b : {&word, &flag, &out, &arrived, &parts})
      HIP_OK(hipMemset(b->data, 0, b->count * sizeof(int)));
    HIP_OK(hipDeviceSynchronize());
  }
};

std::string target() {
  hipDeviceProp_t properties;
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  const std::string name = properties.gcnArchName;
  return name.substr(0, name.find(':'));
}

/// What both sides have in `out` after the kernel of that name, which has 1 and 10 as its values.
/// The second side is device `second`.
std::vector<int> exchanged(const char *name, int fences, int groups, int second = 1) {
  std::unique_ptr<Side> sides[2];
  hipStream_t streams[2];
  const int devices[2] = {0, second};
  for (int side = 0; side < 2; ++side) {
    HIP_OK(hipSetDevice(devices[side]));
    if (second)
      HIP_OK(hipDeviceEnablePeerAccess(1 - side, 0));
    sides[side] = std::make_unique<Side>(target(), name);
    HIP_OK(hipStreamCreateWithFlags(&streams[side], hipStreamNonBlocking));
  }
  for (int side = 0; side < 2; ++side) {
    HIP_OK(hipSetDevice(devices[side]));
    const Side &own = *sides[side], &other = *sides[1 - side];
    HIP_OK(launch1D(own.kernel, unsigned(groups), 64, streams[side], own.word.data, other.word.data,
                    own.flag.data, other.flag.data, own.out.data, fences, side ? 10 : 1,
                    own.parts.data, own.arrived.data, groups));
  }
  std::vector<int> results;
  for (int side = 0; side < 2; ++side) {
    HIP_OK(hipSetDevice(devices[side]));
    HIP_OK(hipDeviceSynchronize());
    results.push_back(sides[side]->out.read()[0]);
  }
  for (int side = 0; side < 2; ++side) {
    HIP_OK(hipSetDevice(devices[side]));
    sides[side].reset();
    HIP_OK(hipStreamDestroy(streams[side]));
    if (second)
      HIP_OK(hipDeviceDisablePeerAccess(1 - side));
  }
  HIP_OK(hipSetDevice(0));
  return results;
}
using Sums = std::vector<int>;
} // namespace

TEST_CASE("A reduction over two devices needs both of its fences", "[.weak]") {
  // Without the acquire the other's word stays what it was at first, without the release nobody
  // sees it.
  const Sums right{99, 99}, stale{9 + 3 * 10, 90 + 3 * 1}, unseen{9, 90}; // (1 + 3 + 5) * (1 + 10)
  CHECK(exchanged("all_reduce", 3, 1) == right);
  CHECK(exchanged("all_reduce", 1, 1) == stale);
  CHECK(exchanged("all_reduce", 2, 1) == unseen);
  // Fences of device scope reach no other device, but another launch on the same one.
  CHECK(exchanged("all_reduce", 7, 1) == unseen);
  CHECK(exchanged("all_reduce", 7, 1, 0) == right);
}

TEST_CASE("A reduction over workgroups and devices needs each of its four fences", "[.weak]") {
  const char *kernel = "all_reduce_parts";
  const Sums right{396, 396}; // (1 + 2 + ... + 8) * (1 + 10)
  const Sums alone{36, 360};  // the other's word is not seen
  CHECK(exchanged(kernel, 15, kGroups) == right);
  CHECK(exchanged(kernel, 15 & ~8, kGroups) == alone);
  CHECK(exchanged(kernel, 15 & ~4, kGroups) == alone);
  CHECK(exchanged(kernel, 15 & ~2, kGroups) != right);
  // Of gfx12 stores go past the caches of the first level: a release
  // of device scope is a wait there.
  const bool keepsWrites = target().substr(0, 4) == "gfx9";
  CHECK((exchanged(kernel, 15 & ~1, kGroups) != right) == keepsWrites);
  CHECK(exchanged(kernel, 15 | 16, kGroups) == alone);
}
