// Operators of scalars and vectors: common types, and the operations of the IR that they are.
#include <flydsl/control_flow.h>

#include "builder/values/operand.h"
#include "builder/trace/types.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

namespace {

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

struct OpNames {
  const char *floating, *signedInt, *unsignedInt, *symbol;
};

const OpNames &namesOf(BinaryOp op) {
  static constexpr const char *cmpf = "arith.cmpf", *cmpi = "arith.cmpi";
  static constexpr OpNames names[] = {
      {"arith.addf", "arith.addi", "arith.addi", "+"},
      {"arith.subf", "arith.subi", "arith.subi", "-"},
      {"arith.mulf", "arith.muli", "arith.muli", "*"},
      {"arith.divf", "arith.divsi", "arith.divui", "/"},
      {"arith.remf", "arith.remsi", "arith.remui", "%"},
      {nullptr, "arith.andi", "arith.andi", "&"},
      {nullptr, "arith.ori", "arith.ori", "|"},
      {nullptr, "arith.xori", "arith.xori", "^"},
      {nullptr, "arith.shli", "arith.shli", "<<"},
      {nullptr, "arith.shrsi", "arith.shrui", ">>"},
      {cmpf, cmpi, cmpi, "<"},
      {cmpf, cmpi, cmpi, "<="},
      {cmpf, cmpi, cmpi, ">"},
      {cmpf, cmpi, cmpi, ">="},
      {cmpf, cmpi, cmpi, "=="},
      {cmpf, cmpi, cmpi, "!="},
      {"arith.minnumf", "arith.minsi", "arith.minui", "min"},
      {"arith.maxnumf", "arith.maxsi", "arith.maxui", "max"},
      {nullptr, "arith.floordivsi", "arith.divui", "floordiv"},
      {nullptr, "arith.ceildivsi", "arith.ceildivui", "ceildiv"},
      {"math.powf", nullptr, nullptr, "pow"},
  };
  return names[static_cast<int>(op)];
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

Handle number(std::int64_t n, DType type, Loc loc) { return constant(hostNumber(n), type, loc); }

/// An integer to a power known while tracing, by squares.
Handle knownPower(Handle base, std::int64_t exponent, DType type, Loc loc) {
  std::optional<Handle> result;
  for (std::uint64_t left = static_cast<std::uint64_t>(exponent); left; left >>= 1) {
    if (left & 1)
      result = result ? binary(BinaryOp::mul, *result, base, loc) : base;
    if (left > 1)
      base = binary(BinaryOp::mul, base, base, loc);
  }
  return result ? *result : number(1, type, loc);
}

/// The quotient 1 / base^|exponent|, rounded towards zero: 0 but for 1 and -1.
Handle reciprocalPower(const Handle &base, const Handle &exponent, DType type, Loc loc) {
  Handle one = number(1, type, loc), minusOne = number(-1, type, loc), zero = number(0, type, loc);
  Handle odd = binary(BinaryOp::ne, binary(BinaryOp::bitAnd, exponent, one, loc), zero, loc);
  return select(
      binary(BinaryOp::eq, base, one, loc), one,
      select(binary(BinaryOp::eq, base, minusOne, loc), select(odd, minusOne, one, loc), zero, loc),
      loc);
}

/// An integer to a power known at run time: a loop over the exponent's bits.
Handle integerPower(const Handle &base, const Handle &exponent, DType type, Loc loc) {
  Handle one = number(1, type, loc), zero = number(0, type, loc);
  OpenWhile loop({&one, &base, &exponent}, loc);
  Handle left = loop.argument(2);
  loop.condition(binary(BinaryOp::gt, left, zero, loc));
  Handle product = loop.argument(0), square = loop.argument(1);
  left = loop.argument(2);
  Handle odd = binary(BinaryOp::ne, binary(BinaryOp::bitAnd, left, one, loc), zero, loc);
  Handle next = select(odd, binary(BinaryOp::mul, product, square, loc), product, loc);
  Handle squared = binary(BinaryOp::mul, square, square, loc);
  Handle rest = binary(BinaryOp::shr, left, one, loc);
  loop.close({&next, &squared, &rest});
  Handle power = loop.result(0);
  return type.is_signed() ? select(binary(BinaryOp::lt, exponent, zero, loc),
                                   reciprocalPower(base, exponent, type, loc), power, loc)
                          : power;
}

Handle power(Tracer &t, const Handle &a, const Handle &b, DType type, Loc loc) {
  Handle base = wrap(t, operand(t, a, type, loc), loc);
  if (auto *exponent = hostAs<HostNumber>(b); exponent && exponent->integer >= 0)
    return knownPower(base, exponent->integer, type, loc);
  if (vectorType(a, loc) || vectorType(b, loc))
    throw TraceError("pow of a vector of integers takes an exponent that is known while tracing, "
                     "not negative",
                     loc);
  return integerPower(base, wrap(t, operand(t, b, type, loc), loc), type, loc);
}

} // namespace

Typed operand(Tracer &t, const Handle &handle, DType type, Loc loc) {
  if (isWeak(handle))
    return {t.use(typedConstant(*hostAs<HostNumber>(handle), type, loc), loc), type};
  return converted(t, {t.use(handle, loc), numericType(handle, loc)}, type, loc);
}

Typed operand(Tracer &t, const Handle &handle, Loc loc) {
  return operand(t, handle, dtypeOf(handle, loc), loc);
}

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
    throw TraceError("vectors of different sizes, " + std::to_string(va.getNumElements()) +
                         " and " + std::to_string(vb.getNumElements()),
                     loc);
  if (va && !vb)
    b.value = t.emit("vector.broadcast", b.value, loc, {}, a.like(b.dtype, t.context()));
  if (vb && !va)
    a.value = t.emit("vector.broadcast", a.value, loc, {}, b.like(a.dtype, t.context()));
}

