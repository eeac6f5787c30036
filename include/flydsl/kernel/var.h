// Variables of a kernel, which loops and branches that the GPU runs may change.
#pragma once

#include <flydsl/kernel/vector.h>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// Registers for one value, set to `init`.
FLYDSL_API Handle varNew(const Handle &init, DType type, Loc loc);
FLYDSL_API Handle varLoad(const Handle &memory, Loc loc);
FLYDSL_API void varStore(const Handle &memory, const Handle &value, Loc loc);

class NumericVar : public Operators<NumericArg, Numeric, Boolean> {
public:
  const Handle &memory() const { return memory_; }
  template <class Asked = void> explicit operator bool() const { return conditionOfCpp<Asked>(); }

protected:
  NumericVar(const Handle &init, DType type, Loc loc) : memory_(varNew(init, type, loc)) {}
  NumericVar(const NumericVar &) = default;
  Handle memory_;
};

class VectorVar : public Operators<VectorArg, Vector, Vector> {
public:
  const Handle &memory() const { return memory_; }
  template <class Asked = void> explicit operator bool() const { return conditionOfCpp<Asked>(); }

protected:
  VectorVar(const Handle &init, DType type, Loc loc) : memory_(varNew(init, type, loc)) {}
  VectorVar(const VectorVar &) = default;
  Handle memory_;
};

template <class T>
using VarBase = std::conditional_t<std::derived_from<T, Vector>, VectorVar, NumericVar>;

} // namespace detail

/// A scalar or vector that can be assigned to, also in a loop or branch of the kernel. It lives in
/// registers. Reading it gives the value that it has at the place of the expression. Copies of a
/// Var are the same variable.
template <class T> class Var : public detail::VarBase<T> {
  static_assert(std::derived_from<T, Numeric> || std::derived_from<T, Vector>,
                "a Var holds a scalar or a Vector");
  using Base = detail::VarBase<T>;
  using Arg = typename T::Arg;

public:
  explicit Var(const T &init, Loc loc = Loc::current())
      : Base(init.handle(), init.dtype(loc), loc) {}
  Var(const Var &) = default;

  /// The value that it holds at the place of the call.
  T get(Loc loc = Loc::current()) const { return T(detail::varLoad(this->memory_, loc)); }
  operator T() const { return get(detail::unknownPlace()); }

  /// Assigns a value of the same type, or a host number that fits it.
  const Var &operator=(const Arg &value) const {
    detail::varStore(this->memory_, value.handle, value.loc);
    return *this;
  }
  const Var &operator=(const Var &other) const {
    return *this = Arg(other, detail::unknownPlace());
  }
  /// Combines the variable with a value by an operator of its type.
  const Var &operator+=(const Arg &v) const { return set(detail::BinaryOp::add, v); }
  const Var &operator-=(const Arg &v) const { return set(detail::BinaryOp::sub, v); }
  const Var &operator*=(const Arg &v) const { return set(detail::BinaryOp::mul, v); }
  const Var &operator/=(const Arg &v) const { return set(detail::BinaryOp::div, v); }
  const Var &operator%=(const Arg &v) const { return set(detail::BinaryOp::rem, v); }
  const Var &operator&=(const Arg &v) const { return set(detail::BinaryOp::bitAnd, v); }
  const Var &operator|=(const Arg &v) const { return set(detail::BinaryOp::bitOr, v); }
  const Var &operator^=(const Arg &v) const { return set(detail::BinaryOp::bitXor, v); }
  const Var &operator<<=(const Arg &v) const { return set(detail::BinaryOp::shl, v); }
  const Var &operator>>=(const Arg &v) const { return set(detail::BinaryOp::shr, v); }
  /// Adds 1 or subtracts 1. `v++` and `v--` give the value before.
  const Var &operator++() const { return *this += one(); }
  const Var &operator--() const { return *this -= one(); }
  T operator++(int) const {
    const T before = get(detail::unknownPlace());
    *this += one();
    return before;
  }
  T operator--(int) const {
    const T before = get(detail::unknownPlace());
    *this -= one();
    return before;
  }

private:
  static Arg one() { return {1, detail::unknownPlace()}; }
  const Var &set(detail::BinaryOp op, const Arg &v) const {
    detail::varStore(this->memory_,
                     detail::binary(op, detail::varLoad(this->memory_, v.loc), v.handle, v.loc),
                     v.loc);
    return *this;
  }
};

template <class T> Var(const T &) -> Var<T>;

FLYDSL_NAMESPACE_END
