// Two devices that exchange words, with caches between them and memory. Run by itself, with
// FLYDSL_EMULATOR_MEMORY_MODEL=weak and two devices.
#include "support.h"

#include <memory>

namespace {
/// What each device has summed up after three exchanges of 1 and 10 times the number of the turn.
std::vector<int> allReduce(int fences) {
  std::vector<int> sums;
  struct Side {
    int *word = nullptr, *flag = nullptr, *out = nullptr;
    hipFunction_t kernel = nullptr;
    std::unique_ptr<TestModule> module;
  } sides[2];
  for (int device = 0; device < 2; ++device) {
    HIP_OK(hipSetDevice(device));
    HIP_OK(hipDeviceEnablePeerAccess(1 - device, 0));
    Side &side = sides[device];
    side.module = std::make_unique<TestModule>("weak.gfx942.co");
    side.kernel = side.module->function("all_reduce");
    for (int **p : {&side.word, &side.flag, &side.out}) {
      HIP_OK(hipMalloc(reinterpret_cast<void **>(p), 128));
      HIP_OK(hipMemset(*p, 0, 128));
    }
    HIP_OK(hipDeviceSynchronize());
  }
  for (int device = 0; device < 2; ++device) {
    HIP_OK(hipSetDevice(device));
    Side &own = sides[device], &other = sides[1 - device];
    int value = device ? 10 : 1;
    void *arguments[] = {&own.word, &other.word, &own.flag, &other.flag, &own.out, &fences, &value};
    HIP_OK(hipModuleLaunchKernel(own.kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  }
  for (int device = 0; device < 2; ++device) {
    HIP_OK(hipSetDevice(device));
    HIP_OK(hipDeviceSynchronize());
    int sum = 0;
    HIP_OK(hipMemcpy(&sum, sides[device].out, sizeof sum, hipMemcpyDeviceToHost));
    sums.push_back(sum);
    for (int *p : {sides[device].word, sides[device].flag, sides[device].out})
      HIP_OK(hipFree(p));
    HIP_OK(hipDeviceDisablePeerAccess(1 - device));
  }
  HIP_OK(hipSetDevice(0));
  return sums;
}
} // namespace

TEST_CASE("A reduction over two devices needs both of its fences", "[.weak]") {
  CHECK(allReduce(3) == std::vector<int>{99, 99}); // (1 + 3 + 5) * (1 + 10)
  // Without the acquire the other's word stays what it was at first, without the release nobody
  // sees it.
  CHECK(allReduce(1) == std::vector<int>{9 + 3 * 10, 90 + 3 * 1});
  CHECK(allReduce(2) == std::vector<int>{9, 90});
}
