// DPP and SDWA: handlers that rearrange the first operands, run the base operation, and merge its
// result.
#pragma once

#include "emulator/isa/inst.h"

namespace flyemu {

/// The handler of an instruction with a DPP control word (or DPP8 selectors): src[0] is permuted
/// into a temporary row, lanes without a source are switched off, and inst.base runs.
void runDpp(Wave &w, const Inst &inst);

/// The handler of an instruction with an SDWA word.
void runSdwa(Wave &w, const Inst &inst);

/// A dual instruction (VOPD): this entry and the next one are its halves.
void runDual(Wave &w, const Inst &inst);

} // namespace flyemu
