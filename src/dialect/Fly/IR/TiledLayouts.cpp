#include "dialect/Fly/IR/TiledLayouts.h"

namespace layout = flydsl::layout;

namespace mlir::fly {

layout::CopyAtom toCopyAtom(CopyAtomType type) {
  auto op = cast<CopyOpTypeInterface>(type.getCopyOp());
  if (op.isWholeTileCopy())
    return {op.getThrLayout(), op.getThrBitLayoutSrc(), op.getThrBitLayoutDst(),
            op.getThrBitLayoutRef()};
  return layout::CopyAtom::fromBits(op.getThrLayout(), op.getThrBitLayoutSrc(),
                                    op.getThrBitLayoutDst(), op.getThrBitLayoutRef(),
                                    type.getValBits());
}

layout::TiledCopy toTiledCopy(TiledCopyType type) {
  return {toCopyAtom(type.getCopyAtom()), type.getLayoutThrVal().getValue(),
          type.getTileMN().getValue()};
}

layout::MmaAtom toMmaAtom(MmaAtomType type) {
  auto op = cast<MmaOpTypeInterface>(type.getMmaOp());
  return {op.getShapeMNK(), op.getThrLayout(), op.getThrValLayoutA(), op.getThrValLayoutB(),
          op.getThrValLayoutC()};
}

layout::TiledMma toTiledMma(TiledMmaType type) {
  return {toMmaAtom(type.getMmaAtom()), type.getAtomLayout().getValue(),
          type.getPermutation().getValue()};
}

layout::MmaOperand toMmaOperand(MmaOperand operand) {
  switch (operand) {
  case MmaOperand::A:
    return layout::MmaOperand::A;
  case MmaOperand::B:
    return layout::MmaOperand::B;
  case MmaOperand::C:
    return layout::MmaOperand::C;
  case MmaOperand::D:
    return layout::MmaOperand::D;
  }
  llvm_unreachable("an mma has the operands a, b, c and d");
}

} // namespace mlir::fly
