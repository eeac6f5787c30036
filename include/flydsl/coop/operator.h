// How a collective combines two values.
#pragma once

#include <flydsl/coop/value.h>

#include <functional>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// A function of two values, marked as one whose operands may change places:
/// `f(a, b)` is `f(b, a)`. A function without the mark is called with its
/// operands in the order of lanes and items.
template <class F> struct Commutative {
  F function;
  /// What the function gives.
  auto operator()(const auto &a, const auto &b) const { return function(a, b); }
};
/// Marks a function as commutative, which saves moves between lanes in some reductions.
template <class F> Commutative<F> commutative(F function) { return {std::move(function)}; }

namespace impl {

/// An operator without its C++ type: a Reduction, field by field, or a function.
struct Operator {
  std::optional<Reduction> reduction = {};
  std::function<Fields(const Fields &, const Fields &)> function = {};
  bool commutative = false;
};

/// The values combined: by a Reduction field by field, by a function as they are. A TraceError
/// where the function gives other types than it takes.
FLYDSL_API Fields combine(const Operator &op, const Fields &a, const Fields &b, Loc loc);

template <class F> inline constexpr bool isCommutative = false;
template <class F> inline constexpr bool isCommutative<Commutative<F>> = true;

/// `op` is called while the result is: it lives as long.
template <CoopValue T, class F> Operator operatorOf(const F &op, Loc loc) {
  if constexpr (std::convertible_to<F, Reduction>) {
    return {.reduction = op, .commutative = true};
  } else {
    static_assert(std::invocable<const F &, const T &, const T &>,
                  "values are combined by an fx::Reduction or a function of two of them");
    Operator made{.commutative = isCommutative<F>};
    if constexpr (Number<T>)
      made.function = [&op, loc](const Fields &a, const Fields &b) {
        return Fields{detail::NumericArg(op(fromFields<T>(a), fromFields<T>(b)), loc).handle};
      };
    else
      made.function = [&op](const Fields &a, const Fields &b) {
        return toFields(static_cast<T>(op(fromFields<T>(a), fromFields<T>(b))));
      };
    return made;
  }
}

/// What holds between two values, or not: that the first goes before the second in a sort, say.
using Relation = std::function<detail::Handle(const Fields &, const Fields &)>;

/// `relation` is called while the result is: it lives as long.
template <CoopValue T, class F> Relation relationOf(const F &relation) {
  static_assert(std::is_invocable_r_v<Boolean, const F &, const T &, const T &>,
                "values are compared by a function of two of them that gives a Boolean");
  return [&relation](const Fields &a, const Fields &b) {
    const Boolean holds = relation(fromFields<T>(a), fromFields<T>(b));
    return holds.handle();
  };
}

} // namespace impl
} // namespace coop
FLYDSL_NAMESPACE_END
