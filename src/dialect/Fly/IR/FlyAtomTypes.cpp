// Copy and mma atoms, and the instructions that every target has.
#include "dialect/Fly/IR/TiledLayouts.h"

namespace layout = flydsl::layout;
using layout::tup;

namespace mlir::fly {

//===----------------------------------------------------------------------===//
// Atoms
//===----------------------------------------------------------------------===//

layout::Layout CopyAtomType::getThrLayout() const { return toCopyAtom(*this).thr; }
layout::Layout CopyAtomType::getThrValLayoutSrc() const { return toCopyAtom(*this).src; }
layout::Layout CopyAtomType::getThrValLayoutDst() const { return toCopyAtom(*this).dst; }
layout::Layout CopyAtomType::getThrValLayoutRef() const { return toCopyAtom(*this).ref; }
bool CopyAtomType::isStateful() const { return isa<StatefulOpTypeInterface>(getCopyOp()); }

layout::Layout MmaAtomType::getThrLayout() const {
  return cast<MmaOpTypeInterface>(getMmaOp()).getThrLayout();
}
layout::IntTuple MmaAtomType::getShapeMNK() const {
  return cast<MmaOpTypeInterface>(getMmaOp()).getShapeMNK();
}
Type MmaAtomType::getValType(MmaOperand operand) const {
  auto op = cast<MmaOpTypeInterface>(getMmaOp());
  switch (operand) {
  case MmaOperand::A:
    return op.getValTypeA();
  case MmaOperand::B:
    return op.getValTypeB();
  case MmaOperand::C:
    return op.getValTypeC();
  case MmaOperand::D:
    return op.getValTypeD();
  }
  llvm_unreachable("an mma has the operands a, b, c and d");
}
layout::Layout MmaAtomType::getThrValLayout(MmaOperand operand) const {
  auto op = cast<MmaOpTypeInterface>(getMmaOp());
  switch (operand) {
  case MmaOperand::A:
    return op.getThrValLayoutA();
  case MmaOperand::B:
    return op.getThrValLayoutB();
  case MmaOperand::C:
  case MmaOperand::D:
    return op.getThrValLayoutC();
  }
  llvm_unreachable("an mma has the operands a, b, c and d");
}
bool MmaAtomType::isStateful() const { return isa<StatefulOpTypeInterface>(getMmaOp()); }

Type instructionOf(Type atom) {
  if (auto tiled = dyn_cast<TiledCopyType>(atom))
    atom = tiled.getCopyAtom();
  else if (auto tiled = dyn_cast<TiledMmaType>(atom))
    atom = tiled.getMmaAtom();
  if (auto copy = dyn_cast<CopyAtomType>(atom))
    return copy.getCopyOp();
  if (auto mma = dyn_cast<MmaAtomType>(atom))
    return mma.getMmaOp();
  return {};
}

//===----------------------------------------------------------------------===//
// Instructions of any target: one thread, its values in order
//===----------------------------------------------------------------------===//

layout::Layout oneThread() { return layout::Layout(1, 1); }
layout::Layout oneThreadOf(int64_t values) { return layout::Layout(tup(1, values), tup(1, 1)); }

layout::Layout CopyOpUniversalCopyType::getThrLayout() const { return oneThread(); }
layout::Layout CopyOpUniversalCopyType::getThrBitLayoutSrc() const {
  return oneThreadOf(getBitSize());
}
layout::Layout CopyOpUniversalCopyType::getThrBitLayoutDst() const {
  return oneThreadOf(getBitSize());
}
layout::Layout CopyOpUniversalCopyType::getThrBitLayoutRef() const {
  return oneThreadOf(getBitSize());
}

layout::Layout CopyOpUniversalAtomicType::getThrLayout() const { return oneThread(); }
layout::Layout CopyOpUniversalAtomicType::getThrBitLayoutSrc() const {
  return oneThreadOf(getValType().getIntOrFloatBitWidth());
}
layout::Layout CopyOpUniversalAtomicType::getThrBitLayoutDst() const {
  return getThrBitLayoutSrc();
}
layout::Layout CopyOpUniversalAtomicType::getThrBitLayoutRef() const {
  return getThrBitLayoutSrc();
}

SmallVector<CopyRoute> CopyOpUniversalAtomicType::getRoutes() const {
  auto space = [&](AddressSpace s) -> Attribute { return AddressSpaceAttr::get(getContext(), s); };
  return {{{space(AddressSpace::Register)},
           {space(AddressSpace::Shared), space(AddressSpace::Global)}}};
}

layout::Layout MmaOpUniversalFMAType::getThrLayout() const { return oneThread(); }
layout::IntTuple MmaOpUniversalFMAType::getShapeMNK() const { return tup(1, 1, 1); }
Type MmaOpUniversalFMAType::getValTypeA() const { return getElemTy(); }
Type MmaOpUniversalFMAType::getValTypeB() const { return getElemTy(); }
Type MmaOpUniversalFMAType::getValTypeC() const { return getElemTy(); }
Type MmaOpUniversalFMAType::getValTypeD() const { return getElemTy(); }
layout::Layout MmaOpUniversalFMAType::getThrValLayoutA() const { return oneThreadOf(1); }
layout::Layout MmaOpUniversalFMAType::getThrValLayoutB() const { return oneThreadOf(1); }
layout::Layout MmaOpUniversalFMAType::getThrValLayoutC() const { return oneThreadOf(1); }

} // namespace mlir::fly
