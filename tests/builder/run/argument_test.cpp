// Arguments that are read again: numbers of 32 and of 64 bits alone and in structs, at any place among
// the others, in straight code, in loops and in branches.
#include "run.h"

#include <flydsl/kernel/argument.h>
#include <flydsl/strided.h>

#include <catch2/catch.hpp>

#include <array>

namespace fx = flydsl;

namespace {

template <class Side> struct Sizes {
  fx::Param<Side, fx::Float32> half;
  std::array<fx::Param<Side, fx::Int64>, 2> wide;
};
template <class Side> struct Params {
  fx::Param<Side, fx::Int32> rounds;
  fx::Strided<Side, 1> y; // (4, lanes)
  fx::Param<Side, fx::Int32> odd;
  Sizes<Side> sizes;
  fx::Param<Side, std::optional<fx::Float32>> there, absent;
};

} // namespace

TEST_CASE("arguments that are read again are those that were passed") {
  constexpr int kLanes = 64;
  const fx::Kernel kernel{"reads_again", [](Params<fx::OnDevice> p) {
                            const auto lane = fx::thread_idx().x;
                            fx::Var<fx::Int64> sum(std::int64_t{0});
                            for (fx::Int32 round : fx::range(p.rounds)) {
                              const auto own = fx::read_again(p);
                              sum += own.sizes.wide[1] + own.odd * round;
                              fx::if_(round == 2, [&] { sum += fx::read_again(p.odd); });
                            }
                            const auto own = fx::read_again(p);
                            REQUIRE(own.there);
                            REQUIRE_FALSE(own.absent);
                            const auto y = own.y.view(fx::f64, {4, kLanes}); // (4, lanes)
                            y(0, lane) = sum.get().to(fx::f64);
                            y(1, lane) = own.sizes.half.to(fx::f64);
                            y(2, lane) = own.sizes.wide[0].to(fx::f64);
                            y(3, lane) = own.there->to(fx::f64);
                          }};
  fx::DeviceArray<double> out({4, 2 * kLanes});
  out.poison();
  const auto y = fx::strided<1>(out.tensor());
  kernel({.rounds = 5,
          .y = y,
          .odd = 7,
          .sizes = {.half = 0.5f, .wide = {std::int64_t{1} << 40, std::int64_t{-3} << 33}},
          .there = 0.25f,
          .absent = std::nullopt})
      .launch({.grid = 1, .block = kLanes});
  const std::vector<double> got = out.to_host();
  const std::array<double, 4> expected{5 * (-3.0 * (1ll << 33)) + 7 * (0 + 1 + 2 + 3 + 4) + 7, 0.5,
                                       double(1ll << 40), 0.25};
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      REQUIRE(got[row * 2 * kLanes + lane] == expected[row]);
}
