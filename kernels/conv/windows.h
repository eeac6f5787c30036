// The windows of images that a block's rows of y read, as an operand of the product's ring: row i,
// column k of it is the element of x that tap k / C, channel k % C of row i reads. No such matrix is
// in memory; zeros stand where a window is outside of its image.
#pragma once

#include "blocks/products/ring_operand.h"
#include "conv/conv_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

struct WindowTile {
  const ConvProblem &problem;
  const ConvParams<OnDevice> &p;
  Int32 row;     ///< the first one
  Int32 exist;   ///< rows of y from there on, of the tile
  Int32 channel; ///< the first one of the group
  Int32 column;  ///< the first one of K, of the block's part
  int rows;      ///< of the tile

  DType dtype() const { return problem.x; }
  int size() const { return rows; }
  int channels() const { return problem.channels / problem.groups; }
};

class WindowRows final : public RingOperand {
public:
  WindowRows(const LoopShape &shape, const WindowTile &tile, SharedAllocator &shared,
             const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, tile.dtype(), tile.size(), shared, toFragments, std::move(fragments)),
        tile_(tile), load_(make_copy_atom(BoundedCopy128b(), tile.dtype())),
        slice_(byRows().get_slice(thread_idx().x)),
        fetched_(make_fragment_like(slice_.partition_D(stage(0)))),
        column_(thread_idx().x % across() * piece()), firstImage_(imageOf(tile.row)),
        images_(imagesFrom(firstImage_)) {
    const Int32 first(thread_idx().x / across());
    for (int m = 0; m < loads(); ++m)
      rows_.push_back(rowAt(first + m * (shape.loaders() / across())));
    for (int number = 0; number < shape.stages; ++number)
      to_.push_back(slice_.partition_D(stage(number)));
  }

  void fetch(const Int32 &step, int) const override { fetchTap(step, {}); }
  void fetchLast(int stage) const override {
    const int last = shape().steps() - 1;
    if (lastColumns() >= shape().tileK)
      return fetch(last, stage);
    fetchTap(last, Boolean(column_ < static_cast<std::int32_t>(lastColumns())));
  }
  void write(int stage) const override { copy(atom(), fetched_, to_[at(stage)]); }

private:
  /// Where the window of a row begins, in elements of x, and its place from the first image on.
  /// `exists`: it is a row of y.
  struct Row {
    std::array<Int32, kImageModes> start;
    Int32 place;
    Boolean exists;
  };

  Int32 imageElements() const {
    const auto &out = tile_.p.out;
    return Int32(out[0] * out[1] * out[2]);
  }
  Int32 imageOf(const Int32 &row) const { return Int32(counted(row) / counted(imageElements())); }
  /// The stride of a mode of x, which has 32 bits inside of the images of a tile.
  Int32 stride(int mode) const { return Int32(Int64(tile_.p.x.stride[std::size_t(mode)]).to(i32)); }
  /// The group's channels of the images from one on: offsets of a tile have 32 bits.
  Tensor imagesFrom(const Int32 &image) const {
    const ConvParams<OnDevice> &p = tile_.p;
    const Int64 bytes(std::int64_t{this->bytes()});
    const Int64 before = wide(image) * p.x.stride[0] + wide(tile_.channel);
    const Int64 last = wide(Int32(p.images - image - 1)) * p.x.stride[0];
    return bounded(view(Int64(p.x.address + before * bytes)), spanFrom(last) * bytes);
  }
  Tensor view(const Int64 &address) const {
    const Strided<OnDevice, 0> start{.address = address, .stride = {}};
    return start.view(tile_.dtype(), piece(), kPieceBytes); // (piece)
  }
  /// The elements from the first of an image to the last of the last one.
  Int64 spanFrom(const Int64 &last) const {
    const ConvParams<OnDevice> &p = tile_.p;
    const auto along = [&](std::size_t mode) {
      return Int64(wide(Int32(p.in[mode] - 1)) * p.x.stride[mode + 1]);
    };
    return Int64(last + along(0) + along(1) + along(2) + Int64(std::int64_t{tile_.channels()}));
  }

  Row rowAt(const Int32 &row) const {
    const ConvParams<OnDevice> &p = tile_.p;
    const std::array<ConvAxis, kImageModes> axes = axesOf(tile_.problem);
    const Int32 number = counted(Int32(tile_.row + row));
    const Int32 w = number % counted(p.out[2]), lines = number / counted(p.out[2]);
    const Int32 h = lines % counted(p.out[1]), planes = lines / counted(p.out[1]);
    const Int32 d = planes % counted(p.out[0]), image = planes / counted(p.out[0]);
    const auto start = [&](const Int32 &at, int mode) {
      const ConvAxis &axis = axes[std::size_t(mode)];
      return Int32(at * axis.stride - axis.before);
    };
    const std::array<Int32, kImageModes> starts{start(d, 0), start(h, 1), start(w, 2)};
    const Int32 place = (image - firstImage_) * stride(0) + starts[0] * stride(1) +
                        starts[1] * stride(2) + starts[2] * stride(3);
    return {starts, place, Boolean(row < tile_.exist)};
  }

  /// The thread's piece of K of a step is channels of one tap, of all of its rows. `inK`: whether it
  /// is inside of K, if it may be past its end.
  void fetchTap(const Int32 &step, const std::optional<Boolean> &inK) const {
    const std::array<ConvAxis, kImageModes> axes = axesOf(tile_.problem);
    const Int32 column = counted(Int32(tile_.column + step * shape().tileK + column_));
    const Int32 tap = column / tile_.channels(), channel = column % tile_.channels();
    const Int32 t = tap % axes[2].kernel, lines = tap / axes[2].kernel;
    const Int32 s = lines % axes[1].kernel, r = lines / axes[1].kernel;
    const std::array<Int32, kImageModes> moved{
        Int32(r * axes[0].dilation), Int32(s * axes[1].dilation), Int32(t * axes[2].dilation)};
    const Int32 ofTap =
        moved[0] * stride(1) + moved[1] * stride(2) + moved[2] * stride(3) + channel;
    for (int m = 0; m < loads(); ++m) {
      const Row &row = rows_[at(m)];
      std::vector<Boolean> inside{row.exists};
      if (inK)
        inside.push_back(Boolean(inside.back() & *inK));
      for (std::size_t mode = 0; mode < axes.size(); ++mode)
        // Without zeros around x, every window is inside of it.
        if (axes[mode].before || axes[mode].after) {
          const Int32 place = row.start[mode] + moved[mode];
          inside.push_back(Boolean(inside.back() & (place >= 0) & (place < tile_.p.in[mode])));
        }
      const Int32 place = insideOf(images_, inside.back(), Int32(row.place + ofTap));
      copy(load_, make_view(images_.iter() + place, make_layout(piece())),
           fetched_(make_coord(_, 0), m, 0));
    }
  }

  WindowTile tile_;
  CopyAtom load_;
  ThrCopy slice_;
  Tensor fetched_;         // ((V, 1), m, 1)
  Int32 column_;           // of the thread's pieces
  Int32 firstImage_;       // of the tile
  Tensor images_;          // from the first image on
  std::vector<Row> rows_;  // of each m
  std::vector<Tensor> to_; // ((V, 1), m, 1)
};

/// What the ring makes of windows.
inline std::unique_ptr<RingOperand> ringOperand(const LoopShape &shape, const WindowTile &tile,
                                                SharedAllocator &shared,
                                                const TiledCopy &toFragments,
                                                std::vector<Tensor> fragments) {
  return std::make_unique<WindowRows>(shape, tile, shared, toFragments, std::move(fragments));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
