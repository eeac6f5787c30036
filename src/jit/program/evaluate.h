// What a host function does for given values: its IR is folded until nothing but launches is left.
#pragma once

#include "jit/program/plan.h"

#include <span>

namespace flydsl::jit {

/// The launches of `function` for these arguments (what `bind` writes). Only
/// the slots that decide are looked at, so the plan serves all calls that agree in those. Throws
/// CompileError, with the operation and its line, for code that does not fold to launches.
Plan evaluate(const ProgramModule &program, const HostFunction &function,
              std::span<const std::byte> arguments, unsigned timeoutSeconds);

} // namespace flydsl::jit
