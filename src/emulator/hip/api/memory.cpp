// Memory: allocation on devices and pinned on the host, registration, what a pointer is.
#include "emulator/hip/device/device.h"
#include "emulator/hip/device/hip_version.h"
#include "emulator/hip/order/operation_touches.h"
#include "emulator/hip/stream/submit.h"

using namespace flyemu::hip;

namespace {

uint64_t addressOf(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// Shared by all allocating calls: a size of zero gives null and success, as HIP does.
void *allocate(MemoryKind kind, size_t size, unsigned flags) {
  Device &device = Runtime::get().currentDevice();
  if (size == 0)
    return nullptr;
  uint64_t address = device.space().allocate(kind, device.index(), size, flags);
  if (!address)
    fail(hipErrorOutOfMemory, std::to_string(size) + " bytes do not fit: device " +
                                  std::to_string(device.index()) + " uses " +
                                  std::to_string(device.space().used(device.index())) + " of " +
                                  std::to_string(device.space().capacity()));
  return reinterpret_cast<void *>(address);
}

void requireNoCapture() {
  for (const StreamRef &stream : Runtime::get().currentDevice().streams())
    if (stream->capturing && capturePoint(*stream).capture &&
        capturePoint(*stream).capture->mode == hipStreamCaptureModeGlobal)
      forbidInCapture(*stream);
}

/// Memory that programs allocate by themselves.
constexpr std::initializer_list<MemoryKind> kAllocated = {MemoryKind::Device, MemoryKind::Managed,
                                                          MemoryKind::Host};

/// Freed memory may be in use by any device that sees it, so all work ends first.
void release(void *pointer, std::initializer_list<MemoryKind> kinds) {
  if (!pointer)
    return;
  Runtime &runtime = Runtime::get();
  requireNoCapture();
  runtime.synchronizeAll();
  if (!runtime.space().release(addressOf(pointer), kinds))
    fail(hipErrorInvalidValue,
         "not the start of such an allocation: " + runtime.space().describe(addressOf(pointer)));
}

hipError_t hostMalloc(const char *name, void **pointer, size_t size, unsigned flags) {
  return api(name, [&] {
    require(pointer, "no place for the result");
    *pointer = nullptr;
    constexpr unsigned kUncached = 0x10000000; // HIP 7's hipHostMallocUncached
    constexpr unsigned known = hipHostMallocPortable | hipHostMallocMapped |
                               hipHostMallocWriteCombined | hipHostMallocNumaUser |
                               hipHostMallocCoherent | hipHostMallocNonCoherent | kUncached;
    constexpr unsigned both = hipHostMallocCoherent | hipHostMallocNonCoherent;
    require((flags & ~known) == 0 && (flags & both) != both,
            "flags are unknown, or those of coherent and of other memory together");
    *pointer = allocate(MemoryKind::Host, size, flags);
  });
}

/// The attributes that hipPointerGetAttributes reports; throws for unknown pointers.
hipPointerAttribute_t attributesOf(const void *pointer) {
  std::optional<Allocation> allocation = Runtime::get().space().find(addressOf(pointer));
  if (!allocation)
    fail(hipErrorInvalidValue,
         "not a pointer that HIP knows: " + Runtime::get().space().describe(addressOf(pointer)));
  hipPointerAttribute_t result = {};
  bool isHost = allocation->kind == MemoryKind::Host || allocation->kind == MemoryKind::Registered;
  result.memoryType = memoryTypeOf(isHost                                    ? MemoryPlace::Host
                                   : allocation->kind == MemoryKind::Managed ? MemoryPlace::Managed
                                                                             : MemoryPlace::Device);
  result.device = allocation->device;
  result.devicePointer = const_cast<void *>(pointer);
  bool seenByHost = isHost || allocation->kind == MemoryKind::Managed;
  result.hostPointer = seenByHost ? const_cast<void *>(pointer) : nullptr;
  result.isManaged = allocation->kind == MemoryKind::Managed;
  result.allocationFlags = allocation->flags;
  return result;
}

} // namespace

extern "C" {

hipError_t hipMalloc(void **pointer, size_t size) {
  return api("hipMalloc", [&] {
    require(pointer, "no place for the result");
    *pointer = nullptr;
    requireNoCapture();
    *pointer = allocate(MemoryKind::Device, size, 0);
  });
}

hipError_t hipExtMallocWithFlags(void **pointer, size_t size, unsigned flags) {
  return api("hipExtMallocWithFlags", [&] {
    require(pointer, "no place for the result");
    // The flags are numbers of an enumeration, and no bits (HIP 6's hip_runtime_api.h).
    constexpr unsigned kUncached = 3; // hipDeviceMallocUncached
    require(flags <= kUncached, "flags are hipDeviceMallocDefault, hipDeviceMallocFinegrained, "
                                "hipMallocSignalMemory or hipDeviceMallocUncached");
    require(flags != hipMallocSignalMemory || size == 8, "memory of a signal has 8 bytes");
    *pointer = nullptr;
    *pointer = allocate(MemoryKind::Device, size, flags);
  });
}

hipError_t hipMallocManaged(void **pointer, size_t size, unsigned flags) {
  return api("hipMallocManaged", [&] {
    require(pointer, "no place for the result");
    require(size > 0 && (flags == hipMemAttachGlobal || flags == hipMemAttachHost),
            "size is zero or flags are unknown");
    *pointer = allocate(MemoryKind::Managed, size, flags);
  });
}

hipError_t hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
  return api("hipMallocPitch", [&] {
    require(pointer && pitch, "no place for the result");
    *pointer = nullptr;
    size_t row = (width + 255) / 256 * 256;
    require(row >= width && (!height || row <= SIZE_MAX / height), "the size overflows");
    *pointer = allocate(MemoryKind::Device, row * height, 0);
    *pitch = row;
  });
}

hipError_t hipMallocAsync(void **pointer, size_t size, hipStream_t stream) {
  return api("hipMallocAsync", [&] {
    require(pointer, "no place for the result");
    StreamRef allocating = Runtime::get().stream(stream);
    Device &device = allocating->device();
    *pointer = nullptr;
    if (!size)
      return;
    uint64_t address = device.space().allocate(MemoryKind::Device, device.index(), size, 0);
    if (!address)
      fail(hipErrorOutOfMemory, std::to_string(size) + " bytes do not fit");
    if (StreamOrder *order = Runtime::get().order(); order && !allocating->capturing) {
      // Whoever uses the memory must come after this place of the stream.
      const SubmissionRef place = order->submit(*allocating, device.implicitStreams(*allocating));
      noteAllocated(address, size, {place, nullptr, 0}, device.space());
      order->ended(place);
    }
    *pointer = reinterpret_cast<void *>(address);
  });
}

hipError_t hipFreeAsync(void *pointer, hipStream_t handle) {
  return api("hipFreeAsync", [&] {
    StreamRef stream = Runtime::get().stream(handle);
    if (!pointer)
      return;
    std::optional<Allocation> allocation = Runtime::get().space().find(addressOf(pointer));
    require(allocation && allocation->base == addressOf(pointer) &&
                (allocation->kind == MemoryKind::Device || allocation->kind == MemoryKind::Managed),
            "not the start of a device allocation");
    forbidInCapture(*stream);
    submit(stream, FreeOperation{addressOf(pointer)}, hipGraphNodeTypeEmpty);
  });
}

// As in HIP, each of these frees what either kind of allocating call gave.
hipError_t hipFree(void *pointer) {
  return api("hipFree", [&] { release(pointer, kAllocated); });
}

hipError_t hipHostMalloc(void **pointer, size_t size, unsigned flags) {
  return hostMalloc("hipHostMalloc", pointer, size, flags);
}
hipError_t hipHostAlloc(void **pointer, size_t size, unsigned flags) {
  return hostMalloc("hipHostAlloc", pointer, size, flags);
}
hipError_t hipMallocHost(void **pointer, size_t size) {
  return hostMalloc("hipMallocHost", pointer, size, 0);
}
hipError_t hipMemAllocHost(void **pointer, size_t size) {
  return hostMalloc("hipMemAllocHost", pointer, size, 0);
}
hipError_t hipHostFree(void *pointer) {
  return api("hipHostFree", [&] { release(pointer, kAllocated); });
}
hipError_t hipFreeHost(void *pointer) {
  return api("hipFreeHost", [&] { release(pointer, kAllocated); });
}

hipError_t hipHostRegister(void *pointer, size_t size, unsigned flags) {
  return api("hipHostRegister", [&] {
    require(pointer && size, "pointer is null or size is zero");
    Allocation allocation;
    allocation.base = addressOf(pointer);
    allocation.size = size;
    allocation.kind = MemoryKind::Registered;
    allocation.device = Runtime::get().currentDevice().index();
    allocation.flags = flags;
    if (!Runtime::get().space().add(allocation))
      fail(hipErrorHostMemoryAlreadyRegistered,
           "the range overlaps: " + Runtime::get().space().describe(addressOf(pointer)));
  });
}

hipError_t hipHostUnregister(void *pointer) {
  return api("hipHostUnregister", [&] {
    require(pointer, "pointer is null");
    Runtime &runtime = Runtime::get();
    runtime.synchronizeAll();
    if (!runtime.space().remove(addressOf(pointer), MemoryKind::Registered))
      fail(hipErrorHostMemoryNotRegistered, "not the start of a registered range");
  });
}

hipError_t hipHostGetDevicePointer(void **devicePointer, void *hostPointer, unsigned flags) {
  return api("hipHostGetDevicePointer", [&] {
    require(devicePointer && hostPointer && flags == 0, "a pointer is null or flags are set");
    *devicePointer = nullptr;
    std::optional<Allocation> allocation = Runtime::get().space().find(addressOf(hostPointer));
    require(allocation && (allocation->kind == MemoryKind::Host ||
                           allocation->kind == MemoryKind::Registered),
            "not pinned or registered host memory");
    *devicePointer = hostPointer;
  });
}

hipError_t hipHostGetFlags(unsigned *flags, void *pointer) {
  return api("hipHostGetFlags", [&] {
    require(flags && pointer, "a pointer is null");
    std::optional<Allocation> allocation = Runtime::get().space().find(addressOf(pointer));
    require(allocation && allocation->kind == MemoryKind::Host, "not pinned host memory");
    *flags = allocation->flags;
  });
}

hipError_t hipMemGetInfo(size_t *free, size_t *total) {
  return api("hipMemGetInfo", [&] {
    require(free && total, "no place for the result");
    Device &device = Runtime::get().currentDevice();
    *total = device.space().capacity();
    *free = *total - device.space().used(device.index());
  });
}

hipError_t hipMemPtrGetInfo(void *pointer, size_t *size) {
  return api("hipMemPtrGetInfo", [&] {
    require(pointer && size, "a pointer is null");
    std::optional<Allocation> allocation = Runtime::get().space().find(addressOf(pointer));
    require(allocation && allocation->base == addressOf(pointer), "not the start of an allocation");
    *size = allocation->size;
  });
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t pointer) {
  return api("hipMemGetAddressRange", [&] {
    std::optional<Allocation> allocation = Runtime::get().space().find(addressOf(pointer));
    if (!allocation)
      return hipErrorNotFound; // the answer to a question, and no mistake that the log tells of
    if (base)
      *base = reinterpret_cast<hipDeviceptr_t>(allocation->base);
    if (size)
      *size = allocation->size;
    return hipSuccess;
  });
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t *result, const void *pointer) {
  return api("hipPointerGetAttributes", [&] {
    require(result && pointer, "a pointer is null");
    // HIP 6 tells so of a pointer that it does not know; before, that was an error.
    if (answersAsHip6() && !Runtime::get().space().find(addressOf(pointer))) {
      *result = {};
      result->memoryType = memoryTypeOf(MemoryPlace::Unknown);
      result->device = hipInvalidDeviceId;
      return;
    }
    *result = attributesOf(pointer);
  });
}

hipError_t hipPointerGetAttribute(void *data, hipPointer_attribute attribute,
                                  hipDeviceptr_t pointer) {
  return api("hipPointerGetAttribute", [&] {
    require(data && pointer, "a pointer is null");
    hipPointerAttribute_t known = attributesOf(pointer);
    Allocation allocation = *Runtime::get().space().find(addressOf(pointer));
    switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned *>(data) = known.memoryType;
      break;
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<void **>(data) = known.devicePointer;
      break;
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      *static_cast<void **>(data) = known.hostPointer;
      break;
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<bool *>(data) = known.isManaged;
      break;
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int *>(data) = known.device;
      break;
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<uint64_t *>(data) = allocation.base;
      break;
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t *>(data) = allocation.size;
      break;
    case HIP_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<bool *>(data) = true;
      break;
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<uint64_t *>(data) = allocation.serial;
      break;
    default:
      fail(hipErrorInvalidValue,
           "pointer attribute " + std::to_string(attribute) + " is not known here");
    }
  });
}

} // extern "C"
