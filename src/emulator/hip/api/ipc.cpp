// Memory and events that processes of one machine hand to each other.
#include "emulator/hip/device/shared_memory.h"
#include "emulator/hip/stream/submit.h"

#include <cstring>

using namespace flyemu::hip;

namespace {

template <class Handle> SharedHandle readHandle(const Handle &handle) {
  SharedHandle result;
  static_assert(sizeof(handle) == sizeof(result));
  std::memcpy(&result, &handle, sizeof(result));
  return result;
}
template <class Handle> void writeHandle(Handle *handle, const SharedHandle &value) {
  static_assert(sizeof(*handle) == sizeof(value));
  std::memcpy(handle, &value, sizeof(value));
}

} // namespace

extern "C" {

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *pointer) {
  return api("hipIpcGetMemHandle", [&] {
    require(handle && pointer, "a pointer is null");
    DeviceMemory &space = Runtime::get().space();
    const auto address = reinterpret_cast<uint64_t>(pointer);
    // Pages change their place in the machine, so no operation may use them meanwhile.
    if (const std::optional<Allocation> known = space.find(address); !known || !known->shared)
      Runtime::get().synchronizeAll();
    const std::shared_ptr<SharedMemory> shared = space.share(address);
    if (!shared)
      fail(hipErrorInvalidDevicePointer,
           "not the start of memory of hipMalloc: " + space.describe(address));
    writeHandle(handle, shared->handle());
  });
}

hipError_t hipIpcOpenMemHandle(void **pointer, hipIpcMemHandle_t handle, unsigned flags) {
  return api("hipIpcOpenMemHandle", [&] {
    require(pointer, "no place for the result");
    *pointer = nullptr;
    // HIP's header gives the flag the value 0; its documentation and later headers, 1.
    require(flags == hipIpcMemLazyEnablePeerAccess || flags == 1,
            "flags must be hipIpcMemLazyEnablePeerAccess");
    Device &device = Runtime::get().currentDevice();
    auto shared = std::make_shared<SharedMemory>(readHandle(handle), SharedKind::Memory);
    *pointer = reinterpret_cast<void *>(device.space().import(std::move(shared), device.index()));
  });
}

hipError_t hipIpcCloseMemHandle(void *pointer) {
  return api("hipIpcCloseMemHandle", [&] {
    require(pointer, "pointer is null");
    Runtime::get().synchronizeAll(); // no operation may use the pages when they go
    DeviceMemory &space = Runtime::get().space();
    const auto address = reinterpret_cast<uint64_t>(pointer);
    if (!space.closeImport(address))
      fail(hipErrorInvalidValue,
           "not the start of memory of hipIpcOpenMemHandle: " + space.describe(address));
  });
}

hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t *handle, hipEvent_t eventHandle) {
  return api("hipIpcGetEventHandle", [&] {
    require(handle, "no place for the result");
    std::shared_ptr<Event> event = Runtime::get().events.get(eventHandle, "event");
    if (!event->shared)
      fail(hipErrorInvalidConfiguration, "the event was made without hipEventInterprocess");
    writeHandle(handle, event->shared->handle());
  });
}

hipError_t hipIpcOpenEventHandle(hipEvent_t *result, hipIpcEventHandle_t handle) {
  return api("hipIpcOpenEventHandle", [&] {
    require(result, "no place for the result");
    auto event = std::make_shared<Event>();
    event->flags = hipEventInterprocess | hipEventDisableTiming;
    event->device = Runtime::get().currentDevice().index();
    event->shared = std::make_shared<SharedEvent>(readHandle(handle));
    *result = static_cast<hipEvent_t>(Runtime::get().events.add(std::move(event)));
  });
}

} // extern "C"
