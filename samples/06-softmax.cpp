// Y = softmax of each row of X, in float, for rows of any length up to 16384. A block keeps its row
// in registers, reads it once and writes it once.
//
// New here: reductions of a wave and of a block, math, a compile-time size, fast math by the
// hardware's exp2. Options: --rows (5), --columns (1000).
#include "common/options.h"
#include "common/report.h"

#include <flydsl/flydsl.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <vector>

namespace fx = flydsl;
using fx::_;

constexpr int threads = 256, width = 4 * threads, most_copies = 16;

const fx::Kernel softmax{
    "softmax", [](fx::Tensor X, fx::Tensor Y, fx::TiledCopy copy, fx::Constexpr<int> copies) {
      auto row = fx::block_idx().x;
      auto thr = copy.get_slice(fx::thread_idx().x);
      auto shape = X.shape(); // (M, N)

      // A row is one tile; each thread makes as many copies as the row needs.
      auto tile = fx::make_tile(1, width * copies);
      auto gX = fx::flat_divide(X, tile)(_, _, row, 0); // (1, N')
      auto gY = fx::flat_divide(Y, tile)(_, _, row, 0); // (1, N')
      auto cX = fx::flat_divide(fx::make_identity_tensor(shape), tile)(_, _, row, 0);

      auto tX = thr.partition_S(gX);                           // (V, 1, copies)
      auto tY = thr.partition_D(gY);                           // (V, 1, copies)
      auto tcX = thr.partition_S(cX);                          // (V, 1, copies)
      auto tcCopy = tcX(fx::make_coord(0, _), _, _);           // (1, 1, copies)
      auto rX = fx::make_fragment_like(tX);                    // (V, 1, copies)
      auto pred = fx::make_fragment_like(tcCopy, fx::boolean); // (1, 1, copies)
      for (int i = 0; i < copies; ++i)
        pred(i) = fx::elem_less(tcCopy(i), shape);
      auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
      fx::copy(atom, tX, rX, {.pred = pred});

      // Elements past the end of the row take no part: their exponential is 0.
      for (int i = 0; i < 4 * copies; ++i)
        rX(i) = fx::select(fx::elem_less(tcX(i), shape), rX(i),
                           -std::numeric_limits<float>::infinity());

      fx::SharedAllocator shared;
      const float log2e = 1.44269504088896341f;
      fx::Numeric largest =
          fx::gpu::block_reduce(rX.load().reduce(fx::Reduction::max), fx::Reduction::max, shared);
      rX.store(fx::math::exp2((rX.load() - largest) * log2e));
      fx::Numeric sum =
          fx::gpu::block_reduce(rX.load().reduce(fx::Reduction::add), fx::Reduction::add, shared);
      rX.store(rX.load() * (1.0f / sum));
      fx::copy(atom, rX, tY, {.pred = pred});
    }};

static int run(const samples::Options &options) {
  const std::int64_t M = options.get("rows", 5), N = options.get("columns", 1000);
  const int copies = int((N + width - 1) / width);
  if (copies > most_copies)
    throw std::invalid_argument("a row of " + std::to_string(N) +
                                " does not fit the registers of " + std::to_string(threads) +
                                " threads; at most " + std::to_string(width * most_copies) +
                                " columns do");
  // Each row starts at a multiple of 128 bits, so that the last copy of a row stays inside its row.
  const std::int64_t ld = (N + 3) / 4 * 4;
  auto copy = fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32),
                                     fx::make_ordered_layout({1, threads}, {1, 0}),
                                     fx::make_ordered_layout({1, 4}, {0, 1}));
  auto matrix = [&](float *data) {
    return fx::TensorArg(fx::tensor(data, {M, N}, {ld, 1}).mark_layout_dynamic(1, 4));
  };

  if (fx::compile_only()) { // needs no device
    auto compiled =
        softmax(matrix(nullptr), matrix(nullptr), copy, copies).compile({.block = threads});
    std::printf("%s", compiled.summary().c_str());
    return 0;
  }

  samples::reportDevice();
  fx::Stream stream;
  auto X = fx::DeviceArray<float>::random({M, ld}, /*seed=*/1);
  auto x = X.to_host();
  for (float &v : x)
    v *= 20; // values that would overflow if the largest were not subtracted
  X.copy_from(x);
  fx::DeviceArray<float> Y({M, ld});
  Y.poison();

  auto compiled =
      softmax(matrix(X.data()), matrix(Y.data()), copy, copies).compile({.block = threads});
  samples::report(compiled);
  compiled(matrix(X.data()), matrix(Y.data()), copy, copies)
      .launch({.grid = M, .block = threads, .stream = stream});
  stream.synchronize();

  const auto y = Y.to_host();
  samples::Worst worst;
  for (std::int64_t m = 0; m < M; ++m) {
    const float *row = &x[std::size_t(m * ld)];
    double largest = row[0], sum = 0;
    for (std::int64_t n = 1; n < N; ++n)
      largest = std::max(largest, double(row[n]));
    for (std::int64_t n = 0; n < N; ++n)
      sum += std::exp(double(row[n]) - largest);
    for (std::int64_t n = 0; n < N; ++n) {
      const double expected = std::exp(double(row[n]) - largest) / sum;
      worst.add((double(y[std::size_t(m * ld + n)]) - expected) / (expected + 1e-30));
    }
  }
  // The exponent of 2, up to 58 in magnitude, has three roundings of at most 2^-19: of the
  // difference, of log2(e) and of their product. The sum and the quotient add little to that.
  return samples::verdict("largest relative error", samples::dims(M, N), worst, 5 * 0x1p-19);
}

int main(int argc, char **argv) { return samples::main(argc, argv, {"rows", "columns"}, run); }
