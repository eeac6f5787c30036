// Matrix instructions: the bridge from decoded instructions to emulator/matrix.
#pragma once

#include "emulator/isa/machine.h"
#include "emulator/isa/op.h"

#include <string>

namespace flyemu {

/// The definition of a matrix instruction of the target; null if the mnemonic is none. The
/// definition lives as long as the process.
const OpDef *findMatrixOp(const std::string &mnemonic, const Machine &target);

/// Makes a decoded matrix instruction ready: its plan, and the handler that runs it. Returns null,
/// or why it cannot be run.
const char *prepareMatrix(const Machine &target, const uint32_t *words, Inst &inst);

} // namespace flyemu
