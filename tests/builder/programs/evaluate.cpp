// The host's side: each operator by the documentation's words, in wide integers and long double.
#include "expression.h"

#include <flydsl/host/host_float.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace programs {

Kind commonOf(Kind a, Kind b) {
  if (a == b)
    return a;
  if (isFloat(a) != isFloat(b))
    return isFloat(a) ? a : b;
  if (bitsOf(a) != bitsOf(b))
    return bitsOf(a) > bitsOf(b) ? a : b;
  return isFloat(a) ? Kind::f32 : DType(a).is_signed() ? b : a;
}

std::int64_t wrapped(std::int64_t value, Kind kind) {
  const int unused = 64 - bitsOf(kind);
  const auto raised = static_cast<std::uint64_t>(value) << unused;
  return DType(kind).is_signed() ? static_cast<std::int64_t>(raised) >> unused
                                 : static_cast<std::int64_t>(raised >> unused);
}

double rounded(long double value, Kind kind) {
  if (kind == Kind::f64 || value == 0 || !std::isfinite(value))
    return static_cast<double>(value);
  const int digits = kind == Kind::f32 ? 24 : kind == Kind::f16 ? 11 : 8;
  const int least = kind == Kind::f16 ? -13 : -125, most = kind == Kind::f16 ? 16 : 128;
  int exponent; // value = m * 2^exponent, and m is from 0.5 to 1
  std::frexp(value, &exponent);
  const int last = std::max(exponent, least) - digits; // the exponent of the last place
  const long double near = std::ldexp(std::rint(std::ldexp(value, -last)), last);
  if (std::fabs(near) >= std::ldexp(1.0L, most))
    return std::copysign(std::numeric_limits<double>::infinity(), static_cast<double>(value));
  return static_cast<double>(near);
}

namespace {

struct Meaningless {};

std::uint64_t withoutSign(std::int64_t number) { return static_cast<std::uint64_t>(number); }

Value converted(Value value, Kind from, Kind to) {
  if (isFloat(from) && isFloat(to))
    return {0, rounded(value.real, to)};
  if (isFloat(to))
    return {0, rounded(from == Kind::u64 ? static_cast<long double>(withoutSign(value.number))
                                         : static_cast<long double>(value.number),
                       to)};
  if (!isFloat(from))
    return {wrapped(value.number, to), 0};
  if (!(std::fabs(value.real) < 1e6))
    throw Meaningless{};
  return {wrapped(static_cast<std::int64_t>(value.real), to), 0};
}

class Evaluation {
public:
  explicit Evaluation(const Row &row) : row_(row) {}
  Value of(const Node &n);

private:
  struct Turn {
    std::int64_t loop, number;
    Value variable;
  };
  Value as(const Node &n, Kind kind) { return converted(of(n), n->kind, kind); }
  const Turn &turnOf(std::int64_t loop) const {
    return *std::find_if(turns_.rbegin(), turns_.rend(),
                         [&](const Turn &turn) { return turn.loop == loop; });
  }
  Value ofFloats(const Expression &n);
  std::int64_t ofIntegers(const Expression &n);
  std::int64_t quotient(const Expression &n);
  std::int64_t bits(const Expression &n);

