// Examples of docs/kernels/conv.md.
#include "example.h"

#include <flydsl/kernels/conv.h>
#include <flydsl/kernels/conv/depthwise_conv.h>
#include <flydsl/kernels/rows/permute.h>

#include <algorithm>
#include <cmath>

namespace fk = flydsl::kernels;

TEST_CASE("a convolution of images") {
  // region: problem
  // A convolution of 3 x 3 taps with a stride of 2; the zeros after the images are fewer than
  // before.
  const fk::ConvProblem problem{.x = fx::bf16,
                                .weight = fx::bf16,
                                .y = fx::bf16,
                                .channels = 16,
                                .filters = 32,
                                .height = {.kernel = 3, .stride = 2, .before = 1},
                                .width = {.kernel = 3, .stride = 2, .before = 1},
                                .bias = true,
                                .activation = fk::Activation::relu};
  const std::int64_t height = problem.height.outputs(8), width = problem.width.outputs(10);
  const std::int64_t m = 2 * height * width; // elements of y for each filter
  const fk::ConvPlan plan(problem, fk::choose(problem, m));
  // Where blocks share the sums, they meet in a workspace; 0 bytes otherwise.
  const fx::DeviceArray<std::uint8_t> workspace({std::int64_t(plan.workspace_bytes(m))});
  // endregion

  const auto x = fx::DeviceArray<fx::bfloat16_t>::random({2, 8, 10, 16}, 1),
             weight = fx::DeviceArray<fx::bfloat16_t>::random({32, 3, 3, 16}, 2),
             bias = fx::DeviceArray<fx::bfloat16_t>::random({32}, 3);
  const fx::Stream stream;
  // region: call
  fx::DeviceArray<fx::bfloat16_t> y({2, height, width, 32});
  plan({.x = x,           // (images, height, width, channels)
        .weight = weight, // (filters, taps of height, taps of width, channels)
        .bias = bias,
        .y = y,
        .workspace = workspace.tensor()},
       stream);
  // endregion
  stream.synchronize();

  CHECK(height == 4);
  CHECK(width == 5);
  const auto hostX = x.to_host(), hostW = weight.to_host(), hostB = bias.to_host(),
             hostY = y.to_host();
  // The first element of each filter: its first row and column of taps are outside of the image.
  for (std::size_t f = 0; f < 32; ++f) {
    double sum = double(float(hostB[f]));
    for (std::size_t r = 1; r < 3; ++r)
      for (std::size_t s = 1; s < 3; ++s)
        for (std::size_t c = 0; c < 16; ++c)
          sum += double(float(hostW[((f * 3 + r) * 3 + s) * 16 + c])) *
                 double(float(hostX[((r - 1) * 10 + s - 1) * 16 + c]));
    CHECK(std::fabs(double(float(hostY[f])) - std::max(sum, 0.0)) < 1e-1);
  }
}

TEST_CASE("a convolution of images with channels first") {
  constexpr std::int64_t n = 2, h = 6, w = 8, filters = 32;
  const auto nchw = fx::DeviceArray<fx::bfloat16_t>::random({n, 3, h, w}, 1),
             kcrs = fx::DeviceArray<fx::bfloat16_t>::random({filters, 3, 3, 3}, 2);
  fx::DeviceArray<fx::bfloat16_t> result({n, filters, h, w});
  const fx::Stream stream;
  // region: channels_first
  // x (n, 3, h, w) and filters (filters, 3, 3, 3) as torch has them. 3 channels become 8, because a
  // group has a multiple of 16 bytes: the others stay zero.
  fx::DeviceArray<fx::bfloat16_t> x({n, h, w, 8}), weight({filters, 3, 3, 8}),
      y({n, h, w, filters});
  x.fill(fx::bfloat16_t(0.0f));
  weight.fill(fx::bfloat16_t(0.0f));
  const auto first3 = [](const fx::DeviceArray<fx::bfloat16_t> &all, std::int64_t a, std::int64_t b,
                         std::int64_t c) { // of 8 channels
    return fx::tensor(all.tensor().data(), fx::bf16, {a, b, c, 3}, {b * c * 8, c * 8, 8, 1});
  };
  const fk::PermuteProblem toLast{.type = fx::bf16, .rank = 4, .order = {0, 2, 3, 1}},
      toFirst{.type = fx::bf16, .rank = 4, .order = {0, 3, 1, 2}, .row_align = 8};
  const fk::ConvAxis taps{.kernel = 3, .before = 1, .after = 1};
  const fk::ConvProblem conv{.channels = 8, .filters = filters, .height = taps, .width = taps};
  const fk::PermutePlan last(toLast, fk::choose(toLast, n * 3 * h)),
      back(toFirst, fk::choose(toFirst, n * h * w));
  const fk::ConvPlan product(conv, fk::choose(conv, n * h * w));

  last({.x = kcrs, .y = first3(weight, filters, 3, 3)}, stream); // once
  last({.x = nchw, .y = first3(x, n, h, w)}, stream);
  product({.x = x, .weight = weight, .y = y}, stream);
  back({.x = y, .y = result}, stream); // (n, filters, h, w)
  // endregion
  stream.synchronize();
  const auto hostX = nchw.to_host(), hostW = kcrs.to_host(), hostY = result.to_host();
  for (std::size_t f = 0; f < filters; ++f) {
    double sum = 0; // of the first element, whose first row and column of taps are outside
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t r = 1; r < 3; ++r)
        for (std::size_t s = 1; s < 3; ++s)
          sum += double(float(hostW[((f * 3 + c) * 3 + r) * 3 + s])) *
                 double(float(hostX[(c * h + r - 1) * w + s - 1]));
    CHECK(std::fabs(double(float(hostY[f * h * w])) - sum) < 1e-1);
  }
}

