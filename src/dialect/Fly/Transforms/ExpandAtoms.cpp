// Replaces fly.copy and fly.gemm by calls of their atom.

#include "dialect/Fly/Transforms/AlgebraLowering.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir::fly {

namespace {

/// The atom of a tiled operation, or the atom itself.
FailureOr<Value> atomOf(Operation *op, Value atom) {
  if (isa<CopyAtomType, MmaAtomType>(atom.getType()))
    return atom;
  if (auto tiled = atom.getDefiningOp<MakeTiledCopyOp>())
    return tiled.getCopyAtom();
  if (auto tiled = atom.getDefiningOp<MakeTiledMmaOp>())
    return tiled.getMmaAtom();
  OpBuilder builder(op);
  if (auto tiled = dyn_cast<TiledCopyType>(atom.getType());
      tiled && isStaticType(tiled.getCopyAtom()))
    return Value(StaticOp::create(builder, op->getLoc(), tiled.getCopyAtom()));
  if (auto tiled = dyn_cast<TiledMmaType>(atom.getType());
      tiled && isStaticType(tiled.getMmaAtom()))
    return Value(StaticOp::create(builder, op->getLoc(), tiled.getMmaAtom()));
  if (isa<TiledCopyType>(atom.getType()))
    return Value(GetCopyAtomOp::create(builder, op->getLoc(), atom));
  if (isa<TiledMmaType>(atom.getType()))
    return Value(GetMmaAtomOp::create(builder, op->getLoc(), atom));
  return op->emitOpError("can't tell the atom of a value of type ") << atom.getType();
}

/// Makes the value that stands for `part`, a part of `whole`, as an operand of a call. If the part
/// is all of it, that is the operand of the original operation.
FailureOr<Value> madeFrom(OpBuilder &builder, Location loc, AlgebraLowering &lowering,
                          const SymbolicValue &whole, const MemRefValue &part) {
  const bool isWhole = part.layout == whole.asMemRef()->layout;
  return lowering.materialize(builder, loc, {part, whole.base, isWhole ? whole.origin : Value()});
}

} // namespace

LogicalResult expandCopy(CopyOp op, AlgebraLowering &lowering) {
  FailureOr<Value> atom = atomOf(op, op.getCopyAtom());
  FailureOr<SymbolicValue> src = lowering.get(op.getSrc(), op), dst = lowering.get(op.getDst(), op);
  if (failed(atom) || failed(src) || failed(dst))
    return failure();
  if (!src->asMemRef() || !dst->asMemRef())
    return op->emitOpError("takes coordinates, which a pass of the target's has to lower before");
  CopyOperands whole{*src->asMemRef(), *dst->asMemRef(), std::nullopt};
  SymbolicValue pred;
  if (op.getPred()) {
    FailureOr<SymbolicValue> value = lowering.get(op.getPred(), op);
    if (failed(value))
      return failure();
    pred = *value;
    whole.pred = *pred.asMemRef();
  }
  auto atomTy = cast<CopyAtomType>(atom->getType());
  auto instruction = dyn_cast<CopyOpTypeInterface>(atomTy.getCopyOp());
  const bool isWhole = instruction && instruction.isWholeTileCopy();
  if (!isWhole) // the places of a call are made where it stands
    src->origin = dst->origin = {};
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto emit = [&](const CopyOperands &call) -> LogicalResult {
    auto placed = [&](const SymbolicValue &side, const MemRefValue &part) {
      return madeFrom(builder, loc, lowering, side, isWhole ? part : decomposed(part));
    };
    FailureOr<Value> from = placed(*src, call.src), to = placed(*dst, call.dst);
    FailureOr<Value> when =
        call.pred ? madeFrom(builder, loc, lowering, pred, *call.pred) : FailureOr<Value>(Value());
    if (failed(from) || failed(to) || failed(when))
      return failure();
    CopyAtomCallOp::create(builder, loc, *atom, *from, *to, *when);
    return success();
  };
  if (failed(emitLayoutErrors(
          op, [&] { return forEachCall(atomTy, whole, OneElement::Begins, emit); })))
    return failure();
  op.erase();
  return success();
}

LogicalResult expandGemm(GemmOp op, AlgebraLowering &lowering) {
  FailureOr<Value> atom = atomOf(op, op.getMmaAtom());
  FailureOr<SymbolicValue> d = lowering.get(op.getD(), op), a = lowering.get(op.getA(), op),
                           b = lowering.get(op.getB(), op), c = lowering.get(op.getC(), op);
  if (failed(atom) || failed(d) || failed(a) || failed(b) || failed(c))
    return failure();
  MmaOperands whole{*d->asMemRef(), *a->asMemRef(), *b->asMemRef(), *c->asMemRef()};
  const flydsl::layout::Layout *traversal = nullptr;
  if (Value given = op.getTraversalLayout())
    traversal = &cast<LayoutType>(given.getType()).getValue();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  // Many calls take the same part of a tensor: its place is made once.
  llvm::SmallDenseMap<int64_t, Value> ofD, ofA, ofB, ofC;
  auto emit = [&](const MmaOperands &call, MmaParts at, bool begins) -> LogicalResult {
    struct Side {
      const SymbolicValue &whole;
      const MemRefValue &part;
      Value &made;
    };
    const Side sides[] = {{*d, call.d, ofD[at.d]},
                          {*a, call.a, ofA[at.a]},
                          {*b, call.b, ofB[at.b]},
                          begins ? Side{*c, call.c, ofC[at.d]} : Side{*d, call.c, ofD[at.d]}};
    for (const Side &side : sides) {
      if (side.made)
        continue;
      FailureOr<Value> value = madeFrom(builder, loc, lowering, side.whole, side.part);
      if (failed(value))
        return failure();
      side.made = *value;
    }
    MmaAtomCallOp::create(builder, loc, *atom, sides[0].made, sides[1].made, sides[2].made,
                          sides[3].made);
    return success();
  };
  if (failed(emitLayoutErrors(
          op, [&] { return forEachCall(whole, op.getTraversalOrder(), traversal, emit); })))
    return failure();
  op.erase();
  return success();
}

} // namespace mlir::fly
