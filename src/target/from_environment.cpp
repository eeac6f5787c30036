#include "target/from_environment.h"

#include "support/env_variables.h"
#include "target/processors.h"

#include <flydsl/error.h>

#include <charconv>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// Turns "9.4.2" into "gfx942"; returns any other text as it is.
static std::string fromVersion(const std::string &text) {
  unsigned part[3] = {};
  const char *at = text.data(), *end = at + text.size();
  for (int i = 0; i < 3; ++i) {
    auto [next, error] = std::from_chars(at, end, part[i]);
    bool closed = i == 2 ? next == end : next != end && *next == '.';
    if (error != std::errc() || !closed || (i > 0 && part[i] > 15))
      return text;
    at = next + 1;
  }
  const char *digits = "0123456789abcdef";
  return "gfx" + std::to_string(part[0]) + digits[part[1]] + digits[part[2]];
}

std::optional<Target> targetFromEnvironment() {
  namespace env = flydsl::support::env;
  for (const auto *variable : {&env::kArch, &env::kGpuArch, &env::kHsaOverride}) {
    const std::optional<std::string> value = variable->get();
    if (!value)
      continue;
    try {
      return Target::parse(fromVersion(*value));
    } catch (const CompileError &error) {
      throw CompileError(std::string(variable->name()) + "=" + *value + ": " + error.what());
    }
  }
  return std::nullopt;
}

Target resolveTarget(const std::optional<std::string> &deviceArch) {
  if (std::optional<Target> asked = targetFromEnvironment())
    return *asked;
  if (deviceArch && !deviceArch->empty())
    return Target::parse(*deviceArch);
  throw CompileError("no target: no device reports one and none is given; set ARCH to one of: " +
                     processorNames());
}

} // namespace detail
FLYDSL_NAMESPACE_END
