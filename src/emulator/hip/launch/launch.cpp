#include "emulator/hip/launch/launch.h"

#include "emulator/core/cluster.h"
#include "emulator/hip/device/device.h"

namespace flyemu::hip {
namespace {

std::string dimensions(const std::array<uint32_t, 3> &value) {
  return std::to_string(value[0]) + "x" + std::to_string(value[1]) + "x" + std::to_string(value[2]);
}

/// Waves of a workgroup each have scratch for all their lanes, and those of one workgroup are there
/// together.
void checkScratch(const Function &function, uint64_t threads) {
  const loader::KernelNotes &kernel = function.kernel->metadata;
  const uint64_t item = function.kernel->code.descriptor.privateSegmentFixedSize;
  const uint64_t most = function.device->space().capacity();
  if (item * ((threads + 63) / 64 * 64) > most)
    fail(hipErrorLaunchOutOfResources,
         "kernel " + kernel.name + ": " + std::to_string(item) + " bytes of scratch for each of " +
             std::to_string(threads) + " work-items; the device has " + std::to_string(most));
}

void checkCluster(const Function &function, const loader::LaunchShape &shape) {
  const std::string who = "kernel " + function.kernel->metadata.name + ": ";
  const DeviceFigures &info = function.device->figures();
  uint64_t groups = 1;
  bool divides = true;
  for (unsigned axis = 0; axis < 3; ++axis) {
    divides &= shape.cluster[axis] && shape.grid[axis] % shape.cluster[axis] == 0;
    groups = std::min<uint64_t>(groups * shape.cluster[axis], UINT32_MAX);
  }
  if (!divides)
    fail(hipErrorInvalidConfiguration, who + "grid " + dimensions(shape.grid) +
                                           " is no whole number of clusters of " +
                                           dimensions(shape.cluster));
  if (groups > 1 && !info.machine->has(flydsl::Feature::clusters))
    fail(hipErrorInvalidConfiguration,
         who + "clusters of " + dimensions(shape.cluster) + "; " + info.name() + " has none");
  if (groups > Cluster::kMostGroups)
    fail(hipErrorInvalidConfiguration, who + "clusters of " + dimensions(shape.cluster) +
                                           " workgroups; the most is " +
                                           std::to_string(Cluster::kMostGroups));
}

void checkShape(const Function &function, const loader::LaunchShape &shape) {
  const loader::KernelNotes &kernel = function.kernel->metadata;
  const DeviceFigures &info = function.device->figures();
  uint64_t threads = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (!shape.grid[axis] || !shape.block[axis])
      fail(hipErrorInvalidConfiguration, "kernel " + kernel.name + ": grid " +
                                             dimensions(shape.grid) + ", block " +
                                             dimensions(shape.block) + " has a zero");
    threads = std::min<uint64_t>(threads * shape.block[axis], UINT32_MAX);
    // The dispatch packet counts work-items in 32 bits.
    if (uint64_t(shape.grid[axis]) * shape.block[axis] > UINT32_MAX)
      fail(hipErrorInvalidConfiguration,
           "kernel " + kernel.name + ": more than 2^32 - 1 work-items along an axis");
  }
  const uint32_t mostYz = info.machine->maxGridYz;
  if (shape.grid[1] > mostYz || shape.grid[2] > mostYz)
    fail(hipErrorInvalidConfiguration, "kernel " + kernel.name + ": grid " +
                                           dimensions(shape.grid) + "; along y and z the most on " +
                                           info.name() + " is " + std::to_string(mostYz));
  checkCluster(function, shape);
  uint64_t groups = uint64_t(shape.grid[0]) * shape.grid[1];
  if (__builtin_mul_overflow(groups, uint64_t(shape.grid[2]), &groups))
    fail(hipErrorInvalidConfiguration, "kernel " + kernel.name + ": grid " +
                                           dimensions(shape.grid) + " has 2^64 workgroups or more");
  uint32_t limit =
      std::min(kernel.maxFlatWorkgroupSize, static_cast<uint32_t>(info.maxBlockSize()));
  if (threads > limit)
    fail(hipErrorInvalidConfiguration,
         "kernel " + kernel.name + ": block " + dimensions(shape.block) + " has " +
             std::to_string(threads) + " work-items; the most is " + std::to_string(limit));
  if (kernel.requiredWorkgroupSize[0] && kernel.requiredWorkgroupSize != shape.block)
    fail(hipErrorInvalidConfiguration,
         "kernel " + kernel.name + ": block " + dimensions(shape.block) +
             "; the kernel was compiled for " + dimensions(kernel.requiredWorkgroupSize) + " only");
  checkScratch(function, threads);
  uint64_t lds = uint64_t(kernel.groupSegmentSize) + shape.dynamicLds;
  if (lds > static_cast<uint64_t>(info.ldsBytes()))
    fail(hipErrorLaunchOutOfResources, "kernel " + kernel.name + ": " + std::to_string(lds) +
                                           " bytes of LDS; a " + info.name() + " workgroup has " +
                                           std::to_string(info.ldsBytes()));
}

/// HIP's list of key and value pairs that describes a packed argument buffer.
void readExtra(void **extra, const void *&buffer, size_t &size) {
  bool ended = false, haveBuffer = false, haveSize = false;
  for (int i = 0; i < 8 && !ended; i += 2) {
    if (extra[i] == HIP_LAUNCH_PARAM_END) {
      ended = true;
    } else if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[i + 1];
      haveBuffer = true;
    } else if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_SIZE) {
      require(extra[i + 1], "the packed buffer's size pointer is null");
      size = *static_cast<size_t *>(extra[i + 1]);
      haveSize = true;
    } else {
      break;
    }
  }
  require(ended && haveBuffer && haveSize, "extra is no list of buffer, size and end");
}

} // namespace

KernelOperation makeLaunch(std::shared_ptr<Function> function, const loader::LaunchShape &shape,
                           void **values, void **extra) {
  checkShape(*function, shape);
  const loader::KernelNotes &kernel = function->kernel->metadata;
  require(!(values && extra), "arguments are given twice, as pointers and as a packed buffer");
  KernelOperation operation;
  if (extra) {
    const void *buffer = nullptr;
    size_t size = 0;
    readExtra(extra, buffer, size);
    operation.kernarg = loader::packBuffer(kernel, buffer, size);
  } else {
    operation.kernarg = loader::packArguments(kernel, values);
  }
  loader::fillHiddenArguments(kernel, shape, operation.kernarg);
  operation.function = std::move(function);
  operation.shape = shape;
  return operation;
}

KernelOperation makeCooperativeLaunch(std::shared_ptr<Function> function,
                                      const loader::LaunchShape &shape, void **values) {
  KernelOperation operation = makeLaunch(std::move(function), shape, values, nullptr);
  const Function &f = *operation.function;
  const uint64_t groups = uint64_t(shape.grid[0]) * shape.grid[1] * shape.grid[2];
  const int threads = static_cast<int>(shape.block[0] * shape.block[1] * shape.block[2]);
  const int units = f.device->figures().computeUnits;
  const int each = activeWorkgroups(f, threads, shape.dynamicLds);
  if (groups > static_cast<uint64_t>(each) * static_cast<uint64_t>(units))
    fail(hipErrorCooperativeLaunchTooLarge,
         "kernel " + f.kernel->metadata.name + ": " + std::to_string(groups) +
             " workgroups; the device holds " + std::to_string(each) + " on each of " +
             std::to_string(units) + " multiprocessors");
  operation.cooperative = true;
  return operation;
}

} // namespace flyemu::hip
