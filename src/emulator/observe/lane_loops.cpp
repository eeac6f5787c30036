#include "emulator/observe/lane_loops.h"

#include "emulator/matrix/simd_level.h"

namespace flyemu {

extern const LaneLoops kLaneLoopsPlain, kLaneLoopsAvx2, kLaneLoopsAvx512;

const LaneLoops &laneLoops() {
  static const LaneLoops &chosen = simdLevel() == SimdLevel::Avx512 ? kLaneLoopsAvx512
                                   : simdLevel() == SimdLevel::Avx2 ? kLaneLoopsAvx2
                                                                    : kLaneLoopsPlain;
  return chosen;
}

} // namespace flyemu
