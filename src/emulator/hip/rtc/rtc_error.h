// hipRTC's results: raised inside as exceptions, turned into return values at the API's edge.
#pragma once

#include "emulator/hip/status.h"

#include <hip/hiprtc.h>

namespace flyemu::hip {

/// A hipRTC call that failed: the result that it returns, and a sentence for the log.
class RtcError : public std::runtime_error {
public:
  RtcError(hiprtcResult result, const std::string &message)
      : std::runtime_error(message), result_(result) {}
  hiprtcResult result() const { return result_; }

private:
  hiprtcResult result_;
};

/// "HIPRTC_ERROR_COMPILATION"; null for a number that is no result.
const char *rtcResultName(hiprtcResult result);

/// Logs a failed call and returns its result.
hiprtcResult reportRtcFailure(const char *function, hiprtcResult result, const char *message);

/// Runs the body of a function of hipRTC; whatever it throws becomes a result.
template <typename Body> hiprtcResult rtcApi(const char *function, Body &&body) noexcept {
  try {
    Inside inside;
    body();
    return HIPRTC_SUCCESS;
  } catch (const RtcError &error) {
    return reportRtcFailure(function, error.result(), error.what());
  } catch (const std::bad_alloc &) {
    return reportRtcFailure(function, HIPRTC_ERROR_OUT_OF_MEMORY, "the host is out of memory");
  } catch (const std::exception &error) {
    return reportRtcFailure(function, HIPRTC_ERROR_INTERNAL_ERROR, error.what());
  } catch (...) {
    return reportRtcFailure(function, HIPRTC_ERROR_INTERNAL_ERROR, "unknown exception");
  }
}

inline void rtcRequire(bool ok, const char *message) {
  if (!ok)
    throw RtcError(HIPRTC_ERROR_INVALID_INPUT, message);
}

} // namespace flyemu::hip
