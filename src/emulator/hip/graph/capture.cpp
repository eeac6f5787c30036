#include "emulator/hip/graph/capture.h"

#include "emulator/hip/device/device.h"

#include <algorithm>
#include <mutex>

namespace flyemu::hip {
namespace {

// Guards every stream's and event's capture state: captures are rare and short.
std::mutex captureMutex;
std::atomic<unsigned> activeCaptures{0};
unsigned long long captureCount = 0;

void leave(Stream &stream) {
  stream.captureState.reset();
  stream.capturing.store(false);
}

} // namespace

void beginCapture(Stream &stream, hipStreamCaptureMode mode) {
  std::lock_guard lock(captureMutex);
  if (&stream == &stream.device().defaultStream())
    fail(hipErrorStreamCaptureUnsupported, "the default stream cannot capture");
  if (stream.capturing)
    fail(hipErrorIllegalState, "the stream captures already");
  auto capture = std::make_shared<Capture>();
  capture->id = ++captureCount;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  stream.captureState = std::make_shared<CaptureState>(CaptureState{capture, {}});
  stream.capturing.store(true);
  ++activeCaptures;
}

std::shared_ptr<Graph> endCapture(Stream &stream) {
  std::lock_guard lock(captureMutex);
  if (!stream.capturing)
    fail(hipErrorIllegalState, "the stream does not capture");
  std::shared_ptr<Capture> capture = stream.captureState->capture;
  if (capture->origin != &stream)
    fail(hipErrorStreamCaptureUnmatched, "the capture began in another stream");
  if (capture->mode != hipStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    fail(hipErrorStreamCaptureWrongThread, "the capture was begun by another thread");
  // Each forked stream must have been waited for: its tail must lie before the origin's.
  std::vector<GraphNode *> reached = stream.captureState->tail;
  for (size_t i = 0; i < reached.size(); ++i)
    for (GraphNode *dependency : reached[i]->dependencies)
      if (std::find(reached.begin(), reached.end(), dependency) == reached.end())
        reached.push_back(dependency);
  bool joined = true;
  for (const StreamRef &forked : capture->forked) {
    if (!forked->captureState || forked->captureState->capture != capture)
      continue;
    for (GraphNode *node : forked->captureState->tail)
      joined &= std::find(reached.begin(), reached.end(), node) != reached.end();
    leave(*forked);
  }
  leave(stream);
  --activeCaptures;
  if (capture->invalidated)
    fail(hipErrorStreamCaptureInvalidated, "an earlier call spoiled the capture");
  if (!joined)
    fail(hipErrorStreamCaptureUnjoined, "a forked stream was not joined before the capture's end");
  return capture->graph;
}

hipStreamCaptureStatus captureStatus(const Stream &stream) {
  std::lock_guard lock(captureMutex);
  if (!stream.capturing)
    return hipStreamCaptureStatusNone;
  return stream.captureState->capture->invalidated ? hipStreamCaptureStatusInvalidated
                                                   : hipStreamCaptureStatusActive;
}

CaptureState capturePoint(const Stream &stream) {
  std::lock_guard lock(captureMutex);
  return stream.captureState ? *stream.captureState : CaptureState();
}

GraphNode *captureOperation(Stream &stream, hipGraphNodeType type, Operation &operation) {
  if (!stream.capturing)
    return nullptr;
  std::lock_guard lock(captureMutex);
  CaptureState &state = *stream.captureState;
  if (state.capture->invalidated)
    fail(hipErrorStreamCaptureInvalidated, "an earlier call spoiled the capture");
  GraphNode *node = state.capture->graph->add(type, std::move(operation), state.tail);
  state.tail = {node};
  return node;
}

bool captureRecord(Stream &stream, Event &event) {
  if (!stream.capturing)
    return false;
  std::lock_guard lock(captureMutex);
  std::lock_guard eventLock(event.mutex);
  event.captured = std::make_shared<CaptureState>(*stream.captureState);
  event.mark.reset();
  return true;
}

bool captureWait(const StreamRef &stream, Event &event) {
  if (!activeCaptures)
    return false;
  std::lock_guard lock(captureMutex);
  std::shared_ptr<CaptureState> point;
  {
    std::lock_guard eventLock(event.mutex);
    point = event.captured;
  }
  if (!point && !stream->capturing)
    return false;
  if (!point) {
    stream->captureState->capture->invalidated = true;
    fail(hipErrorStreamCaptureIsolation, "a captured stream cannot wait for an event outside");
  }
  std::shared_ptr<Capture> &capture = point->capture;
  if (!capture->origin->capturing || capture->origin->captureState->capture != capture)
    fail(hipErrorCapturedEvent, "the event was recorded in a capture that has ended");
  if (stream->capturing && stream->captureState->capture != capture)
    fail(hipErrorStreamCaptureMerge, "the event belongs to another capture");
  if (!stream->capturing) {
    if (stream.get() == &stream->device().defaultStream()) {
      capture->invalidated = true;
      fail(hipErrorStreamCaptureImplicit, "the default stream cannot join a capture");
    }
    stream->captureState = std::make_shared<CaptureState>(CaptureState{capture, {}});
    stream->capturing.store(true);
    capture->forked.push_back(stream);
  }
  std::vector<GraphNode *> &tail = stream->captureState->tail;
  for (GraphNode *node : point->tail)
    if (std::find(tail.begin(), tail.end(), node) == tail.end())
      tail.push_back(node);
  return true;
}

void forbidInCapture(Stream &stream) {
  if (!stream.capturing)
    return;
  std::lock_guard lock(captureMutex);
  stream.captureState->capture->invalidated = true;
  fail(hipErrorStreamCaptureUnsupported, "the call would wait for a stream that captures");
}

void forbidImplicitCapture(Device &device) {
  if (!activeCaptures)
    return;
  bool found = false;
  for (const StreamRef &stream : device.streams()) {
    std::lock_guard lock(captureMutex);
    if (!stream->capturing || !stream->isBlocking() ||
        stream->captureState->capture->mode == hipStreamCaptureModeRelaxed)
      continue;
    stream->captureState->capture->invalidated = true;
    found = true;
  }
  if (found)
    fail(hipErrorStreamCaptureImplicit, "the default stream would wait for a stream that captures");
}

} // namespace flyemu::hip
