// Integer tuples: shapes, strides and coordinates. They may be nested; each leaf is static (a host
// int) or dynamic (an Int32).
#pragma once

#include <flydsl/detail/handle.h>

#include <array>
#include <concepts>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

FLYDSL_NAMESPACE_BEGIN

class Numeric;
class IntTuple;

/// The type of `fx::_`, which stands for all positions of a mode in a coordinate that slices.
struct Wildcard {};
inline constexpr Wildcard _{};

namespace detail {
/// The host integers that may stand for a static leaf; bool and characters are not among them.
template <class T>
concept HostInt = std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool> &&
                  !std::same_as<std::remove_cv_t<T>, char>;

/// A Constexpr of a host integer; it may stand wherever the integer may.
template <class C>
concept IntConstant = requires { typename C::constant_type; } && HostInt<typename C::constant_type>;

FLYDSL_API Handle staticLeaf(std::int64_t value);
[[noreturn]] FLYDSL_API void refuseLeaf(std::uint64_t value, Loc loc);
/// A static leaf of any integer type. Throws TraceError for a number that 63 bits do not hold.
template <HostInt T> Handle staticLeafOf(T value, Loc loc) {
  if (!std::in_range<std::int64_t>(value)) [[unlikely]]
    refuseLeaf(static_cast<std::uint64_t>(value), loc);
  return staticLeaf(static_cast<std::int64_t>(value));
}
FLYDSL_API Handle wildcardLeaf();
FLYDSL_API Handle tupleOf(std::span<const IntTuple> modes, Loc loc);
FLYDSL_API Handle basisLeaf(std::int64_t scale, std::initializer_list<int> modes, Loc loc);

/// The number of a mode, with the source location of the expression.
struct ModeIndex {
  int index;
  Loc loc;
  template <HostInt T>
  ModeIndex(T i, Loc l = Loc::current())
      : index(std::in_range<int>(i) ? static_cast<int>(i) : -1), loc(l) {}
};

enum class TupleOp { add, sub, mul, div, mod, shapeDiv, ceilDiv };
FLYDSL_API Handle tupleBinary(TupleOp op, const Handle &a, const Handle &b, Loc loc);
FLYDSL_API bool staticEqual(const Handle &a, const Handle &b, Loc loc);
} // namespace detail

/// A number, or a tuple of IntTuples: `8`, `{8, 16}`, `{9, {4, n}}`. A host integer is a static
/// leaf, an fx::Int32 or fx::Int64 is a dynamic leaf, and `fx::_` is a wildcard. Braces nest.
class FLYDSL_API IntTuple : public Value, public detail::StaticParam<IntTuple> {
public:
  using Value::Value;
  template <detail::HostInt T>
  IntTuple(T value, Loc loc = Loc::current()) : Value(detail::staticLeafOf(value, loc)) {}
  template <detail::IntConstant C> IntTuple(const C &constant) : IntTuple(constant.value()) {}
  IntTuple(Wildcard) : Value(detail::wildcardLeaf()) {}
  /// Makes a dynamic leaf; integers of less than 32 bits are widened. Leaves have a sign: a UInt32 of
  /// 2^31 or more needs .to(fx::i64). A coordinate (an element of
  /// an identity tensor) stays a tuple. Throws TraceError if the value is not an integer.
  IntTuple(const Numeric &value, Loc loc = Loc::current());
  IntTuple(std::initializer_list<IntTuple> elements, Loc loc = Loc::current());

  /// The number of modes; 1 for a leaf.
  int rank(Loc loc = Loc::current()) const;
  /// The depth of nesting: 0 for a leaf, 1 for a flat tuple, and one more for each level of
  /// nesting.
  int depth(Loc loc = Loc::current()) const;
  /// True for a number, false for a tuple.
  bool is_leaf(Loc loc = Loc::current()) const;
  /// One mode. Throws TraceError if there is no mode with that number.
  IntTuple operator[](const detail::ModeIndex &mode) const { return at(mode.index, mode.loc); }
  IntTuple at(int mode, Loc loc = Loc::current()) const;
  /// The number of a static leaf. Throws TraceError for a tuple, and for a number that is known
  /// only at run time.
  std::int64_t value(Loc loc = Loc::current()) const;

  /// An operand of an operator, with the source location of the expression.
  struct Arg {
    detail::Handle handle;
    Loc loc;
    Arg(const IntTuple &v, Loc l = Loc::current()) : handle(v.handle()), loc(l) {}
    Arg(const Numeric &v, Loc l = Loc::current()) : handle(IntTuple(v, l).handle()), loc(l) {}
    template <detail::HostInt T>
    Arg(T v, Loc l = Loc::current()) : handle(detail::staticLeafOf(v, l)), loc(l) {}
    template <detail::IntConstant C>
    Arg(const C &constant, Loc l = Loc::current()) : Arg(constant.value(), l) {}
  };

