// The functions that -fgpu-default-stream=per-thread names instead of the plain ones: the null
// stream is the calling thread's own.
#include "emulator/hip/device/device.h"

namespace {
hipStream_t own(hipStream_t stream) { return stream ? stream : hipStreamPerThread; }

/// Waits for the thread's own stream if the call before it succeeded.
hipError_t thenWait(hipError_t status) {
  return status == hipSuccess ? hipStreamSynchronize(hipStreamPerThread) : status;
}
} // namespace

extern "C" {

hipError_t hipMemcpy_spt(void *target, const void *source, size_t size, hipMemcpyKind kind) {
  return hipMemcpyWithStream(target, source, size, kind, hipStreamPerThread);
}
hipError_t hipMemcpyAsync_spt(void *target, const void *source, size_t size, hipMemcpyKind kind,
                              hipStream_t stream) {
  return hipMemcpyAsync(target, source, size, kind, own(stream));
}
hipError_t hipMemcpyToSymbol_spt(const void *symbol, const void *source, size_t size, size_t offset,
                                 hipMemcpyKind kind) {
  return thenWait(hipMemcpyToSymbolAsync(symbol, source, size, offset, kind, hipStreamPerThread));
}
hipError_t hipMemcpyFromSymbol_spt(void *target, const void *symbol, size_t size, size_t offset,
                                   hipMemcpyKind kind) {
  return thenWait(hipMemcpyFromSymbolAsync(target, symbol, size, offset, kind, hipStreamPerThread));
}
hipError_t hipMemcpy2D_spt(void *target, size_t targetPitch, const void *source, size_t sourcePitch,
                           size_t width, size_t height, hipMemcpyKind kind) {
  return thenWait(hipMemcpy2DAsync(target, targetPitch, source, sourcePitch, width, height, kind,
                                   hipStreamPerThread));
}
hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms *parameters) {
  return thenWait(hipMemcpy3DAsync(parameters, hipStreamPerThread));
}
hipError_t hipMemset_spt(void *target, int value, size_t size) {
  return thenWait(hipMemsetAsync(target, value, size, hipStreamPerThread));
}
hipError_t hipMemset2D_spt(void *target, size_t pitch, int value, size_t width, size_t height) {
  return thenWait(hipMemset2DAsync(target, pitch, value, width, height, hipStreamPerThread));
}
hipError_t hipStreamQuery_spt(hipStream_t stream) { return hipStreamQuery(own(stream)); }
hipError_t hipStreamSynchronize_spt(hipStream_t stream) {
  return hipStreamSynchronize(own(stream));
}
hipError_t hipStreamGetPriority_spt(hipStream_t stream, int *priority) {
  return hipStreamGetPriority(own(stream), priority);
}
hipError_t hipStreamGetFlags_spt(hipStream_t stream, unsigned *flags) {
  return hipStreamGetFlags(own(stream), flags);
}
hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return hipStreamWaitEvent(own(stream), event, flags);
}
hipError_t hipLaunchKernel_spt(const void *function, dim3 grid, dim3 block, void **values,
                               size_t sharedBytes, hipStream_t stream) {
  return hipLaunchKernel(function, grid, block, values, sharedBytes, own(stream));
}
hipError_t hipLaunchCooperativeKernel_spt(const void *function, dim3 grid, dim3 block,
                                          void **values, uint32_t sharedBytes, hipStream_t stream) {
  return hipLaunchCooperativeKernel(function, grid, block, values, sharedBytes, own(stream));
}

} // extern "C"
