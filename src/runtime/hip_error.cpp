#include "runtime/hip_error.h"

namespace flydsl::runtime {

void throwHipError(hipError_t code, std::string_view doing, const SourceLocation &where) {
  const HipFunctions &functions = hip();
  const char *name = functions.hipGetErrorName(code);
  const char *text = functions.hipGetErrorString(code);
  std::string message(doing);
  message += ": ";
  message += name ? name : "HIP error";
  message += " (" + std::to_string(static_cast<int>(code)) + ")";
  if (text && *text)
    message += std::string(": ") + text;
  const auto details = functions.flydslEmulatorErrorText;
  if (const char *more = details ? details() : nullptr; more && *more)
    message += std::string(": ") + more;
  throw RuntimeError(message, static_cast<int>(code), where);
}

} // namespace flydsl::runtime
