// Operators of scalars and vectors: common types, and the operations of the IR that they are.
#include <flydsl/kernel/control_flow.h>

#include "builder/values/short_circuit.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

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

/// The operation of the IR on two operands of one type.
using Make = mlir::Value (*)(Tracer &, mlir::Value, mlir::Value, Loc);
template <class Op> mlir::Value make(Tracer &t, mlir::Value a, mlir::Value b, Loc loc) {
  mlir::Type type = a.getType();
  return t.create<Op>(loc, mlir::TypeRange(type), mlir::ValueRange{a, b});
}

/// What an operator is in the IR, by the kind of its operands; null if it takes no such. Of
/// comparisons, whose predicates are in `predicate`, all are null.
struct Row {
  const char *symbol;
  Make floating = nullptr, signedInt = nullptr, unsignedInt = nullptr;
};
template <class Op> Row onIntegers(const char *symbol) {
  return {symbol, nullptr, &make<Op>, &make<Op>};
}

Row rowOf(BinaryOp op) {
  using namespace mlir::arith;
  switch (op) {
  case BinaryOp::add:
    return {"+", &make<AddFOp>, &make<AddIOp>, &make<AddIOp>};
  case BinaryOp::sub:
    return {"-", &make<SubFOp>, &make<SubIOp>, &make<SubIOp>};
  case BinaryOp::mul:
    return {"*", &make<MulFOp>, &make<MulIOp>, &make<MulIOp>};
  case BinaryOp::div:
    return {"/", &make<DivFOp>, &make<DivSIOp>, &make<DivUIOp>};
  case BinaryOp::rem:
    return {"%", &make<RemFOp>, &make<RemSIOp>, &make<RemUIOp>};
  case BinaryOp::bitAnd:
    return onIntegers<AndIOp>("&");
  case BinaryOp::bitOr:
    return onIntegers<OrIOp>("|");
  case BinaryOp::bitXor:
    return onIntegers<XOrIOp>("^");
  case BinaryOp::shl:
    return onIntegers<ShLIOp>("<<");
  case BinaryOp::shr:
    return {">>", nullptr, &make<ShRSIOp>, &make<ShRUIOp>};
  case BinaryOp::lt:
    return {"<"};
  case BinaryOp::le:
    return {"<="};
  case BinaryOp::gt:
    return {">"};
  case BinaryOp::ge:
    return {">="};
  case BinaryOp::eq:
    return {"=="};
  case BinaryOp::ne:
    return {"!="};
  case BinaryOp::min:
    return {"min", &make<MinNumFOp>, &make<MinSIOp>, &make<MinUIOp>};
  case BinaryOp::max:
    return {"max", &make<MaxNumFOp>, &make<MaxSIOp>, &make<MaxUIOp>};
  case BinaryOp::floorDiv:
    return {"floordiv", nullptr, &make<FloorDivSIOp>, &make<DivUIOp>};
  case BinaryOp::ceilDiv:
    return {"ceildiv", nullptr, &make<CeilDivSIOp>, &make<CeilDivUIOp>};
  case BinaryOp::pow:
    return {"pow", &make<mlir::math::PowFOp>};
  }
  llvm_unreachable("an operator");
}

/// Arithmetic on truth values is arithmetic on 0 and 1.
bool widensBooleans(BinaryOp op) {
  switch (op) {
  case BinaryOp::add:
  case BinaryOp::sub:
  case BinaryOp::mul:
  case BinaryOp::div:
  case BinaryOp::rem:
  case BinaryOp::shl:
  case BinaryOp::shr:
  case BinaryOp::floorDiv:
  case BinaryOp::ceilDiv:
  case BinaryOp::pow:
    return true;
  case BinaryOp::bitAnd:
  case BinaryOp::bitOr:
  case BinaryOp::bitXor:
  case BinaryOp::lt:
  case BinaryOp::le:
  case BinaryOp::gt:
  case BinaryOp::ge:
  case BinaryOp::eq:
  case BinaryOp::ne:
  case BinaryOp::min:
  case BinaryOp::max:
    return false;
  }
  llvm_unreachable("an operator");
}

