// RMS norm of rows, with or without a residual that is added before: y = n(x + r) * weight.
//
// New here: a kernel whose argument is a struct, with an optional tensor and a nested struct.
// Options: --rows (7), --columns (500).
#include "common/options.h"
#include "common/report.h"

#include <flydsl/flydsl.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

namespace fx = flydsl;
using fx::_;

// One declaration for both sides: NormParams<fx::OnDevice> has traced values, NormParams<fx::OnHost>
// has what the call passes for them.
template <class Side> struct Scaling {
  fx::Param<Side, fx::Tensor> weight; // (N)
  fx::Param<Side, fx::Float32> epsilon;
};
template <class Side> struct NormParams {
  fx::Param<Side, fx::Tensor> x, y;                         // (M, N)
  fx::Param<Side, std::optional<fx::Tensor>> residual = {}; // (M, N)
  Scaling<Side> scaling;
};

constexpr int threads = 128;

// A block has one row. Its threads take the columns in turns.
const fx::Kernel rms_norm{"rms_norm", [](NormParams<fx::OnDevice> p) {
                            auto row = fx::block_idx().x, tid = fx::thread_idx().x;
                            auto x = p.x(row, _), y = p.y(row, _); // (N)
                            const fx::Int32 N = p.x.shape()[1];

                            // There is a residual or there is none: this `if` is C++'s, and decides while tracing.
                            auto input = [&](const fx::Int32 &i) -> fx::Numeric {
                              return p.residual ? x(i) + (*p.residual)(row, i) : fx::Numeric(x(i));
                            };

                            fx::Var<fx::Float32> sum(0.0f);
                            for (fx::Int32 i : fx::range(tid, N, threads))
                              sum += input(i) * input(i);
                            fx::SharedAllocator shared;
                            const fx::Numeric all =
                                fx::gpu::block_reduce(sum.get(), fx::Reduction::add, shared);
                            const fx::Numeric scale =
                                fx::math::rsqrt(all / N.to(fx::f32) + p.scaling.epsilon);
                            for (fx::Int32 i : fx::range(tid, N, threads))
                              y(i) = input(i) * scale * p.scaling.weight(i);
                          }};

static int run(const samples::Options &options) {
  const std::int64_t M = options.get("rows", 7), N = options.get("columns", 500);
  const float epsilon = 1e-5f;
  if (fx::compile_only()) { // needs no device
    float *none = nullptr;
    samples::report(rms_norm({.x = fx::tensor(none, {M, N}),
                              .y = fx::tensor(none, {M, N}),
                              .scaling = {.weight = fx::tensor(none, {N}), .epsilon = epsilon}})
                        .compile({.block = threads}));
    return 0;
  }
  samples::reportDevice();
  auto x = fx::DeviceArray<float>::random({M, N}, 1), r = fx::DeviceArray<float>::random({M, N}, 2);
  auto weight = fx::DeviceArray<float>::random({N}, 3);
  fx::DeviceArray<float> y({M, N});

  bool right = true;
  const auto hx = x.to_host(), hr = r.to_host(), hw = weight.to_host();
  for (const bool withResidual : {false, true}) {
    y.poison();
    std::optional<fx::TensorArg> residual;
    if (withResidual)
      residual = r;
    rms_norm(
        {.x = x, .y = y, .residual = residual, .scaling = {.weight = weight, .epsilon = epsilon}})
        .launch({.grid = M, .block = threads});

    const auto hy = y.to_host();
    double worst = 0;
    for (std::int64_t row = 0; row < M; ++row) {
      std::vector<double> v(static_cast<std::size_t>(N));
      double squares = 0;
      for (std::int64_t i = 0; i < N; ++i) {
        const auto at = static_cast<std::size_t>(row * N + i), c = static_cast<std::size_t>(i);
        v[c] = hx[at] + (withResidual ? hr[at] : 0.0f); // rounded to float, as the kernel does
        squares += v[c] * v[c];
      }
      const double scale = 1 / std::sqrt(squares / static_cast<double>(N) + epsilon);
      for (std::size_t c = 0; c < v.size(); ++c) {
        const double wanted = v[c] * scale * hw[c];
        const double found = hy[static_cast<std::size_t>(row * N) + c];
        const double error = std::fabs(found - wanted);
        worst = error <= worst ? worst : error; // a NaN is kept
      }
    }
    // A sum of N squares in float, a reciprocal root and three products, each rounded.
    const double bound = (static_cast<double>(N) / threads + 16) * 0x1p-24 * 4;
    std::printf("%-11s largest error %.3g, bound %.3g\n", withResidual ? "residual" : "none", worst,
                bound);
    right &= worst <= bound;
  }
  std::printf("%s\n", right ? "PASS" : "FAIL");
  return right ? 0 : 1;
}

int main(int argc, char **argv) { return samples::main(argc, argv, {"rows", "columns"}, run); }
