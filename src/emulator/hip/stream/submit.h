// The way of every operation into a stream: captured, or queued behind what it must wait for.
#pragma once

#include "emulator/hip/device/device.h"
#include "emulator/hip/graph/capture.h"

namespace flyemu::hip {

/// Submits an operation; \p type is what its node is called when the stream captures. Returns null
/// when it was captured. With HIP_LAUNCH_BLOCKING it returns when a kernel has ended; a kernel's fault
/// is told by the next call all the same.
inline CompletionRef submit(const StreamRef &stream, Operation operation, hipGraphNodeType type) {
  if (captureOperation(*stream, type, operation))
    return nullptr;
  Device &device = stream->device();
  device.requireHealthy();
  if (stream.get() == &device.defaultStream())
    forbidImplicitCapture(device);
  CompletionRef completion =
      stream->enqueue(std::move(operation), device.implicitDependencies(*stream));
  if (type == hipGraphNodeTypeKernel && device.configuration().launchBlocking)
    completion->wait();
  return completion;
}

/// Submits to a stream and waits for the end; not allowed while it captures.
inline void submitAndWait(const StreamRef &stream, Operation operation) {
  forbidInCapture(*stream);
  CompletionRef completion = submit(stream, std::move(operation), hipGraphNodeTypeEmpty);
  completion->wait();
  stream->device().requireHealthy();
}

} // namespace flyemu::hip