/// What a comparison asks. Floats compare ordered, but != holds for NaNs.
struct Predicate {
  mlir::arith::CmpFPredicate floating;
  mlir::arith::CmpIPredicate signedInt, unsignedInt;
};

/// The predicate of a comparison; nullopt for other operators.
std::optional<Predicate> predicate(BinaryOp op) {
  using F = mlir::arith::CmpFPredicate;
  using I = mlir::arith::CmpIPredicate;
  switch (op) {
  case BinaryOp::lt:
    return Predicate{F::OLT, I::slt, I::ult};
  case BinaryOp::le:
    return Predicate{F::OLE, I::sle, I::ule};
  case BinaryOp::gt:
    return Predicate{F::OGT, I::sgt, I::ugt};
  case BinaryOp::ge:
    return Predicate{F::OGE, I::sge, I::uge};
  case BinaryOp::eq:
    return Predicate{F::OEQ, I::eq, I::eq};
  case BinaryOp::ne:
    return Predicate{F::UNE, I::ne, I::ne};
  default:
    return std::nullopt;
  }
}

Handle compare(Tracer &t, const Predicate &p, const Typed &x, const Typed &y, Loc loc) {
  const DType type = x.dtype;
  const mlir::Type truth = x.like(boolean, t.context());
  mlir::Value v;
  if (type.is_float())
    v = t.create<mlir::arith::CmpFOp>(loc, truth, p.floating, x.value, y.value);
  else
    v = t.create<mlir::arith::CmpIOp>(loc, truth, type.is_signed() ? p.signedInt : p.unsignedInt,
                                      x.value, y.value);
  return t.wrap(v, boolean, loc);
}

/// Whether some element of an integer, or of a vector of them, is known while tracing to satisfy `is`.
/// Returns that element.
template <class Is>
std::optional<std::int64_t> knownElement(mlir::Value value, bool isSigned, Is is) {
  if (auto splat = value.getDefiningOp<mlir::vector::BroadcastOp>())
    value = splat.getSource();
  mlir::Attribute constant;
  if (!mlir::matchPattern(value, mlir::m_Constant(&constant)))
    return std::nullopt;
  auto read = [&](const llvm::APInt &n) {
    return isSigned ? n.getSExtValue() : static_cast<std::int64_t>(n.getZExtValue());
  };
  if (auto one = mlir::dyn_cast<mlir::IntegerAttr>(constant))
    return is(read(one.getValue())) ? std::optional(read(one.getValue())) : std::nullopt;
  if (auto all = mlir::dyn_cast<mlir::DenseIntElementsAttr>(constant))
    for (const llvm::APInt &n : all.getValues<llvm::APInt>())
      if (is(read(n)))
        return read(n);
  return std::nullopt;
}

/// Refuses a right side that is known while tracing and for which the operator on integers has no
/// result: LLVM would make an unspecified number of it.
void expectResult(BinaryOp op, const char *symbol, const Typed &right, Loc loc) {
  const DType type = right.dtype;
  auto refuseIf = [&](auto is, const std::string &rule) {
    if (const std::optional<std::int64_t> n = knownElement(right.value, type.is_signed(), is))
      throw TraceError("operator " + std::string(symbol) + " of " + std::string(type.name()) +
                           " by " + std::to_string(*n) + " has no result: " + rule,
                       loc);
  };
  switch (op) {
  case BinaryOp::div:
  case BinaryOp::rem:
  case BinaryOp::floorDiv:
    return refuseIf([](std::int64_t n) { return n == 0; }, "an integer is divided by any but 0");
  case BinaryOp::ceilDiv:
    return refuseIf([&](std::int64_t n) { return type.is_signed() ? n <= 0 : n == 0; },
                    "a quotient that is rounded up has a positive divisor");
  case BinaryOp::shl:
  case BinaryOp::shr: {
    const std::int64_t bits = type.bits();
    return refuseIf([&](std::int64_t n) { return n < 0 || n >= bits; },
                    std::to_string(bits) + " bits are shifted by 0 to " + std::to_string(bits - 1) +
                        "; .to(type) of a wider type makes room");
  }
  default:
    return;
  }
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
    b.value = t.create<mlir::vector::BroadcastOp>(loc, a.like(b.dtype, t.context()), b.value);
  if (vb && !va)
    a.value = t.create<mlir::vector::BroadcastOp>(loc, b.like(a.dtype, t.context()), a.value);
}

