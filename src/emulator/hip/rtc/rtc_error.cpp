#include "emulator/hip/rtc/rtc_error.h"

namespace flyemu::hip {

const char *rtcResultName(hiprtcResult result) {
  static constexpr struct {
    hiprtcResult result;
    const char *name;
  } names[] = {
#define FLYEMU_RESULT(name) {name, #name}
      FLYEMU_RESULT(HIPRTC_SUCCESS),
      FLYEMU_RESULT(HIPRTC_ERROR_OUT_OF_MEMORY),
      FLYEMU_RESULT(HIPRTC_ERROR_PROGRAM_CREATION_FAILURE),
      FLYEMU_RESULT(HIPRTC_ERROR_INVALID_INPUT),
      FLYEMU_RESULT(HIPRTC_ERROR_INVALID_PROGRAM),
      FLYEMU_RESULT(HIPRTC_ERROR_INVALID_OPTION),
      FLYEMU_RESULT(HIPRTC_ERROR_COMPILATION),
      FLYEMU_RESULT(HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE),
      FLYEMU_RESULT(HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION),
      FLYEMU_RESULT(HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION),
      FLYEMU_RESULT(HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID),
      FLYEMU_RESULT(HIPRTC_ERROR_INTERNAL_ERROR),
#undef FLYEMU_RESULT
  };
  for (const auto &row : names)
    if (row.result == result)
      return row.name;
  return nullptr;
}

hiprtcResult reportRtcFailure(const char *function, hiprtcResult result, const char *message) {
  log(ReportLevel::Error, std::string(function) + ": " + message);
  return result;
}

} // namespace flyemu::hip
