#include "conv/image_sizes.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using std::to_string;

Support axisSupported(const std::string &name, const ConvAxis &axis) {
  return firstRefusal({rangeSupported(name + ".kernel", axis.kernel, 1, kMostTaps),
                       rangeSupported(name + ".stride", axis.stride, 1, kMostTaps),
                       rangeSupported(name + ".dilation", axis.dilation, 1, kMostTaps),
                       rangeSupported(name + ".before", axis.before, 0, kMostPadding),
                       rangeSupported(name + ".after", axis.after, 0, kMostPadding)});
}

/// The most elements of x along a dimension of a transposed convolution: 32 bits count those of y.
constexpr std::int64_t kMostTransposed = kMostRowsOfCall / kMostTaps;

/// The extent of y along an axis of a convolution, given that of x.
std::int64_t outputsOf(const Arguments &arguments, std::size_t at, const ConvAxis &axis,
                       std::int64_t in) {
  const std::int64_t out = axis.outputs(in);
  if (in > kMostRowsOfCall || out == 0)
    arguments.fail(std::string(kAxes[at]) + " of x is " + to_string(in) +
                   "; with its zeros it is at least the " + to_string(axis.reach()) +
                   " elements that the taps lie among, and at most 2147483647");
  return out;
}
/// Whether a transposed convolution gives `out` elements of y for so many of x.
void expectTransposed(const Arguments &arguments, std::size_t at, const ConvAxis &axis,
                      std::int64_t in, std::int64_t out) {
  if (in < 1 || in > kMostTransposed)
    arguments.fail(std::string(kAxes[at]) + " of x is " + to_string(in) + "; it is 1 to " +
                   to_string(kMostTransposed) + " in a transposed convolution");
  const std::int64_t least = std::max<std::int64_t>(1, axis.inputs(in)),
                     most = axis.inputs(in) + axis.stride - 1;
  if (most < 1)
    arguments.fail(std::string(kAxes[at]) + " of x is " + to_string(in) +
                   "; y has no element then, because before and after leave out " +
                   to_string(axis.before + axis.after) + " of " +
                   to_string(axis.inputs(in) + axis.before + axis.after));
  if (out < least || out > most)
    arguments.fail(std::string(kAxes[at]) + " of y is " + to_string(out) + "; for " +
                   to_string(in) + " of x it is " + to_string(least) + " to " + to_string(most));
}

} // namespace

Support axesSupported(int rank, const std::array<ConvAxis, kImageModes> &axes) {
  if (const Support ranks = rangeSupported("rank", rank, 1, kImageModes); !ranks)
    return ranks;
  for (int axis = 0; axis < kImageModes; ++axis) {
    const ConvAxis &along = axes[std::size_t(axis)];
    if (const Support answer = axisSupported(kAxes[axis], along); !answer)
      return answer;
    if (axis < firstAxis(rank) && along != ConvAxis{})
      return Support::no(std::string(kAxes[axis]) + " is given, and images of rank " +
                         to_string(rank) + " have none");
  }
  return {};
}

ImageSizes imageSizes(const Arguments &arguments, const ImageWork &work, const TensorArg &x,
                      const TensorArg &y) {
  const int rank = work.rank + 2;
  const auto expectRank = [&](const char *name, const TensorArg &tensor, const char *last) {
    if (tensor.rank() != rank)
      arguments.fail(std::string(name) + " has " + to_string(tensor.rank()) +
                     " modes; a convolution of rank " + to_string(work.rank) + " takes " +
                     to_string(rank) + ": images, their dimensions, and " + last + " last");
  };
  expectRank("x", x, "channels");
  if (work.transposed)
    expectRank("y", y, "filters");
  ImageSizes sizes;
  sizes.images = x.shape()[0];
  std::int64_t elements = sizes.images;
  for (int axis = firstAxis(work.rank); axis < kImageModes; ++axis) {
    const auto at = std::size_t(axis), mode = std::size_t(axis - firstAxis(work.rank) + 1);
    sizes.x[at] = x.shape()[mode];
    if (work.transposed) {
      sizes.y[at] = y.shape()[mode];
      expectTransposed(arguments, at, work.axes[at], sizes.x[at], sizes.y[at]);
    } else {
      sizes.y[at] = outputsOf(arguments, at, work.axes[at], sizes.x[at]);
    }
    if (elements > kMostRowsOfCall / sizes.y[at])
      arguments.fail("y has more than 2147483647 elements for a filter; give fewer images a call");
    elements *= sizes.y[at];
  }
  return sizes;
}

ImageSizes sampledSizes(const ImageWork &work, std::int64_t m) {
  ImageSizes sizes;
  sizes.images = m ? 1 : 0;
  const auto set = [&](std::size_t at, std::int64_t outputs) {
    const ConvAxis &axis = work.axes[at];
    if (work.transposed) {
      // The fewest elements of x for which y may have so many.
      const std::int64_t before = outputs - axis.reach() + axis.before + axis.after;
      sizes.x[at] = std::max<std::int64_t>(1, before < 0 ? 1 : before / axis.stride + 1);
      sizes.y[at] = std::max(outputs, axis.inputs(sizes.x[at]));
    } else {
      sizes.x[at] = std::max<std::int64_t>(1, axis.inputs(outputs));
      sizes.y[at] = axis.outputs(sizes.x[at]);
    }
  };
  std::int64_t others = 1;
  for (int axis = firstAxis(work.rank); axis + 1 < kImageModes; ++axis) {
    set(std::size_t(axis), 1);
    others *= sizes.y[std::size_t(axis)];
  }
  set(2, std::max<std::int64_t>(1, (m + others - 1) / others));
  return sizes;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
