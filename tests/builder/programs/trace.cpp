#include "trace.h"

#include <algorithm>
#include <cstdlib>

namespace programs {

namespace fx = flydsl;

namespace {

class Tracing {
public:
  Tracing(const fx::Tensor &rows, const fx::Numeric &lane) : rows_(rows), lane_(lane) {}
  fx::Numeric of(const Node &n);

private:
  struct Turn {
    std::int64_t loop;
    fx::Numeric number, variable;
  };
  fx::Numeric as(const Node &n, Kind kind) {
    fx::Numeric value = of(n);
    return n->kind == kind ? value : value.to(DType(kind));
  }
  const Turn &turnOf(std::int64_t loop) const {
    return *std::find_if(turns_.rbegin(), turns_.rend(),
                         [&](const Turn &turn) { return turn.loop == loop; });
  }
  fx::Numeric ofTwo(Op op, int width, const fx::Numeric &a, const fx::Numeric &b);
  fx::Numeric ofOne(Op op, const fx::Numeric &a);
  fx::Numeric loop(const Expression &n);

  const fx::Tensor rows_;
  const fx::Numeric lane_;
  std::vector<Turn> turns_;
};

fx::Numeric constant(const Expression &n) {
  switch (n.kind) {
  case Kind::i8:
    return fx::Int8(static_cast<std::int8_t>(n.number));
  case Kind::u8:
    return fx::UInt8(static_cast<std::uint8_t>(n.number));
  case Kind::i16:
    return fx::Int16(static_cast<std::int16_t>(n.number));
  case Kind::u16:
    return fx::UInt16(static_cast<std::uint16_t>(n.number));
  case Kind::i32:
    return fx::Int32(static_cast<std::int32_t>(n.number));
  case Kind::u32:
    return fx::UInt32(static_cast<std::uint32_t>(n.number));
  case Kind::i64:
    return fx::Int64(n.number);
  case Kind::u64:
    return fx::UInt64(static_cast<std::uint64_t>(n.number));
  case Kind::f64:
    return fx::Float64(n.real);
  default:
    return fx::Float32(n.real).to(DType(n.kind));
  }
}

fx::Numeric Tracing::ofTwo(Op op, int width, const fx::Numeric &a, const fx::Numeric &b) {
  switch (op) {
  case Op::add:
    return a + b;
  case Op::sub:
    return a - b;
  case Op::mul:
    return a * b;
  case Op::div:
    return a / b;
  case Op::rem:
    return a % b;
  case Op::floorDiv:
    return fx::floordiv(a, b);
  case Op::ceilDiv:
    return fx::ceildiv(a, b);
  case Op::bitAnd:
    return a & b;
  case Op::bitOr:
    return a | b;
  case Op::bitXor:
    return a ^ b;
  case Op::shl:
    return a << (b & (width - 1));
  case Op::shr:
    return a >> (b & (width - 1));
  case Op::min:
    return fx::min(a, b);
  case Op::max:
    return fx::max(a, b);
  case Op::less:
    return a < b;
  default:
    std::abort();
  }
}

fx::Numeric Tracing::ofOne(Op op, const fx::Numeric &a) {
  switch (op) {
  case Op::neg:
    return -a;
  case Op::bitNot:
    return ~a;
  case Op::abs:
    return fx::math::abs(a);
  case Op::ctlz:
    return fx::math::ctlz(a);
  case Op::cttz:
    return fx::math::cttz(a);
  case Op::ctpop:
    return fx::math::ctpop(a);
  case Op::floor:
    return fx::math::floor(a);
  default:
    std::abort();
  }
}

fx::Numeric Tracing::loop(const Expression &n) {
  const fx::Numeric first = as(n.operands[0], n.kind);
  const fx::Numeric turns = of(n.operands[1]) & 7;
  fx::Var<fx::Numeric> variable(first);
  for (fx::Int32 i : fx::range(fx::Int32(turns))) {
    turns_.push_back({n.number, i, variable.get()});
    variable = as(n.operands[2], n.kind);
    turns_.pop_back();
  }
  return variable.get();
}

fx::Numeric Tracing::of(const Node &node) {
  const Expression &n = *node;
  const DType type(n.kind);
  switch (n.op) {
  case Op::input: {
    const fx::Numeric number = rows_(lane_, static_cast<int>(n.number));
    return isFloat(n.kind) ? (number % 1000).to(type) / 8 : number.to(type);
  }
  case Op::constant:
    return constant(n);
  case Op::variable:
    return turnOf(n.number).variable;
  case Op::turn:
    return turnOf(n.number).number;
  case Op::select: {
    const fx::Boolean condition(of(n.operands[0]));
    const fx::Numeric a = as(n.operands[1], n.kind), b = as(n.operands[2], n.kind);
    return fx::select(condition, a, b);
  }
  case Op::branch:
    return fx::if_(
        fx::Boolean(of(n.operands[0])), [&] { return as(n.operands[1], n.kind); },
        [&] { return as(n.operands[2], n.kind); });
  case Op::convert:
    return of(n.operands[0]).to(type);
  case Op::bitcast: {
    const fx::Numeric value = of(n.operands[0]);
    return isFloat(n.operands[0]->kind) ? fx::select(value == 0.0, 0.0, value).bitcast(type)
                                        : value.bitcast(type);
  }
  case Op::fma: {
    const fx::Numeric a = of(n.operands[0]), b = of(n.operands[1]), c = of(n.operands[2]);
    return fx::math::fma(a, b, c);
  }
  case Op::vector: {
    std::vector<fx::Numeric> e;
    for (const Node &operand : n.operands)
      e.push_back(of(operand));
    const fx::Vector a = fx::Vector::of({e[1], e[2], e[3], e[4]}),
                     b = fx::Vector::of({e[5], e[6], e[7], e[8]});
    const auto op = static_cast<Op>(n.number);
    const fx::Vector all = op == Op::add ? a + b : op == Op::sub ? a - b : a * b;
    return all[(e[0] & 3).to(fx::i32)];
  }
  case Op::element:
    return fx::Vector::of(kElements)[(of(n.operands[0]) & 7).to(fx::i32)].to(type);
  case Op::loop:
    return loop(n);
  default:
    break;
  }
  const fx::Numeric a = of(n.operands[0]);
  return n.operands.size() == 1 ? ofOne(n.op, a)
                                : ofTwo(n.op, bitsOf(n.kind), a, of(n.operands[1]));
}

} // namespace

fx::Numeric traced(const Node &program, const fx::Tensor &rows, const fx::Numeric &lane) {
  return Tracing(rows, lane).of(program);
}

} // namespace programs
