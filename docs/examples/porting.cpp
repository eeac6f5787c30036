// Examples of docs/porting-from-flydsl.md: the C++ side.
#include "example.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

// region: kernel
constexpr int THREADS = 256, WAVES = THREADS / 64;
constexpr int VALUES = 4; // a 128-bit copy of floats

struct Storage {
  fx::Array<fx::Float32, WAVES, 16> sums;
};

const fx::Kernel rms_scale{"rms_scale", [](fx::Tensor X, fx::Tensor W, fx::Tensor Y,
                                           fx::Float32 eps, fx::Constexpr<int> copies) {
  auto tid = fx::thread_idx().x;
  auto row = fx::block_idx().x;
  const int N = VALUES * THREADS * copies;

  auto shared = fx::SharedAllocator().allocate<Storage>();
  auto sums = shared.sums.view(fx::make_layout(WAVES, 1));

  auto x = fx::logical_divide(X(row, _), fx::make_layout(VALUES, 1)); // (V, N / V)
  auto y = fx::logical_divide(Y(row, _), fx::make_layout(VALUES, 1)); // (V, N / V)
  auto w = fx::logical_divide(W, fx::make_layout(VALUES, 1));         // (V, N / V)

  auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
  std::vector<fx::Tensor> kept;
  fx::Var<fx::Float32> total(0.0f);
  for (int i = 0; i < copies; ++i) {
    auto r = fx::make_rmem_tensor(VALUES, fx::f32);
    fx::copy(atom, x(_, tid + i * THREADS), r);
    kept.push_back(r);
    auto v = r.load();
    total += (v * v).reduce(fx::Reduction::add);
  }

  for (int e = 0; e < 6; ++e)
    total += fx::gpu::shuffle_xor(total.get(), 1 << e, 64);
  fx::if_(tid % 64 == 0, [&] { sums(tid / 64) = total; });
  fx::gpu::barrier();
  total = 0.0f;
  for (int i = 0; i < WAVES; ++i)
    total += sums(i);
  auto scale = fx::math::rsqrt(total / float(N) + eps);

  for (int i = 0; i < copies; ++i) {
    auto r = fx::make_rmem_tensor(VALUES, fx::f32);
    fx::copy(atom, w(_, tid + i * THREADS), r);
    r.store(kept[std::size_t(i)].load() * r.load() * scale);
    fx::copy(atom, r, y(_, tid + i * THREADS));
  }
}};
// endregion

// region: call
void run_rms_scale(const fx::TensorArg &X, const fx::TensorArg &W, const fx::TensorArg &Y,
                   float eps, fx::StreamRef stream) {
  const std::int64_t M = X.shape()[0], N = X.shape()[1];
  rms_scale(X, W, Y, eps, N / (VALUES * THREADS))
      .launch({.grid = M, .block = THREADS, .stream = stream});
}
// endregion

// region: shorter
const fx::Kernel rms_scale_shorter{"rms_scale_shorter", [](fx::Tensor X, fx::Tensor W, fx::Tensor Y,
                                                           fx::Float32 eps, fx::TiledCopy copy) {
  auto row = fx::block_idx().x;
  auto thr = copy.get_slice(fx::thread_idx().x);
  auto tile = fx::make_tile(1, X.shape()[1]);
  auto tX = thr.partition_S(fx::flat_divide(X, tile)(_, _, row, 0)); // (V, 1, copies)
  auto tY = thr.partition_D(fx::flat_divide(Y, tile)(_, _, row, 0)); // (V, 1, copies)
  auto tW = thr.partition_S(W);                                      // (V, 1, copies)
  auto x = fx::make_fragment_like(tX), w = fx::make_fragment_like(tW);
  fx::copy(copy, tX, x);
  fx::copy(copy, tW, w);

  fx::SharedAllocator shared;
  auto v = x.load();
  auto sum = fx::gpu::block_reduce((v * v).reduce(fx::Reduction::add), fx::Reduction::add, shared);
  x.store(v * w.load() * fx::math::rsqrt(sum / float(X.shape()[1].value()) + eps));
  fx::copy(copy, x, tY);
}};
// endregion

} // namespace

TEST_CASE("porting: a kernel and its shorter form", "[porting]") {
  constexpr std::int64_t M = 3, N = 2048;
  auto X = fx::DeviceArray<float>::random({M, N}, 1), W = fx::DeviceArray<float>::random({N}, 2);
  fx::DeviceArray<float> Y({M, N});
  const auto x = X.to_host(), w = W.to_host();
  auto worst = [&] {
    const auto y = Y.to_host();
    double worst = 0;
    for (std::size_t m = 0; m < M; ++m) {
      double sum = 0;
      for (std::size_t n = 0; n < N; ++n)
        sum += double(x[m * N + n]) * x[m * N + n];
      for (std::size_t n = 0; n < N; ++n) {
        const double error =
            std::fabs(y[m * N + n] - x[m * N + n] * w[n] / std::sqrt(sum / N + 1e-5));
        worst = std::isnan(error) ? 1 : std::max(worst, error);
      }
    }
    return worst;
  };
  fx::Stream stream;
  Y.poison();
  run_rms_scale(X, W, Y, 1e-5f, stream);
  stream.synchronize();
  CHECK(worst() < 1e-5);

  Y.poison();
  auto copy = fx::make_tiled_copy_tv(fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32),
                                     fx::make_ordered_layout({1, THREADS}, {1, 0}),
                                     fx::make_layout({1, VALUES}));
  auto fixed = [](fx::TensorArg tensor) { return tensor.mark_layout_static(); };
  rms_scale_shorter(fixed(X), fixed(fx::tensor(W.data(), {1, N})), fixed(Y), 1e-5f, copy)
      .launch({.grid = M, .block = THREADS, .stream = stream});
  stream.synchronize();
  CHECK(worst() < 1e-5);
}
