// Atoms: single instructions that move or multiply, and the calls of them.
#include "dialect/Fly/IR/FlyOps.h"

#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyAtomOps.cpp.inc"

namespace mlir::fly {

void FlyDialect::registerAtomOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Fly/IR/FlyAtomOps.cpp.inc"
      >();
}

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// An operand in memory is read; a vector has been read already.
static void reads(OpOperand &operand, Effects &effects) {
  if (isa<MemRefType>(operand.get().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
}
static void writes(OpOperand &operand, Effects &effects) {
  if (isa<MemRefType>(operand.get().getType()))
    effects.emplace_back(MemoryEffects::Write::get(), &operand);
}

/// The copy instruction of an atom or a tiled copy.
static CopyAtomType copyAtomOf(Type type) {
  if (auto tiled = dyn_cast<TiledCopyType>(type))
    return tiled.getCopyAtom();
  return dyn_cast<CopyAtomType>(type);
}
/// The mma instruction of an atom or a tiled mma.
static MmaAtomType mmaAtomOf(Type type) {
  if (auto tiled = dyn_cast<TiledMmaType>(type))
    return tiled.getMmaAtom();
  return dyn_cast<MmaAtomType>(type);
}

//===----------------------------------------------------------------------===//
// Atoms
//===----------------------------------------------------------------------===//

LogicalResult MakeCopyAtomOp::verify() {
  int64_t bits = getValBits();
  if (bits != getType().getValBits())
    return emitOpError("expected valBits of ")
           << getType().getValBits() << " as in " << getType() << ", found " << bits;
  return success();
}

LogicalResult AtomSetValueOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                               ValueRange operands, DictionaryAttr,
                                               OpaqueProperties, RegionRange,
                                               SmallVectorImpl<Type> &types) {
  types.push_back(operands[0].getType());
  return success();
}

/// Bits of a scalar or a vector; 0 for anything else.
static int64_t bitsOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.hasStaticShape() ? vector.getNumElements() * bitsOf(vector.getElementType()) : 0;
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
}

