// Copies and fills, in one, two and three dimensions, waited for or not.
#include "emulator/hip/stream/copy.h"
#include "emulator/hip/stream/submit.h"

using namespace flyemu::hip;

namespace {

uint64_t addressOf(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

hipError_t copy(const char *name, void *target, const void *source, size_t size, hipMemcpyKind kind,
                hipStream_t handle, bool wait) {
  return api(name, [&] {
    StreamRef stream = Runtime::get().stream(handle);
    if (size)
      submitCopy(stream, plainCopy(target, source, size), kind, wait);
  });
}

hipError_t checkDevices(const char *name, int target, int source) {
  return api(name, [&] {
    Runtime::get().device(target);
    Runtime::get().device(source);
  });
}

/// Memory to prefetch or to advise on, and the device it is about.
void checkManaged(const void *pointer, size_t size, int device) {
  require(pointer && size, "pointer is null or size is zero");
  if (device != hipCpuDeviceId)
    Runtime::get().device(device);
  require(Runtime::get().space().covers(addressOf(pointer), size), "not managed memory");
}

hipError_t copy2D(const char *name, void *target, size_t targetPitch, const void *source,
                  size_t sourcePitch, size_t width, size_t height, hipMemcpyKind kind,
                  hipStream_t handle, bool wait) {
  return api(name, [&] {
    StreamRef stream = Runtime::get().stream(handle);
    if (width > targetPitch || width > sourcePitch)
      fail(hipErrorInvalidPitchValue, "a row is wider than its pitch");
    CopyOperation operation = plainCopy(target, source, width);
    operation.height = height;
    operation.targetPitch = targetPitch;
    operation.sourcePitch = sourcePitch;
    if (width && height)
      submitCopy(stream, std::move(operation), kind, wait);
  });
}

hipError_t fill(const char *name, void *target, uint32_t value, unsigned elementSize, size_t count,
                hipStream_t handle, bool wait) {
  return api(name, [&] {
    StreamRef stream = Runtime::get().stream(handle);
    FillOperation operation;
    operation.target = addressOf(target);
    operation.value = value;
    operation.elementSize = elementSize;
    operation.width = count;
    if (count)
      submitFill(stream, operation, wait);
  });
}

hipError_t fill2D(const char *name, void *target, size_t pitch, int value, size_t width,
                  size_t height, hipStream_t handle, bool wait) {
  return api(name, [&] {
    StreamRef stream = Runtime::get().stream(handle);
    if (width > pitch && height > 1)
      fail(hipErrorInvalidPitchValue, "a row is wider than its pitch");
    FillOperation operation;
    operation.target = addressOf(target);
    operation.value = static_cast<unsigned char>(value);
    operation.width = width;
    operation.height = height;
    operation.pitch = pitch;
    if (width && height)
      submitFill(stream, operation, wait);
  });
}

hipError_t copy3D(const char *name, const hipMemcpy3DParms *p, hipStream_t handle, bool wait) {
  return api(name, [&] {
    StreamRef stream = Runtime::get().stream(handle);
    require(p, "the parameters are null");
    CopyOperation operation = copyFrom3D(*p);
    if (operation.width && operation.height && operation.depth)
      submitCopy(stream, std::move(operation), p->kind, wait);
  });
}

} // namespace

extern "C" {

hipError_t hipMemcpy(void *target, const void *source, size_t size, hipMemcpyKind kind) {
  return copy("hipMemcpy", target, source, size, kind, nullptr, true);
}
hipError_t hipMemcpyWithStream(void *target, const void *source, size_t size, hipMemcpyKind kind,
                               hipStream_t stream) {
  return copy("hipMemcpyWithStream", target, source, size, kind, stream, true);
}
hipError_t hipMemcpyAsync(void *target, const void *source, size_t size, hipMemcpyKind kind,
                          hipStream_t stream) {
  return copy("hipMemcpyAsync", target, source, size, kind, stream, false);
}
hipError_t hipMemcpyHtoD(hipDeviceptr_t target, void *source, size_t size) {
  return copy("hipMemcpyHtoD", target, source, size, hipMemcpyHostToDevice, nullptr, true);
}
hipError_t hipMemcpyDtoH(void *target, hipDeviceptr_t source, size_t size) {
  return copy("hipMemcpyDtoH", target, source, size, hipMemcpyDeviceToHost, nullptr, true);
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t target, hipDeviceptr_t source, size_t size) {
  return copy("hipMemcpyDtoD", target, source, size, hipMemcpyDeviceToDevice, nullptr, true);
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t target, void *source, size_t size,
                              hipStream_t stream) {
  return copy("hipMemcpyHtoDAsync", target, source, size, hipMemcpyHostToDevice, stream, false);
}
hipError_t hipMemcpyDtoHAsync(void *target, hipDeviceptr_t source, size_t size,
                              hipStream_t stream) {
  return copy("hipMemcpyDtoHAsync", target, source, size, hipMemcpyDeviceToHost, stream, false);
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t target, hipDeviceptr_t source, size_t size,
                              hipStream_t stream) {
  return copy("hipMemcpyDtoDAsync", target, source, size, hipMemcpyDeviceToDevice, stream, false);
}
// Device addresses are one space: a copy between devices is a copy. Peer access is a matter of
// kernels.
hipError_t hipMemcpyPeer(void *target, int targetDevice, const void *source, int sourceDevice,
                         size_t size) {
  if (hipError_t status = checkDevices("hipMemcpyPeer", targetDevice, sourceDevice))
    return status;
  return copy("hipMemcpyPeer", target, source, size, hipMemcpyDeviceToDevice, nullptr, true);
}
hipError_t hipMemcpyPeerAsync(void *target, int targetDevice, const void *source, int sourceDevice,
                              size_t size, hipStream_t stream) {
  if (hipError_t status = checkDevices("hipMemcpyPeerAsync", targetDevice, sourceDevice))
    return status;
  return copy("hipMemcpyPeerAsync", target, source, size, hipMemcpyDeviceToDevice, stream, false);
}
hipError_t hipMemcpy2D(void *target, size_t targetPitch, const void *source, size_t sourcePitch,
                       size_t width, size_t height, hipMemcpyKind kind) {
  return copy2D("hipMemcpy2D", target, targetPitch, source, sourcePitch, width, height, kind,
                nullptr, true);
}
hipError_t hipMemcpy2DAsync(void *target, size_t targetPitch, const void *source,
                            size_t sourcePitch, size_t width, size_t height, hipMemcpyKind kind,
                            hipStream_t stream) {
  return copy2D("hipMemcpy2DAsync", target, targetPitch, source, sourcePitch, width, height, kind,
                stream, false);
}
hipError_t hipMemcpy3D(const hipMemcpy3DParms *p) {
  return copy3D("hipMemcpy3D", p, nullptr, true);
}
hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms *p, hipStream_t stream) {
  return copy3D("hipMemcpy3DAsync", p, stream, false);
}

// As on hardware, a fill of device memory is not waited for by the host; the default stream's order
// makes that invisible but for the time.
hipError_t hipMemset(void *target, int value, size_t size) {
  return fill("hipMemset", target, static_cast<unsigned char>(value), 1, size, nullptr, true);
}
hipError_t hipMemsetAsync(void *target, int value, size_t size, hipStream_t stream) {
  return fill("hipMemsetAsync", target, static_cast<unsigned char>(value), 1, size, stream, false);
}
hipError_t hipMemsetD8(hipDeviceptr_t target, unsigned char value, size_t count) {
  return fill("hipMemsetD8", target, value, 1, count, nullptr, true);
}
hipError_t hipMemsetD8Async(hipDeviceptr_t target, unsigned char value, size_t count,
                            hipStream_t stream) {
  return fill("hipMemsetD8Async", target, value, 1, count, stream, false);
}
hipError_t hipMemsetD16(hipDeviceptr_t target, unsigned short value, size_t count) {
  return fill("hipMemsetD16", target, value, 2, count, nullptr, true);
}
hipError_t hipMemsetD16Async(hipDeviceptr_t target, unsigned short value, size_t count,
                             hipStream_t stream) {
  return fill("hipMemsetD16Async", target, value, 2, count, stream, false);
}
hipError_t hipMemsetD32(hipDeviceptr_t target, int value, size_t count) {
  return fill("hipMemsetD32", target, static_cast<uint32_t>(value), 4, count, nullptr, true);
}
hipError_t hipMemsetD32Async(hipDeviceptr_t target, int value, size_t count, hipStream_t stream) {
  return fill("hipMemsetD32Async", target, static_cast<uint32_t>(value), 4, count, stream, false);
}
hipError_t hipMemset2D(void *target, size_t pitch, int value, size_t width, size_t height) {
  return fill2D("hipMemset2D", target, pitch, value, width, height, nullptr, true);
}
hipError_t hipMemset2DAsync(void *target, size_t pitch, int value, size_t width, size_t height,
                            hipStream_t stream) {
  return fill2D("hipMemset2DAsync", target, pitch, value, width, height, stream, false);
}

// Managed memory is the host's: there is nothing to move or to advise.
hipError_t hipMemPrefetchAsync(const void *pointer, size_t size, int device, hipStream_t handle) {
  return api("hipMemPrefetchAsync", [&] {
    Runtime::get().stream(handle);
    checkManaged(pointer, size, device);
  });
}
hipError_t hipMemAdvise(const void *pointer, size_t size, hipMemoryAdvise advice, int device) {
  return api("hipMemAdvise", [&] {
    const bool readMostly =
        advice == hipMemAdviseSetReadMostly || advice == hipMemAdviseUnsetReadMostly;
    checkManaged(pointer, size, readMostly ? hipCpuDeviceId : device); // else it has no meaning
  });
}

} // extern "C"
