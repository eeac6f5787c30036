// Stream capture: while a stream captures, what is submitted to it becomes nodes of a graph. Events
// carry a capture over to other streams and back.
#pragma once

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/stream/stream.h"

#include <thread>

namespace flyemu::hip {

/// A capture in progress, shared by the streams that take part.
struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  unsigned long long id = 0;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  std::thread::id thread;
  Stream *origin = nullptr;
  std::vector<StreamRef> forked; ///< other streams that joined
  bool invalidated = false;
};

/// A point in a capture: what a node recorded here depends on.
struct CaptureState {
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode *> tail;
};

void beginCapture(Stream &stream, hipStreamCaptureMode mode);
/// Ends the capture and gives its graph; throws the status that says why it has none.
std::shared_ptr<Graph> endCapture(Stream &stream);
hipStreamCaptureStatus captureStatus(const Stream &stream);
/// Copy of the stream's capture point; its capture is null when the stream does not capture.
CaptureState capturePoint(const Stream &stream);

/// Adds a node behind the stream's tail, when it captures; returns null when it does not.
GraphNode *captureOperation(Stream &stream, hipGraphNodeType type, Operation &operation);
/// Records an event in a capturing stream; false when the stream does not capture.
bool captureRecord(Stream &stream, Event &event);
/// Waits in \p stream for an event that was recorded in a capture: the stream joins that capture.
/// False when neither captures.
bool captureWait(const StreamRef &stream, Event &event);

/// Throws, and spoils the capture, when \p stream captures: for calls that would have to wait for
/// it.
void forbidInCapture(Stream &stream);
/// Throws, and spoils the captures, when a stream that the default stream of \p device would wait
/// for captures.
void forbidImplicitCapture(Device &device);

} // namespace flyemu::hip