  const Row &row_;
  std::vector<Turn> turns_;
};

Value Evaluation::ofFloats(const Expression &n) {
  const Kind kind = n.kind;
  const auto operand = [&](std::size_t i) { return as(n.operands[i], kind).real; };
  switch (n.op) {
  case Op::add:
    return {0, rounded(operand(0) + operand(1), kind)};
  case Op::sub:
    return {0, rounded(operand(0) - operand(1), kind)};
  case Op::mul:
    return {0, rounded(operand(0) * operand(1), kind)};
  case Op::min:
    return {0, std::fmin(operand(0), operand(1))};
  case Op::max:
    return {0, std::fmax(operand(0), operand(1))};
  case Op::neg:
    return {0, -operand(0)};
  case Op::abs:
    return {0, std::fabs(operand(0))};
  case Op::floor:
    return {0, std::floor(operand(0))};
  case Op::fma: {
    const double a = operand(0), b = operand(1), c = operand(2);
    return {0, kind == Kind::f32 ? std::fma(float(a), float(b), float(c))
                                 : rounded(std::fma(a, b, c), kind)};
  }
  default:
    std::abort();
  }
}

std::int64_t Evaluation::quotient(const Expression &n) {
  const std::int64_t a = as(n.operands[0], n.kind).number, b = as(n.operands[1], n.kind).number;
  if (b == 0 || (DType(n.kind).is_signed() && b == -1) || (n.op == Op::ceilDiv && b < 0))
    throw Meaningless{};
  if (n.kind == Kind::u64) {
    const std::uint64_t q = withoutSign(a) / withoutSign(b), r = withoutSign(a) % withoutSign(b);
    return static_cast<std::int64_t>(n.op == Op::rem ? r : n.op == Op::ceilDiv ? q + (r != 0) : q);
  }
  const std::int64_t q = a / b, r = a % b;
  const bool isBelow = r != 0 && (r < 0) != (b < 0); // the exact quotient is below q
  return n.op == Op::rem        ? r
         : n.op == Op::floorDiv ? q - isBelow
         : n.op == Op::ceilDiv  ? q + (r > 0)
                                : q;
}

/// The bits of a number, as an integer of the type.
std::int64_t Evaluation::bits(const Expression &n) {
  const Node &of = n.operands[0];
  const Value value = this->of(of);
  if (!isFloat(of->kind))
    return wrapped(value.number, n.kind);
  if (std::isnan(value.real))
    throw Meaningless{};
  const double real = value.real == 0 ? 0 : value.real; // no sign of zero
  if (of->kind == Kind::f64)
    return std::bit_cast<std::int64_t>(real);
  const auto single = std::bit_cast<std::uint32_t>(static_cast<float>(real));
  if (of->kind == Kind::f16)
    return wrapped(std::bit_cast<std::int16_t>(flydsl::half_t(static_cast<float>(real))), n.kind);
  return wrapped(of->kind == Kind::bf16 ? single >> 16 : single, n.kind);
}

std::int64_t Evaluation::ofIntegers(const Expression &n) {
  const Kind kind = n.kind;
  const int width = bitsOf(kind);
  const bool isWide = kind == Kind::u64;
  const auto operand = [&](std::size_t i) { return as(n.operands[i], kind).number; };
  const auto raw = [&](std::size_t i) { return withoutSign(operand(i)); };
  const auto low = [&] { return raw(0) << (64 - width) >> (64 - width); };
  const auto isLess = [&](std::int64_t a, std::int64_t b) {
    return isWide ? withoutSign(a) < withoutSign(b) : a < b;
  };
  const auto places = [&] { return of(n.operands[1]).number & (width - 1); };
  switch (n.op) {
  case Op::add:
    return static_cast<std::int64_t>(raw(0) + raw(1));
  case Op::sub:
    return static_cast<std::int64_t>(raw(0) - raw(1));
  case Op::mul:
    return static_cast<std::int64_t>(raw(0) * raw(1));
  case Op::bitAnd:
    return operand(0) & operand(1);
  case Op::bitOr:
    return operand(0) | operand(1);
  case Op::bitXor:
    return operand(0) ^ operand(1);
  case Op::shl:
    return static_cast<std::int64_t>(raw(0) << places());
  case Op::shr:
    return isWide ? static_cast<std::int64_t>(raw(0) >> places()) : operand(0) >> places();
  case Op::min:
    return isLess(operand(1), operand(0)) ? operand(1) : operand(0);
  case Op::max:
    return isLess(operand(0), operand(1)) ? operand(1) : operand(0);
  case Op::neg:
    return static_cast<std::int64_t>(0 - raw(0));
  case Op::bitNot:
    return ~operand(0);
  case Op::abs:
    return DType(kind).is_signed() && operand(0) < 0 ? static_cast<std::int64_t>(0 - raw(0))
                                                     : operand(0);
  case Op::ctlz:
    return std::countl_zero(low()) - (64 - width);
  case Op::cttz:
    return std::min(std::countr_zero(low()), width);
  case Op::ctpop:
    return std::popcount(low());
  case Op::element:
    return kElements[operand(0) & 7];
  case Op::div:
  case Op::rem:
  case Op::floorDiv:
  case Op::ceilDiv:
    return quotient(n);
  case Op::bitcast:
    return bits(n);
  default:
    std::abort();
  }
}

Value Evaluation::of(const Node &node) {
  const Expression &n = *node;
  switch (n.op) {
  case Op::input: {
    const std::int64_t number = row_[static_cast<std::size_t>(n.number)];
    if (!isFloat(n.kind))
      return {wrapped(number, n.kind), 0};
    return {0, rounded(static_cast<long double>(rounded(number % 1000, n.kind)) / 8, n.kind)};
  }
  case Op::constant:
    return {n.number, n.real};
  case Op::variable:
    return turnOf(n.number).variable;
  case Op::turn:
    return {turnOf(n.number).number, 0};
  case Op::less: {
    const Kind kind = commonOf(n.operands[0]->kind, n.operands[1]->kind);
    const Value a = as(n.operands[0], kind), b = as(n.operands[1], kind);
    return {isFloat(kind)       ? a.real < b.real
            : kind == Kind::u64 ? withoutSign(a.number) < withoutSign(b.number)
                                : a.number < b.number,
            0};
  }
  case Op::select: { // both sides are computed
    const Value a = as(n.operands[1], n.kind), b = as(n.operands[2], n.kind);
    return of(n.operands[0]).number ? a : b;
  }
  case Op::branch:
    return as(n.operands[of(n.operands[0]).number ? 1 : 2], n.kind);
  case Op::convert:
    return as(n.operands[0], n.kind);
  case Op::vector: {
    const auto chosen = static_cast<std::size_t>(of(n.operands[0]).number & 3);
    return of(std::make_shared<Expression>(Expression{
        static_cast<Op>(n.number), n.kind, {n.operands[1 + chosen], n.operands[5 + chosen]}}));
  }
  case Op::loop: {
    Value variable = as(n.operands[0], n.kind);
    const std::int64_t turns = of(n.operands[1]).number & 7;
    for (std::int64_t i = 0; i < turns; ++i) {
      turns_.push_back({n.number, i, variable});
      variable = as(n.operands[2], n.kind);
      turns_.pop_back();
    }
    return variable;
  }
  default:
    return isFloat(n.kind) ? ofFloats(n) : Value{wrapped(ofIntegers(n), n.kind), 0};
  }
}

} // namespace

std::optional<Value> valueOf(const Node &program, const Row &row) {
  try {
    return Evaluation(row).of(program);
  } catch (const Meaningless &) {
    return std::nullopt;
  }
}

} // namespace programs
