// Constants, conversions and operators of scalars and vectors.
#include <flydsl/vector.h>

#include "builder/tracer.h"
#include "builder/types.h"

#include "mlir/IR/BuiltinTypes.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

using builder::Tracer;

namespace {

mlir::VectorType vectorType(const Handle &handle, Loc loc) {
  return isTraced(handle) ? mlir::dyn_cast<mlir::VectorType>(builder::tracedType(handle, loc))
                          : mlir::VectorType();
}

/// A number or vector of numbers in the IR, with its element type.
struct Typed {
  mlir::Value value;
  DType dtype;

  mlir::Type like(DType type, mlir::MLIRContext *context) const {
    mlir::Type element = builder::elementType(type, context);
    if (auto v = mlir::dyn_cast<mlir::VectorType>(value.getType()))
      return mlir::VectorType::get(v.getShape(), element);
    return element;
  }
};

bool isWeak(const Handle &handle) { return hostAs<HostNumber>(handle) && !handle.node()->dtype; }

/// The type of a host number that meets no other.
DType ownType(const HostNumber &n) {
  switch (n.kind) {
  case HostNumber::Kind::boolean:
    return boolean;
  case HostNumber::Kind::floating:
    return f32;
  case HostNumber::Kind::unsignedInteger:
    return n.integer < 0 ? u64 : n.integer > INT32_MAX ? i64 : i32;
  case HostNumber::Kind::integer:
    break;
  }
  return n.integer == static_cast<std::int32_t>(n.integer) ? i32 : i64;
}

std::string numberText(const HostNumber &n) {
  return n.kind == HostNumber::Kind::floating ? std::to_string(n.floating)
         : n.kind == HostNumber::Kind::unsignedInteger
             ? std::to_string(static_cast<std::uint64_t>(n.integer))
             : std::to_string(n.integer);
}

bool fits(const HostNumber &n, DType type) {
  if (type.is_float())
    return true;
  if (n.kind == HostNumber::Kind::floating)
    return false;
  if (type == boolean)
    return n.integer == 0 || n.integer == 1;
  bool huge = n.kind == HostNumber::Kind::unsignedInteger && n.integer < 0;
  if (type.bits() == 64)
    return type.is_signed() ? !huge : huge || n.integer >= 0;
  if (huge)
    return false;
  std::int64_t lo = type.is_signed() ? -(std::int64_t(1) << (type.bits() - 1)) : 0;
  std::int64_t hi = (std::int64_t(1) << (type.bits() - (type.is_signed() ? 1 : 0))) - 1;
  return n.integer >= lo && n.integer <= hi;
}

Handle typedConstant(const HostNumber &n, DType type, Loc loc) {
  if (!fits(n, type))
    throw TraceError("the number " + numberText(n) + " does not fit " + std::string(type.name()),
                     loc);
  HostNumber kept = n;
  if (type.is_float() && n.kind != HostNumber::Kind::floating) {
    kept.kind = HostNumber::Kind::floating;
    kept.floating = n.kind == HostNumber::Kind::unsignedInteger
                        ? static_cast<double>(static_cast<std::uint64_t>(n.integer))
                        : static_cast<double>(n.integer);
  }
  return hostHandle(kept, type);
}

DType numericType(const Handle &handle, Loc loc) {
  DType type = handle.node()->dtype;
  if (!type)
    throw TraceError("expected a number, got " + builder::describe(handle), loc);
  return type;
}

DType widerFloat(DType a, DType b, Loc loc) {
  if (!a.is_float() || !b.is_float())
    return a.is_float() ? a : b;
  if (a.bits() != b.bits() && std::max(a.bits(), b.bits()) >= 16)
    return a.bits() > b.bits() ? a : b;
  if (a.bits() == 16)
    return f32; // f16 with bf16
  throw TraceError("no common type for " + std::string(a.name()) + " and " + std::string(b.name()) +
                       "; convert one with .to(type)",
                   loc);
}

DType commonType(DType a, DType b, Loc loc) {
  if (a == b)
    return a;
  if (a.is_float() || b.is_float())
    return widerFloat(a, b, loc);
  if (a.bits() != b.bits())
    return a.bits() > b.bits() ? a : b;
  return a.is_signed() ? b : a;
}

Typed converted(Tracer &t, Typed from, DType to, Loc loc) {
  DType src = from.dtype;
  if (src == to)
    return from;
  auto cast = [&](const char *op, DType type) {
    return Typed{t.emit(op, from.value, loc, {}, from.like(type, t.context())), type};
  };
  if (src.is_float() && to.is_float()) {
    if (src.bits() == to.bits())
      return converted(t, cast("arith.extf", f32), to, loc);
    return cast(src.bits() < to.bits() ? "arith.extf" : "arith.truncf", to);
  }
  if (to == boolean) {
    Typed zero{t.use(typedConstant({HostNumber::Kind::integer, {0}}, src, loc), loc), src};
    if (mlir::isa<mlir::VectorType>(from.value.getType()))
      zero.value = t.emit("vector.broadcast", zero.value, loc, {}, from.value.getType());
    auto predicate = t.builder().getI64IntegerAttr(src.is_float() ? 13 : 1); // une, ne
    return {t.emit(src.is_float() ? "arith.cmpf" : "arith.cmpi", {from.value, zero.value}, loc,
                   {t.named("predicate", predicate)}, from.like(boolean, t.context())),
            boolean};
  }
  if (src.is_float())
    return cast(to.is_signed() ? "arith.fptosi" : "arith.fptoui", to);
  if (to.is_float())
    return cast(src.is_signed() ? "arith.sitofp" : "arith.uitofp", to);
  if (src.bits() == to.bits())
    return {from.value, to};
  if (src.bits() > to.bits())
    return cast("arith.trunci", to);
  return cast(src.is_signed() ? "arith.extsi" : "arith.extui", to);
}

Typed operand(Tracer &t, const Handle &handle, DType type, Loc loc) {
  if (auto *number = hostAs<HostNumber>(handle))
    if (isWeak(handle))
      return {t.use(typedConstant(*number, type, loc), loc), type};
  return converted(t, {t.use(handle, loc), numericType(handle, loc)}, type, loc);
}

/// Element type that both operands are brought to.
DType operandType(const Handle &a, const Handle &b, Loc loc) {
  auto typeOf = [&](const Handle &h) {
    return isWeak(h) ? ownType(*hostAs<HostNumber>(h)) : numericType(h, loc);
  };
  if (isWeak(a) == isWeak(b))
    return commonType(typeOf(a), typeOf(b), loc);
  const Handle &weak = isWeak(a) ? a : b;
  DType strong = numericType(isWeak(a) ? b : a, loc);
  const HostNumber &n = *hostAs<HostNumber>(weak);
  if (strong.is_float() || (n.kind != HostNumber::Kind::floating && fits(n, strong)))
    return strong;
  return commonType(ownType(n), strong, loc);
}

void matchShapes(Tracer &t, Typed &a, Typed &b, Loc loc) {
  auto va = mlir::dyn_cast<mlir::VectorType>(a.value.getType());
  auto vb = mlir::dyn_cast<mlir::VectorType>(b.value.getType());
  if (va && vb && va.getShape() != vb.getShape())
    throw TraceError("vectors of different sizes: " + builder::typeText(va) + " and " +
                         builder::typeText(vb),
                     loc);
  if (va && !vb)
    b.value = t.emit("vector.broadcast", b.value, loc, {}, a.like(b.dtype, t.context()));
  if (vb && !va)
    a.value = t.emit("vector.broadcast", a.value, loc, {}, b.like(a.dtype, t.context()));
}

struct OpNames {
  const char *floating, *signedInt, *unsignedInt;
};

OpNames opNames(BinaryOp op) {
  switch (op) {
  case BinaryOp::add:
    return {"arith.addf", "arith.addi", "arith.addi"};
  case BinaryOp::sub:
    return {"arith.subf", "arith.subi", "arith.subi"};
  case BinaryOp::mul:
    return {"arith.mulf", "arith.muli", "arith.muli"};
  case BinaryOp::div:
    return {"arith.divf", "arith.divsi", "arith.divui"};
  case BinaryOp::rem:
    return {"arith.remf", "arith.remsi", "arith.remui"};
  case BinaryOp::bitAnd:
    return {nullptr, "arith.andi", "arith.andi"};
  case BinaryOp::bitOr:
    return {nullptr, "arith.ori", "arith.ori"};
  case BinaryOp::bitXor:
    return {nullptr, "arith.xori", "arith.xori"};
  case BinaryOp::shl:
    return {nullptr, "arith.shli", "arith.shli"};
  case BinaryOp::shr:
    return {nullptr, "arith.shrsi", "arith.shrui"};
  case BinaryOp::min:
    return {"arith.minnumf", "arith.minsi", "arith.minui"};
  case BinaryOp::max:
    return {"arith.maxnumf", "arith.maxsi", "arith.maxui"};
  case BinaryOp::floorDiv:
    return {nullptr, "arith.floordivsi", "arith.divui"};
  case BinaryOp::ceilDiv:
    return {nullptr, "arith.ceildivsi", "arith.ceildivui"};
  case BinaryOp::pow:
    return {"math.powf", "math.ipowi", "math.ipowi"};
  default:
    return {"arith.cmpf", "arith.cmpi", "arith.cmpi"};
  }
}

const char *symbol(BinaryOp op) {
  static constexpr const char *symbols[] = {
      "+",  "-", "*",  "/",  "%",  "&",   "|",   "^",        "<<",      ">>", "<",
      "<=", ">", ">=", "==", "!=", "min", "max", "floordiv", "ceildiv", "pow"};
  return symbols[static_cast<int>(op)];
}

bool isComparison(BinaryOp op) { return op >= BinaryOp::lt && op <= BinaryOp::ne; }
bool widensBooleans(BinaryOp op) {
  return op <= BinaryOp::rem || op == BinaryOp::shl || op == BinaryOp::shr ||
         op >= BinaryOp::floorDiv;
}

/// Predicates of arith.cmpi and arith.cmpf; floats compare ordered, but != holds for NaNs.
std::int64_t predicate(BinaryOp op, DType type) {
  int i = static_cast<int>(op) - static_cast<int>(BinaryOp::lt);
  static constexpr int floating[] = {4, 5, 2, 3, 1, 13};
  static constexpr int signedInt[] = {2, 3, 4, 5, 0, 1};
  static constexpr int unsignedInt[] = {6, 7, 8, 9, 0, 1};
  return type.is_float() ? floating[i] : type.is_signed() ? signedInt[i] : unsignedInt[i];
}

} // namespace

