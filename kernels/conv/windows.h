// The operands of a convolution's product, whose columns are the channels of taps.
//
// Row i, column k of the windows is the element of x that tap k / C, channel k % C of row i reads. No
// such matrix is in memory; zeros stand where a window is outside of its image. The filters of a
// transposed convolution's phase are some of the taps of each filter.
#pragma once

#include "blocks/common/as_index.h"
#include "blocks/products/dma_operand.h"
#include "conv/images.h"
#include "conv/taps.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The windows of a block's rows of y.
struct WindowTile {
  const ConvProblem &problem;
  const ConvParams<OnDevice> &p;
  Taps taps;
  Int32 row;       ///< the first one
  Int32 validRows; ///< rows of the tile that y has
  Int32 channel;   ///< the first one of the group
  Int32 column;    ///< the first one of K, of the block's part
  int rows;        ///< rows of the tile

  DType dtype() const { return problem.x; }
  int size() const { return rows; }
  int channels() const { return problem.channels / problem.groups; }
};
/// The filters of a block's columns, of whose taps a phase has some.
struct PhaseTile {
  const ConvProblem &problem;
  const ConvParams<OnDevice> &p;
  Taps taps;
  Int32 filter;       ///< the first one
  Int32 validFilters; ///< filters of the tile that the group has
  Int32 column;       ///< the first one of K, of the block's part
  int filters;        ///< filters of the tile

  DType dtype() const { return problem.weight; }
  int size() const { return filters; }
  int channels() const { return problem.channels / problem.groups; }
};

/// Rows whose pieces are found one by one: a thread has pieces of one column, of several rows.
class RowsOfTaps : public RingOperand {
public:
  /// `first`: the first column of the block's part of K.
  RowsOfTaps(const LoopShape &shape, DType dtype, int size, const Int32 &first,
             SharedAllocator &shared, const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, dtype, size, shared, toFragments, std::move(fragments)),
        load_(make_copy_atom(BoundedCopy128b(), dtype)), slice_(byRows().get_slice(thread_idx().x)),
        fetched_(make_fragment_like(slice_.partition_D(stage(0)))), // (V, m, 1)
        first_(first), column_(thread_idx().x % across() * piece()) {
    for (int number = 0; number < shape.stages; ++number)
      to_.push_back(slice_.partition_D(stage(number))); // ((V, 1), m, 1)
  }

  void fetch(const Int32 &step, int) const override { fetchTap(columnOf(step), {}); }
  void fetchLast(int stage) const override {
    const int last = shape().steps() - 1;
    if (lastColumns() >= shape().tileK)
      return fetch(last, stage);
    fetchTap(columnOf(last), Boolean(column_ < static_cast<std::int32_t>(lastColumns())));
  }
  void write(int stage) const override { copy(atom(), fetched_, to_[asIndex(stage)]); }

protected:
  /// Loads the thread's pieces of a column. `inK`: whether it is inside of K, if it may be past its
  /// end.
  virtual void fetchTap(const Int32 &column, const std::optional<Boolean> &inK) const = 0;
  /// The row of the tile that is the thread's number m.
  Int32 rowOf(int m) const {
    return Int32(thread_idx().x / across() + m * (shape().loaders() / across()));
  }
  /// Loads the piece of row m from a buffer: zeros, if not all tests hold.
  void load(const Tensor &buffer, int m, const Boolean &wanted, const Int32 &place) const {
    copy(load_, make_view(buffer.iter() + insideOf(buffer, wanted, place), make_layout(piece())),
         fetched_(make_coord(_, 0), m, 0)); // (piece)
  }

private:
  /// What the lanes of a wave have in common is added first, by scalars.
  Int32 columnOf(const Int32 &step) const { return Int32(first_ + step * shape().tileK + column_); }

  CopyAtom load_;
  ThrCopy slice_;
  Tensor fetched_;         // ((V, 1), m, 1)
  Int32 first_;            // of K, of the block's part
  Int32 column_;           // of the thread's pieces
  std::vector<Tensor> to_; // ((V, 1), m, 1)
};

