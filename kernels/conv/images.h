// The images of a convolution as its kernels read them: as a buffer from a block's first image on, or
// from a place inside of it, with places of 32 bits.
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

/// The channels from one on, of the images from an element on. The lanes of a wave have both in common.
class BlockImages {
public:
  /// `p` has x, its extents `in`, and the number of images. Places are multiples of `together`
  /// elements, and so is the number of channels.
  template <class Params>
  BlockImages(const Params &p, DType dtype, const Int32 &image, const Int32 &channel, int channels,
              int together)
      : BlockImages(p, dtype, {image, {Int32(0), Int32(0), Int32(0)}}, channel, channels,
                    together) {}
  template <class Params>
  BlockImages(const Params &p, DType dtype, const ImageElement &first, const Int32 &channel,
              int channels, int together)
      : first_(first), in_(p.in),
        elements_(bufferFrom(p, dtype, first, channel, channels, together)) {
    for (int mode = 0; mode <= kImageModes; ++mode)
      stride_.push_back(Int32(Int64(p.x.stride[std::size_t(mode)]).to(i32)));
  }

  /// The first image.
  const Int32 &first() const { return first_.image; }
  const Tensor &elements() const { return elements_; } // (together)
  /// The distance of an element of an image from the first element, by its place along each dimension.
  Int32 place(const Int32 &image, const std::array<Int32, kImageModes> &at) const {
    return Int32((image - first_.image) * stride(0) +
                 offset({Int32(at[0] - first_.at[0]), Int32(at[1] - first_.at[1]),
                         Int32(at[2] - first_.at[2])}));
  }
  /// Elements from an image to the next (mode 0), or along a dimension (from 1 on). A stride may have
  /// more than 32 bits; what it adds up to inside of a buffer has not, so that its low ones are enough.
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
  static Tensor bufferFrom(const Params &p, DType dtype, const ImageElement &first,
                           const Int32 &channel, int channels, int together) {
    const Int64 bytes(std::int64_t{dtype.bytes()});
    const auto upTo = [&](std::size_t mode) {
      return Int64(first.at[mode] * p.x.stride[mode + 1]);
    };
    const Int64 before = first.image * p.x.stride[0] + upTo(0) + upTo(1) + upTo(2) + channel;
    // From the first element to the last of the last image.
    const auto along = [&](std::size_t mode) {
      return Int64((p.in[mode] - 1 - first.at[mode]) * p.x.stride[mode + 1]);
    };
    const Int64 span = (p.images - first.image - 1) * p.x.stride[0] + along(0) + along(1) +
                       along(2) + Int64(std::int64_t{channels});
    const Strided<OnDevice, 0> start{.address = Int64(p.x.address + before * bytes), .stride = {}};
    // It ends before the places of what is not to be read (insideOf), which all that a block reads lies
    // before.
    const Int64 most(std::int64_t{kPastTheEnd}), all(span * bytes);
    return bounded(start.view(dtype, together, together * dtype.bytes()),
                   Int64(select(all < most, all, most))); // (together)
  }

  ImageElement first_;
  std::array<Int32, kImageModes> in_;
  Tensor elements_; // (together)
  std::vector<Int32> stride_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
