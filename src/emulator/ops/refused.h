// Operations that a target's waves refuse, though others have them.
#pragma once

#include "emulator/isa/machine.h"

#include <string_view>

namespace flyemu {

/// Why the target does not execute an operation that the tables have; null if it does. Such an
/// instruction counts as missing, and a wave that reaches it stops with the reason.
const char *refusalOf(std::string_view mnemonic, const Machine &machine);

} // namespace flyemu
