// Formats, and the group-and-truncate arithmetic: the SIMD levels are compared with the scalar
// model, and the model with cases computed by hand.
#include "emulator/matrix/group_scalar.h"
#include "emulator/matrix/kernels.h"

#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace flyemu::matrix;

namespace flyemu::matrix {
extern const Kernels kernels_plain, kernels_avx2, kernels_avx512;
}

TEST_CASE("codes of every format have their published values") {
  CHECK(value(Elem::F16, 0x3c00) == 1.0);
  CHECK(value(Elem::F16, 0x0001) == std::ldexp(1.0, -24));
  CHECK(value(Elem::F16, 0xfc00) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(value(Elem::F16, 0x7e00)));
  CHECK(value(Elem::BF16, 0x3f80) == 1.0);
  CHECK(value(Elem::FP8Fnuz, 0x7f) == 240.0);
  CHECK(value(Elem::FP8Fnuz, 0x01) == std::ldexp(1.0, -10));
  CHECK(std::isnan(value(Elem::FP8Fnuz, 0x80)));
  CHECK(value(Elem::BF8Fnuz, 0x7f) == 57344.0);
  CHECK(std::isnan(value(Elem::BF8Fnuz, 0x80)));
  CHECK(value(Elem::FP8, 0x7e) == 448.0);
  CHECK(std::isnan(value(Elem::FP8, 0x7f)));
  CHECK(std::isnan(value(Elem::FP8, 0xff)));
  CHECK(value(Elem::FP8, 0x80) == 0.0);
  CHECK(std::signbit(value(Elem::FP8, 0x80)));
  CHECK(value(Elem::BF8, 0x7b) == 57344.0);
  CHECK(value(Elem::BF8, 0x7c) == std::numeric_limits<double>::infinity());
  CHECK(value(Elem::FP6, 0x1f) == 7.5);
  CHECK(value(Elem::FP6, 0x01) == 0.125);
  CHECK(value(Elem::BF6, 0x1f) == 28.0);
  CHECK(value(Elem::FP4, 0x7) == 6.0);
  CHECK(value(Elem::FP4, 0x9) == -0.5);
  CHECK(value(Elem::XF32, std::bit_cast<uint32_t>(1.0f) | 0x1fff) == 1.0);
  CHECK(value(Elem::I8, 0x80) == -128);
  CHECK(value(Elem::U4, 0xf) == 15);
}

TEST_CASE("results round to f16 and bf16 to nearest even") {
  CHECK(toF16(1.0) == 0x3c00);
  CHECK(toF16(-0.0) == 0x8000);
  CHECK(toF16(65504.0) == 0x7bff);
  CHECK(toF16(65519.9) == 0x7bff);
  CHECK(toF16(65520.0) == 0x7c00);
  CHECK(toF16(std::ldexp(1.0, -25)) == 0x0000); // halfway to the smallest subnormal: to even
  CHECK(toF16(std::ldexp(1.5, -25)) == 0x0001);
  CHECK(toF16(1.0 + std::ldexp(1.0, -11)) == 0x3c00);
  CHECK(toF16(1.0 + std::ldexp(3.0, -11)) == 0x3c02);
  CHECK(toF16(2.0 - std::ldexp(1.0, -12)) == 0x4000);
  CHECK(toBF16(1.0) == 0x3f80);
  CHECK(toBF16(3.4e38) == 0x7f80);
  CHECK(toBF16(std::nan("")) == 0x7fc0);
}

namespace {

uint32_t f16(double value) { return toF16(value); }

/// Random bits of a format, with exponents spread widely; finite.
uint32_t randomFinite(Elem elem, std::mt19937 &rng) {
  for (;;) {
    uint32_t bits = rng();
    if (bitsOf(elem) < 32)
      bits &= (1u << bitsOf(elem)) - 1;
    if (std::isfinite(value(elem, bits)) && std::fabs(value(elem, bits)) < 0x1p50)
      return bits;
  }
}

} // namespace

