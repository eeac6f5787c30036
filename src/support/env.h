// Environment variables, read in one place. Names are FlyDSL's own.
#pragma once

#include <optional>
#include <string>

namespace flydsl::support {

/// The variable's value; empty and unset are the same thing: nullopt.
std::optional<std::string> env(const char *name);

/// True for 1, true, yes, on; false for 0, false, no, off (any case); `otherwise` when unset.
/// Throws flydsl::Error, naming variable and value, for anything else.
bool envFlag(const char *name, bool otherwise);

} // namespace flydsl::support
