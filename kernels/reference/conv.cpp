#include "reference/conv.h"

#include "reference/activation.h"
#include "reference/rounded.h"

#include <algorithm>
#include <cmath>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

namespace {

/// The element of x that a tap of an element of y reads along an axis; none if it has no such element.
std::optional<std::int64_t> sourceOf(const ConvAxis &axis, bool transposed, std::int64_t in,
                                     std::int64_t element, std::int64_t tap) {
  std::int64_t at = element * axis.stride + tap * axis.dilation - axis.before;
  if (transposed) {
    const std::int64_t from = element + axis.before - tap * axis.dilation;
    if (from < 0 || from % axis.stride)
      return {};
    at = from / axis.stride;
  }
  if (at < 0 || at >= in)
    return {};
  return at;
}

/// The extents of one image as the families make them (make_args), given the elements of x.
struct Sampled {
  std::int64_t images;
  ImageExtents in{1, 1, 1}, out{1, 1, 1};

  Sampled(int rank, const std::array<ConvAxis, 3> &axes, bool transposed, std::int64_t m,
          std::int64_t pixels)
      : images(m ? 1 : 0) {
    const auto outputs = [&](std::size_t at, std::int64_t wanted) {
      return transposed ? std::max(wanted, axes[at].inputs(in[at])) : axes[at].outputs(in[at]);
    };
    std::int64_t others = 1;
    for (auto axis = std::size_t(3 - rank); axis < 2; ++axis) {
      if (!transposed)
        in[axis] = std::max<std::int64_t>(1, axes[axis].inputs(1));
      else
        while (axes[axis].inputs(in[axis] + 1) <= 1)
          ++in[axis];
      out[axis] = outputs(axis, 1);
      others *= out[axis];
    }
    in[2] = pixels / (in[0] * in[1]);
    out[2] = outputs(2, std::max<std::int64_t>(1, (m + others - 1) / others));
  }
};

} // namespace

// A sum of K products in f32, in any order, is off by at most K + 2 roundings of what the terms are
// together; integers are summed exactly. Each scale is another rounding.
Expected convolved(const ConvProblem &problem, std::int64_t images, const ImageExtents &in,
                   const ImageExtents &out, const Inputs &inputs) {
  const ConvAxis axes[] = {problem.depth, problem.height, problem.width};
  const std::int64_t channels = problem.channels / problem.groups,
                     filters = problem.filters / problem.groups;
  const std::vector<double> &x = inputs.at("x"), &weight = inputs.at("weight");
  const double rounding = double(problem.taps() * channels + 2) * 0x1p-24;
  const auto scaleOf = [&](const char *name, Scales scales, std::int64_t f) {
    if (scales == Scales::none)
      return 1.0;
    return inputs.at(name)[scales == Scales::per_row ? std::size_t(f) : 0];
  };
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
                  const auto source = [&](std::size_t axis, std::int64_t element,
                                          std::int64_t tap) {
                    return sourceOf(axes[axis], problem.transposed, in[axis], element, tap);
                  };
                  const auto atD = source(0, d, r), atH = source(1, h, s), atW = source(2, w, t);
                  if (!atD || !atH || !atW)
                    continue;
                  const std::int64_t pixel = ((n * in[0] + *atD) * in[1] + *atH) * in[2] + *atW,
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
            const double scale = scaleOf("scale_x", problem.scale_x, f) *
                                 scaleOf("scale_weight", problem.scale_weight, f);
            sum *= scale;
            error = error * std::fabs(scale) + 2 * std::fabs(sum) * 0x1p-24;
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

Outputs expected(const ConvProblem &problem, const GemmConfig &, std::int64_t m,
                 const Inputs &inputs) {
  const Sampled sampled(problem.rank, {problem.depth, problem.height, problem.width},
                        problem.transposed, m, std::ssize(inputs.at("x")) / problem.channels);
  return {{"y", convolved(problem, sampled.images, sampled.in, sampled.out, inputs)}};
}

Expected convolved(const DepthwiseConvProblem &problem, std::int64_t images, const ImageExtents &in,
                   const ImageExtents &out, const Inputs &inputs) {
  const ConvProblem same{.x = problem.x,
                         .weight = problem.weight,
                         .y = problem.y,
                         .rank = problem.rank,
                         .channels = problem.channels,
                         .filters = problem.filters(),
                         .groups = problem.channels,
                         .depth = problem.depth,
                         .height = problem.height,
                         .width = problem.width,
                         .bias = problem.bias,
                         .activation = problem.activation,
                         .transposed = problem.transposed};
  Inputs turned = inputs;
  const std::int64_t taps = problem.taps(), filters = problem.filters();
  for (std::int64_t f = 0; f < filters; ++f)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      turned["weight"][std::size_t(f * taps + tap)] =
          inputs.at("weight")[std::size_t(tap * filters + f)];
  return convolved(same, images, in, out, turned);
}

Outputs expected(const DepthwiseConvProblem &problem, const DepthwiseConvConfig &, std::int64_t m,
                 const Inputs &inputs) {
  const Sampled sampled(problem.rank, {problem.depth, problem.height, problem.width},
                        problem.transposed, m, std::ssize(inputs.at("x")) / problem.channels);
  return {{"y", convolved(problem, sampled.images, sampled.in, sampled.out, inputs)}};
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
