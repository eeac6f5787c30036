// Occupancy: how many workgroups of a kernel a multiprocessor holds, and which block fills it.
#include "emulator/hip/module/registration.h"

#include <algorithm>

using namespace flyemu::hip;

namespace {

std::shared_ptr<Function> hostFunctionOf(const void *address) {
  return kernelOf(address, Runtime::get().currentDevice());
}

void requireFlags(unsigned flags) {
  require(flags == hipOccupancyDefault || flags == 1 /* hipOccupancyDisableCachingOverride */,
          "unknown flags");
}

/// The largest workgroup that keeps the most waves resident, as HIP suggests it. A limit that no
/// block of the device can have is ignored.
void suggestBlock(const Function &function, size_t dynamicLds, int limit, int *grid, int *block) {
  const DeviceFigures &info = function.device->figures();
  const flyemu::loader::KernelNotes &kernel = function.kernel->metadata;
  int most = static_cast<int>(
      std::min(kernel.maxFlatWorkgroupSize, static_cast<uint32_t>(info.maxBlockSize())));
  if (limit > 0)
    most = std::min(most, limit);
  const int wave = static_cast<int>(kernel.wavefrontSize);
  int bestThreads = 0, bestResident = 0;
  auto consider = [&](int threads) {
    const int resident = activeWorkgroups(function, threads, dynamicLds) * threads;
    if (resident >= bestResident && resident > 0) {
      bestResident = resident;
      bestThreads = threads;
    }
  };
  for (int threads = wave; threads <= most; threads += wave)
    consider(threads);
  if (!bestThreads) // a kernel for less than a wave
    consider(most);
  if (!bestThreads)
    fail(hipErrorInvalidValue, "no workgroup of kernel " + kernel.name + " with " +
                                   std::to_string(dynamicLds) +
                                   " bytes of dynamic LDS fits the device");
  *block = bestThreads;
  *grid = bestResident / bestThreads * info.computeUnits;
}

template <typename Find>
hipError_t activeBlocks(const char *name, int *blocks, int threads, size_t dynamicLds,
                        unsigned flags, const Find &find) {
  return api(name, [&] {
    require(blocks && threads > 0, "no place for the result, or no threads");
    requireFlags(flags);
    *blocks = activeWorkgroups(*find(), threads, dynamicLds);
  });
}

template <typename Find>
hipError_t potentialBlock(const char *name, int *grid, int *block, size_t dynamicLds, int limit,
                          unsigned flags, const Find &find) {
  return api(name, [&] {
    require(grid && block, "no place for the result");
    requireFlags(flags);
    suggestBlock(*find(), dynamicLds, limit, grid, block);
  });
}

} // namespace

extern "C" {

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, hipFunction_t function,
                                                              int threads, size_t dynamicLds) {
  return activeBlocks("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", blocks, threads,
                      dynamicLds, 0, [&] { return functionOf(function); });
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, hipFunction_t function, int threads, size_t dynamicLds, unsigned flags) {
  return activeBlocks("hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", blocks,
                      threads, dynamicLds, flags, [&] { return functionOf(function); });
}

hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, hipFunction_t function,
                                                   size_t dynamicLds, int limit) {
  return potentialBlock("hipModuleOccupancyMaxPotentialBlockSize", grid, block, dynamicLds, limit,
                        0, [&] { return functionOf(function); });
}

hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block,
                                                            hipFunction_t function,
                                                            size_t dynamicLds, int limit,
                                                            unsigned flags) {
  return potentialBlock("hipModuleOccupancyMaxPotentialBlockSizeWithFlags", grid, block, dynamicLds,
                        limit, flags, [&] { return functionOf(function); });
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *hostFunction,
                                                        int threads, size_t dynamicLds) {
  return activeBlocks("hipOccupancyMaxActiveBlocksPerMultiprocessor", blocks, threads, dynamicLds,
                      0, [&] { return hostFunctionOf(hostFunction); });
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
                                                                 const void *hostFunction,
                                                                 int threads, size_t dynamicLds,
                                                                 unsigned flags) {
  return activeBlocks("hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", blocks, threads,
                      dynamicLds, flags, [&] { return hostFunctionOf(hostFunction); });
}

hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *hostFunction,
                                             size_t dynamicLds, int limit) {
  return potentialBlock("hipOccupancyMaxPotentialBlockSize", grid, block, dynamicLds, limit, 0,
                        [&] { return hostFunctionOf(hostFunction); });
}

} // extern "C"
