// The way of every operation into a stream: captured, or queued behind what it must wait for.
#pragma once

#include "emulator/hip/device/device.h"
#include "emulator/hip/graph/capture.h"
#include "emulator/hip/order/stream_order.h"

namespace flyemu::hip {

/// Throws where a stream that does not capture takes no operation now.
inline void expectReady(const StreamRef &stream) {
  Device &device = stream->device();
  device.requireHealthy();
  if (stream.get() == &device.defaultStream())
    forbidImplicitCapture(device);
}

/// Queues an operation in a stream that is ready.
inline CompletionRef enqueue(const StreamRef &stream, Operation operation, hipGraphNodeType type) {
  Device &device = stream->device();
  SubmissionRef order;
  if (StreamOrder *all = Runtime::get().order())
    order = all->submit(*stream, device.implicitStreams(*stream));
  CompletionRef completion =
      stream->enqueue(std::move(operation), device.implicitDependencies(*stream), std::move(order));
  // This wait is not the program's, so the check of streams does not count it.
  if (type == hipGraphNodeTypeKernel && device.configuration().launchBlocking)
    completion->wait();
  return completion;
}

/// Submits an operation; \p type is what its node is called when the stream captures. Returns null
/// when it was captured. With HIP_LAUNCH_BLOCKING it returns when a kernel has ended; a kernel's fault
/// is told by the next call all the same.
inline CompletionRef submit(const StreamRef &stream, Operation operation, hipGraphNodeType type) {
  if (captureOperation(*stream, type, operation))
    return nullptr;
  expectReady(stream);
  return enqueue(stream, std::move(operation), type);
}

/// The host waits for an operation's end.
inline void waitOnHost(const CompletionRef &completion) {
  completion->wait();
  if (completion->order)
    Runtime::get().order()->hostReached(completion->order);
}

/// Submits to a stream and waits for the end; not allowed while it captures.
inline void submitAndWait(const StreamRef &stream, Operation operation) {
  forbidInCapture(*stream);
  CompletionRef completion = submit(stream, std::move(operation), hipGraphNodeTypeEmpty);
  waitOnHost(completion);
  stream->device().requireHealthy();
}

} // namespace flyemu::hip
