// Vectors: elements, shuffles, reductions.
#include "builder/values/operand.h"
#include "builder/trace/types.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

static mlir::VectorType expectVector(const Handle &handle, Loc loc) {
  if (mlir::VectorType type = vectorType(handle, loc))
    return type;
  throw TraceError("expected a vector, got " + builder::describe(handle), loc);
}

std::int64_t vectorSize(const Handle &vector, Loc loc) {
  return expectVector(vector, loc).getNumElements();
}

Handle vectorExtract(const Handle &vector, std::int64_t index, Loc loc) {
  mlir::VectorType type = expectVector(vector, loc);
  if (index < 0 || index >= type.getNumElements())
    throw TraceError("element " + std::to_string(index) + " of a vector of " +
                         std::to_string(type.getNumElements()) + ", whose first is 0",
                     loc);
  Tracer &t = Tracer::require("a vector", loc);
  return t.wrap(t.emit("vector.extract", t.use(vector, loc), loc,
                       {t.named("static_position", t.builder().getDenseI64ArrayAttr(index))},
                       type.getElementType()),
                vector.node()->dtype, loc);
}

Handle vectorExtract(const Handle &vector, const Handle &index, Loc loc) {
  mlir::VectorType type = expectVector(vector, loc);
  if (auto *number = hostAs<HostNumber>(index))
    return vectorExtract(vector, number->integer, loc);
  Tracer &t = Tracer::require("a vector", loc);
  if (!numericType(index, loc).is_integer())
    throw TraceError("a vector's index is an integer, not " + builder::describe(index), loc);
  mlir::Value at =
      t.emit("arith.index_cast", t.use(index, loc), loc, {}, t.builder().getIndexType());
  return t.wrap(t.emit("vector.extract", {t.use(vector, loc), at}, loc,
                       {t.named("static_position",
                                t.builder().getDenseI64ArrayAttr(mlir::ShapedType::kDynamic))},
                       type.getElementType()),
                vector.node()->dtype, loc);
}

Handle vectorSplat(const Handle &scalar, std::int64_t size, DType type, Loc loc) {
  Tracer &t = Tracer::require("a vector", loc);
  DType element = type ? type : dtypeOf(scalar, loc);
  if (size < 1)
    throw TraceError("a vector has 1 element or more, not " + std::to_string(size), loc);
  auto vector = mlir::VectorType::get(size, builder::elementType(element, t.context()));
  return t.wrap(t.emit("vector.broadcast", operand(t, scalar, element, loc).value, loc, {}, vector),
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
  auto vector = mlir::VectorType::get(static_cast<std::int64_t>(count),
                                      builder::elementType(type, t.context()));
  return t.wrap(t.emit("vector.from_elements", values, loc, {}, vector), type, loc);
}

Handle vectorReduce(const Handle &vector, Reduction op, Loc loc) {
  mlir::VectorType type = expectVector(vector, loc);
  DType dtype = vector.node()->dtype;
  Tracer &t = Tracer::require("a reduction", loc);
  static constexpr const char *floating[] = {"add", "mul", "minnumf", "maxnumf"};
  static constexpr const char *signedInt[] = {"add", "mul", "minsi", "maxsi"};
  static constexpr const char *unsignedInt[] = {"add", "mul", "minui", "maxui"};
  int i = static_cast<int>(op);
  const char *kind = dtype.is_float()    ? floating[i]
                     : dtype.is_signed() ? signedInt[i]
                                         : unsignedInt[i];
  llvm::SmallVector<mlir::NamedAttribute, 2> attributes{
      t.named("kind", t.attribute("#vector.kind<" + std::string(kind) + ">"))};
  if (dtype.is_float()) { // in any order
    const auto flags = static_cast<mlir::arith::FastMathFlags>(t.fastMath());
    attributes.push_back(
        t.named("fastmath", mlir::arith::FastMathFlagsAttr::get(
                                t.context(), flags | mlir::arith::FastMathFlags::reassoc)));
  }
  return t.wrap(
      t.emit("vector.reduction", t.use(vector, loc), loc, attributes, type.getElementType()), dtype,
      loc);
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
  return t.wrap(
      t.emit("vector.shuffle", {t.use(a, loc), t.use(b, loc)}, loc,
             {t.named("mask", t.builder().getDenseI64ArrayAttr(llvm::ArrayRef(mask, count)))},
             type),
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
