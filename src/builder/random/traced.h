// Numbers of a kernel with operators, for arithmetic that is written once for the host and for
// kernels (support/random).
#pragma once

#include <flydsl/kernel/random.h>

#include "support/random/distributions.h"
#include "support/random/philox.h"

FLYDSL_NAMESPACE_BEGIN
namespace random::algorithm {

using detail::BinaryOp;
using detail::Handle;

/// A number or vector of a kernel, of any element type, with the place of the user's call. A host
/// number takes the type of what it meets.
struct Traced {
  Handle handle;
  Loc loc;

  Traced(Handle value, Loc where) : handle(std::move(value)), loc(where) {}
  template <detail::HostNumeric T>
  Traced(T number)
      : handle(detail::constant(detail::hostNumber(number), DType(), detail::unknownPlace())),
        loc(detail::unknownPlace()) {}
};

inline Traced operation(BinaryOp op, const Traced &a, const Traced &b) {
  return {detail::binary(op, a.handle, b.handle, a.loc), a.loc};
}
inline Traced operator+(const Traced &a, const Traced &b) { return operation(BinaryOp::add, a, b); }
inline Traced operator-(const Traced &a, const Traced &b) { return operation(BinaryOp::sub, a, b); }
inline Traced operator*(const Traced &a, const Traced &b) { return operation(BinaryOp::mul, a, b); }
inline Traced operator&(const Traced &a, const Traced &b) {
  return operation(BinaryOp::bitAnd, a, b);
}
inline Traced operator|(const Traced &a, const Traced &b) {
  return operation(BinaryOp::bitOr, a, b);
}
inline Traced operator^(const Traced &a, const Traced &b) {
  return operation(BinaryOp::bitXor, a, b);
}
inline Traced operator<<(const Traced &a, const Traced &b) {
  return operation(BinaryOp::shl, a, b);
}
inline Traced operator>>(const Traced &a, const Traced &b) {
  return operation(BinaryOp::shr, a, b);
}
inline Traced operator<(const Traced &a, const Traced &b) { return operation(BinaryOp::lt, a, b); }
inline Traced operator>(const Traced &a, const Traced &b) { return operation(BinaryOp::gt, a, b); }
inline Traced operator==(const Traced &a, const Traced &b) { return operation(BinaryOp::eq, a, b); }
inline Traced operator!=(const Traced &a, const Traced &b) { return operation(BinaryOp::ne, a, b); }

inline Traced converted(const Traced &x, DType type) {
  return {detail::convert(x.handle, type, x.loc), x.loc};
}
inline Traced bitsAs(const Traced &x, DType type) {
  return {detail::bitcast(x.handle, type, x.loc), x.loc};
}
inline Traced choose(const Traced &condition, const Traced &yes, const Traced &no) {
  return {detail::select(condition.handle, yes.handle, no.handle, condition.loc), condition.loc};
}
inline Traced smaller(const Traced &x, const Traced &most) {
  return operation(BinaryOp::min, x, most);
}
inline Traced larger(const Traced &x, const Traced &least) {
  return operation(BinaryOp::max, x, least);
}

// What distributions.h and philox.h ask of a number. Functions of math.h take a Numeric for a
// vector too: what they look at is the handle.
inline Traced toFloat(const Traced &x) { return converted(x, f32); }
inline Traced toInteger(const Traced &x) { return converted(x, i32); }
inline Traced bitsOf(const Traced &x) { return bitsAs(x, i32); }
inline Traced fromBits(const Traced &x) { return bitsAs(x, f32); }
inline Traced fusedMultiplyAdd(const Traced &a, const Traced &b, const Traced &c) {
  return {detail::mathFma(a.handle, b.handle, c.handle, a.loc), a.loc};
}
inline Traced squareRoot(const Traced &x) {
  return {math::sqrt(Numeric(x.handle), x.loc).handle(), x.loc};
}
inline Traced roundToEven(const Traced &x) {
  return {math::roundeven(Numeric(x.handle), x.loc).handle(), x.loc};
}
inline Product<Traced> multiply(const Traced &x, std::uint32_t factor) {
  const Traced product = converted(x, u64) * factor;
  return {converted(product >> 32, u32), converted(product, u32)};
}
inline Product<Traced> multiply(const Traced &x, std::uint64_t factor) {
  return multiplyHalves(x, factor);
}

} // namespace random::algorithm
FLYDSL_NAMESPACE_END