Handle constant(HostNumber value, DType type, Loc loc) {
  return type ? typedConstant(value, type, loc) : hostHandle(value);
}

DType dtypeOf(const Handle &handle) {
  if (auto *number = hostAs<HostNumber>(handle); number && !handle.node()->dtype)
    return ownType(*number);
  if (!handle.node()->dtype)
    throw TraceError(builder::describe(handle) + " has no element type");
  return handle.node()->dtype;
}

Handle expectScalar(const Handle &handle, DType type, Loc loc) {
  if (isWeak(handle))
    return typedConstant(*hostAs<HostNumber>(handle), type, loc);
  DType given = handle.node()->dtype;
  if (given == type && !vectorType(handle, loc))
    return handle;
  if (isTraced(handle) && !given && type.is_integer())
    return expectScalar(scalarOfTuple(handle, loc), type, loc); // an element of an identity tensor
  throw TraceError("expected a scalar of " + std::string(type.name()) + ", got " +
                       (given && !vectorType(handle, loc) ? std::string(given.name())
                                                          : builder::describe(handle)) +
                       "; .to(fx::" + std::string(type.name()) + ") converts",
                   loc);
}

Handle binary(BinaryOp op, const Handle &a, const Handle &b, Loc loc) {
  Tracer &t = Tracer::require("arithmetic on kernel values", loc);
  DType type = operandType(a, b, loc);
  if (type == boolean && widensBooleans(op))
    type = i32;
  OpNames names = opNames(op);
  const char *name = type.is_float()    ? names.floating
                     : type.is_signed() ? names.signedInt
                                        : names.unsignedInt;
  if (!name)
    throw TraceError(std::string("operator ") + symbol(op) + " takes integers, not " +
                         std::string(type.name()),
                     loc);
  Typed x = operand(t, a, type, loc), y = operand(t, b, type, loc);
  matchShapes(t, x, y, loc);
  if (isComparison(op))
    return t.wrap(t.emit(name, {x.value, y.value}, loc,
                         {t.named("predicate", t.builder().getI64IntegerAttr(predicate(op, type)))},
                         x.like(boolean, t.context())),
                  boolean, loc);
  return t.wrap(t.emit(name, {x.value, y.value}, loc, {}, x.value.getType()), type, loc);
}

