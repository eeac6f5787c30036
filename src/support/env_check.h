// What is wrong with this process's environment: names that nothing reads, values that can't be read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flydsl::support {

/// The known name that `name` was probably meant to be: at most a third of its letters differ.
std::optional<std::string_view> closestEnvironmentName(std::string_view name);

/// The FLYDSL_ variables of this process that nothing reads, as warnings: "FLYDSL_DUMP_IRR is not
/// read by anything; did you mean FLYDSL_DUMP_IR?".
std::vector<std::string> unknownEnvironment();

/// Throws flydsl::Error for the first known variable whose value can't be read.
void checkEnvironmentValues();

/// Once per process, before anything is built or launched: checks the values, and logs the unknown
/// names. Where it throws, the next call looks again.
void checkEnvironment();

} // namespace flydsl::support
