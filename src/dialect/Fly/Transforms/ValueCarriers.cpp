// The packed struct of a value nests as the value does:
//
//   an int tuple          its dynamic leaves
//   a layout              the structs of its shape and its stride
//   a composed layout     the structs of its inner function, its offset and its outer layout
//   a coordinate tensor   the structs of its base and its layout
//
// Parts without dynamic leaves are left out.

#include "dialect/Fly/Transforms/ValueCarriers.h"

#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::fly {

using namespace flydsl::layout;

namespace {

using Struct = LLVM::LLVMStructType;

Type typeOfInner(MLIRContext *context, const InnerFunction &inner) {
  if (auto *layout = std::get_if<Layout>(&inner))
    return LayoutType::get(context, *layout);
  if (auto *composed = std::get_if<ComposedLayout>(&inner))
    return ComposedLayoutType::get(context, *composed);
  if (auto *swizzle = std::get_if<Swizzle>(&inner))
    return SwizzleType::get(context, *swizzle);
  return CoordSwizzleType::get(context, std::get<CoordSwizzle>(inner));
}

/// The parts that a value of `type` is made of, in the order of its constructor's operands.
SmallVector<Type> partsOf(Type type) {
  MLIRContext *context = type.getContext();
  if (auto layout = dyn_cast<LayoutType>(type))
    return {IntTupleType::get(context, layout.getValue().shape()),
            IntTupleType::get(context, layout.getValue().stride())};
  if (auto composed = dyn_cast<ComposedLayoutType>(type))
    return {typeOfInner(context, composed.getValue().inner()),
            IntTupleType::get(context, composed.getValue().offset()),
            getLayoutType(context, composed.getValue().outer())};
  auto tensor = cast<CoordTensorType>(type);
  return {IntTupleType::get(context, tensor.getBase()), getLayoutType(context, tensor.getLayout())};
}

/// The struct that carries the dynamic numbers of `type`; null where there are none.
Struct structOf(Type type) {
  if (isStaticType(type))
    return {};
  MLIRContext *context = type.getContext();
  SmallVector<Type> fields;
  if (auto tuple = dyn_cast<IntTupleType>(type)) {
    for (const Int &leaf : tuple.getValue().leaves())
      if (leaf.isDynamic())
        fields.push_back(IntegerType::get(context, leaf.width()));
  } else {
    for (Type part : partsOf(type))
      if (Struct field = structOf(part))
        fields.push_back(field);
  }
  return Struct::getLiteral(context, fields, /*isPacked=*/true);
}

SmallVector<Value> partValues(OpBuilder &builder, Location loc, Value value) {
  if (isa<LayoutType>(value.getType()))
    return {GetShapeOp::create(builder, loc, value), GetStrideOp::create(builder, loc, value)};
  if (isa<ComposedLayoutType>(value.getType()))
    return {ComposedGetInnerOp::create(builder, loc, value),
            ComposedGetOffsetOp::create(builder, loc, value),
            ComposedGetOuterOp::create(builder, loc, value)};
  return {GetIterOp::create(builder, loc, value), GetLayoutOp::create(builder, loc, value)};
}

Value pack(OpBuilder &builder, Location loc, Value value) {
  Struct type = structOf(value.getType());
  SmallVector<Value> fields;
  if (isa<IntTupleType>(value.getType())) {
    llvm::append_range(fields,
                       GetLeavesOp::create(builder, loc, value, /*dynamicOnly=*/true).getResults());
  } else {
    for (Value part : partValues(builder, loc, value))
      if (structOf(part.getType()))
        fields.push_back(pack(builder, loc, part));
  }
  Value packed = LLVM::UndefOp::create(builder, loc, type);
  for (auto [i, field] : llvm::enumerate(fields))
    packed = LLVM::InsertValueOp::create(builder, loc, packed, field,
                                         ArrayRef<int64_t>{static_cast<int64_t>(i)});
  return packed;
}

/// A static part of a dynamic value, in normal form.
Value staticPart(OpBuilder &builder, Location loc, Type type) {
  if (isa<IntTupleType>(type))
    return MakeIntTupleOp::create(builder, loc, type, ValueRange());
  return StaticOp::create(builder, loc, type);
}

Value unpack(OpBuilder &builder, Location loc, Type type, Value packed) {
  auto field = [&](size_t i) -> Value {
    return LLVM::ExtractValueOp::create(builder, loc, packed,
                                        ArrayRef<int64_t>{static_cast<int64_t>(i)});
  };
  if (isa<IntTupleType>(type)) {
    SmallVector<Value> numbers;
    for (size_t i = 0; i < cast<Struct>(packed.getType()).getBody().size(); ++i)
      numbers.push_back(field(i));
    return MakeIntTupleOp::create(builder, loc, type, numbers);
  }
  SmallVector<Value> parts;
  size_t next = 0;
  for (Type part : partsOf(type))
    parts.push_back(structOf(part) ? unpack(builder, loc, part, field(next++))
                                   : staticPart(builder, loc, part));
  if (isa<LayoutType>(type))
    return MakeLayoutOp::create(builder, loc, parts[0], parts[1]);
  if (isa<ComposedLayoutType>(type))
    return MakeComposedLayoutOp::create(builder, loc, parts[0], parts[1], parts[2]);
  return MakeViewOp::create(builder, loc, parts[0], parts[1]);
}

bool isStructCarried(Type type) {
  return isa<IntTupleType, LayoutType, ComposedLayoutType, CoordTensorType>(type);
}

} // namespace

