// What a user turns off by a variable of the environment.
#pragma once

#include <ggml-impl.h>

#include <cstdlib>
#include <string_view>

namespace flydsl_ggml {

/// Whether a variable is not 0. Any other text than 0 and 1 counts as 1, with a warning.
inline bool isOn(const char *variable) {
  const char *value = std::getenv(variable);
  const std::string_view text = value ? value : "1";
  if (text != "0" && text != "1")
    GGML_LOG_WARN("flydsl: %s is \"%s\"; expected 0 or 1, and it counts as 1\n", variable, value);
  return text != "0";
}

/// GGML_FLYDSL_Q8_1=0: inputs of products are not rounded to 8 bits, as for looking at what that costs.
inline bool roundsInputs() {
  static const bool yes = isOn("GGML_FLYDSL_Q8_1");
  return yes;
}

} // namespace flydsl_ggml
