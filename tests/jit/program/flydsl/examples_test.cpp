// FlyDSL's examples 01 to 05.
#include "call.h"

using namespace flydsl_programs;

TEST_CASE("example 01: a vectorised sum with predicates at the borders") {
  const std::int64_t m = 13, n = 44; // no multiples of the tile
  const Numbers x = uniform(fx::f32, m * n, 1), y = uniform(fx::f32, m * n, 2);
  const Operand a = Operand::input(fx::f32, m, n, x, 4), b = Operand::input(fx::f32, m, n, y, 8),
                c = Operand::output(fx::f32, m, n, 4);
  call("ex01_vector_add", a.tensor(), b.tensor(), c.tensor());
  Numbers sum(x.size());
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] = x[i] + y[i];
  expectNear(c.values(), sum, 0x1p-24, 0);
}

TEST_CASE("example 02: a tiled copy") {
  const Numbers x = uniform(fx::f32, 24 * 120, 3);
  const Operand a = Operand::input(fx::f32, 24, 120, x), b = Operand::output(fx::f32, 24, 120);
  call("ex02_tiled_copy", a.tensor(), b.tensor());
  CHECK(b.values() == x);
}

TEST_CASE("example 03: a tiled product") {
  const Numbers x = uniform(fx::f32, 64 * 8, 4), y = uniform(fx::f32, 64 * 8, 5);
  const Operand a = Operand::input(fx::f32, 64, 8, x), b = Operand::input(fx::f32, 64, 8, y),
                c = Operand::output(fx::f32, 64, 64);
  call("ex03_tiled_mma", a.tensor(), b.tensor(), c.tensor());
  expectNear(c.values(), product(x, y, 64, 64, 8), 0, 8 * 0x1p-23);
}

TEST_CASE("example 04: a product with preshuffled weights") {
  const std::int64_t m = 128, n = 128, k = 256;
  const Numbers x = uniform(fx::f16, m * k, 6), y = uniform(fx::f16, n * k, 7);
  const Operand a = Operand::input(fx::f16, m, k, x),
                b = Operand::input(fx::f16, n, k, preshuffled(y, n, k, 2)),
                c = Operand::output(fx::f16, m, n);
  call("ex04_preshuffle_gemm", a.tensor(), b.tensor(), c.tensor());
  expectNear(c.values(), product(x, y, m, n, k), kF16, k * 0x1p-22);
}

TEST_CASE("example 05: rows gathered and scattered by an index") {
  const std::int64_t rows = 64, chosen = 16, n = 64;
  Numbers index(chosen);
  for (std::size_t i = 0; i < index.size(); ++i)
    index[i] = static_cast<double>((i * 23 + 5) % rows); // 23 and 64 have no factor in common
  const Operand idx = Operand::input(fx::i32, 1, chosen, index);
  SECTION("gathered") {
    const Numbers x = uniform(fx::f32, rows * n, 8);
    const Operand from = Operand::input(fx::f32, rows, n, x),
                  to = Operand::output(fx::f32, chosen, n);
    call("ex05_gather", from.tensor(), to.tensor(), idx.vector());
    Numbers expected;
    for (double row : index)
      expected.insert(expected.end(), x.begin() + static_cast<std::ptrdiff_t>(row) * n,
                      x.begin() + static_cast<std::ptrdiff_t>(row + 1) * n);
    CHECK(to.values() == expected);
  }
  SECTION("scattered") {
    const Numbers x = uniform(fx::f32, chosen * n, 9);
    Numbers expected = uniform(fx::f32, rows * n, 10);
    const Operand from = Operand::input(fx::f32, chosen, n, x),
                  to = Operand::both(fx::f32, rows, n, expected);
    call("ex05_scatter", from.tensor(), to.tensor(), idx.vector());
    for (std::size_t i = 0; i < index.size(); ++i)
      std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(i) * n, n,
                  expected.begin() + static_cast<std::ptrdiff_t>(index[i]) * n);
    CHECK(to.values() == expected);
  }
}
