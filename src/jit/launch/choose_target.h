// The target of a compile without a launch, which has no device to take it from.
#pragma once

#include <flydsl/target.h>

#include <source_location>
#include <string>

namespace flydsl::jit {

/// `arch` where it is given; else the environment's target, else the current device's. Throws
/// CompileError.
Target chooseTarget(const std::string &arch, const std::source_location &where);

} // namespace flydsl::jit