Handle unary(UnaryOp op, const Handle &a, Loc loc) {
  Tracer &t = Tracer::require("arithmetic on kernel values", loc);
  DType type = dtypeOf(a);
  HostNumber number{};
  number.kind = HostNumber::Kind::integer;
  switch (op) {
  case UnaryOp::neg:
    if (type.is_float()) {
      mlir::Value v = operand(t, a, type, loc).value;
      return t.wrap(t.emit("arith.negf", v, loc, {}, v.getType()), type, loc);
    }
    return binary(BinaryOp::sub, hostHandle(number), a, loc);
  case UnaryOp::abs: {
    mlir::Value v = operand(t, a, type, loc).value;
    if (!type.is_signed())
      return a;
    return t.wrap(t.emit(type.is_float() ? "math.absf" : "math.absi", v, loc, {}, v.getType()),
                  type, loc);
  }
  case UnaryOp::logicalNot:
  case UnaryOp::bitNot:
    if (op == UnaryOp::logicalNot && type != boolean)
      return binary(BinaryOp::eq, a, hostHandle(number), loc);
    // All ones: 1 for a boolean.
    number.integer = type == boolean ? 1 : -1;
    if (type.is_integer() && !type.is_signed())
      number.integer = static_cast<std::int64_t>(~std::uint64_t(0) >> (64 - type.bits()));
    if (!type.is_signed() && type.bits() == 64)
      number.kind = HostNumber::Kind::unsignedInteger;
    return binary(BinaryOp::bitXor, a, hostHandle(number, type), loc);
  }
  return {};
}

