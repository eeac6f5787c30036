// Loops and branches that the GPU runs. (A C++ `for` or `if` unrolls or chooses while tracing.)
#pragma once

#include <flydsl/kernel/tensor.h>
#include <flydsl/kernel/var.h>

#include <tuple>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// An operation whose body is being traced. If an exception leaves the body, the destructor puts
/// the insertion point back. If `break` or `return` leaves it before it is closed, the kernel has
/// an error.
class FLYDSL_API OpenRegion {
public:
  OpenRegion(const OpenRegion &) = delete;
  ~OpenRegion();
  /// A value that the body starts with.
  Handle argument(std::size_t i) const;
  /// A result of the closed operation.
  Handle result(std::size_t i) const;

protected:
  struct State;
  OpenRegion(const char *what, Loc loc);
  State *state_;
};

class FLYDSL_API OpenFor : public OpenRegion {
public:
  OpenFor(const IntTuple &lo, const IntTuple &hi, const IntTuple &step,
          std::initializer_list<const Handle *> init, Loc loc);
  Handle index() const;
  void close(std::initializer_list<const Handle *> yielded);
};

class FLYDSL_API OpenIf : public OpenRegion {
public:
  OpenIf(const Handle &condition, Loc loc);
  /// Ends the first branch and begins the second.
  void otherwise(std::initializer_list<const Handle *> yielded);
  void close(std::initializer_list<const Handle *> yielded);
};

class FLYDSL_API OpenWhile : public OpenRegion {
public:
  OpenWhile(std::initializer_list<const Handle *> init, Loc loc);
  /// Ends the condition and begins the body.
  void condition(const Handle &condition);
  void close(std::initializer_list<const Handle *> yielded);
};

FLYDSL_API void exitIf(const Handle &condition, Loc loc);

template <class T> struct ScalarOf {
  using type = T;
};
template <HostNumeric T> struct ScalarOf<T> {
  using type = Scalar<DTypeOf<T>::value>;
};
template <> struct ScalarOf<Element> {
  using type = Numeric;
};
template <class T> struct ScalarOf<Var<T>> {
  using type = T;
};
/// The class of a value when it is carried through a loop or out of a branch.
template <class T> using Carried = typename ScalarOf<std::remove_cvref_t<T>>::type;
template <class T>
concept Carriable = std::derived_from<T, Value> && std::constructible_from<T, Handle>;

template <class... T> auto single(std::tuple<T...> values) {
  if constexpr (sizeof...(T) == 1)
    return std::get<0>(values);
  else
    return values;
}
/// The values that a body returned, as a tuple.
template <class T> struct AsTuple {
  static std::tuple<Carried<T>> from(const T &value) { return {Carried<T>(value)}; }
};
template <class... T> struct AsTuple<std::tuple<T...>> {
  static const std::tuple<T...> &from(const std::tuple<T...> &values) { return values; }
};
/// The values that `fn` returns, as a tuple, which is empty if it returns nothing.
template <class Fn, class... A> auto valuesOf(Fn &fn, const A &...arguments) {
  using Result = decltype(fn(arguments...));
  if constexpr (std::is_void_v<Result>) {
    fn(arguments...);
    return std::tuple<>();
  } else {
    return AsTuple<Result>::from(fn(arguments...));
  }
}

/// The class that stands for the classes of a value in both branches.
template <class A, class B> struct Joined {
  static_assert(std::same_as<A, B> ||
                    (std::derived_from<A, Numeric> && std::derived_from<B, Numeric>),
                "the branches give values of different kinds");
  using type = std::conditional_t<std::same_as<A, B>, A, Numeric>;
};
/// The larger tuple of the two; branches that give different numbers of values are refused while
/// tracing.
template <class A, class B> struct JoinedTuple {
  using type = std::conditional_t<(std::tuple_size_v<A> > std::tuple_size_v<B>), A, B>;
};
template <class... A, class... B>
  requires(sizeof...(A) == sizeof...(B))
struct JoinedTuple<std::tuple<A...>, std::tuple<B...>> {
  using type = std::tuple<typename Joined<A, B>::type...>;
};

template <class Tuple, class Fn> decltype(auto) withHandles(const Tuple &values, Fn fn) {
  return std::apply(
      [&](const auto &...v) { return fn(std::initializer_list<const Handle *>{&v.handle()...}); },
      values);
}
template <class... T, std::size_t... I>
std::tuple<T...> results(const OpenRegion &region, std::tuple<T...> *, std::index_sequence<I...>) {
  return {T(region.result(I))...};
}
template <class Tuple> Tuple resultsAs(const OpenRegion &region) {
  return results(region, static_cast<Tuple *>(nullptr),
                 std::make_index_sequence<std::tuple_size_v<Tuple>>());
}

} // namespace detail

/// The values that a loop starts with: numbers, vectors, tuples, layouts, pointers, tensors, atoms.
/// Everything that the type of a value says must stay the same in every round; only what is known
/// at run time alone may change.
template <class... T> std::tuple<detail::Carried<T>...> carry(const T &...values) {
  static_assert((detail::Carriable<detail::Carried<T>> && ...),
                "a loop carries values of a kernel");
  return {detail::Carried<T>(values)...};
}
/// The values that a body passes to the next round, or out of a branch.
template <class... T> std::tuple<detail::Carried<T>...> yield(const T &...values) {
  static_assert((detail::Carriable<detail::Carried<T>> && ...), "a body yields values of a kernel");
  return {detail::Carried<T>(values)...};
}

