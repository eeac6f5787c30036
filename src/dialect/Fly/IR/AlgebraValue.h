// The values that the algebra operations compute with, and the one evaluation scheme over them.
//
// The function `compute` of an operation maps algebra values to algebra values. It is the same
// whether their dynamic numbers are anonymous, as in type inference, or symbols, as in the
// lowering.
#pragma once

#include "dialect/Fly/IR/FlyTypes.h"

#include "layout/operations.h"

#include "mlir/IR/OpDefinition.h"

#include <variant>

namespace mlir::fly {

/// A number that is an SSA value by itself. It has 32 or 64 bits, or 1 if it is a truth value.
struct ScalarValue {
  flydsl::layout::Int value;
  unsigned bits = 32;
};

/// A pointer: the one that the operand stands for, moved by `offset` elements.
struct PointerValue {
  PointerType type;
  flydsl::layout::IntTuple offset = 0;
};

/// A tensor in memory: its iterator, and its layout.
struct MemRefValue {
  PointerValue iterator;
  flydsl::layout::AnyLayout layout;

  MemRefType getType() const { return MemRefType::get(iterator.type, layout); }
};

/// A tensor of coordinates.
struct CoordTensorValue {
  flydsl::layout::IntTuple base;
  flydsl::layout::AnyLayout layout;
};

/// A value of the algebra. Atoms and tiled operations, which the algebra does not look into, are
/// represented by their Type.
using AlgebraValue = std::variant<Type, flydsl::layout::IntTuple, flydsl::layout::Layout,
                                  flydsl::layout::ComposedLayout, flydsl::layout::Tile,
                                  flydsl::layout::Swizzle, flydsl::layout::CoordSwizzle,
                                  ScalarValue, PointerValue, MemRefValue, CoordTensorValue>;

/// The value of a type, with anonymous dynamic numbers; the type itself if the algebra does not
/// look into it. Integers of 1, 32 and 64 bits are scalars.
AlgebraValue getAlgebraValue(Type type);
/// The type of a value.
Type getAlgebraType(const AlgebraValue &value, MLIRContext *context);
/// The same value over fn(leaf) for each of its leaves, in the order in which they are printed: of
/// layouts shape before stride, of composed layouts inner, offset, outer, of coordinate tensors
/// base before layout; of memrefs the layout alone.
AlgebraValue mapLeaves(const AlgebraValue &value,
                       const std::function<flydsl::layout::Int(const flydsl::layout::Int &)> &fn);

/// A pointer moved by `offset`. Its type keeps as much alignment as the offset leaves.
PointerValue movedBy(const PointerValue &pointer, const flydsl::layout::IntTuple &offset);
/// A tensor at an offset of its linear layout, with another linear layout. A composed layout takes
/// the offset before its inner function, and the iterator stays.
MemRefValue movedBy(const MemRefValue &tensor, const flydsl::layout::IntTuple &offset,
                    const flydsl::layout::Layout &linear);

/// A tensor with a plain layout: of a composed one, the place of its origin and the linear layout
/// from there.
MemRefValue decomposed(const MemRefValue &tensor);
CoordTensorValue decomposed(const CoordTensorValue &tensor);

/// What an operation of the algebra computes from.
struct AlgebraArgs {
  MLIRContext *context;
  ArrayRef<AlgebraValue> operands;
  OpaqueProperties properties;