Handle convert(const Handle &a, DType to, Loc loc) {
  if (auto *number = hostAs<HostNumber>(a); number && !isTraced(a) && fits(*number, to))
    return typedConstant(*number, to, loc);
  DType from = dtypeOf(a);
  if (from == to)
    return a;
  Tracer &t = Tracer::require("a conversion", loc);
  return t.wrap(converted(t, {operand(t, a, from, loc).value, from}, to, loc).value, to, loc);
}

Handle bitcast(const Handle &a, DType to, Loc loc) {
  Tracer &t = Tracer::require("a bitcast", loc);
  DType from = dtypeOf(a);
  mlir::Value v = operand(t, a, from, loc).value;
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(v.getType())) {
    std::int64_t bits = vector.getNumElements() * from.bits();
    if (bits % to.bits() != 0)
      throw TraceError("bitcast: " + builder::typeText(vector) + " is no whole number of " +
                           std::string(to.name()),
                       loc);
    auto type = mlir::VectorType::get(bits / to.bits(), builder::elementType(to, t.context()));
    return t.wrap(type == vector ? v : t.emit("vector.bitcast", v, loc, {}, type), to, loc);
  }
  if (from.bits() != to.bits())
    throw TraceError("bitcast: " + std::string(from.name()) + " and " + std::string(to.name()) +
                         " differ in width",
                     loc);
  mlir::Type type = builder::elementType(to, t.context());
  return t.wrap(type == v.getType() ? v : t.emit("arith.bitcast", v, loc, {}, type), to, loc);
}

