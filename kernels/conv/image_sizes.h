// What the hosts of all convolutions share: axes, extents of images, and what is refused of them.
#pragma once

#include "conv/conv_family.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline constexpr int kMostTaps = 64, kMostPadding = 1024, kMostChannels = 1 << 20;

/// The names of axes and of the modes of operands, by rank.
inline constexpr const char *kAxes[kImageModes] = {"depth", "height", "width"};
inline constexpr const char *kOfX[] = {"n, w, channels", "n, h, w, channels",
                                       "n, d, h, w, channels"};
inline constexpr const char *kOfY[] = {"n, ow, filters", "n, oh, ow, filters",
                                       "n, od, oh, ow, filters"};

/// The first axis that an image of this rank has.
inline int firstAxis(int rank) { return kImageModes - rank; }
/// What `make` gives for the extents of images or filters: the axes that a rank has, and what stands
/// before and after them.
template <class Make>
auto ofExtents(int rank, std::int64_t first, const std::array<std::int64_t, kImageModes> &axes,
               std::int64_t last, const Make &make) {
  switch (rank) {
  case 1:
    return make(first, axes[2], last);
  case 2:
    return make(first, axes[1], axes[2], last);
  default:
    return make(first, axes[0], axes[1], axes[2], last);
  }
}
inline Shape imageShape(int rank, const char *modes, std::int64_t first,
                        const std::array<std::int64_t, kImageModes> &axes, std::int64_t last) {
  return ofExtents(rank, first, axes, last,
                   [&](auto... extents) { return Shape(modes, extents...); });
}
inline Extents imageExtents(int rank, std::int64_t first,
                            const std::array<std::int64_t, kImageModes> &axes, std::int64_t last) {
  return ofExtents(rank, first, axes, last, [](auto... extents) { return Extents{extents...}; });
}

/// Whether the axes are those of images of this rank.
Support axesSupported(int rank, const std::array<ConvAxis, kImageModes> &axes);

/// The extents of images, those of dimensions that the rank does not have being 1.
struct ImageSizes {
  std::int64_t images = 0;
  std::array<std::int64_t, kImageModes> x{1, 1, 1}, y{1, 1, 1};
  /// The elements of y for each filter.
  std::int64_t elements() const { return images * y[0] * y[1] * y[2]; }
};
/// The sizes of a call; refuses extents that are too small or too large, and those of y that a
/// transposed convolution does not give.
ImageSizes imageSizes(const Arguments &arguments, const ImageWork &work, const TensorArg &x,
                      const TensorArg &y);
/// The sizes of a call that has about m elements of y: one image, or none.
ImageSizes sampledSizes(const ImageWork &work, std::int64_t m);

/// x, of whose images a block reads so many.
inline Expected imagesOfX(DType dtype, const ImageWork &work, const ImageSizes &sizes, int channels,
                          std::int64_t ofBlock, std::int64_t align, const char *reason) {
  Expected x{.name = "x",
             .dtype = dtype,
             .shape = imageShape(work.rank, kOfX[work.rank - 1], sizes.images, sizes.x, channels),
             .free = work.rank + 1,
             .align = align,
             .reason = reason,
             .reach = {.bytes = kMostBufferBytes, .what = "the images of a tile of y"}};
  x.reach.counts[0] = std::min(sizes.images, ofBlock);
  for (int axis = firstAxis(work.rank); axis < kImageModes; ++axis)
    x.reach.counts[axis - firstAxis(work.rank) + 1] = sizes.x[std::size_t(axis)];
  return x;
}
/// The address of x and its strides, those of dimensions that the rank does not have being 0.
inline Strided<OnHost, kImageModes + 1> stridesOfX(const ImageWork &work, const TensorArg &x) {
  Strided<OnHost, kImageModes + 1> result{.address = address(x), .stride = {}};
  result.stride[0] = strideOf(x, 0);
  for (int axis = firstAxis(work.rank); axis < kImageModes; ++axis)
    result.stride[std::size_t(axis) + 1] = strideOf(x, axis - firstAxis(work.rank) + 1);
  return result;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
