#include "emulator/observe/lane_loops.h"

#include "emulator/matrix/simd_level.h"

namespace flyemu {

extern const LaneLoops laneLoops_plain, laneLoops_avx2, laneLoops_avx512;

const LaneLoops &laneLoops() {
  static const LaneLoops &chosen = simdLevel() == SimdLevel::Avx512 ? laneLoops_avx512
                                   : simdLevel() == SimdLevel::Avx2 ? laneLoops_avx2
                                                                    : laneLoops_plain;
  return chosen;
}

} // namespace flyemu
