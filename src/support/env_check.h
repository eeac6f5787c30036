// Checks of this process's environment: it finds names that nothing reads and values that can't be
// parsed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flydsl::support {

/// The known name that `name` was probably meant to be: one in which at most a third of the letters
/// differ.
std::optional<std::string_view> closestEnvironmentName(std::string_view name);

/// A warning for each FLYDSL_ variable of this process that nothing reads: "FLYDSL_DUMP_IRR is not
/// read by anything; did you mean FLYDSL_DUMP_IR?".
std::vector<std::string> unknownEnvironment();

/// Throws flydsl::Error for the first known variable whose value can't be parsed.
void checkEnvironmentValues();

/// Checks the values and logs the unknown names, once per process, before anything is built or
/// launched. If it throws, the next call checks again.
void checkEnvironment();

} // namespace flydsl::support