Handle select(const Handle &condition, const Handle &a, const Handle &b, Loc loc) {
  Tracer &t = Tracer::require("select", loc);
  DType type = operandType(a, b, loc);
  Typed x = operand(t, a, type, loc), y = operand(t, b, type, loc);
  matchShapes(t, x, y, loc);
  Typed c{t.use(condition, loc), boolean};
  if (mlir::isa<mlir::VectorType>(c.value.getType()))
    matchShapes(t, c, mlir::isa<mlir::VectorType>(x.value.getType()) ? x : x, loc);
  if (mlir::isa<mlir::VectorType>(c.value.getType()) &&
      !mlir::isa<mlir::VectorType>(y.value.getType()))
    matchShapes(t, c, y, loc);
  return t.wrap(t.emit("arith.select", {c.value, x.value, y.value}, loc, {}, x.value.getType()),
                type, loc);
}

//===-- Vectors
//--------------------------------------------------------------------------------------===//

static mlir::VectorType expectVector(const Handle &handle, Loc loc) {
  if (mlir::VectorType type = vectorType(handle, loc))
    return type;
  throw TraceError("expected a vector, got " + builder::describe(handle), loc);
}

std::int64_t vectorSize(const Handle &vector) {
  return expectVector(vector, Loc::current()).getNumElements();
}

Handle vectorExtract(const Handle &vector, std::int64_t index, Loc loc) {
  mlir::VectorType type = expectVector(vector, loc);
  if (index < 0 || index >= type.getNumElements())
    throw TraceError("element " + std::to_string(index) + " of " + builder::typeText(type), loc);
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
    throw TraceError("a vector's index is an integer", loc);
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
  DType element = type ? type : dtypeOf(scalar);
  if (size < 1)
    throw TraceError("a vector of " + std::to_string(size) + " elements", loc);
  auto vector = mlir::VectorType::get(size, builder::elementType(element, t.context()));
  return t.wrap(t.emit("vector.broadcast", operand(t, scalar, element, loc).value, loc, {}, vector),
                element, loc);
}

Handle vectorOf(const Handle *const *elements, std::size_t count, Loc loc) {
  Tracer &t = Tracer::require("a vector", loc);
  if (!count)
    throw TraceError("a vector of no elements", loc);
  DType type = dtypeOf(*elements[0]);
  llvm::SmallVector<mlir::Value, 8> values;
  for (std::size_t i = 0; i < count; ++i) {
    if (dtypeOf(*elements[i]) != type && !isWeak(*elements[i]))
      throw TraceError("a vector's elements have one type; got " + std::string(type.name()) +
                           " and " + std::string(dtypeOf(*elements[i]).name()),
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
  return t.wrap(t.emit("vector.reduction", t.use(vector, loc), loc,
                       {t.named("kind", t.attribute("#vector.kind<" + std::string(kind) + ">"))},
                       type.getElementType()),
                dtype, loc);
}

Handle vectorShuffle(const Handle &a, const Handle &b, const std::int64_t *mask, std::size_t count,
                     Loc loc) {
  mlir::VectorType ta = expectVector(a, loc), tb = expectVector(b, loc);
  Tracer &t = Tracer::require("a shuffle", loc);
  std::int64_t limit = ta.getNumElements() + tb.getNumElements();
  for (std::size_t i = 0; i < count; ++i)
    if (mask[i] < 0 || mask[i] >= limit)
      throw TraceError(
          "shuffle: element " + std::to_string(mask[i]) + " of " + std::to_string(limit), loc);
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
