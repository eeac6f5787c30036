#include "emulator/matrix/passes.h"

#include <algorithm>

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

bool isHalfRate8(const MatrixOp &op, const Processor &target) {
  const bool isOf8 = bitsOf(op.a) == 8 || bitsOf(op.b) == 8;
  const unsigned fastest = 1024; // multiply-adds a cycle of v_mfma_i32_16x16x64_i8
  return target.family == flydsl::Family::cdna4 && isOf8 && op.blocks == 1 &&
         op.m * op.n * op.k < fastest * cyclesOf(op, target);
}

CoExecution coExecutionOf(const MatrixOp &op, unsigned regsA, unsigned regsB,
                          const Processor &target) {
  constexpr unsigned kSlot = 4; // cycles from one instruction of a wave to its next
  const unsigned cycles = cyclesOf(op, target), whole = cycles + 2 * kSlot;
  const bool isSingle = op.a == Elem::F32 && target.family != flydsl::Family::cdna2;
  const bool isDouble = op.a == Elem::F64;
  // So many instructions stand between, and the one that reads comes after them.
  const bool isLater = target.family == flydsl::Family::cdna4 && !isDouble && cycles > 2 * kSlot;
  const unsigned between = isSingle || (isDouble && op.m == 4) ? 2 : isLater ? 4 : 3;
  CoExecution after;
  after.sums = kSlot * (between + 1);
  const bool alone = isSingle || isDouble;
  after.operands = kSlot * (1 + std::max(regsA, regsB) / 4);
  after.vector = alone ? whole : after.operands;
  after.packed = whole + (!alone && regsA >= 4 ? kSlot : 0);
  return after;
}

} // namespace flyemu::matrix
