// Loops whose last number and step add up to more than the largest integer: the rounds are those of
// exact arithmetic, whatever is known of the bounds while compiling.
#include "run.h"

#include <catch2/catch.hpp>

#include <limits>
#include <type_traits>

namespace fx = flydsl;

namespace {

constexpr int kLanes = 64;

template <class T> struct Bounds { T lo, hi, step; };

/// The bounds of the lanes: those near both ends of the type, empty ones, and steps of all sizes. The
/// seventh one and those after it do not begin below 0.
template <class T> std::vector<Bounds<T>> boundsOf() {
  constexpr T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  return {{least, least + 10, 3},  {least, least + 1, most},
          {-1, most, most},        {-5, -2, most},
          {least, most, most / 2}, {-7, least, 4},
          {most - 20, most, 6},    {most - 20, most - 1, most},
          {0, most, most},         {3, most, most / 3},
          {5, least, 2},           {0, -1, most},
          {most, most, 1},         {4, 25, 5}};
}
constexpr std::size_t kFirstNotNegative = 6;

/// Rounds, and the numbers of all of them, added and XORed into one.
template <class T> struct Rounds {
  T count = 0, mix = 0;
  friend bool operator==(const Rounds &, const Rounds &) = default;
};
template <class T> Rounds<T> exact(const Bounds<T> &bounds) {
  using Unsigned = std::make_unsigned_t<T>;
  Unsigned count = 0, mix = 0;
  if (bounds.lo < bounds.hi)
    // What is left until the end fits in as many bits without a sign.
    for (Unsigned left = Unsigned(bounds.hi) - Unsigned(bounds.lo);;
         left -= Unsigned(bounds.step)) {
      ++count;
      mix = mix * 2 ^ (Unsigned(bounds.hi) - left);
      if (left <= Unsigned(bounds.step))
        break;
    }
  return {T(count), T(mix)};
}

/// What each lane finds with its own bounds; `known`: the kernel sees that none begins below 0.
template <class T>
std::vector<Rounds<T>> found(const std::vector<Bounds<T>> &bounds, bool known, bool carried) {
  using Number = fx::Scalar<fx::DTypeOf<T>::value>;
  const fx::Kernel loop{"range_ends", [known, carried](fx::Tensor out, fx::Tensor in) {
                          const auto lane = fx::thread_idx().x;
                          const Number first = in(lane, 0), hi = in(lane, 1), step = in(lane, 2),
                                       lo = known ? Number(fx::max(first, T(0))) : first;
                          const auto mixed = [](const Number &mix, const Number &i) -> Number {
                            return (mix * 2) ^ i;
                          };
                          if (carried) {
                            auto [count, mix] =
                                fx::for_(lo, hi, step, fx::carry(Number(T(0)), Number(T(0))),
                                         [&](const Number &i, const Number &n, const Number &m) {
                                           return fx::yield(Number(n + 1), mixed(m, i));
                                         });
                            out(lane, 0) = count;
                            out(lane, 1) = mix;
                            return;
                          }
                          fx::Var<Number> count(T(0)), mix(T(0));
                          for (Number i : fx::range(lo, hi, step)) {
                            count += 1;
                            mix = mixed(mix, i);
                          }
                          out(lane, 0) = count;
                          out(lane, 1) = mix;
                        }};
  std::vector<T> numbers;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const Bounds<T> &own = bounds[lane % bounds.size()];
    numbers.insert(numbers.end(), {own.lo, own.hi, own.step});
  }
  const auto in = fx::DeviceArray<T>::from_host(numbers, {kLanes, 3});
  fx::DeviceArray<T> out({kLanes, 2});
  out.poison();
  loop(out, in).launch({.grid = 1, .block = kLanes});
  const std::vector<T> results = out.to_host();
  std::vector<Rounds<T>> rounds;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    rounds.push_back({results[lane * 2], results[lane * 2 + 1]});
  return rounds;
}

template <class T> void checkAll() {
  const std::vector<Bounds<T>> all = boundsOf<T>();
  for (bool known : {false, true})
    for (bool carried : {false, true}) {
      const std::vector<Bounds<T>> bounds(
          all.begin() + (known ? std::ptrdiff_t(kFirstNotNegative) : 0), all.end());
      const std::vector<Rounds<T>> rounds = found(bounds, known, carried);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const Bounds<T> &own = bounds[lane % bounds.size()];
        INFO(own.lo << " to " << own.hi << " by " << own.step << (known ? ", known" : "")
                    << (carried ? ", carried" : ""));
        REQUIRE(rounds[lane].count == exact(own).count);
        REQUIRE(rounds[lane].mix == exact(own).mix);
      }
    }
}

} // namespace

TEST_CASE("ranges near the ends of 32 bits have the rounds of exact arithmetic") {
  checkAll<std::int32_t>();
}

TEST_CASE("ranges near the ends of 64 bits have the rounds of exact arithmetic") {
  checkAll<std::int64_t>();
}

TEST_CASE("a range to an argument that is the largest integer ends") {
  const fx::Kernel loop{"to_the_largest", [](fx::Tensor out, fx::Int32 n) {
                          const auto lane = fx::thread_idx().x;
                          fx::Var<fx::Int32> count(0);
                          for (fx::Int32 first : fx::range(lane, n, 1 << 29))
                            for (fx::Int32 i : fx::range(first, first + 2))
                              count += fx::select(i >= 0, 1, 1000);
                          out(lane) = count;
                        }};
  for (const int n : {std::numeric_limits<int>::max(), 0, std::numeric_limits<int>::min()}) {
    fx::DeviceArray<int> out({kLanes});
    out.poison();
    loop(out, n).launch({.grid = 1, .block = kLanes});
    for (const int count : out.to_host())
      CHECK(count == (n > 0 ? 2 * 4 : 0));
  }
}
