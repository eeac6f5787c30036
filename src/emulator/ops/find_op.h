// The operation of a base mnemonic.
#pragma once

#include "emulator/isa/op.h"

namespace flyemu {

/// Finds the definition of a base mnemonic in the tables of the level that this machine runs; null
/// if there is none.
const OpDef *findOp(std::string_view mnemonic);

} // namespace flyemu
