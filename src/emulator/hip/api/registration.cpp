// Launches and symbols by host address, for programs compiled as HIP C++.
#include "emulator/hip/module/registration.h"
#include "emulator/hip/launch/launch.h"
#include "emulator/hip/stream/copy.h"

#include <vector>

using namespace flyemu::hip;

namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t sharedBytes;
  hipStream_t stream;
};
thread_local std::vector<CallConfiguration> pushedCalls;

hipError_t copyTo(const char *name, const void *symbol, const void *source, size_t size,
                  size_t offset, hipMemcpyKind kind, hipStream_t stream, bool wait) {
  return api(name, [&] {
    void *target = inSymbol(symbol, size, offset);
    if (size)
      submitCopy(Runtime::get().stream(stream), plainCopy(target, source, size), kind, wait);
  });
}

hipError_t copyFrom(const char *name, void *target, const void *symbol, size_t size, size_t offset,
                    hipMemcpyKind kind, hipStream_t stream, bool wait) {
  return api(name, [&] {
    const void *source = inSymbol(symbol, size, offset);
    if (size)
      submitCopy(Runtime::get().stream(stream), plainCopy(target, source, size), kind, wait);
  });
}

} // namespace

extern "C" {

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes,
                                      hipStream_t stream) {
  pushedCalls.push_back({grid, block, sharedBytes, stream});
  return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *sharedBytes,
                                     hipStream_t *stream) {
  return api("__hipPopCallConfiguration", [&] {
    if (pushedCalls.empty())
      fail(hipErrorMissingConfiguration, "no launch configuration was pushed");
    *grid = pushedCalls.back().grid;
    *block = pushedCalls.back().block;
    *sharedBytes = pushedCalls.back().sharedBytes;
    *stream = pushedCalls.back().stream;
    pushedCalls.pop_back();
  });
}

