#include "reference/conv.h"

#include "reference/activation.h"
#include "reference/rounded.h"

#include <algorithm>
#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

// A sum of K products in f32, in any order, is off by at most K + 2 roundings of what the terms are
// together; integers are summed exactly.
Expected convolved(const ConvProblem &problem, std::int64_t images,
                   const std::array<std::int64_t, 3> &in, const Inputs &inputs) {
  const ConvAxis axes[] = {problem.depth, problem.height, problem.width};
  std::int64_t out[3];
  for (std::size_t axis = 0; axis < 3; ++axis)
    out[axis] = axes[axis].outputs(in[axis]);
  const std::int64_t channels = problem.channels / problem.groups,
                     filters = problem.filters / problem.groups;
  const std::vector<double> &x = inputs.at("x"), &weight = inputs.at("weight");
  const double rounding = double(problem.taps() * channels + 2) * 0x1p-24;
  Expected y;
  for (std::int64_t n = 0; n < images; ++n)
    for (std::int64_t d = 0; d < out[0]; ++d)
      for (std::int64_t h = 0; h < out[1]; ++h)
        for (std::int64_t w = 0; w < out[2]; ++w)
          for (std::int64_t f = 0; f < problem.filters; ++f) {
            double sum = 0, magnitude = 0;
            for (std::int64_t r = 0; r < axes[0].kernel; ++r)
              for (std::int64_t s = 0; s < axes[1].kernel; ++s)
                for (std::int64_t t = 0; t < axes[2].kernel; ++t) {
                  const std::int64_t at[] = {
                      d * axes[0].stride + r * axes[0].dilation - axes[0].before,
                      h * axes[1].stride + s * axes[1].dilation - axes[1].before,
                      w * axes[2].stride + t * axes[2].dilation - axes[2].before};
                  bool inside = true;
                  for (std::size_t axis = 0; axis < 3; ++axis)
                    inside = inside && at[axis] >= 0 && at[axis] < in[axis];
                  if (!inside)
                    continue;
                  const std::int64_t pixel = ((n * in[0] + at[0]) * in[1] + at[1]) * in[2] + at[2],
                                     tap = (r * axes[1].kernel + s) * axes[2].kernel + t;
                  for (std::int64_t c = 0; c < channels; ++c) {
                    const double term =
                        x[std::size_t(pixel * problem.channels + f / filters * channels + c)] *
                        weight[std::size_t((f * problem.taps() + tap) * channels + c)];
                    sum += term;
                    magnitude += std::fabs(term);
                  }
                }
            double error = problem.x == i8 ? std::fabs(sum) * 0x1p-24 : rounding * magnitude;
            if (problem.bias) {
              sum += inputs.at("bias")[std::size_t(f)];
              error += std::fabs(sum) * 0x1p-24;
            }
            const double value = activated(problem.activation, sum);
            if (problem.activation != Activation::none)
              error = passedOn(problem.activation, sum, error) + 8 * 0x1p-23 * std::fabs(value);
            add(y, problem.y, value, error);
          }
  return y;
}

Outputs expected(const ConvProblem &problem, const GemmConfig &, std::int64_t,
                 const Inputs &inputs) {
  // One image whose outer dimensions are as small as they may be.
  const ConvAxis axes[] = {problem.depth, problem.height, problem.width};
  std::array<std::int64_t, 3> in{1, 1, 1};
  for (std::size_t axis = std::size_t(3 - problem.rank); axis < 2; ++axis)
    in[axis] = std::max(1, axes[axis].reach() - axes[axis].before - axes[axis].after);
  in[2] = std::ssize(inputs.at("x")) / (in[0] * in[1] * problem.channels);
  return {{"y", convolved(problem, in[2] ? 1 : 0, in, inputs)}};
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
