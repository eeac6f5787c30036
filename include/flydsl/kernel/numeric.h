// Scalars of a kernel: their element type is known while tracing, their value at run time.
#pragma once

#include <flydsl/detail/operators.h>
#include <flydsl/dtype.h>
#include <flydsl/kernel/scalars.h>
#include <flydsl/layout/int_tuple.h>

FLYDSL_NAMESPACE_BEGIN

class Vector;
class Numeric;

namespace detail {

/// A host number that is to become a constant.
struct HostNumber {
  enum class Kind { integer, unsignedInteger, floating, boolean } kind;
  union {
    std::int64_t integer;
    double floating;
  };
};

template <class T>
concept HostNumeric = std::is_arithmetic_v<T> && !std::same_as<std::remove_cv_t<T>, char>;

/// A Constexpr of a host number; it may stand wherever the number may.
template <class C>
concept NumericConstant =
    requires { typename C::constant_type; } && HostNumeric<typename C::constant_type>;

template <HostNumeric T> HostNumber hostNumber(T value) {
  HostNumber n{};
  if constexpr (std::same_as<std::remove_cv_t<T>, bool>) {
    n.kind = HostNumber::Kind::boolean;
    n.integer = value;
  } else if constexpr (std::integral<T>) {
    n.kind = std::is_signed_v<T> ? HostNumber::Kind::integer : HostNumber::Kind::unsignedInteger;
    n.integer = static_cast<std::int64_t>(value);
  } else {
    n.kind = HostNumber::Kind::floating;
    n.floating = value;
  }
  return n;
}

/// A constant of a type. With DType() it takes the type of the other operand, or i32, i64 or f32 if
/// there is none. Throws TraceError if the number does not fit the type.
FLYDSL_API Handle constant(HostNumber value, DType type, Loc loc);
FLYDSL_API DType dtypeOf(const Handle &handle, Loc loc);
FLYDSL_API Handle expectScalar(const Handle &handle, DType type, Loc loc);

FLYDSL_API Handle convert(const Handle &a, DType to, Loc loc);
FLYDSL_API Handle bitcast(const Handle &a, DType to, Loc loc);
FLYDSL_API Handle select(const Handle &condition, const Handle &a, const Handle &b, Loc loc);
FLYDSL_API Handle scalarOfTuple(const Handle &tuple, Loc loc);

class NumericVar;

/// An operand of an operator, with the source location of the expression.
struct NumericArg {
  Handle handle;
  Loc loc;
  NumericArg(const Numeric &v, Loc l = Loc::current());
  /// The value of the variable at the place of the expression.
  FLYDSL_API NumericArg(const NumericVar &v, Loc l = Loc::current());
  template <HostNumeric T>
  NumericArg(T v, Loc l = Loc::current()) : handle(constant(hostNumber(v), DType(), l)), loc(l) {}
  template <NumericConstant C>
  NumericArg(const C &constant, Loc l = Loc::current()) : NumericArg(constant.value(), l) {}
};

} // namespace detail

/// A scalar whose element type is known while tracing (`dtype()`) but not to the C++ type system.
/// An operator on two element types computes in their common type. A float and an integer have the
/// float, whatever their widths. Otherwise it is the wider type; of two integers of one width it is
/// the unsigned one, f16 and bf16 have f32, and other floats of one width have none (a TraceError).
/// Integers are not widened to 32 bits as in C++: as in FlyDSL and NumPy, the sum of two i8 is an
/// i8, and what does not fit wraps around; `.to(fx::i32)` on either side computes in 32 bits. A host
/// number takes the type of the other side if it fits that type; if it does not, an operator
/// computes in the wider type that both have (u8 + 300 is an i32), and a store, an assignment or a
/// parameter is refused. Integer division rounds towards zero, as in C++. Floats of less than 16 bits are for storage: they can be converted,
/// selected and copied, but there is no arithmetic on them.
class FLYDSL_API Numeric : public Value,
                           public detail::Operators<detail::NumericArg, Numeric, Boolean> {
public:
  using Value::Value;
  FLYDSL_NO_CHANGES(Numeric)
  /// The element type.
  DType dtype(Loc loc = Loc::current()) const { return detail::dtypeOf(handle_, loc); }

  /// The value in another element type: extended, truncated or rounded to nearest even. A float out
  /// of an integer's range gives an unspecified value. A value too large for an 8-bit float becomes
  /// that type's infinity, or its NaN if it has no infinity; for a 4-bit or 6-bit float, it becomes
  /// the largest number, and so does a NaN. For f8E8M0FNU, the type of scales, the result is the
  /// largest power of two that is not above the magnitude.
  Numeric to(DType type, Loc loc = Loc::current()) const {
    return Numeric(detail::convert(handle_, type, loc));
  }
  template <class S> S to(Loc loc = Loc::current()) const {
    return S(Numeric(detail::convert(handle_, S::type, loc)), loc);
  }
  /// The same bits as a value of another type of the same width.
  Numeric bitcast(DType type, Loc loc = Loc::current()) const {
    return Numeric(detail::bitcast(handle_, type, loc));
  }

  using Arg = detail::NumericArg;
};