hipError_t hipLaunchKernel(const void *hostFunction, dim3 grid, dim3 block, void **values,
                           size_t sharedBytes, hipStream_t handle) {
  return api("hipLaunchKernel", [&] {
    StreamRef stream = Runtime::get().stream(handle);
    require(sharedBytes <= UINT32_MAX, "too much shared memory");
    std::shared_ptr<Function> function = kernelOf(hostFunction, stream->device());
    flyemu::loader::LaunchShape shape{
        {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<uint32_t>(sharedBytes)};
    submit(stream, makeLaunch(std::move(function), shape, values, nullptr), hipGraphNodeTypeKernel);
  });
}

hipError_t hipLaunchCooperativeKernel(const void *hostFunction, dim3 grid, dim3 block,
                                      void **values, unsigned sharedBytes, hipStream_t handle) {
  return api("hipLaunchCooperativeKernel", [&] {
    StreamRef stream = Runtime::get().stream(handle);
    submit(stream,
           makeCooperativeLaunch(
               kernelOf(hostFunction, stream->device()),
               {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, sharedBytes}, values),
           hipGraphNodeTypeKernel);
  });
}

hipError_t hipExtLaunchKernel(const void *hostFunction, dim3 grid, dim3 block, void **values,
                              size_t sharedBytes, hipStream_t stream, hipEvent_t start,
                              hipEvent_t stop, int) {
  if (start)
    if (hipError_t status = hipEventRecord(start, stream); status != hipSuccess)
      return status;
  hipError_t status = hipLaunchKernel(hostFunction, grid, block, values, sharedBytes, stream);
  if (status == hipSuccess && stop)
    status = hipEventRecord(stop, stream);
  return status;
}

hipError_t hipFuncGetAttributes(hipFuncAttributes *result, const void *hostFunction) {
  return api("hipFuncGetAttributes", [&] {
    require(result, "no place for the result");
    Device &device = Runtime::get().currentDevice();
    std::shared_ptr<Function> function = kernelOf(hostFunction, device);
    const flyemu::loader::KernelNotes &kernel = function->kernel->metadata;
    *result = {};
    result->localSizeBytes = kernel.privateSegmentSize;
    result->sharedSizeBytes = kernel.groupSegmentSize;
    result->maxDynamicSharedSizeBytes =
        device.figures().ldsBytes() - static_cast<int>(kernel.groupSegmentSize);
    result->maxThreadsPerBlock = static_cast<int>(kernel.maxFlatWorkgroupSize);
    result->numRegs = static_cast<int>(kernel.vgprCount);
    result->binaryVersion = device.figures().major * 10 + device.figures().minor;
    result->ptxVersion = result->binaryVersion;
  });
}

// The LDS of a workgroup needs no opting in; the attribute is checked and has no further effect.
hipError_t hipFuncSetAttribute(const void *hostFunction, hipFuncAttribute attribute, int value) {
  return api("hipFuncSetAttribute", [&] {
    Device &device = Runtime::get().currentDevice();
    kernelOf(hostFunction, device);
    if (attribute == hipFuncAttributeMaxDynamicSharedMemorySize)
      require(value >= 0 && value <= device.figures().ldsBytes(), "more LDS than the device has");
    else
      require(attribute == hipFuncAttributePreferredSharedMemoryCarveout && value >= -1 &&
                  value <= 100,
              "neither a known attribute, nor a carveout of -1 to 100 percent");
  });
}
// There are no caches to share with LDS, nor banks of another width: the function is checked.
hipError_t hipFuncSetCacheConfig(const void *hostFunction, hipFuncCache_t) {
  return api("hipFuncSetCacheConfig",
             [&] { kernelOf(hostFunction, Runtime::get().currentDevice()); });
}
hipError_t hipFuncSetSharedMemConfig(const void *hostFunction, hipSharedMemConfig) {
  return api("hipFuncSetSharedMemConfig",
             [&] { kernelOf(hostFunction, Runtime::get().currentDevice()); });
}

// Of HIP 6. The handle is of the current device.
hipError_t hipGetFuncBySymbol(hipFunction_t *function, const void *symbol) {
  return api("hipGetFuncBySymbol", [&] {
    require(function, "no place for the result");
    *function = nullptr;
    *function =
        reinterpret_cast<hipFunction_t>(kernelOf(symbol, Runtime::get().currentDevice()).get());
  });
}

hipError_t hipGetSymbolAddress(void **pointer, const void *symbol) {
  return api("hipGetSymbolAddress", [&] {
    require(pointer, "no place for the result");
    *pointer = inSymbol(symbol, 0, 0);
  });
}
hipError_t hipGetSymbolSize(size_t *size, const void *symbol) {
  return api("hipGetSymbolSize", [&] {
    require(size, "no place for the result");
    *size = registeredVariable(symbol, Runtime::get().currentDevice()).size;
  });
}
hipError_t hipMemcpyToSymbol(const void *symbol, const void *source, size_t size, size_t offset,
                             hipMemcpyKind kind) {
  return copyTo("hipMemcpyToSymbol", symbol, source, size, offset, kind, nullptr, true);
}
hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *source, size_t size,
                                  size_t offset, hipMemcpyKind kind, hipStream_t stream) {
  return copyTo("hipMemcpyToSymbolAsync", symbol, source, size, offset, kind, stream, false);
}
hipError_t hipMemcpyFromSymbol(void *target, const void *symbol, size_t size, size_t offset,
                               hipMemcpyKind kind) {
  return copyFrom("hipMemcpyFromSymbol", target, symbol, size, offset, kind, nullptr, true);
}
hipError_t hipMemcpyFromSymbolAsync(void *target, const void *symbol, size_t size, size_t offset,
                                    hipMemcpyKind kind, hipStream_t stream) {
  return copyFrom("hipMemcpyFromSymbolAsync", target, symbol, size, offset, kind, stream, false);
}

} // extern "C"
