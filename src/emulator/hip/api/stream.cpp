// Streams: making, ordering, waiting, host functions.
#include "emulator/hip/stream/submit.h"

#include <algorithm>

using namespace flyemu::hip;

namespace {

// Larger numbers are less urgent; the emulator serves every stream alike.
constexpr int kLeastPriority = 1, kGreatestPriority = -1;

hipError_t create(const char *name, hipStream_t *stream, unsigned flags, int priority) {
  return api(name, [&] {
    require(stream, "no place for the result");
    *stream = nullptr;
    require(flags == hipStreamDefault || flags == hipStreamNonBlocking, "unknown flags");
    Device &device = Runtime::get().currentDevice();
    StreamRef made =
        device.createStream(flags, std::clamp(priority, kGreatestPriority, kLeastPriority));
    *stream = static_cast<hipStream_t>(Runtime::get().streams.add(std::move(made)));
  });
}

/// What the host knows to have ended when a stream is idle; the default stream stands for those
/// that it waits for. Nothing where streams are not checked.
Clock pointOf(Stream &stream) {
  const StreamOrder *order = Runtime::get().order();
  return order ? order->pointOf(stream, &stream == &stream.device().defaultStream()
                                            ? stream.device().implicitStreams(stream)
                                            : std::vector<StreamRef>())
               : Clock();
}

void hostReached(const Clock &clock) {
  if (StreamOrder *order = Runtime::get().order())
    order->hostReached(clock);
}

hipError_t queueValue(const char *name, hipStream_t handle, void *pointer, uint64_t value,
                      uint64_t mask, unsigned bytes, unsigned condition, bool write) {
  return api(name, [&] {
    StreamRef stream = Runtime::get().stream(handle);
    ValueOperation operation;
    operation.address = reinterpret_cast<uint64_t>(pointer);
    require(pointer && operation.address % bytes == 0, "pointer is null or not aligned");
    require(Runtime::get().space().covers(operation.address, bytes), "not memory that HIP knows");
    require(condition <= hipStreamWaitValueNor, "unknown condition");
    operation.value = value;
    operation.mask = mask;
    operation.bytes = bytes;
    operation.condition = condition;
    operation.write = write;
    forbidInCapture(*stream);
    submit(stream, operation, hipGraphNodeTypeEmpty);
  });
}

} // namespace

extern "C" {

hipError_t hipStreamCreate(hipStream_t *stream) {
  return create("hipStreamCreate", stream, hipStreamDefault, 0);
}
hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) {
  return create("hipStreamCreateWithFlags", stream, flags, 0);
}
hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority) {
  return create("hipStreamCreateWithPriority", stream, flags, priority);
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return api("hipDeviceGetStreamPriorityRange", [&] {
    if (least)
      *least = kLeastPriority;
    if (greatest)
      *greatest = kGreatestPriority;
  });
}

hipError_t hipStreamDestroy(hipStream_t handle) {
  return api("hipStreamDestroy", [&] {
    StreamRef stream = Runtime::get().streams.get(handle, "stream");
    forbidInCapture(*stream);
    Runtime::get().streams.take(handle);
    stream->drain();
    stream->device().destroyStream(stream);
  });
}

hipError_t hipStreamQuery(hipStream_t handle) {
  return api("hipStreamQuery", [&]() -> hipError_t {
    StreamRef stream = Runtime::get().stream(handle);
    forbidInCapture(*stream);
    const Clock reached = pointOf(*stream);
    bool idle = stream->idle();
    // The default stream stands for the streams that it would wait for.
    Device &device = stream->device();
    if (stream.get() == &device.defaultStream())
      idle = idle && device.implicitDependencies(*stream).empty();
    if (!idle)
      return hipErrorNotReady;
    hostReached(reached);
    device.requireHealthy();
    return hipSuccess;
  });
}

hipError_t hipStreamSynchronize(hipStream_t handle) {
  return api("hipStreamSynchronize", [&] {
    StreamRef stream = Runtime::get().stream(handle);
    forbidInCapture(*stream);
    Device &device = stream->device();
    const Clock reached = pointOf(*stream);
    if (stream.get() == &device.defaultStream())
      for (const CompletionRef &other : device.implicitDependencies(*stream))
        other->wait();
    stream->drain();
    hostReached(reached);
    device.requireHealthy();
  });
}

hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t eventHandle, unsigned flags) {
  return api("hipStreamWaitEvent", [&] {
    StreamRef stream = Runtime::get().stream(handle);
    std::shared_ptr<Event> event = Runtime::get().events.get(eventHandle, "event");
    require(flags == 0, "flags must be zero");
    if (captureWait(stream, *event))
      return;
    std::shared_ptr<EventMark> mark = event->current();
    if (mark && mark->order)
      Runtime::get().order()->wait(*stream, mark->order);
    if (mark && !mark->completion->done())
      submit(stream, WaitOperation{mark->completion, nullptr}, hipGraphNodeTypeWaitEvent);
    if (const std::shared_ptr<SharedEvent> &shared = event->shared)
      if (const uint64_t number = shared->last(); !shared->reached(number))
        submit(stream, WaitOperation{nullptr, nullptr, shared, number}, hipGraphNodeTypeWaitEvent);
  });
}

hipError_t hipStreamGetFlags(hipStream_t handle, unsigned *flags) {
  return api("hipStreamGetFlags", [&] {
    require(flags, "no place for the result");
    *flags = Runtime::get().stream(handle)->flags();
  });
}

hipError_t hipStreamGetPriority(hipStream_t handle, int *priority) {
  return api("hipStreamGetPriority", [&] {
    require(priority, "no place for the result");
    *priority = Runtime::get().stream(handle)->priority();
  });
}

int hipGetStreamDeviceId(hipStream_t handle) {
  int index = -1;
  (void)api("hipGetStreamDeviceId",
            [&] { index = Runtime::get().stream(handle)->device().index(); });
  return index;
}

hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t *device) {
  return api("hipStreamGetDevice", [&] {
    require(device, "no place for the result");
    *device = Runtime::get().stream(handle)->device().index();
  });
}

hipError_t hipStreamAddCallback(hipStream_t handle, hipStreamCallback_t callback, void *data,
                                unsigned flags) {
  return api("hipStreamAddCallback", [&] {
    require(callback && flags == 0, "callback is null or flags are set");
    StreamRef stream = Runtime::get().stream(handle);
    forbidInCapture(*stream);
    submit(stream, HostOperation{[=](hipError_t status) { callback(handle, status, data); }},
           hipGraphNodeTypeHost);
  });
}

hipError_t hipLaunchHostFunc(hipStream_t handle, hipHostFn_t function, void *data) {
  return api("hipLaunchHostFunc", [&] {
    require(function, "the function is null");
    submit(Runtime::get().stream(handle), HostOperation{[=](hipError_t) { function(data); }},
           hipGraphNodeTypeHost);
  });
}

hipError_t hipStreamWaitValue32(hipStream_t stream, void *pointer, uint32_t value, unsigned flags,
                                uint32_t mask) {
  return queueValue("hipStreamWaitValue32", stream, pointer, value, mask, 4, flags, false);
}
hipError_t hipStreamWaitValue64(hipStream_t stream, void *pointer, uint64_t value, unsigned flags,
                                uint64_t mask) {
  return queueValue("hipStreamWaitValue64", stream, pointer, value, mask, 8, flags, false);
}
hipError_t hipStreamWriteValue32(hipStream_t stream, void *pointer, uint32_t value, unsigned) {
  return queueValue("hipStreamWriteValue32", stream, pointer, value, ~uint32_t(0), 4, 0, true);
}
hipError_t hipStreamWriteValue64(hipStream_t stream, void *pointer, uint64_t value, unsigned) {
  return queueValue("hipStreamWriteValue64", stream, pointer, value, ~uint64_t(0), 8, 0, true);
}

hipError_t hipStreamAttachMemAsync(hipStream_t handle, void *pointer, size_t, unsigned) {
  return api("hipStreamAttachMemAsync", [&] {
    Runtime::get().stream(handle);
    require(pointer, "pointer is null"); // managed memory is visible everywhere already
  });
}

} // extern "C"
