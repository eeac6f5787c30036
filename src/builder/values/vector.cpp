// Vectors: elements, shuffles, reductions.
#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

namespace vector = mlir::vector;

static mlir::VectorType expectVector(const Handle &handle, Loc loc) {
  if (mlir::VectorType type = vectorType(handle, loc))
    return type;
  throw TraceError("expected a vector, got " + detail::describe(handle), loc);
}

std::int64_t vectorSize(const Handle &whole, Loc loc) {
  return expectVector(whole, loc).getNumElements();
}

Handle vectorExtract(const Handle &whole, std::int64_t index, Loc loc) {
  mlir::VectorType type = expectVector(whole, loc);
  if (index < 0 || index >= type.getNumElements())
    throw TraceError("element " + std::to_string(index) + " of a vector of " +
                         std::to_string(type.getNumElements()) + ", whose first is 0",
                     loc);
  Tracer &t = Tracer::require("a vector", loc);
  return t.wrap(t.create<vector::ExtractOp>(loc, type.getElementType(), t.use(whole, loc),
                                            mlir::ValueRange(), index),
                whole.node()->dtype, loc);
}

Handle vectorExtract(const Handle &whole, const Handle &index, Loc loc) {
  mlir::VectorType type = expectVector(whole, loc);
  if (auto *number = hostAs<HostNumber>(index))
    return vectorExtract(whole, number->integer, loc);
  Tracer &t = Tracer::require("a vector", loc);
  if (!numericType(index, loc).is_integer())
    throw TraceError("a vector's index is an integer, not " + detail::describe(index), loc);
  mlir::Value at =
      t.create<mlir::arith::IndexCastOp>(loc, t.builder().getIndexType(), t.use(index, loc));
  return t.wrap(t.create<vector::ExtractOp>(loc, type.getElementType(), t.use(whole, loc), at,
                                            mlir::ShapedType::kDynamic),
                whole.node()->dtype, loc);
}

Handle vectorSplat(const Handle &scalar, std::int64_t size, DType given, Loc loc) {
  Tracer &t = Tracer::require("a vector", loc);
  DType element = given ? given : dtypeOf(scalar, loc);
  if (size < 1)
    throw TraceError("a vector has 1 element or more, not " + std::to_string(size), loc);
  auto type = mlir::VectorType::get(size, builder::elementType(element, t.context()));
  return t.wrap(t.create<vector::BroadcastOp>(loc, type, operand(t, scalar, element, loc).value),
                element, loc);
}

Handle vectorOf(const Handle *const *elements, std::size_t count, Loc loc) {
  Tracer &t = Tracer::require("a vector", loc);
  if (!count)
    throw TraceError("a vector has 1 element or more, not 0", loc);
  DType type = dtypeOf(*elements[0], loc);
  llvm::SmallVector<mlir::Value, 8> values;
  for (std::size_t i = 0; i < count; ++i) {
    if (dtypeOf(*elements[i], loc) != type && !isWeak(*elements[i]))
      throw TraceError("a vector's elements have one type; got " + std::string(type.name()) +
                           " and " + std::string(dtypeOf(*elements[i], loc).name()),
                       loc);
    values.push_back(operand(t, *elements[i], type, loc).value);
  }
  auto whole = mlir::VectorType::get(static_cast<std::int64_t>(count),
                                     builder::elementType(type, t.context()));
  return t.wrap(t.create<vector::FromElementsOp>(loc, whole, values), type, loc);
}

Handle vectorOfNumbers(const HostNumber *numbers, std::size_t count, DType type, Loc loc) {
  std::vector<Handle> elements;
  std::vector<const Handle *> pointers;
  elements.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    pointers.push_back(&elements.emplace_back(constant(numbers[i], type, loc)));
  return vectorOf(pointers.data(), count, loc);
}

static vector::CombiningKind kindOf(Reduction op, DType type) {
  using Kind = vector::CombiningKind;
  const bool isFloat = type.is_float(), isSigned = type.is_signed();
  switch (op) {
  case Reduction::add:
    return Kind::ADD;
  case Reduction::mul:
    return Kind::MUL;
  case Reduction::min:
    return isFloat ? Kind::MINNUMF : isSigned ? Kind::MINSI : Kind::MINUI;
  case Reduction::max:
    return isFloat ? Kind::MAXNUMF : isSigned ? Kind::MAXSI : Kind::MAXUI;
  }
  llvm_unreachable("a reduction");
}

Handle vectorReduce(const Handle &whole, Reduction op, Loc loc) {
  mlir::VectorType type = expectVector(whole, loc);
  DType dtype = whole.node()->dtype;
  Tracer &t = Tracer::require("a reduction", loc);
  // Floats are combined in any order.
  const auto flags =
      dtype.is_float() ? mlir::arith::FastMathFlags::reassoc : mlir::arith::FastMathFlags::none;
  return t.wrap(t.create<vector::ReductionOp>(loc, type.getElementType(), kindOf(op, dtype),
                                              t.use(whole, loc), mlir::Value(), flags),
                dtype, loc);
}

Handle vectorShuffle(const Handle &a, const Handle &b, const std::int64_t *mask, std::size_t count,
                     Loc loc) {
  mlir::VectorType ta = expectVector(a, loc), tb = expectVector(b, loc);
  Tracer &t = Tracer::require("a shuffle", loc);
  std::int64_t limit = ta.getNumElements() + tb.getNumElements();
  for (std::size_t i = 0; i < count; ++i)
    if (mask[i] < 0 || mask[i] >= limit)
      throw TraceError("shuffle picks element " + std::to_string(mask[i]) + "; both vectors have " +
                           std::to_string(limit) + " together, whose first is 0",
                       loc);
  auto type = mlir::VectorType::get(static_cast<std::int64_t>(count), ta.getElementType());
  mlir::Value first = t.use(a, loc), second = t.use(b, loc);
  return t.wrap(t.create<vector::ShuffleOp>(loc, type, first, second, llvm::ArrayRef(mask, count)),
                a.node()->dtype, loc);
}

} // namespace detail

Vector Vector::of(std::initializer_list<Numeric> elements, Loc loc) {
  std::vector<const detail::Handle *> handles;
  for (const Numeric &n : elements)
    handles.push_back(&n.handle());
  return Vector(detail::vectorOf(handles.data(), handles.size(), loc));
}

FLYDSL_NAMESPACE_END
