// The tensor data mover of gfx1250.
#include "dialect/FlyROCDL/IR/TypeUtils.h"

#include <limits>

namespace layout = flydsl::layout;
using layout::Layout;

namespace mlir::fly_rocdl {

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