Handle binary(BinaryOp op, const Handle &a, const Handle &b, Loc loc) {
  Tracer &t = Tracer::require("arithmetic on kernel values", loc);
  DType type = operandType(a, b, loc);
  if (type == boolean && widensBooleans(op))
    type = i32;
  const OpNames &names = namesOf(op);
  expectComputable(names.symbol, type, loc);
  if (op == BinaryOp::pow && !type.is_float())
    return power(t, a, b, type, loc);
  if (op == BinaryOp::pow && type == bf16)
    return convert(binary(op, convert(a, f32, loc), convert(b, f32, loc), loc), type, loc);
  const char *name = type.is_float()    ? names.floating
                     : type.is_signed() ? names.signedInt
                                        : names.unsignedInt;
  if (!name)
    throw TraceError(std::string("operator ") + names.symbol + " takes integers, not " +
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

/// A number as a condition: whether it is not 0.
static Handle truthOf(const Handle &a, Loc loc) {
  return dtypeOf(a, loc) == boolean ? a : binary(BinaryOp::ne, a, number(0, {}, loc), loc);
}

Handle logical(BinaryOp op, const Handle &a, const Handle &b, Loc loc) {
  return binary(op, truthOf(a, loc), truthOf(b, loc), loc);
}

Handle unary(UnaryOp op, const Handle &a, Loc loc) {
  Tracer &t = Tracer::require("arithmetic on kernel values", loc);
  DType type = dtypeOf(a, loc);
  expectComputable("arithmetic", type, loc);
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

Handle select(const Handle &condition, const Handle &a, const Handle &b, Loc loc) {
  Tracer &t = Tracer::require("select", loc);
  DType type = operandType(a, b, loc);
  Typed x = operand(t, a, type, loc), y = operand(t, b, type, loc);
  matchShapes(t, x, y, loc);
  Typed c{t.use(condition, loc), boolean};
  if (dtypeOf(condition, loc) != boolean)
    throw TraceError("select takes a condition, not " +
                         std::string(dtypeOf(condition, loc).name()) + "; a comparison gives one",
                     loc);
  if (c.isVector()) { // one condition is meant for all elements of a vector
    matchShapes(t, c, x, loc);
    matchShapes(t, c, y, loc);
  }
  return t.wrap(t.emit("arith.select", {c.value, x.value, y.value}, loc, {}, x.value.getType()),
                type, loc);
}

} // namespace detail
FLYDSL_NAMESPACE_END
