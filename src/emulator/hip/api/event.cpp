// Events: marks in a stream's work, with the time at which they were reached.
#include "emulator/hip/stream/submit.h"

using namespace flyemu::hip;

namespace {

hipError_t create(const char *name, hipEvent_t *handle, unsigned flags) {
  return api(name, [&] {
    require(handle, "no place for the result");
    constexpr unsigned known = hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess |
                               hipEventReleaseToDevice | hipEventReleaseToSystem;
    require((flags & ~known) == 0, "unknown flags");
    const bool isShared = flags & hipEventInterprocess;
    require(!isShared || flags & hipEventDisableTiming,
            "an event of several processes has no time: hipEventDisableTiming must be set, too");
    auto event = std::make_shared<Event>();
    if (isShared)
      event->shared = std::make_shared<SharedEvent>();
    event->flags = flags;
    event->device = Runtime::get().currentDevice().index();
    *handle = static_cast<hipEvent_t>(Runtime::get().events.add(std::move(event)));
  });
}

/// Throws when the event's last record belongs to a capture.
std::shared_ptr<EventMark> markOf(Event &event) {
  std::lock_guard lock(event.mutex);
  if (event.captured)
    fail(hipErrorCapturedEvent, "the event was last recorded in a capture");
  return event.mark;
}

/// The host knows that an event has come.
void reached(const std::shared_ptr<EventMark> &mark) {
  if (mark && mark->order)
    Runtime::get().order()->hostReached(mark->order);
}

} // namespace

extern "C" {

hipError_t hipEventCreate(hipEvent_t *event) {
  return create("hipEventCreate", event, hipEventDefault);
}
hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags) {
  return create("hipEventCreateWithFlags", event, flags);
}

hipError_t hipEventDestroy(hipEvent_t handle) {
  return api("hipEventDestroy", [&] {
    if (!Runtime::get().events.take(handle))
      fail(hipErrorInvalidHandle, "not a live event handle");
  });
}

hipError_t hipEventRecord(hipEvent_t handle, hipStream_t streamHandle) {
  return api("hipEventRecord", [&] {
    std::shared_ptr<Event> event = Runtime::get().events.get(handle, "event");
    StreamRef stream = Runtime::get().stream(streamHandle);
    if (captureRecord(*stream, *event))
      return;
    if (stream->device().index() != event->device)
      fail(hipErrorInvalidHandle, "event and stream belong to different devices");
    auto mark = std::make_shared<EventMark>();
    // A record that is refused does not count: other processes would wait for it for ever.
    expectReady(stream);
    if (event->shared)
      mark->number = event->shared->record();
    mark->order = enqueue(stream, RecordOperation{event, mark}, hipGraphNodeTypeEventRecord)->order;
    std::lock_guard lock(event->mutex);
    event->mark = mark;
    event->captured.reset();
  });
}

hipError_t hipEventQuery(hipEvent_t handle) {
  return api("hipEventQuery", [&]() -> hipError_t {
    std::shared_ptr<Event> event = Runtime::get().events.get(handle, "event");
    std::shared_ptr<EventMark> mark = markOf(*event);
    if (mark && !mark->completion->done())
      return hipErrorNotReady;
    if (event->shared && !event->shared->reached(event->shared->last()))
      return hipErrorNotReady;
    reached(mark);
    Runtime::get().device(event->device).requireHealthy();
    return hipSuccess;
  });
}

hipError_t hipEventSynchronize(hipEvent_t handle) {
  return api("hipEventSynchronize", [&] {
    std::shared_ptr<Event> event = Runtime::get().events.get(handle, "event");
    if (std::shared_ptr<EventMark> mark = markOf(*event))
      mark->completion->wait(), reached(mark);
    if (event->shared) {
      Outside waiting;
      event->shared->wait(event->shared->last(), [] {});
    }
    Runtime::get().device(event->device).requireHealthy();
  });
}

hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop) {
  return api("hipEventElapsedTime", [&]() -> hipError_t {
    require(milliseconds, "no place for the result");
    std::shared_ptr<Event> first = Runtime::get().events.get(start, "event");
    std::shared_ptr<Event> second = Runtime::get().events.get(stop, "event");
    if ((first->flags | second->flags) & hipEventDisableTiming)
      fail(hipErrorInvalidHandle, "an event was made without timing");
    std::shared_ptr<EventMark> from = markOf(*first), to = markOf(*second);
    if (!from || !to)
      fail(hipErrorInvalidHandle, "an event was never recorded");
    if (!from->completion->done() || !to->completion->done())
      return hipErrorNotReady;
    reached(from);
    reached(to);
    *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    return hipSuccess;
  });
}

} // extern "C"