/// A scalar whose element type is part of its C++ type: fx::Int32, fx::Float32, ...
template <DType::Kind K> class Scalar : public Numeric {
public:
  /// The element type.
  static constexpr DType type{K};
  static constexpr detail::ArgType::Kind param_kind = detail::ArgType::Kind::scalar;
  static constexpr DType param_dtype = type;
  static Scalar from_param(const detail::ParamHandle &param) {
    return Scalar(detail::wrapParam(param));
  }

  FLYDSL_NO_CHANGES(Scalar)
  explicit Scalar(detail::Handle handle) : Numeric(static_cast<detail::Handle &&>(handle)) {}
  /// Makes a constant. Throws TraceError if the number does not fit.
  template <detail::HostNumeric T>
  Scalar(T value, Loc loc = Loc::current())
      : Numeric(detail::constant(detail::hostNumber(value), type, loc)) {}
  template <detail::NumericConstant C>
  Scalar(const C &constant, Loc loc = Loc::current()) : Scalar(constant.value(), loc) {}
  /// Takes a scalar of this element type; a host number converts to it. Throws TraceError for
  /// another element type; `.to(type)` converts those.
  Scalar(const Numeric &value, Loc loc = Loc::current())
      : Numeric(detail::expectScalar(value.handle(), type, loc)) {}
  /// The number of a leaf, static or dynamic.
  Scalar(const IntTuple &leaf, Loc loc = Loc::current())
    requires(DType(K).is_integer())
      : Numeric(detail::expectScalar(detail::scalarOfTuple(leaf.handle(), loc), type, loc)) {}
};

namespace detail {
inline NumericArg::NumericArg(const Numeric &v, Loc l) : handle(v.handle()), loc(l) {}

} // namespace detail

/// The smaller value; if one of the two is a NaN, the other one.
inline Numeric min(const Numeric &a, const Numeric::Arg &b) {
  return Numeric(detail::binary(detail::BinaryOp::min, a.handle(), b.handle, b.loc));
}
/// The larger value; if one of the two is a NaN, the other one.
inline Numeric max(const Numeric &a, const Numeric::Arg &b) {
  return Numeric(detail::binary(detail::BinaryOp::max, a.handle(), b.handle, b.loc));
}
/// The quotient of two integers, rounded up. The divisor must be positive.
inline Numeric ceildiv(const Numeric &a, const Numeric::Arg &b) {
  return Numeric(detail::binary(detail::BinaryOp::ceilDiv, a.handle(), b.handle, b.loc));
}
/// The quotient of two integers, rounded down.
inline Numeric floordiv(const Numeric &a, const Numeric::Arg &b) {
  return Numeric(detail::binary(detail::BinaryOp::floorDiv, a.handle(), b.handle, b.loc));
}
/// `a` if the condition holds, otherwise `b`. Both are evaluated; there is no branch.
inline Numeric select(const Boolean &condition, const Numeric::Arg &a, const Numeric::Arg &b) {
  return Numeric(detail::select(condition.handle(), a.handle, b.handle, a.loc));
}

FLYDSL_NAMESPACE_END
