#include "emulator/matrix/passes.h"

namespace flyemu::matrix {

unsigned cyclesOf(const MatrixOp &op, const Processor &target) {
  if (op.core == MatrixCore::Rdna3)
    return bitsOf(op.a) == 4 ? 16 : 32;
  if (op.core == MatrixCore::Rdna4)
    return bitsOf(op.a) <= 8 ? 8 : 16;
  if (op.core == MatrixCore::Gfx1250) // LLVM 22, SISchedule.td: GFX1250SpeedModel
    return isInteger(op.a) || op.a == Elem::F32 ? 16 : 8;
  unsigned base = op.m >= 32 ? 32 : op.m >= 16 ? 16 : 8;
  if (op.a == Elem::F64)
    // MI355X halves the double rate of MI300X.
    return (op.m == 4 ? 16 : 32) * (target.family == flydsl::Family::cdna4 ? 2 : 1);
  if (op.m == 4)
    return base;
  if (target.family == flydsl::Family::cdna2)
    return base * 2;
  // The forms of several blocks and those on f32 run at the rate of CDNA2.
  if (op.blocks > 1 || op.a == Elem::F32)
    return base * 2;
  // f8f6f4 takes twice the time where an operand has 8 bits.
  if (op.anyFormat && (bitsOf(op.a) == 8 || bitsOf(op.b) == 8))
    return base * 2;
  return base;
}

} // namespace flyemu::matrix