LogicalResult AtomSetValueOp::verify() {
  Type instruction = instructionOf(getAtom().getType());
  if (!instruction)
    return emitOpError("expected an atom or a tiled operation, found ") << getAtom().getType();
  auto stateful = dyn_cast<StatefulOpTypeInterface>(instruction);
  if (!stateful)
    return emitOpError("has nothing to set: ") << instruction << " has no state";
  if (stateful.isCompoundField(getField()))
    return success(); // the pass that takes it apart looks at the value
  std::optional<unsigned> field = stateful.getStateFieldIndex(getField());
  if (!field)
    return emitOpError("expected a field of ") << instruction << ", found '" << getField() << "'";
  // Packed values, such as four 8-bit scales, are compared by their bits.
  Type expected = stateful.getStateFieldTypes()[*field];
  if (bitsOf(getValue().getType()) != bitsOf(expected))
    return emitOpError("expected a value of the size of ")
           << expected << " for the field '" << getField() << "', found " << getValue().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The effects of a copy on memory. An atomic also reads the memory that it writes.
static void copyEffects(Type atom, OpOperand &src, OpOperand *dst, OpOperand *pred,
                        Effects &effects) {
  // Coordinates stand for memory that no operand is.
  if (isa<CoordTensorType>(src.get().getType()))
    effects.emplace_back(MemoryEffects::Read::get());
  reads(src, effects);
  if (pred)
    reads(*pred, effects);
  if (!dst)
    return;
  if (isa<CoordTensorType>(dst->get().getType()))
    effects.emplace_back(MemoryEffects::Write::get());
  auto instruction = dyn_cast_or_null<CopyOpTypeInterface>(instructionOf(atom));
  if (!instruction || instruction.getAtomicOp())
    reads(*dst, effects);
  writes(*dst, effects);
}

static OpOperand *optional(MutableOperandRange range) {
  return range.empty() ? nullptr : &range[0];
}

void CopyAtomCallOp::getEffects(Effects &effects) {
  copyEffects(getCopyAtom().getType(), getSrcMutable(), &getDstMutable(),
              optional(getPredMutable()), effects);
}
void CopyAtomCallSSAOp::getEffects(Effects &effects) {
  copyEffects(getCopyAtom().getType(), getSrcMutable(), optional(getDstMutable()),
              optional(getPredMutable()), effects);
}
void CopyOp::getEffects(Effects &effects) {
  copyEffects(getCopyAtom().getType(), getSrcMutable(), &getDstMutable(),
              optional(getPredMutable()), effects);
}

void MmaAtomCallOp::getEffects(Effects &effects) {
  reads(getAMutable(), effects);
  reads(getBMutable(), effects);
  reads(getCMutable(), effects);
  writes(getDMutable(), effects);
}
void MmaAtomCallSSAOp::getEffects(Effects &effects) {
  reads(getAMutable(), effects);
  reads(getBMutable(), effects);
  reads(getCMutable(), effects);
  if (OpOperand *d = optional(getDMutable()))
    writes(*d, effects);
}
void GemmOp::getEffects(Effects &effects) {
  reads(getAMutable(), effects);
  reads(getBMutable(), effects);
  reads(getCMutable(), effects);
  writes(getDMutable(), effects);
}

LogicalResult CopyAtomCallSSAOp::verify() {
  if (getNumResults() > 1)
    return emitOpError("expected at most one result, found ") << getNumResults();
  bool toMemory = getDst() && isa<MemRefType>(getDst().getType());
  if (toMemory == (getNumResults() == 1))
    return emitOpError(toMemory ? "expected no result, as the destination is memory"
                                : "expected a result, as the destination is no memory");
  if (!toMemory && getDst() && getDst().getType() != getResult(0).getType())
    return emitOpError("expected a result of the destination's type ")
           << getDst().getType() << ", found " << getResult(0).getType();
  return success();
}

LogicalResult MmaAtomCallSSAOp::verify() {
  if (getNumResults() > 1)
    return emitOpError("expected at most one result, found ") << getNumResults();
  bool toMemory = getD() && isa<MemRefType>(getD().getType());
  if (toMemory == (getNumResults() == 1))
    return emitOpError(toMemory ? "expected no result, as D is memory"
                                : "expected a result, as D is no memory");
  return success();
}

/// Coordinates stand for the tensor in global memory where the instruction takes them, and nowhere
/// else.
static LogicalResult verifyCoordinates(Operation *op, CopyAtomType atom, Type src, Type dst) {
  auto instruction = dyn_cast<CopyOpTypeInterface>(atom.getCopyOp());
  const int expected = instruction && instruction.takesCoordinates() ? 1 : 0;
  const int found = isa<CoordTensorType>(src) + isa<CoordTensorType>(dst);
  if (found == expected)
    return success();
  return op->emitOpError(expected ? "expected the coordinates of a tensor on one side, for "
                                  : "expected tensors in memory, not coordinates, for ")
         << atom << ", found " << src << " and " << dst;
}

LogicalResult CopyAtomCallOp::verify() {
  return verifyCoordinates(*this, getCopyAtom().getType(), getSrc().getType(), getDst().getType());
}

LogicalResult CopyOp::verify() {
  CopyAtomType atom = copyAtomOf(getCopyAtom().getType());
  if (!atom)
    return emitOpError("expected a copy atom or a tiled copy, found ") << getCopyAtom().getType();
  if (failed(verifyCoordinates(*this, atom, getSrc().getType(), getDst().getType())))
    return failure();
  if (getPred() && !getPred().getType().getElemTy().isInteger())
    return emitOpError("expected a predicate of truth values, found ") << getPred().getType();
  return success();
}

LogicalResult GemmOp::verify() {
  if (!mmaAtomOf(getMmaAtom().getType()))
    return emitOpError("expected an mma atom or a tiled mma, found ") << getMmaAtom().getType();
  if (getTraversalOrder() && getTraversalLayout())
    return emitOpError("takes a traversal order or a traversal layout, not both");
  return success();
}

} // namespace mlir::fly
