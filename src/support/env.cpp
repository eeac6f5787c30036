#include "support/env.h"

#include <flydsl/error.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace flydsl::support {

std::optional<std::string> env(const char *name) {
  const char *value = std::getenv(name);
  if (!value || !*value)
    return std::nullopt;
  return std::string(value);
}

bool envFlag(const char *name, bool otherwise) {
  std::optional<std::string> value = env(name);
  if (!value)
    return otherwise;
  std::string lower = *value;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  for (const char *yes : {"1", "true", "yes", "on"})
    if (lower == yes)
      return true;
  for (const char *no : {"0", "false", "no", "off"})
    if (lower == no)
      return false;
  throw Error(std::string(name) + "=" + *value + ": expected 1 or 0 (or true/false, yes/no, on/off)");
}

} // namespace flydsl::support