/// The rounds of a runtime loop: `for (fx::Int32 i : fx::range(lo, hi, step)) ...` traces its body
/// once. The body may change memory and Vars; `break` and `return` out of it are a TraceError. The
/// index is a 32-bit integer. It has 64 bits if a bound has 64 bits, or if a bound is an unsigned
/// 32-bit integer, whose values a signed 32-bit index cannot hold. The step must be positive.
class Range {
public:
  Range(const IntTuple &lo, const IntTuple &hi, const IntTuple &step, Loc loc)
      : loop_(lo, hi, step, {}, loc) {}

  /// The end of the range; C++'s range loop compares the iterator with it.
  struct End {};
  /// An iterator that gives the index and ends after one pass, in which the body is traced.
  class Iterator {
  public:
    explicit Iterator(Range &range) : range_(range) {}
    /// The index of the round.
    Numeric operator*() const { return Numeric(range_.loop_.index()); }
    /// Closes the traced loop and ends the C++ loop.
    Iterator &operator++() {
      range_.loop_.close({});
      range_.done_ = true;
      return *this;
    }
    bool operator!=(End) const { return !range_.done_; }

  private:
    Range &range_;
  };
  /// C++'s range loop calls these.
  Iterator begin() { return Iterator(*this); }
  End end() { return {}; }

private:
  detail::OpenFor loop_;
  bool done_ = false;
};

/// The range from `lo` (default 0) to below `hi`, in steps of `step` (default 1).
inline Range range(const IntTuple &hi, Loc loc = Loc::current()) { return {0, hi, 1, loc}; }
inline Range range(const IntTuple &lo, const IntTuple &hi, const IntTuple &step = 1,
                   Loc loc = Loc::current()) {
  return {lo, hi, step, loc};
}

/// A runtime loop with carried values: `for_(lo, hi, step, fx::carry(a, b), [&](fx::Int32 i, auto
/// a, auto b) { ...; return fx::yield(a2, b2); })`. It returns the values that the last round
/// yielded, or the initial values if there was no round: a single value by itself, several as a
/// tuple. The yielded values must have the number and types of the carried values; otherwise it
/// throws TraceError.
template <class... T, class Body>
auto for_(const IntTuple &lo, const IntTuple &hi, const IntTuple &step, std::tuple<T...> init,
          Body body, Loc loc = Loc::current()) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    detail::OpenFor loop(lo, hi, step, {&std::get<I>(init).handle()...}, loc);
    auto values = detail::valuesOf(body, Numeric(loop.index()), T(loop.argument(I))...);
    detail::withHandles(values, [&](auto handles) { loop.close(handles); });
    return detail::single(detail::resultsAs<std::tuple<T...>>(loop));
  }(std::index_sequence_for<T...>());
}

/// Ends the kernel for the threads for which the condition holds; the others go on. It must stand
/// outside of loops and branches (TraceError otherwise). Threads that left take part in nothing
/// that follows: if the condition depends on the thread's index, a barrier after the exit is a
/// TraceError.
inline void exit_if(const Boolean &condition, Loc loc = Loc::current()) {
  detail::exitIf(condition.handle(), loc);
}

/// Runs `then` if the condition holds. A `return` in it ends the body, not the kernel; `exit_if`
/// ends the kernel.
template <class Then> void if_(const Boolean &condition, Then then, Loc loc = Loc::current()) {
  static_assert(std::is_void_v<decltype(then())>,
                "a branch without its opposite gives no value: give both branches to fx::if_; a "
                "return that shall end the kernel is fx::exit_if");
  detail::OpenIf branch(condition.handle(), loc);
  then();
  branch.close({});
}

/// Runs one of the two bodies and returns its result: nothing, one value, or a tuple made by
/// `fx::yield`. Both must return the same number of values of the same types; otherwise it throws
/// TraceError.
template <class Then, class Else>
auto if_(const Boolean &condition, Then then, Else otherwise, Loc loc = Loc::current()) {
  detail::OpenIf branch(condition.handle(), loc);
  auto first = detail::valuesOf(then);
  detail::withHandles(first, [&](auto handles) { branch.otherwise(handles); });
  auto second = detail::valuesOf(otherwise);
  detail::withHandles(second, [&](auto handles) { branch.close(handles); });
  using Results = typename detail::JoinedTuple<decltype(first), decltype(second)>::type;
  if constexpr (std::tuple_size_v<Results> > 0)
    return detail::single(detail::resultsAs<Results>(branch));
}

/// Repeats `body(values...)`, which yields the next values, while `condition(values...)`, a
/// Boolean, holds. Returns the values for which the condition did not hold.
template <class... T, class Condition, class Body>
auto while_(std::tuple<T...> init, Condition condition, Body body, Loc loc = Loc::current()) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    detail::OpenWhile loop({&std::get<I>(init).handle()...}, loc);
    Boolean again = condition(T(loop.argument(I))...);
    loop.condition(again.handle());
    auto values = detail::valuesOf(body, T(loop.argument(I))...);
    detail::withHandles(values, [&](auto handles) { loop.close(handles); });
    return detail::single(detail::resultsAs<std::tuple<T...>>(loop));
  }(std::index_sequence_for<T...>());
}

/// Repeats `body()` while `condition()` holds; for bodies that only change memory and Vars.
template <class Condition, class Body>
void while_(Condition condition, Body body, Loc loc = Loc::current()) {
  detail::OpenWhile loop({}, loc);
  Boolean again = condition();
  loop.condition(again.handle());
  body();
  loop.close({});
}

FLYDSL_NAMESPACE_END
