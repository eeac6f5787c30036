// The images of a convolution as its kernels read them: as a buffer from a block's first image on,
// with places of 32 bits.
#pragma once

#include "blocks/products/views.h"
#include "conv/conv_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// An element of an image: the image's number, and its place along each dimension.
struct ImageElement {
  Int32 image;
  std::array<Int32, kImageModes> at;

  /// That with a number among those of images of these extents.
  static ImageElement numbered(const Int32 &number, const std::array<Int32, kImageModes> &extents) {
    const Int32 element = counted(number);
    const Int32 w = element % counted(extents[2]), lines = element / counted(extents[2]);
    const Int32 h = lines % counted(extents[1]), planes = lines / counted(extents[1]);
    return {Int32(planes / counted(extents[0])), {Int32(planes % counted(extents[0])), h, w}};
  }
};
/// The elements of an image of these extents.
inline Int32 elementsOf(const std::array<Int32, kImageModes> &extents) {
  return Int32(extents[0] * extents[1] * extents[2]);
}

/// The channels from one on, of the images from one on. The lanes of a wave have both in common.
class BlockImages {
public:
  /// `p` has x, its extents `in`, and the number of images. Places are multiples of `together`
  /// elements, and so is the number of channels.
  template <class Params>
  BlockImages(const Params &p, DType dtype, const Int32 &image, const Int32 &channel, int channels,
              int together)
      : first_(image), in_(p.in),
        elements_(bufferFrom(p, dtype, image, channel, channels, together)) {
    for (int mode = 0; mode <= kImageModes; ++mode)
      stride_.push_back(Int32(Int64(p.x.stride[std::size_t(mode)]).to(i32)));
  }

  /// The first image.
  const Int32 &first() const { return first_; }
  const Tensor &elements() const { return elements_; } // (together)
  /// Elements from an image to the next (mode 0), or along a dimension (from 1 on). Inside of the
  /// images of a block they have 32 bits.
  const Int32 &stride(int mode) const { return stride_[std::size_t(mode)]; }
  /// The distance that a place along each dimension makes.
  Int32 offset(const std::array<Int32, kImageModes> &at) const {
    return Int32(at[0] * stride(1) + at[1] * stride(2) + at[2] * stride(3));
  }
  /// Whether a place along a dimension is inside of the images.
  Boolean has(int mode, const Int32 &at) const {
    return Boolean((at >= 0) & (at < in_[std::size_t(mode)]));
  }

private:
  template <class Params>
  static Tensor bufferFrom(const Params &p, DType dtype, const Int32 &image, const Int32 &channel,
                           int channels, int together) {
    const Int64 bytes(std::int64_t{dtype.bytes()});
    const Int64 before = wide(image) * p.x.stride[0] + wide(channel);
    // From the first element of the first image to the last of the last one.
    const auto along = [&](std::size_t mode) {
      return Int64(wide(Int32(p.in[mode] - 1)) * p.x.stride[mode + 1]);
    };
    const Int64 span = wide(Int32(p.images - image - 1)) * p.x.stride[0] + along(0) + along(1) +
                       along(2) + Int64(std::int64_t{channels});
    const Strided<OnDevice, 0> start{.address = Int64(p.x.address + before * bytes), .stride = {}};
    return bounded(start.view(dtype, together, together * dtype.bytes()), Int64(span * bytes));
  }

  Int32 first_;
  std::array<Int32, kImageModes> in_;
  Tensor elements_; // (together)
  std::vector<Int32> stride_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
