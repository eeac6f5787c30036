#include "dialect/Fly/IR/AlgebraValue.h"

#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/Fly/IR/InferenceMemo.h"

#include "layout/checked.h"
#include "layout/coord.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace layout = flydsl::layout;

#include "dialect/Fly/IR/FlyAlgebraInterface.cpp.inc"

#include <new>

namespace mlir::fly {

namespace {
template <class... Fns> struct Overloaded : Fns... {
  using Fns::operator()...;
};
} // namespace

//===----------------------------------------------------------------------===//
// Values and types
//===----------------------------------------------------------------------===//

AlgebraValue getAlgebraValue(Type type) {
  return llvm::TypeSwitch<Type, AlgebraValue>(type)
      .Case<IntTupleType, LayoutType, ComposedLayoutType, TileType, SwizzleType, CoordSwizzleType,
            BasisType>([](auto t) -> AlgebraValue { return t.getValue(); })
      .Case<PointerType>([](PointerType t) -> AlgebraValue { return PointerValue{t}; })
      .Case<MemRefType>([](MemRefType t) -> AlgebraValue {
        return MemRefValue{PointerValue{t.getPointerType()}, t.getLayout()};
      })
      .Case<CoordTensorType>([](CoordTensorType t) -> AlgebraValue {
        return CoordTensorValue{t.getBase(), t.getLayout()};
      })
      .Case<IntegerType>([](IntegerType t) -> AlgebraValue {
        if (t.getWidth() != 1 && t.getWidth() != 32 && t.getWidth() != 64)
          return Type(t);
        return ScalarValue{layout::Int::dynamic(t.getWidth() == 64 ? 64 : 32), t.getWidth()};
      })
      .Default([](Type t) -> AlgebraValue { return t; });
}

Type getAlgebraType(const AlgebraValue &value, MLIRContext *context) {
  return std::visit(
      Overloaded{
          [](Type t) { return t; },
          [&](const layout::IntTuple &v) -> Type { return IntTupleType::get(context, v); },
          [&](const layout::Layout &v) -> Type { return LayoutType::get(context, v); },
          [&](const layout::ComposedLayout &v) -> Type {
            return ComposedLayoutType::get(context, v);
          },
          [&](const layout::Tile &v) -> Type { return TileType::get(context, v); },
          [&](const layout::Swizzle &v) -> Type { return SwizzleType::get(context, v); },
          [&](const layout::CoordSwizzle &v) -> Type { return CoordSwizzleType::get(context, v); },
          [&](const ScalarValue &v) -> Type { return IntegerType::get(context, v.bits); },
          [](const PointerValue &v) -> Type { return v.type; },
          [](const MemRefValue &v) -> Type { return v.getType(); },
          [&](const CoordTensorValue &v) -> Type {
            return CoordTensorType::get(context, v.base, v.layout);
          }},
      value);
}

AlgebraValue mapLeaves(const AlgebraValue &value,
                       const std::function<layout::Int(const layout::Int &)> &fn) {
  return std::visit(
      Overloaded{
          [](const auto &v) -> AlgebraValue { return v; },
          [&](const layout::IntTuple &v) -> AlgebraValue { return v.mapLeaves(fn); },
          [&](const layout::Layout &v) -> AlgebraValue { return layout::mapLeaves(v, fn); },
          [&](const layout::ComposedLayout &v) -> AlgebraValue { return layout::mapLeaves(v, fn); },
          [&](const ScalarValue &v) -> AlgebraValue { return ScalarValue{fn(v.value), v.bits}; },
          [&](const MemRefValue &v) -> AlgebraValue {
            return MemRefValue{v.iterator, layout::mapLeaves(v.layout, fn)};
          },
          [&](const CoordTensorValue &v) -> AlgebraValue {
            layout::IntTuple base = v.base.mapLeaves(fn);
            return CoordTensorValue{base, layout::mapLeaves(v.layout, fn)};
          }},
      value);
}

//===----------------------------------------------------------------------===//
// Moving pointers and tensors
//===----------------------------------------------------------------------===//

PointerValue movedBy(const PointerValue &pointer, const layout::IntTuple &offset) {
  if (!offset.isLeaf() || offset.leaf().hasBasis() || offset.leaf().isWildcard())
    layout::fail("a pointer moves by one number, not by ", offset);
  PointerValue moved{pointer.type, layout::add(pointer.offset, offset)};
  if (!offset.isLeaf(0)) {
    int64_t known =
        layout::gcdOf(pointer.type.getValueDivisibility(), offset.leaf().divisibility());
    moved.type = pointer.type.withValueDivisibility(known);
  }
  return moved;
}

/// A composed layout that starts `offset` later: the offset counts in the linear layout's codomain,
/// so it is the innermost outer layout that takes it.
static layout::AnyLayout composedFrom(const layout::ComposedLayout &composed,
                                      const layout::IntTuple &offset,
                                      const layout::Layout &linear) {
  if (auto *outer = std::get_if<layout::ComposedLayout>(&composed.outer()))
    return layout::ComposedLayout(composed.inner(), composed.offset(),
                                  composedFrom(*outer, offset, linear));
  return layout::ComposedLayout(composed.inner(), layout::add(composed.offset(), offset), linear);
}

MemRefValue movedBy(const MemRefValue &tensor, const layout::IntTuple &offset,
                    const layout::Layout &linear) {
  if (auto *composed = std::get_if<layout::ComposedLayout>(&tensor.layout))
    return {tensor.iterator, composedFrom(*composed, offset, linear)};
  return {movedBy(tensor.iterator, offset), linear};
}

MemRefValue decomposed(const MemRefValue &tensor) {
  auto *composed = std::get_if<layout::ComposedLayout>(&tensor.layout);
  if (!composed)
    return tensor;
  auto [linear, offset] = layout::decompose(*composed);
  return {movedBy(tensor.iterator, offset), linear};
}

CoordTensorValue decomposed(const CoordTensorValue &tensor) {
  auto *composed = std::get_if<layout::ComposedLayout>(&tensor.layout);
  if (!composed)
    return tensor;
  auto [linear, offset] = layout::decompose(*composed);
  return {layout::add(tensor.base, offset), linear};
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

layout::AnyLayout AlgebraArgs::layout(unsigned i) const {
  if (!has(i))
    badOperand(i);
  return std::visit(
      Overloaded{[&](const auto &) -> layout::AnyLayout { badOperand(i); },
                 [](const layout::Layout &v) -> layout::AnyLayout { return v; },
                 [](const layout::ComposedLayout &v) -> layout::AnyLayout { return v; },
                 [](const MemRefValue &v) -> layout::AnyLayout { return v.layout; },
                 [](const CoordTensorValue &v) -> layout::AnyLayout { return v.layout; }},
      operands[i]);
}

AlgebraValue AlgebraArgs::withLayout(unsigned i, const layout::AnyLayout &changed) const {
  if (auto *memref = std::get_if<MemRefValue>(&operands[i]))
    return MemRefValue{memref->iterator, changed};
  if (auto *tensor = std::get_if<CoordTensorValue>(&operands[i]))
    return CoordTensorValue{tensor->base, changed};
  return std::visit([](const auto &v) -> AlgebraValue { return v; }, changed);
}

void AlgebraArgs::badOperand(unsigned i) const {
  if (!has(i))
    layout::fail("operand #", i, " is missing");
  std::string text;
  llvm::raw_string_ostream(text) << getAlgebraType(operands[i], context);
  layout::fail("operand #", i, " is of a type that is not taken here: ", text);
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

namespace detail {

std::optional<std::string> errorOf(llvm::function_ref<void()> fn) {
  try {
    fn();
    return std::nullopt;
  } catch (const layout::LayoutError &e) {
    return e.what();
  } catch (const std::bad_alloc &) {
    return "there is not enough memory for it";
  } catch (const std::exception &e) {
    return std::string("internal error: ") + e.what();
  }
}

bool runAlgebra(AlgebraFn fn, const AlgebraArgs &args, SmallVectorImpl<AlgebraValue> &results,
                std::string &error) {
  std::optional<std::string> thrown = errorOf([&] { fn(args, results); });
  error = thrown.value_or("");
  return !thrown;
}

LogicalResult inferByAlgebra(AlgebraFn fn, StringRef name, MLIRContext *context,
                             std::optional<Location> location, ValueRange operands,
                             OpaqueProperties properties, SmallVectorImpl<Type> &types) {
  InferenceMemo *memo = InferenceMemo::of(*context);
  const InferenceMemo::Key key =
      InferenceMemo::keyOf(fn, operands, OperationName(name, context), properties);
  if (memo && memo->find(key, types))
    return success();
  SmallVector<AlgebraValue, 4> values;
  for (Value operand : operands)
    values.push_back(getAlgebraValue(operand.getType()));
  SmallVector<AlgebraValue, 2> results;
  std::string error;
  if (!runAlgebra(fn, {context, values, properties}, results, error))
    return emitOptionalError(location, "'", name, "' op ", error);
  const std::size_t before = types.size();
  for (const AlgebraValue &result : results)
    types.push_back(getAlgebraType(result, context));
  if (memo)
    memo->add(key, ArrayRef<Type>(types).drop_front(before));
  return success();
}

OpFoldResult foldStatic(Type type) {
  return isStaticType(type) ? OpFoldResult(TypeAttr::get(type)) : OpFoldResult();
}

LogicalResult evaluateWith(AlgebraFn fn, Operation *op, ArrayRef<AlgebraValue> operands,
                           OpaqueProperties properties, SmallVectorImpl<AlgebraValue> &results) {
  std::string error;
  if (runAlgebra(fn, {op->getContext(), operands, properties}, results, error))
    return success();
  return op->emitOpError(error);
}

static layout::Value plainLayout(const layout::AnyLayout &any) {
  return std::visit([](const auto &l) { return layout::Value(l); }, any);
}

const layout::Operation &rowOf(StringRef operation) {
  operation.consume_front("fly.");
  const layout::Operation *row = layout::findOperation(operation);
  assert(row && "layout/operations.cpp has no row for this operation");
  return *row;
}

/// An operand as the algebra of layouts knows it, a tensor by its layout.
static layout::Value plainValue(const AlgebraArgs &args, unsigned i) {
  return std::visit(Overloaded{[&](const auto &v) -> layout::Value {
                                 if constexpr (std::is_constructible_v<layout::Value, decltype(v)>)
                                   return v;
                                 else
                                   args.badOperand(i);
                               },
                               [](const MemRefValue &v) { return plainLayout(v.layout); },
                               [](const CoordTensorValue &v) { return plainLayout(v.layout); }},
                    args.operands[i]);
}

void computeByRow(const layout::Operation &row, ArrayRef<int32_t> numbers, const AlgebraArgs &args,
                  SmallVectorImpl<AlgebraValue> &results) {
  SmallVector<layout::Value, 3> values;
  for (unsigned i = 0; i < args.operands.size(); ++i)
    values.push_back(plainValue(args, i));
  const layout::Value answer = row({values, numbers});
  if (row.answer == layout::Answer::truth) {
    results.push_back(ScalarValue{std::get<layout::IntTuple>(answer).leaf(), 1});
    return;
  }
  results.push_back(std::visit(
      [&](const auto &v) -> AlgebraValue {
        using T = std::decay_t<decltype(v)>;
        constexpr bool isLayout = std::is_constructible_v<layout::AnyLayout, T>;
        if constexpr (isLayout && !std::is_same_v<T, layout::IntTuple>) {
          if (row.answer == layout::Answer::view)
            return args.withLayout(0, v);
        }
        return v;
      },
      answer));
}

LogicalResult evaluateMakeTuple(Operation *op, IntTupleType type, ArrayRef<AlgebraValue> operands,
                                SmallVectorImpl<AlgebraValue> &results) {
  size_t next = 0;
  layout::IntTuple value = type.getValue().mapLeaves([&](const layout::Int &leaf) {
    if (!leaf.isDynamic() || next >= operands.size())
      return leaf;
    auto *scalar = std::get_if<ScalarValue>(&operands[next++]);
    return scalar ? leaf.withExpr(scalar->value.expr()) : leaf;
  });
  if (next != operands.size())
    return op->emitOpError("has ")
           << operands.size() << " operands for the dynamic leaves of " << type;
  results.push_back(value);
  return success();
}

LogicalResult verifyMakeTuple(Operation *op, IntTupleType type, ValueRange operands) {
  size_t dynamic = type.getValue().dynamicLeafCount();
  if (dynamic != operands.size())
    return op->emitOpError("expected ") << dynamic << " operands, one per dynamic leaf of " << type
                                        << ", found " << operands.size();
  return success();
}

} // namespace detail
} // namespace mlir::fly
