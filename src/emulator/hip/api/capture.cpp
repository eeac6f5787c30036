// Stream capture.
#include "emulator/hip/stream/submit.h"

using namespace flyemu::hip;

namespace {
thread_local hipStreamCaptureMode threadCaptureMode = hipStreamCaptureModeGlobal;

void requireMode(hipStreamCaptureMode mode) {
  require(mode == hipStreamCaptureModeGlobal || mode == hipStreamCaptureModeThreadLocal ||
              mode == hipStreamCaptureModeRelaxed,
          "unknown capture mode");
}
} // namespace

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t handle, hipStreamCaptureMode mode) {
  return api("hipStreamBeginCapture", [&] {
    requireMode(mode);
    beginCapture(*Runtime::get().stream(handle), mode);
  });
}

hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t *graph) {
  return api("hipStreamEndCapture", [&] {
    require(graph, "no place for the result");
    *graph = nullptr;
    std::shared_ptr<Graph> made = endCapture(*Runtime::get().stream(handle));
    *graph = static_cast<hipGraph_t>(Runtime::get().graphs.add(std::move(made)));
  });
}

hipError_t hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus *status) {
  return api("hipStreamIsCapturing", [&] {
    require(status, "no place for the result");
    *status = captureStatus(*Runtime::get().stream(handle));
  });
}

hipError_t hipStreamGetCaptureInfo(hipStream_t handle, hipStreamCaptureStatus *status,
                                   unsigned long long *id) {
  return api("hipStreamGetCaptureInfo", [&] {
    require(status, "no place for the result");
    StreamRef stream = Runtime::get().stream(handle);
    *status = captureStatus(*stream);
    if (id && *status == hipStreamCaptureStatusActive)
      *id = capturePoint(*stream).capture->id;
  });
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode) {
  return api("hipThreadExchangeStreamCaptureMode", [&] {
    require(mode, "no place for the result");
    requireMode(*mode);
    std::swap(threadCaptureMode, *mode);
  });
}

} // extern "C"