TEST_CASE("the group model gives sums that were made by hand") {
  // 1 + 2^-24 from products: the small product survives alignment with 24 fraction bits; the sum
  // with acc = 0 rounds to nearest even.
  uint32_t a[8] = {f16(1), f16(std::ldexp(1.0, -12))}, b[8] = {f16(1), f16(std::ldexp(1.0, -12))};
  CHECK(groupTruncateScalar(Elem::F16, Elem::F16, a, b, 8, 0.0f) == 1.0f);
  a[2] = f16(std::ldexp(1.0, -12)), b[2] = b[1];
  CHECK(groupTruncateScalar(Elem::F16, Elem::F16, a, b, 8, 0.0f) == 1.0f + std::ldexp(1.0f, -23));
  // A product below the 24th bit of the largest is dropped, toward zero on both sides.
  uint32_t c[8] = {f16(1), f16(-std::ldexp(1.0, -13))}, d[8] = {f16(1), f16(std::ldexp(1.0, -12))};
  CHECK(groupTruncateScalar(Elem::F16, Elem::F16, c, d, 8, 0.0f) == 1.0f);
  // acc is truncated downward at 24 bits when products dominate.
  uint32_t e[8] = {f16(1024)}, f[8] = {f16(1024)};
  CHECK(groupTruncateScalar(Elem::F16, Elem::F16, e, f, 8, -0x1p-20f) ==
        static_cast<float>(0x1p20 - 0x1p-4));
  // NaN, infinity, and their sum.
  uint32_t inf[8] = {0x7c00, 0xfc00}, one[8] = {f16(1), f16(1)};
  CHECK(std::isnan(groupTruncateScalar(Elem::F16, Elem::F16, inf, one, 8, 0.0f)));
  inf[1] = 0;
  CHECK(groupTruncateScalar(Elem::F16, Elem::F16, inf, one, 8, 0.0f) ==
        std::numeric_limits<float>::infinity());
  // bf16 products past 2^128.
  uint32_t big[8] = {0x7f00}, other[8] = {0x7f00};
  CHECK(groupTruncateScalar(Elem::BF16, Elem::BF16, big, other, 8, 0.0f) ==
        std::numeric_limits<float>::infinity());
}

TEST_CASE("The variable lowers all levels alike, and garbage is an error") {
  using namespace flyemu;
  CHECK(chooseSimd("base").level == SimdLevel::Base);
  CHECK(chooseSimd("base").error.empty());
  CHECK(&kernels(SimdLevel::Base) == &kernels_plain);
  CHECK(&kernels(SimdLevel::Avx2) == &kernels_avx2);
  CHECK(chooseSimd(nullptr).error.empty());
  CHECK(chooseSimd("").level == chooseSimd(nullptr).level);
  for (const char *garbage : {"plain", "sse", "AVX2", "avx512 ", "1"}) {
    const std::string error = chooseSimd(garbage).error;
    CHECK(error.find(garbage) != std::string::npos);
    CHECK(error.find("base") != std::string::npos);
  }
  if (const char *asked = std::getenv("FLYDSL_EMULATOR_SIMD");
      asked && std::string(asked) == "base")
    CHECK(&kernels() == &kernels_plain);
}

/// The kernels of all SIMD levels that this processor runs.
static std::vector<const Kernels *> levelsHere() {
  std::vector<const Kernels *> levels = {&kernels_plain};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    levels.push_back(&kernels_avx2);
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    levels.push_back(&kernels_avx512);
  return levels;
}

TEST_CASE("SIMD levels give the scalar model's bits") {
  const std::vector<const Kernels *> levels = levelsHere();

  struct Case {
    Elem a, b;
    unsigned k, group;
  };
  std::mt19937 rng(20);
  for (Case test :
       {Case{Elem::F16, Elem::F16, 16, 8}, Case{Elem::BF16, Elem::BF16, 8, 8},
        Case{Elem::F16, Elem::F16, 4, 4}, Case{Elem::XF32, Elem::XF32, 8, 4},
        Case{Elem::FP8Fnuz, Elem::BF8Fnuz, 32, 16}, Case{Elem::BF8Fnuz, Elem::BF8Fnuz, 16, 16}})
    for (int round = 0; round < 400; ++round) {
      std::vector<uint32_t> a(test.k), b(test.k * 16);
      std::vector<int32_t> significandA(test.k), exponentA(test.k), significandB(16 * test.k),
          exponentB(16 * test.k);
      for (unsigned k = 0; k < test.k; ++k) {
        a[k] = rng() % 5 == 0 ? 0 : randomFinite(test.a, rng);
        significandA[k] = decode(test.a, a[k]).significand;
        exponentA[k] = decode(test.a, a[k]).exponent;
        for (unsigned lane = 0; lane < 16; ++lane) {
          uint32_t bits = rng() % 5 == 0 ? 0 : randomFinite(test.b, rng);
          b[lane * test.k + k] = bits;
          significandB[16 * k + lane] = decode(test.b, bits).significand;
          exponentB[16 * k + lane] = decode(test.b, bits).exponent;
        }
      }
      float start[16];
      for (float &value : start)
        value = std::ldexp(static_cast<float>(static_cast<int32_t>(rng())),
                           static_cast<int>(rng() % 60) - 60);
      start[0] = 0.0f;
      start[1] = std::ldexp(1.0f, -140);
      GroupStrip strip{significandA.data(),
                       exponentA.data(),
                       significandB.data(),
                       exponentB.data(),
                       test.k,
                       test.group,
                       fractionBits(test.a) + fractionBits(test.b),
                       bitsOf(test.a) == 8};
      for (const Kernels *level : levels) {
        CAPTURE(level->name, int(test.a), round);
        float acc[16];
        std::copy(start, start + 16, acc);
        level->groupTruncate(strip, acc);
        for (unsigned lane = 0; lane < 16; ++lane) {
          float expected = start[lane];
          for (unsigned k = 0; k < test.k; k += test.group)
            expected = groupTruncateScalar(test.a, test.b, &a[k], &b[lane * test.k + k], test.group,
                                           expected);
          REQUIRE(std::bit_cast<uint32_t>(acc[lane]) == std::bit_cast<uint32_t>(expected));
        }
      }
    }
}

