// gfx1250: scaled WMMA and the tensor data mover.
#include "dialect/FlyROCDL/IR/TypeUtils.h"
#include "dialect/FlyROCDL/IR/WMMATypes.h"

#include "layout/error.h"

#include <limits>

namespace layout = flydsl::layout;
using layout::IntTuple;
using layout::Layout;
using layout::tup;

namespace mlir::fly_rocdl {

//===----------------------------------------------------------------------===//
// Scaled WMMA. State: the scale words of A and B, 64 bits for blocks of 16. A lane of the half that
// opsel picks holds all scales of row l % 16: byte n is that of block n in K.
//===----------------------------------------------------------------------===//

LogicalResult MmaOpGFX1250_WMMAScaleType::verify(EmitError emitError, int32_t m, int32_t n,
                                                 int32_t k, Type a, Type b, Type acc,
                                                 int32_t opselA, int32_t opselB, int32_t modC, bool,
                                                 bool, int32_t blockSize) {
  if ((m != 16 && m != 32) || n != 16 || k != 128)
    return emitError() << "unsupported MNK for GFX1250 WMMA_Scale: " << m << "x" << n << "x" << k
                       << " (expected 16x16x128 or 32x16x128)";
  if (m == 32 && !(isa<Float4E2M1FNType>(a) && isa<Float4E2M1FNType>(b)))
    return emitError() << "GFX1250 WMMA_Scale 32x16x128 requires f4E2M1FN A and B, got " << a
                       << " and " << b;
  if (!isMXFloat(a) || !isMXFloat(b) || !acc.isF32())
    return emitError() << "GFX1250 WMMA_Scale multiplies f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN or "
                          "f4E2M1FN and sums in f32, got "
                       << a << ", " << b << " and " << acc;
  if (blockSize != 16 && blockSize != 32)
    return emitError() << "blockSize must be 16 or 32, got " << blockSize;
  if (opselA < 0 || opselA > 1 || opselB < 0 || opselB > 1)
    return emitError() << "opsel picks half 0 or 1 of the wave, not " << opselA << " and "
                       << opselB;
  if (modC < 0 || modC > std::numeric_limits<uint16_t>::max())
    return emitError() << "modC has 16 bits, " << modC << " does not fit";
  return success();
}

Layout MmaOpGFX1250_WMMAScaleType::getThrLayout() const { return Layout(32, 1); }
IntTuple MmaOpGFX1250_WMMAScaleType::getShapeMNK() const { return tup(getM(), getN(), getK()); }
Type MmaOpGFX1250_WMMAScaleType::getValTypeA() const { return getElemTyA(); }
Type MmaOpGFX1250_WMMAScaleType::getValTypeB() const { return getElemTyB(); }
Type MmaOpGFX1250_WMMAScaleType::getValTypeC() const { return getElemTyAcc(); }
Type MmaOpGFX1250_WMMAScaleType::getValTypeD() const { return getElemTyAcc(); }

// Of the 32-row form only the sizes of the registers are published, not who holds what.
[[noreturn]] static void unknownTallLayout() {
  layout::fail("the thread-value layout of the 32x16x128 scaled WMMA is not known; arrange its "
               "fragments by hand and call the atom directly");
}
/// A and B of 16 rows: lane l holds row l % 16, and of K the runs that belong to its half of the
/// wave: of 16 elements of eight bits, of 32 smaller ones. Sources: FlyDSL's
/// kernels/gemm/gemm_a8w4_mxscale_gfx1250.py and Composable Kernel
/// (include/ck_tile/core/arch/mma/scale).
static Layout scaledOperandLayout(int64_t k, Type elemTy) {
  constexpr int64_t kRows = 16;
  int64_t run = elemTy.getIntOrFloatBitWidth() < 8 ? 32 : 16;
  return Layout(tup(tup(kRows, 2), tup(run, k / 2 / run)),
                tup(tup(1, run * kRows), tup(kRows, 2 * run * kRows)));
}
Layout MmaOpGFX1250_WMMAScaleType::getThrValLayoutA() const {
  if (getM() != 16)
    unknownTallLayout();
  return scaledOperandLayout(getK(), getElemTyA());
}
Layout MmaOpGFX1250_WMMAScaleType::getThrValLayoutB() const {
  return scaledOperandLayout(getK(), getElemTyB());
}
Layout MmaOpGFX1250_WMMAScaleType::getThrValLayoutC() const {
  if (getM() != 16)
    unknownTallLayout();
  return wmmaResultLayout();
}
std::optional<unsigned> MmaOpGFX1250_WMMAScaleType::getStateFieldIndex(StringRef name) const {
  return fieldIndex(name, {"scale_a", "scale_b"});
}
SmallVector<Type> MmaOpGFX1250_WMMAScaleType::getStateFieldTypes() const {
  return integerFields(getContext(), 2, getBlockSize() == 16 ? 64 : 32);
}
SmallVector<int64_t> MmaOpGFX1250_WMMAScaleType::getStateFieldDefaults() const { return {0, 0}; }

//===----------------------------------------------------------------------===//
// The tensor data mover. State, in order:
//   workgroup_mask   i32      workgroups of the cluster that receive the tile
//   extent_0..4      i32      the tensor's size per dimension, outermost first; nothing is moved
//                             past it
//   stride_0..3      i64      elements between neighbours per dimension but the last; where it is
//                             not set, the stride of the tile's own layout counts
//   imm_offset       i64      bytes from the tensor's pointer to the tile
//===----------------------------------------------------------------------===//

LogicalResult CopyOpGFX1250TDMType::verify(EmitError emitError, int32_t rank, int32_t numWarps,
                                           int32_t padInterval, int32_t padAmount,
                                           int32_t cacheModifier, bool, bool) {
  auto powerOf2 = [](int32_t v) { return v > 0 && (v & (v - 1)) == 0; };
  if (rank < 1 || rank > kMaxRank)
    return emitError() << "the data mover moves tensors of rank 1 to " << kMaxRank << ", not "
                       << rank;
  if (!powerOf2(numWarps))
    return emitError() << "numWarps must be a positive power of two, got " << numWarps;
  if ((padInterval == 0) != (padAmount == 0) || padAmount < 0)
    return emitError() << "padInterval and padAmount must both be zero or both non-zero, got "
                       << padInterval << " and " << padAmount;
  if (padInterval != 0 && !powerOf2(padInterval))
    return emitError() << "padInterval must be a power of two (in elements), got " << padInterval;
  if (cacheModifier < 0)
    return emitError() << "a cache modifier is not negative, but is " << cacheModifier;
  return success();
}

// The tile's own layout says what moves where; the atom counts as one thread and one bit.
Layout CopyOpGFX1250TDMType::getThrLayout() const { return oneThread(); }
Layout CopyOpGFX1250TDMType::getThrBitLayoutSrc() const { return oneThreadOf(1); }
Layout CopyOpGFX1250TDMType::getThrBitLayoutDst() const { return oneThreadOf(1); }
Layout CopyOpGFX1250TDMType::getThrBitLayoutRef() const { return oneThreadOf(1); }

std::optional<unsigned> CopyOpGFX1250TDMType::getStateFieldIndex(StringRef name) const {
  return fieldIndex(name,
                    {"workgroup_mask", "extent_0", "extent_1", "extent_2", "extent_3", "extent_4",
                     "stride_0", "stride_1", "stride_2", "stride_3", "imm_offset"});
}
SmallVector<Type> CopyOpGFX1250TDMType::getStateFieldTypes() const {
  SmallVector<Type> types = integerFields(getContext(), 1 + kMaxRank);
  llvm::append_range(types, integerFields(getContext(), kMaxRank - 1 + 1, 64));
  return types;
}
SmallVector<int64_t> CopyOpGFX1250TDMType::getStateFieldDefaults() const {
  SmallVector<int64_t> values = {0};
  values.append(kMaxRank, std::numeric_limits<int32_t>::max());
  values.append(kMaxRank - 1, kStrideNotSet);
  values.push_back(0);
  return values;
}

} // namespace mlir::fly_rocdl
