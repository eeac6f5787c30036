// gfx9's relative addressing of vector registers: between S_SET_GPR_IDX_ON and S_SET_GPR_IDX_OFF,
// the vector operands that M0[15:12] names are moved by M0[7:0] (Vega ISA manual, "VGPR Indexing").
#pragma once

#include "emulator/isa/inst.h"

#include <vector>

namespace flyemu {

/// Finds the bracketed stretches of a decoded program and gives their vector instructions handlers
/// that look at M0. If a stretch is not straight-line code, its S_SET_GPR_IDX_ON becomes a fault.
void bracketIndexing(std::vector<Inst> &insts);

} // namespace flyemu
