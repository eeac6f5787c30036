// gfx9's relative addressing of vector registers: between S_SET_GPR_IDX_ON and S_SET_GPR_IDX_OFF,
// the vector operands that M0[15:12] names are moved by M0[7:0] (Vega ISA manual, "VGPR Indexing").
#pragma once

#include "emulator/isa/inst.h"

#include <vector>

namespace flyemu {

/// Finds the bracketed stretches of a decoded program and makes their vector instructions look at
/// M0. A stretch that is not straight-line code makes its S_SET_GPR_IDX_ON a fault when it is
/// reached.
void bracketIndexing(std::vector<Inst> &insts);

} // namespace flyemu
