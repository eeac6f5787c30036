// MFMA of CDNA, wave64. For one-block instructions (AMD matrix instruction calculator):
//   A (M x K) and B (N x K): lane l holds row l % M, and of K the run of K / (64 / M) from (l / M)
//   * that on. C and D (M x N): lane l holds column l % N; its value v is row 8-or-more apart in
//   groups of four:
//     (v / 4) * 4 * (64 / N) + (l / N) * 4 + v % 4.
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"
#include "dialect/FlyROCDL/IR/TypeUtils.h"

namespace layout = flydsl::layout;
using layout::IntTuple;
using layout::Layout;
using layout::tup;

namespace mlir::fly_rocdl {

static constexpr int64_t kWave = 64;

static Layout operandLayout(int64_t rows, int64_t k) {
  int64_t groups = kWave / rows;
  int64_t perThread = k / groups;
  return Layout(tup(tup(rows, groups), perThread), tup(tup(1, rows * perThread), rows));
}

/// Of the scaled form, 32 values a lane. Fewer than eight bits: one run, as above. Eight bits: two
/// runs of 16 bytes, the second after the first of all lanes. Sources: Composable Kernel's
/// test/mx_mfma_op and FlyDSL's kernels/gemm/mxfp4_preshuffle.py; the blocks of 32 that share a
/// scale are neighbours in K.
static Layout scaledOperandLayout(int64_t rows, int64_t k, Type elemTy) {
  constexpr int64_t kRun = 16;
  if (elemTy.getIntOrFloatBitWidth() < 8)
    return operandLayout(rows, k);
  int64_t groups = kWave / rows;
  return Layout(tup(tup(rows, groups), tup(kRun, k / groups / kRun)),
                tup(tup(1, rows * kRun), tup(rows, rows * kRun * groups)));
}

static Layout resultLayout(int64_t m, int64_t n) {
  int64_t groups = kWave / n;
  return Layout(tup(tup(n, groups), tup(4, m / 4 / groups)), tup(tup(m, 4), tup(1, 4 * groups)));
}

/// 16x16 doubles, two registers each: rows of a lane are four apart, v * 4 + l / 16.
static Layout doubleResultLayout() { return Layout(tup(tup(16, 4), 4), tup(tup(16, 1), 4)); }

//===----------------------------------------------------------------------===//
// Dense
//===----------------------------------------------------------------------===//

LogicalResult MmaOpCDNA3_MFMAType::verify(EmitError emitError, int32_t m, int32_t n, int32_t k,
                                          Type a, Type b, Type acc) {
  if (!findMatrixInstruction(MatrixFamily::MFMA, m, n, k, a, b, acc))
    return emitError() << "there is no MFMA " << m << "x" << n << "x" << k << " of " << a << " and "
                       << b << " that sums in " << acc << "; there are "
                       << offeredInstructions(MatrixFamily::MFMA);
  return success();
}
Layout MmaOpCDNA3_MFMAType::getThrLayout() const { return Layout(kWave, 1); }
IntTuple MmaOpCDNA3_MFMAType::getShapeMNK() const { return tup(getM(), getN(), getK()); }
Type MmaOpCDNA3_MFMAType::getValTypeA() const { return getElemTyA(); }
Type MmaOpCDNA3_MFMAType::getValTypeB() const { return getElemTyB(); }
Type MmaOpCDNA3_MFMAType::getValTypeC() const { return getElemTyAcc(); }
Type MmaOpCDNA3_MFMAType::getValTypeD() const { return getElemTyAcc(); }
Layout MmaOpCDNA3_MFMAType::getThrValLayoutA() const { return operandLayout(getM(), getK()); }
Layout MmaOpCDNA3_MFMAType::getThrValLayoutB() const { return operandLayout(getN(), getK()); }
Layout MmaOpCDNA3_MFMAType::getThrValLayoutC() const {
  return getElemTyAcc().isF64() ? doubleResultLayout() : resultLayout(getM(), getN());
}

//===----------------------------------------------------------------------===//
// Scaled. State: the scale words of A and B. Lane l holds the scale of row l % M and of block l / M
// of 32 in K (Composable Kernel's test/mx_mfma_op/scale_mapping_*.txt, found on hardware); opsel
// picks the byte of its word.
//===----------------------------------------------------------------------===//

LogicalResult MmaOpCDNA4_MFMAScaleType::verify(EmitError emitError, int32_t m, int32_t n, int32_t k,
                                               Type a, Type b, Type acc, int32_t opselA,
                                               int32_t opselB) {
  bool shape = m == n && ((m == 16 && k == 128) || (m == 32 && k == 64));
  if (!shape || !isMXFloat(a) || !isMXFloat(b) || !acc.isF32())
    return emitError() << "there is no scaled MFMA " << m << "x" << n << "x" << k << " of " << a
                       << " and " << b << " that sums in " << acc
                       << "; it is 16x16x128 or 32x32x64 of f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN "
                          "or f4E2M1FN and sums in f32";
  if (opselA < 0 || opselA > 3 || opselB < 0 || opselB > 3)
    return emitError() << "opsel picks one of the bytes 0 to 3, not " << opselA << " and "
                       << opselB;
  return success();
}
Layout MmaOpCDNA4_MFMAScaleType::getThrLayout() const { return Layout(kWave, 1); }
IntTuple MmaOpCDNA4_MFMAScaleType::getShapeMNK() const { return tup(getM(), getN(), getK()); }
Type MmaOpCDNA4_MFMAScaleType::getValTypeA() const { return getElemTyA(); }
Type MmaOpCDNA4_MFMAScaleType::getValTypeB() const { return getElemTyB(); }
Type MmaOpCDNA4_MFMAScaleType::getValTypeC() const { return getElemTyAcc(); }
Type MmaOpCDNA4_MFMAScaleType::getValTypeD() const { return getElemTyAcc(); }
Layout MmaOpCDNA4_MFMAScaleType::getThrValLayoutA() const {
  return scaledOperandLayout(getM(), getK(), getElemTyA());
}
Layout MmaOpCDNA4_MFMAScaleType::getThrValLayoutB() const {
  return scaledOperandLayout(getN(), getK(), getElemTyB());
}
Layout MmaOpCDNA4_MFMAScaleType::getThrValLayoutC() const { return resultLayout(getM(), getN()); }
std::optional<unsigned> MmaOpCDNA4_MFMAScaleType::getStateFieldIndex(StringRef name) const {
  return fieldIndex(name, {"scale_a", "scale_b"});
}
SmallVector<Type> MmaOpCDNA4_MFMAScaleType::getStateFieldTypes() const {
  return integerFields(getContext(), 2);
}
SmallVector<int64_t> MmaOpCDNA4_MFMAScaleType::getStateFieldDefaults() const { return {0, 0}; }

} // namespace mlir::fly_rocdl