Handle binary(BinaryOp op, const Handle &a, const Handle &b, Loc loc) {
  Tracer &t = Tracer::require("arithmetic on kernel values", loc);
  DType type = operandType(a, b, loc);
  if (type == boolean && widensBooleans(op))
    type = i32;
  const Row row = rowOf(op);
  expectComputable(row.symbol, type, loc);
  if (op == BinaryOp::pow && !type.is_float())
    return power(t, a, b, type, loc);
  if (op == BinaryOp::pow && type == bf16)
    return convert(binary(op, convert(a, f32, loc), convert(b, f32, loc), loc), type, loc);
  const std::optional<Predicate> asked = predicate(op);
  const Make make = type.is_float()    ? row.floating
                    : type.is_signed() ? row.signedInt
                                       : row.unsignedInt;
  if (!asked && !make)
    throw TraceError(std::string("operator ") + row.symbol + " takes integers, not " +
                         std::string(type.name()),
                     loc);
  Typed x = operand(t, a, type, loc), y = operand(t, b, type, loc);
  if (!type.is_float())
    expectResult(op, row.symbol, y, loc);
  matchShapes(t, x, y, loc);
  if (asked)
    return compare(t, *asked, x, y, loc);
  return t.wrap(make(t, x.value, y.value, loc), type, loc);
}

/// A number as a condition: whether it is not 0.
static Handle truthOf(const Handle &a, Loc loc) {
  return dtypeOf(a, loc) == boolean ? a : binary(BinaryOp::ne, a, number(0, {}, loc), loc);
}

Handle logical(BinaryOp op, const Handle &a, const Handle &b, bool leftIsOwn, Loc loc) {
  Tracer &t = Tracer::require("arithmetic on kernel values", loc);
  const Handle left = truthOf(a, loc), right = truthOf(b, loc);
  if (a.node()->traced() && right.node()->traced() && !vectorType(a, loc) &&
      !vectorType(right, loc))
    if (std::optional<mlir::Value> whole = builder::shortCircuit(
            t, {t.use(a, loc), t.use(left, loc), t.use(right, loc), leftIsOwn},
            op == BinaryOp::bitAnd, loc))
      return t.wrap(*whole, boolean, loc);
  return binary(op, left, right, loc);
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
      mlir::Type same = v.getType();
      return t.wrap(t.create<mlir::arith::NegFOp>(loc, mlir::TypeRange(same), v), type, loc);
    }
    return binary(BinaryOp::sub, hostHandle(number), a, loc);
  case UnaryOp::abs: {
    mlir::Value v = operand(t, a, type, loc).value;
    if (!type.is_signed())
      return a;
    mlir::Type same = v.getType();
    if (type.is_float())
      return t.wrap(t.create<mlir::math::AbsFOp>(loc, mlir::TypeRange(same), v), type, loc);
    return t.wrap(t.create<mlir::math::AbsIOp>(loc, mlir::TypeRange(same), v), type, loc);
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
  return t.wrap(t.create<mlir::arith::SelectOp>(loc, x.value.getType(), c.value, x.value, y.value),
                type, loc);
}

} // namespace detail
FLYDSL_NAMESPACE_END