  bool has(unsigned i) const { return i < operands.size(); }
  /// Operand `i`, which must hold a T; a LayoutError otherwise.
  template <class T> const T &get(unsigned i) const {
    if (const T *value = has(i) ? std::get_if<T>(&operands[i]) : nullptr)
      return *value;
    badOperand(i);
  }
  /// Operand `i` as a Fly type that the algebra does not look into.
  template <class T> T type(unsigned i) const {
    if (T t = dyn_cast_or_null<T>(get<Type>(i)))
      return t;
    badOperand(i);
  }
  /// The layout of operand `i`, whatever has one.
  flydsl::layout::AnyLayout layout(unsigned i) const;
  /// Operand `i` with another layout: of a tensor a tensor, of a layout that layout.
  AlgebraValue withLayout(unsigned i, const flydsl::layout::AnyLayout &layout) const;
  /// The attributes of the operation.
  template <class Op> const typename Op::Properties &props() const {
    return *properties.as<typename Op::Properties *>();
  }
  [[noreturn]] void badOperand(unsigned i) const;
};

using AlgebraFn = void (*)(const AlgebraArgs &, SmallVectorImpl<AlgebraValue> &);

namespace detail {

/// Runs `fn` and returns the text of what it throws, or nothing. MLIR is built without exceptions,
/// so that none may pass through its frames: a LayoutError becomes the operation's error, and any
/// other exception says that it is not about layouts.
std::optional<std::string> errorOf(llvm::function_ref<void()> fn);

/// Runs `fn`. If it throws, the text goes to `error`, and the result is false.
bool runAlgebra(AlgebraFn fn, const AlgebraArgs &args, SmallVectorImpl<AlgebraValue> &results,
                std::string &error);

/// Result types of the operation `name` from its operands' types.
LogicalResult inferByAlgebra(AlgebraFn fn, StringRef name, MLIRContext *context,
                             std::optional<Location> location, ValueRange operands,
                             OpaqueProperties properties, SmallVectorImpl<Type> &types);

/// The constant that a static type stands for, or null.
OpFoldResult foldStatic(Type type);

LogicalResult evaluateWith(AlgebraFn fn, Operation *op, ArrayRef<AlgebraValue> operands,
                           OpaqueProperties properties, SmallVectorImpl<AlgebraValue> &results);
LogicalResult evaluateMakeTuple(Operation *op, IntTupleType type, ArrayRef<AlgebraValue> operands,
                                SmallVectorImpl<AlgebraValue> &results);
LogicalResult verifyMakeTuple(Operation *op, IntTupleType type, ValueRange operands);

/// The row of layout/operations.h that an operation is ("fly.logical_divide").
const flydsl::layout::Operation &rowOf(StringRef operation);
/// Computes by a row: tensors stand for their layouts, and where the row's answer is a view of its
/// first operand, a tensor stays one.
void computeByRow(const flydsl::layout::Operation &row, ArrayRef<int32_t> numbers,
                  const AlgebraArgs &args, SmallVectorImpl<AlgebraValue> &results);

/// The numbers of an operation's attributes, in the order of layout::Numbers.
template <class Properties> SmallVector<int32_t, 2> numbersOf(const Properties &p) {
  auto number = [](IntegerAttr attr) { return static_cast<int32_t>(attr.getInt()); };
  if constexpr (requires { p.mode; })
    return llvm::to_vector<2>(ArrayRef<int32_t>(p.mode));
  else if constexpr (requires { p.indices; })
    return llvm::to_vector<2>(ArrayRef<int32_t>(p.indices));
  else if constexpr (requires { p.begin; p.end; })
    return {number(p.begin), number(p.end)};
  else if constexpr (requires { p.new_type_bits; p.old_type_bits; })
    return {number(p.new_type_bits), number(p.old_type_bits)};
  else if constexpr (requires { p.n; })
    return p.n ? SmallVector<int32_t, 2>{number(p.n)} : SmallVector<int32_t, 2>{};
  else
    return {};
}

template <class Op>
void computeByRow(const AlgebraArgs &args, SmallVectorImpl<AlgebraValue> &results) {
  static const flydsl::layout::Operation &row = rowOf(Op::getOperationName());
  SmallVector<int32_t, 2> numbers;
  if (row.numbers != flydsl::layout::Numbers::none)
    numbers = numbersOf(args.props<Op>());
  computeByRow(row, numbers, args, results);
}

template <class Op>
LogicalResult evaluateAlgebra(Op op, ArrayRef<AlgebraValue> operands,
                              SmallVectorImpl<AlgebraValue> &results) {
  return evaluateWith(&Op::compute, op, operands, op->getPropertiesStorage(), results);
}

} // namespace detail
} // namespace mlir::fly

#include "dialect/Fly/IR/FlyAlgebraInterface.h.inc"
