// AMD's instructions that move values from lane to lane.
#pragma once

#include "builder/kernel/lane_moves.h"

#include <memory>

namespace flydsl::builder {

/// The cheapest instruction that the target has for each move.
///
/// AMD's waves consist of rows of 16 lanes. Within a row, values move by DPP, an operand of vector
/// instructions, on all targets. Between rows, CDNA has DPP controls too (row_bcast, wave_shr;
/// "DPP" in the CDNA3 ISA manual), and RDNA, whose waves have two rows, has v_permlanex16. Exchanges
/// by a mask are shuffles, for which the pass fly-lower-shuffles chooses the instruction. What none
/// of these does goes through ds_bpermute, LDS's crossbar.
std::unique_ptr<const LaneMoves> amdLaneMoves(const LaneGroup &group);

} // namespace flydsl::builder