class RowsOfWindow final : public RowsOfTaps {
public:
  RowsOfWindow(const LoopShape &shape, const WindowTile &tile, SharedAllocator &shared,
               const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RowsOfTaps(shape, tile.dtype(), tile.size(), tile.column, shared, toFragments,
                   std::move(fragments)),
        tile_(tile),
        images_(tile.p, tile.dtype(), firstOf(tile), tile.channel, tile.channels(), piece()) {
    for (int m = 0; m < loads(); ++m)
      rows_.push_back(rowAt(rowOf(m)));
  }

private:
  /// Where the window of a row begins, in elements of x, and its place from the first image on.
  /// `exists`: it is a row of y.
  struct Row {
    std::array<Int32, kImageModes> start;
    Int32 place;
    Boolean exists;
  };

  Row rowAt(const Int32 &row) const {
    const auto [image, at] = ImageElement::numbered(Int32(tile_.row + row), tile_.p.out);
    const auto start = [&](int mode) {
      const TapsOfAxis &taps = tile_.taps[std::size_t(mode)];
      return Int32(at[std::size_t(mode)] * taps.stride + taps.start);
    };
    const std::array<Int32, kImageModes> starts{start(0), start(1), start(2)};
    return {starts, images_.place(image, starts), Boolean(row < tile_.validRows)};
  }
  /// An element that none of the tile's windows has one before. It is the first one of the image, unless
  /// the images are far: then strides are nested, so that elements lie in the order of their
  /// coordinates, and it is the first one of the first window along all dimensions in which the
  /// windows of its image do not start anew.
  static ImageElement firstOf(const WindowTile &tile) {
    const ConvParams<OnDevice> &p = tile.p;
    const Var<Int32> d(Int32(0)), h(Int32(0)), w(Int32(0));
    if_(Boolean(p.far != 0), [&] {
      const auto [image, at] = ImageElement::numbered(tile.row, p.out);
      const auto [endImage, end] =
          ImageElement::numbered(Int32(tile.row + tile.validRows - 1), p.out);
      const auto first = [&](std::size_t mode, const Int32 &element) {
        const TapsOfAxis &taps = tile.taps[mode];
        const Int32 lowest =
            Int32(element * taps.stride + taps.start) + std::min(0, (taps.taps - 1) * taps.step);
        return Int32(min(max(lowest, Int32(0)), Int32(p.in[mode] - 1)));
      };
      const Boolean within(image == endImage);
      const Boolean inPlane((within & (at[0] == end[0])) |
                            ((image < endImage) & (at[0] == p.out[0] - 1)));
      const Boolean inLine(inPlane & ((within & (at[1] == end[1])) |
                                      ((image < endImage) & (at[1] == p.out[1] - 1))));
      d = first(0, at[0]);
      h = Int32(select(inPlane, first(1, at[1]), Int32(0)));
      w = Int32(select(inLine, first(2, at[2]), Int32(0)));
    });
    return {Int32(counted(tile.row) / counted(elementsOf(p.out))), {d.get(), h.get(), w.get()}};
  }

  void fetchTap(const Int32 &column, const std::optional<Boolean> &inK) const override {
    const TapOfColumn of = TapOfColumn::of(column, tile_.taps, tile_.channels());
    const auto moved = [&](int mode) {
      return Int32(of.tap[std::size_t(mode)] * tile_.taps[std::size_t(mode)].step);
    };
    const std::array<Int32, kImageModes> move{moved(0), moved(1), moved(2)};
    const Int32 ofTap = images_.offset(move) + of.channel;
    for (int m = 0; m < loads(); ++m) {
      const Row &row = rows_[asIndex(m)];
      std::vector<Boolean> wanted{row.exists};
      if (inK)
        wanted.push_back(Boolean(wanted.back() & *inK));
      of.addExisting(tile_.taps, wanted);
      for (int mode = 0; mode < kImageModes; ++mode)
        // Without zeros around x, every window is inside of it.
        if (!tile_.taps[asIndex(mode)].inside)
          wanted.push_back(
              Boolean(wanted.back() &
                      images_.has(mode, Int32(row.start[asIndex(mode)] + move[asIndex(mode)]))));
      load(images_.elements(), m, wanted.back(), Int32(row.place + ofTap));
    }
  }

  WindowTile tile_;
  BlockImages images_;
  std::vector<Row> rows_; // of each m
};

class PhaseFilters final : public RowsOfTaps {
public:
  PhaseFilters(const LoopShape &shape, const PhaseTile &tile, SharedAllocator &shared,
               const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RowsOfTaps(shape, tile.dtype(), tile.size(), tile.column, shared, toFragments,
                   std::move(fragments)),
        tile_(tile), filters_(filtersOf(tile, piece())) {}

private:
  static std::int64_t ofFilter(const PhaseTile &tile) {
    return tile.problem.taps() * tile.channels();
  }
  /// The filters of the tile.
  static Tensor filtersOf(const PhaseTile &tile, int piece) {
    const Int64 bytes(ofFilter(tile) * tile.dtype().bytes());
    const Strided<OnDevice, 0> start{.address = Int64(tile.p.weight.address + tile.filter * bytes),
                                     .stride = {}};
    return bounded(start.view(tile.dtype(), piece, kPieceBytes),
                   Int64(tile.validFilters * bytes)); // (piece)
  }
  void fetchTap(const Int32 &column, const std::optional<Boolean> &inK) const override {
    const TapOfColumn of = TapOfColumn::of(column, tile_.taps, tile_.channels());
    const std::array<ConvAxis, kImageModes> axes = axesOf(tile_.problem);
    const auto tapOf = [&](std::size_t mode) {
      return Int32(tile_.taps[mode].first + of.tap[mode] * tile_.taps[mode].apart);
    };
    const Int32 tap = (tapOf(0) * axes[1].kernel + tapOf(1)) * axes[2].kernel + tapOf(2),
                ofTap = tap * tile_.channels() + of.channel;
    const auto ofRow = static_cast<std::int32_t>(ofFilter(tile_));
    for (int m = 0; m < loads(); ++m) {
      const Int32 row = rowOf(m);
      std::vector<Boolean> wanted{Boolean(row < tile_.validFilters)};
      if (inK)
        wanted.push_back(Boolean(wanted.back() & *inK));
      of.addExisting(tile_.taps, wanted);
      load(filters_, m, wanted.back(), Int32(row * ofRow + ofTap));
    }
  }

  PhaseTile tile_;
  Tensor filters_; // (piece)
};

/// What the ring makes of both.
inline std::unique_ptr<RingOperand>
ringOperand(const LoopShape &shape, const WindowTile &tile, SharedAllocator &shared,
            const TiledCopy &toFragments, const WavesOfOperand &, std::vector<Tensor> fragments) {
  return std::make_unique<RowsOfWindow>(shape, tile, shared, toFragments, std::move(fragments));
}
inline std::unique_ptr<RingOperand>
ringOperand(const LoopShape &shape, const PhaseTile &tile, SharedAllocator &shared,
            const TiledCopy &toFragments, const WavesOfOperand &, std::vector<Tensor> fragments) {
  return std::make_unique<PhaseFilters>(shape, tile, shared, toFragments, std::move(fragments));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
