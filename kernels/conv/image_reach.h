// How much of large images a tile of a convolution reads. WindowRows::firstOf (conv/windows.h) says from
// which element on it finds that.
#pragma once

#include "conv/image_sizes.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Whether a tile of so many rows, of images with the extents `rows`, reads too much of x to find it
/// from the start of its first image on, but not from its first window on: images of 1 GiB and more.
/// Elements lie in the order of their coordinates then.
inline bool isFar(const ImageWork &work, const ImageSizes &sizes,
                  const std::array<std::int64_t, kImageModes> &rows, int tileM,
                  const TensorArg &x) {
  const Strided<OnHost, kImageModes + 1> at = stridesOfX(work, x);
  const std::array<std::int64_t, kImageModes> &in = sizes.x;
  const auto stride = [&](std::size_t axis) { return at.stride[axis + 1]; };
  const auto all = [&](std::size_t first) {
    std::int64_t elements = x.shape()[x.rank() - 1]; // channels
    for (std::size_t axis = first; axis < kImageModes; ++axis)
      elements += (in[axis] - 1) * stride(axis);
    return elements;
  };
  const auto fits = [&](std::int64_t elements) {
    return elements * x.dtype().bytes() < kMostBufferBytes;
  };
  const std::int64_t ofImage = rows[0] * rows[1] * rows[2], ofPlane = rows[1] * rows[2],
                     together = std::min(sizes.images, (tileM - 1) / ofImage + 2);
  // At least what the rule for arguments (Expected::reach) adds up.
  std::int64_t near = together * at.stride[0];
  for (std::size_t axis = 0; axis < kImageModes; ++axis)
    near += in[axis] * stride(axis);
  if (fits(near))
    return false;
  for (std::size_t axis = 0; axis < kImageModes; ++axis)
    if (in[axis] > 1 && stride(axis) < all(axis + 1))
      return false;
  if (sizes.images > 1 && at.stride[0] < all(0))
    return false;

  // Along each dimension: from the window of a row to the next, and the elements of a window.
  const auto step = [&](std::size_t axis) {
    return std::int64_t{work.transposed ? 1 : work.axes[axis].stride};
  };
  const auto window = [&](std::size_t axis) {
    const ConvAxis &along = work.axes[axis];
    if (!work.transposed)
      return std::int64_t{along.reach()};
    const PhasesOfAxis phases(along);
    return std::int64_t{phases.taps - 1} * (along.dilation / phases.common) + 1;
  };
  /// The elements of the windows of so many rows.
  const auto taken = [&](std::size_t axis, std::int64_t count) {
    return std::min(in[axis], (count - 1) * step(axis) + window(axis));
  };
  const std::size_t outer = rows[0] > 1 ? 0 : rows[1] > 1 ? 1 : 2; // along which rows differ first
  const std::int64_t each = outer == 0 ? ofPlane : outer == 1 ? rows[2] : 1; // rows of one of it
  std::int64_t before = 0; // of the dimensions outside of it, in which a window has more elements
  for (std::size_t axis = 0; axis < outer; ++axis)
    before += (taken(axis, 1) - 1) * stride(axis);
  const std::int64_t inside = all(outer + 1);
  const std::int64_t down =
      std::min(rows[outer], outer == 2 ? std::int64_t{tileM} : (tileM - 2) / each + 2);
  if (!fits(before + (taken(outer, down) - 1) * stride(outer) + inside))
    return false;
  if (sizes.images == 1 || ofImage % tileM == 0)
    return true;
  // A tile that begins in an image and ends in the next.
  if (ofImage < tileM || work.transposed)
    return false;
  const std::int64_t first = (ofImage - tileM + 1) / each * step(outer) - work.axes[outer].before;
  return fits(at.stride[0] - std::max<std::int64_t>(0, first) * stride(outer) +
              (all(0) - all(outer)) + (taken(outer, (tileM - 2) / each + 1) - 1) * stride(outer) +
              inside);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
