// MayStaticTypeInterface for Fly's types: which types determine their values, and the operations
// that make these values in normal form. Tuples are made by make_int_tuple, values that consist of
// tuples by their constructor, and all others by fly.static.
#include "dialect/Fly/IR/FlyOps.h"

namespace layout = flydsl::layout;

namespace mlir::fly {

bool IntTupleType::isStatic() const { return getValue().isStatic(); }
bool LayoutType::isStatic() const { return getValue().isStatic(); }
bool ComposedLayoutType::isStatic() const { return getValue().isStatic(); }
bool SwizzleType::isStatic() const { return true; }
bool CoordSwizzleType::isStatic() const { return true; }
bool TileType::isStatic() const { return getValue().isStatic(); }
bool BasisType::isStatic() const { return getValue().isStatic(); }
bool CoordTensorType::isStatic() const {
  return getBase().isStatic() && layout::isStatic(getLayout());
}
bool CopyAtomType::isStatic() const { return isStaticType(getCopyOp()); }
bool MmaAtomType::isStatic() const { return isStaticType(getMmaOp()); }
bool TiledCopyType::isStatic() const { return getCopyAtom().isStatic(); }
bool TiledMmaType::isStatic() const { return getMmaAtom().isStatic(); }
bool CopyOpUniversalCopyType::isStatic() const { return true; }
bool CopyOpUniversalAtomicType::isStatic() const { return true; }
bool MmaOpUniversalFMAType::isStatic() const { return true; }

/// Whether `value` is what rebuilding its type would make.
static bool isNormal(Value value) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op)
    return false;
  if (isa<MakeIntTupleOp, MakeCopyAtomOp, MakeMmaAtomOp>(op))
    return true;
  if (isa<StaticOp>(op))
    return isa<SwizzleType, CoordSwizzleType, TileType, BasisType>(value.getType());
  if (isa<MakeLayoutOp, MakeComposedLayoutOp, MakeViewOp, MakeTiledCopyOp, MakeTiledMmaOp>(op))
    return llvm::all_of(op->getOperands(), isNormal);
  return false;
}

/// A part of a static value.
static Value part(OpBuilder &builder, Location loc, Type type) {
  auto mayBeStatic = dyn_cast<MayStaticTypeInterface>(type);
  return mayBeStatic ? mayBeStatic.rebuildStaticValue(builder, loc, Value()) : Value();
}

static Value constant(OpBuilder &builder, Location loc, Type type, Value current) {
  return isNormal(current) ? Value() : StaticOp::create(builder, loc, type).getResult();
}

Value IntTupleType::rebuildStaticValue(OpBuilder &builder, Location loc, Value current) const {
  if (!isStatic() || isNormal(current))
    return {};
  return MakeIntTupleOp::create(builder, loc, *this, ValueRange());
}

Value LayoutType::rebuildStaticValue(OpBuilder &builder, Location loc, Value current) const {
  if (!isStatic() || isNormal(current))
    return {};
  Value shape = part(builder, loc, IntTupleType::get(getContext(), getValue().shape()));
  Value stride = part(builder, loc, IntTupleType::get(getContext(), getValue().stride()));
  return MakeLayoutOp::create(builder, loc, *this, shape, stride);
}

Value ComposedLayoutType::rebuildStaticValue(OpBuilder &builder, Location loc,
                                             Value current) const {
  if (!isStatic() || isNormal(current))
    return {};
  MLIRContext *context = getContext();
  Type innerType =
      std::visit([&](const auto &inner) { return getAlgebraType(AlgebraValue(inner), context); },
                 getValue().inner());
  Value inner = part(builder, loc, innerType);
  Value offset = part(builder, loc, IntTupleType::get(context, getValue().offset()));
  Value outer = part(builder, loc, getLayoutType(context, getValue().outer()));
  return MakeComposedLayoutOp::create(builder, loc, *this, inner, offset, outer);
}

Value SwizzleType::rebuildStaticValue(OpBuilder &builder, Location loc, Value current) const {
  return constant(builder, loc, *this, current);
}
Value CoordSwizzleType::rebuildStaticValue(OpBuilder &builder, Location loc, Value current) const {
  return constant(builder, loc, *this, current);
}
Value TileType::rebuildStaticValue(OpBuilder &builder, Location loc, Value current) const {
  return isStatic() ? constant(builder, loc, *this, current) : Value();
}
Value BasisType::rebuildStaticValue(OpBuilder &builder, Location loc, Value current) const {
  return isStatic() ? constant(builder, loc, *this, current) : Value();
}

Value CoordTensorType::rebuildStaticValue(OpBuilder &builder, Location loc, Value current) const {
  if (!isStatic() || isNormal(current))
    return {};
  Value base = part(builder, loc, IntTupleType::get(getContext(), getBase()));
  Value layout = part(builder, loc, getLayoutType(getContext(), getLayout()));
  return MakeViewOp::create(builder, loc, *this, base, layout);
}

Value CopyAtomType::rebuildStaticValue(OpBuilder &builder, Location loc, Value current) const {
  if (!isStatic() || isNormal(current))
    return {};
  return MakeCopyAtomOp::create(builder, loc, *this, getValBits());
}

Value MmaAtomType::rebuildStaticValue(OpBuilder &builder, Location loc, Value current) const {
  if (!isStatic() || isNormal(current))
    return {};
  return MakeMmaAtomOp::create(builder, loc, Type(*this));
}

Value TiledCopyType::rebuildStaticValue(OpBuilder &builder, Location loc, Value current) const {
  if (!isStatic() || isNormal(current))
    return {};
  Value atom = part(builder, loc, getCopyAtom());
  Value layout = part(builder, loc, getLayoutThrVal());
  Value tile = part(builder, loc, getTileMN());
  return MakeTiledCopyOp::create(builder, loc, *this, atom, layout, tile);
}

Value TiledMmaType::rebuildStaticValue(OpBuilder &builder, Location loc, Value current) const {
  if (!isStatic() || isNormal(current))
    return {};
  Value atom = part(builder, loc, getMmaAtom());
  Value layout = part(builder, loc, getAtomLayout());
  Value permutation = part(builder, loc, getPermutation());
  return MakeTiledMmaOp::create(builder, loc, *this, atom, layout, permutation);
}

// Instructions are no values; their atoms are.
Value CopyOpUniversalCopyType::rebuildStaticValue(OpBuilder &, Location, Value) const { return {}; }
Value CopyOpUniversalAtomicType::rebuildStaticValue(OpBuilder &, Location, Value) const {
  return {};
}
Value MmaOpUniversalFMAType::rebuildStaticValue(OpBuilder &, Location, Value) const { return {}; }

} // namespace mlir::fly
