// Operations that a target's waves refuse, though others have them.
#pragma once

#include "emulator/isa/machine.h"

#include <string_view>

namespace flyemu {

/// Why the target does not execute an operation, whether the tables have it or not; null if it does, or if
/// no reason is known. Such an instruction counts as missing, and a wave that reaches one of the
/// tables' stops with the reason.
const char *refusalOf(std::string_view mnemonic, const Machine &machine);

} // namespace flyemu