  // Arithmetic on leaves and, mode by mode, on tuples; modes that only one side has are kept.
  // Static operands give a static result; division rounds towards zero.
  friend IntTuple operator+(const Arg &a, const Arg &b) {
    return IntTuple(detail::tupleBinary(detail::TupleOp::add, a.handle, b.handle, a.loc));
  }
  friend IntTuple operator-(const Arg &a, const Arg &b) {
    return IntTuple(detail::tupleBinary(detail::TupleOp::sub, a.handle, b.handle, a.loc));
  }
  friend IntTuple operator*(const Arg &a, const Arg &b) {
    return IntTuple(detail::tupleBinary(detail::TupleOp::mul, a.handle, b.handle, a.loc));
  }
  friend IntTuple operator/(const Arg &a, const Arg &b) {
    return IntTuple(detail::tupleBinary(detail::TupleOp::div, a.handle, b.handle, a.loc));
  }
  friend IntTuple operator%(const Arg &a, const Arg &b) {
    return IntTuple(detail::tupleBinary(detail::TupleOp::mod, a.handle, b.handle, a.loc));
  }
  /// True if both have the same profile and the same static values. Throws TraceError if one of
  /// them is dynamic; fx::equal compares those.
  friend bool operator==(const Arg &a, const Arg &b) {
    return detail::staticEqual(a.handle, b.handle, a.loc);
  }
};

/// A coordinate with at least one `fx::_`: indexing with it slices instead of reading.
class FLYDSL_API SliceCoord : public IntTuple {
public:
  using IntTuple::IntTuple;
};

namespace detail {
template <class T> inline constexpr bool isSlicing = false;
template <> inline constexpr bool isSlicing<Wildcard> = true;
template <> inline constexpr bool isSlicing<SliceCoord> = true;
template <class... T>
using CoordOf =
    std::conditional_t<(isSlicing<std::remove_cvref_t<T>> || ...), SliceCoord, IntTuple>;
} // namespace detail

namespace detail {
template <class T> IntTuple tupleMode(const T &mode, Loc loc) {
  if constexpr (std::derived_from<T, Numeric>)
    return IntTuple(mode, loc);
  else if constexpr (requires { mode.get(loc); }) // a variable
    return IntTuple(mode.get(loc), loc);
  else if constexpr (HostInt<T>)
    return IntTuple(mode, loc);
  else
    return IntTuple(mode);
}
template <class Result, class... T> Result makeTuple(Loc loc, const T &...modes) {
  if constexpr (sizeof...(T) == 1 && (std::derived_from<T, IntTuple> && ...)) {
    return Result((modes, ...).handle());
  } else {
    return [loc](const std::initializer_list<IntTuple> &elements) {
      return Result(IntTuple(elements, loc).handle());
    }({tupleMode(modes, loc)...});
  }
}

/// The first of several modes, with the source location of the call. It carries the location
/// because a defaulted parameter cannot follow a parameter pack.
struct FirstMode {
  IntTuple mode;
  Loc loc;
  bool isTuple;
  template <class T>
  FirstMode(const T &m, Loc l = Loc::current())
      : mode(tupleMode(m, l)), loc(l), isTuple(std::derived_from<T, IntTuple>) {}
};
/// A FirstMode of a coordinate that slices, or of one that does not.
template <bool Slicing> struct FirstCoord : FirstMode {
  template <class T>
    requires(isSlicing<T> == Slicing)
  FirstCoord(const T &m, Loc l = Loc::current()) : FirstMode(m, l) {}
};
template <class Result, class... T> Result makeTuple(const FirstMode &first, const T &...rest) {
  if (sizeof...(T) == 0 && first.isTuple)
    return Result(first.mode.handle());
  return Result(IntTuple({first.mode, tupleMode(rest, first.loc)...}, first.loc).handle());
}
} // namespace detail

/// A tuple of the arguments: host integers, Int32s, IntTuples. A single IntTuple is returned as it
/// is.
template <class... T> IntTuple make_int_tuple(const detail::FirstMode &first, const T &...rest) {
  return detail::makeTuple<IntTuple>(first, rest...);
}
/// The extents of a layout's modes.
template <class... T> IntTuple make_shape(const detail::FirstMode &first, const T &...rest) {
  return detail::makeTuple<IntTuple>(first, rest...);
}
/// The step of a layout along each mode.
template <class... T> IntTuple make_stride(const detail::FirstMode &first, const T &...rest) {
  return detail::makeTuple<IntTuple>(first, rest...);
}
/// A coordinate; it slices if one of the modes is `fx::_`.
template <class... T>
detail::CoordOf<T...> make_coord(const detail::FirstCoord<false> &first, const T &...rest) {
  return detail::makeTuple<detail::CoordOf<T...>>(first, rest...);
}
template <class... T>
SliceCoord make_coord(const detail::FirstCoord<true> &first, const T &...rest) {
  return detail::makeTuple<SliceCoord>(first, rest...);
}

/// A stride that steps along a mode of a coordinate instead of through memory: `E<0>()` is the unit
/// vector 1E0, `E<0, 1>()` is 1E0E1.
template <int... Modes> IntTuple E(std::int64_t scale = 1, Loc loc = Loc::current()) {
  return IntTuple(detail::basisLeaf(scale, {Modes...}, loc));
}

/// The N modes of a tuple, for a structured binding: `auto [m, n] = fx::unpack<2>(A.shape());`
/// Throws TraceError if the rank is not N.
template <int N> std::array<IntTuple, N> unpack(const IntTuple &tuple, Loc loc = Loc::current());

namespace detail {
FLYDSL_API void expectRank(const Handle &tuple, int rank, Loc loc);
template <std::size_t... I>
std::array<IntTuple, sizeof...(I)> unpackModes(const IntTuple &t, Loc loc,
                                               std::index_sequence<I...>) {
  return {t.at(static_cast<int>(I), loc)...};
}
} // namespace detail

template <int N> std::array<IntTuple, N> unpack(const IntTuple &tuple, Loc loc) {
  detail::expectRank(tuple.handle(), N, loc);
  return detail::unpackModes(tuple, loc, std::make_index_sequence<N>());
}

FLYDSL_NAMESPACE_END