TEST_CASE("a transposed convolution of images") {
  // region: transposed
  // Twice as high and as wide: each element of y has 2 x 2 of the 4 x 4 taps.
  const fk::ConvAxis twice{.kernel = 4, .stride = 2, .before = 1, .after = 1};
  const fk::ConvProblem larger{
      .channels = 16, .filters = 8, .height = twice, .width = twice, .transposed = true};
  const std::int64_t rows = twice.inputs(5), columns = twice.inputs(6); // of y: 10 and 12
  const fk::ConvPlan up(larger, fk::choose(larger, rows * columns));
  // endregion
  const auto x = fx::DeviceArray<fx::bfloat16_t>::random({1, 5, 6, 16}, 1),
             weight = fx::DeviceArray<fx::bfloat16_t>::random({8, 4, 4, 16}, 2);
  fx::DeviceArray<fx::bfloat16_t> y({1, rows, columns, 8});
  const fx::Stream stream;
  up({.x = x, .weight = weight, .y = y}, stream);
  stream.synchronize();
  CHECK(rows == 10);
  CHECK(columns == 12);
  const auto hostX = x.to_host(), hostW = weight.to_host(), hostY = y.to_host();
  // The first element has the tap (1, 1) of the first element of x, and no other inside of x.
  for (std::size_t f = 0; f < 8; ++f) {
    double sum = 0;
    for (std::size_t c = 0; c < 16; ++c)
      sum += double(float(hostW[((f * 4 + 1) * 4 + 1) * 16 + c])) * double(float(hostX[c]));
    CHECK(std::fabs(double(float(hostY[f])) - sum) < 1e-1);
  }
}

TEST_CASE("a depthwise convolution of images") {
  const auto x = fx::DeviceArray<fx::bfloat16_t>::random({2, 8, 10, 16}, 1),
             filters = fx::DeviceArray<fx::bfloat16_t>::random({3, 3, 16}, 2),
             filtersBias = fx::DeviceArray<fx::bfloat16_t>::random({16}, 3);
  fx::DeviceArray<fx::bfloat16_t> of_each({2, 8, 10, 16});
  const fk::ConvAxis three{.kernel = 3, .before = 1, .after = 1};
  const fx::Stream stream;
  // region: depthwise
  const fk::DepthwiseConvProblem each{.channels = 16, .height = three, .width = three, .bias = true};
  const fk::DepthwiseConvPlan depthwise(each, fk::choose(each, 2 * 8 * 10));
  depthwise({.x = x,              // (images, height, width, channels)
             .weight = filters,   // (taps of height, taps of width, channels * multiplier)
             .bias = filtersBias, // (channels * multiplier)
             .y = of_each},
            stream);
  // endregion
  stream.synchronize();
  const auto hostX = x.to_host(), hostW = filters.to_host(), hostB = filtersBias.to_host(),
             hostY = of_each.to_host();
  for (std::size_t c = 0; c < 16; ++c) {
    double sum = double(float(hostB[c]));
    for (std::size_t r = 1; r < 3; ++r)
      for (std::size_t s = 1; s < 3; ++s)
        sum += double(float(hostW[(r * 3 + s) * 16 + c])) *
               double(float(hostX[((r - 1) * 10 + s - 1) * 16 + c]));
    CHECK(std::fabs(double(float(hostY[c])) - sum) < 1e-1);
  }
}