TEST_CASE("Tiles of floats give the scalar model's bits, or say that they cannot") {
  const std::vector<const Kernels *> levels = levelsHere();
  struct Case {
    Elem a, b;
    unsigned k, group;
    bool always; ///< no product leaves the range of f32
  };
  std::mt19937 rng(21);
  for (Case test :
       {Case{Elem::F16, Elem::F16, 16, 8, true}, Case{Elem::F16, Elem::F16, 4, 4, true},
        Case{Elem::BF16, Elem::BF16, 8, 8, false}, Case{Elem::BF16, Elem::BF16, 2, 2, false},
        Case{Elem::XF32, Elem::XF32, 8, 4, false}, Case{Elem::FP8Fnuz, Elem::BF8Fnuz, 32, 16, true},
        Case{Elem::BF8Fnuz, Elem::BF8Fnuz, 16, 16, true}})
    for (const Kernels *level : levels) {
      unsigned computed = 0;
      for (int round = 0; round < 60; ++round) {
        CAPTURE(level->name, int(test.a), round);
        // Every other round has numbers of one size, between which alignment decides.
        auto element = [&](Elem elem) -> uint32_t {
          if (rng() % 5 == 0)
            return 0;
          for (;;) {
            const uint32_t bits = randomFinite(elem, rng);
            if (round % 2 == 0 || (std::abs(decode(elem, bits).exponent) < 14))
              return bits;
          }
        };
        std::vector<uint32_t> a(16 * test.k), b(16 * test.k);
        std::vector<float> valueA(a.size()), valueB(b.size());
        std::vector<int32_t> exponentA(a.size()), exponentB(b.size());
        for (size_t at = 0; at < a.size(); ++at) {
          a[at] = element(test.a);
          b[at] = element(test.b);
          valueA[at] = static_cast<float>(value(test.a, a[at]));
          valueB[at] = static_cast<float>(value(test.b, b[at]));
        }
        const auto count = static_cast<unsigned>(a.size());
        REQUIRE(
            level->exponents(valueA.data(), count, 1 - formatOf(test.a).bias, exponentA.data()));
        REQUIRE(
            level->exponents(valueB.data(), count, 1 - formatOf(test.b).bias, exponentB.data()));
        for (size_t at = 0; at < a.size(); ++at)
          REQUIRE(exponentA[at] == decode(test.a, a[at]).exponent);
        float start[16][16], acc[16][16];
        for (auto &row : start)
          for (float &c : row)
            c = rng() % 8 ? std::ldexp(static_cast<float>(static_cast<int32_t>(rng())),
                                       static_cast<int>(rng() % 60) - 60)
                          : 0.0f;
        std::copy(&start[0][0], &start[0][0] + 256, &acc[0][0]);
        const bool done =
            level->groupTile({valueA.data(), valueB.data(), exponentA.data(), exponentB.data(), 16,
                              16, test.k, test.group, bitsOf(test.a) == 8},
                             &acc[0][0], 16);
        CHECK((done || !test.always));
        if (!done)
          continue;
        ++computed;
        for (unsigned row = 0; row < 16; ++row)
          for (unsigned column = 0; column < 16; ++column) {
            std::vector<uint32_t> x(test.k), y(test.k);
            for (unsigned k = 0; k < test.k; ++k) {
              x[k] = a[16 * k + row];
              y[k] = b[16 * k + column];
            }
            float expected = start[row][column];
            for (unsigned k = 0; k < test.k; k += test.group)
              expected = groupTruncateScalar(test.a, test.b, &x[k], &y[k], test.group, expected);
            REQUIRE(std::bit_cast<uint32_t>(acc[row][column]) == std::bit_cast<uint32_t>(expected));
          }
      }
      CHECK(computed >= 30); // those of one size, at least
      float infinite[16] = {1.0f, std::numeric_limits<float>::infinity()};
      int32_t ignored[16];
      CHECK_FALSE(level->exponents(infinite, 16, -126, ignored));
    }
}
