// The operation tables, one for each file. The scalar and memory files exist once; the lane files
// once for each level of the host (suffix _base, _avx2, _avx512).
#pragma once

#include "emulator/isa/op.h"

namespace flyemu {

OpTable tableSalu();
OpTable tableControl();
OpTable tableSmem();
OpTable tableGlobal();
OpTable tableBuffer();
OpTable tableBufferTyped();
OpTable tableTransposed();
OpTable tableAsync();
OpTable tableTensor();
OpTable tableDs();
OpTable tableCrossLane();
OpTable tableGprIndex();
OpTable tableScaledConvert();
OpTable tableSaluFloat();

#define FLYEMU_LANE_TABLES(X, level)                                                               \
  X(ValuInt, level)                                                                                \
  X(ValuFloat, level)                                                                              \
  X(ValuMath, level)                                                                               \
  X(ValuConvert, level)                                                                            \
  X(ValuCompare, level)                                                                            \
  X(ValuHalf, level)                                                                               \
  X(ValuPacked, level)                                                                             \
  X(ValuDot, level)                                                                                \
  X(ValuBfloat, level)                                                                             \
  X(ValuInt64, level)

#define FLYEMU_DECLARE_TABLE(name, level) OpTable table##name##_##level();
FLYEMU_LANE_TABLES(FLYEMU_DECLARE_TABLE, base)
FLYEMU_LANE_TABLES(FLYEMU_DECLARE_TABLE, avx2)
FLYEMU_LANE_TABLES(FLYEMU_DECLARE_TABLE, avx512)
#undef FLYEMU_DECLARE_TABLE

} // namespace flyemu
