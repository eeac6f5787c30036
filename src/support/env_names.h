// Every environment variable that the library and its emulator read, with what it means: the one
// list that the documentation, the tools and the check for misspelled names go by.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flydsl::support {

struct EnvName {
  std::string_view name;
  std::string_view meaning;
};

/// In the order of the documentation.
std::span<const EnvName> knownEnvironment();

/// The known name that `name` was probably meant to be: at most a third of its letters differ.
std::optional<std::string_view> closestEnvironmentName(std::string_view name);

/// The FLYDSL_ variables of this process that nothing reads, as warnings: "FLYDSL_DUMP_IRR is not
/// read by anything; did you mean FLYDSL_DUMP_IR?".
std::vector<std::string> unknownEnvironment();

/// Logs those warnings, once per process.
void warnOfUnknownEnvironment();

} // namespace flydsl::support