bool isCarried(Type type) {
  return isStaticType(type) || isa<MemRefType, TiledCopyType, TiledMmaType>(type) ||
         isStructCarried(type);
}

SmallVector<Type> carrierTypes(Type type) {
  if (isStaticType(type))
    return {};
  if (auto memref = dyn_cast<MemRefType>(type)) {
    SmallVector<Type> types{memref.getPointerType()};
    if (Struct layout = structOf(getLayoutType(type.getContext(), memref.getLayout())))
      types.push_back(layout);
    return types;
  }
  // Tiled operations whose atom has state are passed as that atom.
  if (auto tiled = dyn_cast<TiledCopyType>(type))
    return {tiled.getCopyAtom()};
  if (auto tiled = dyn_cast<TiledMmaType>(type))
    return {tiled.getMmaAtom()};
  if (isStructCarried(type))
    return {structOf(type)};
  return {type};
}

SmallVector<Value> packIntoCarriers(OpBuilder &builder, Location loc, Value value) {
  Type type = value.getType();
  if (isStaticType(type))
    return {};
  if (auto memref = dyn_cast<MemRefType>(type)) {
    SmallVector<Value> values{GetIterOp::create(builder, loc, value)};
    if (structOf(getLayoutType(type.getContext(), memref.getLayout())))
      values.push_back(pack(builder, loc, GetLayoutOp::create(builder, loc, value)));
    return values;
  }
  if (auto tiled = value.getDefiningOp<MakeTiledCopyOp>())
    return {tiled.getCopyAtom()};
  if (auto tiled = value.getDefiningOp<MakeTiledMmaOp>())
    return {tiled.getMmaAtom()};
  if (isa<TiledCopyType>(type))
    return {GetCopyAtomOp::create(builder, loc, value)};
  if (isa<TiledMmaType>(type))
    return {GetMmaAtomOp::create(builder, loc, value)};
  if (isStructCarried(type))
    return {pack(builder, loc, value)};
  return {};
}

Value unpackFromCarriers(OpBuilder &builder, Location loc, Type type, ValueRange carriers) {
  if (isStaticType(type))
    return StaticOp::create(builder, loc, type);
  MLIRContext *context = type.getContext();
  if (auto memref = dyn_cast<MemRefType>(type)) {
    Type layoutType = getLayoutType(context, memref.getLayout());
    Value layout = carriers.size() > 1 ? unpack(builder, loc, layoutType, carriers[1])
                                       : Value(StaticOp::create(builder, loc, layoutType));
    return MakeViewOp::create(builder, loc, carriers[0], layout);
  }
  if (auto tiled = dyn_cast<TiledCopyType>(type))
    return MakeTiledCopyOp::create(builder, loc, carriers[0],
                                   StaticOp::create(builder, loc, tiled.getLayoutThrVal()),
                                   StaticOp::create(builder, loc, tiled.getTileMN()));
  if (auto tiled = dyn_cast<TiledMmaType>(type))
    return MakeTiledMmaOp::create(builder, loc, carriers[0],
                                  StaticOp::create(builder, loc, tiled.getAtomLayout()),
                                  StaticOp::create(builder, loc, tiled.getPermutation()));
  return unpack(builder, loc, type, carriers[0]);
}

} // namespace mlir::fly
