// An operand of a product that goes through a ring of tiles in shared memory (LDS), from which the
// waves of a block read it. How its tiles come there is the difference between the classes below:
//
//   RowsThroughRegisters     rows along K, by registers
//   GatheredRows             rows along K that indices name, by registers
//   ColumnsThroughRegisters  columns along K, which are turned in registers on their way
//
// and those of dma_operand.h, whose tiles are brought by loads that write LDS themselves (gfx950) or by
// a tensor data mover (gfx1250). In LDS the tiles of the classes above are the same: rows along K,
// swizzled against conflicts of banks.
#pragma once

#include "blocks/common/as_index.h"
#include "blocks/facts/lds_layout.h"
#include "blocks/products/register_operand.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/bounded.h>
#include <flydsl/kernels/gemm.h>

#include <cstdint>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class RingOperand {
public:
  /// The ring's tiles are allocated from `shared`. `toFragments` reads them into fragments of a
  /// part, which take turns.
  RingOperand(const LoopShape &shape, DType dtype, int size, SharedAllocator &shared,
              const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, dtype, size, std::move(fragments)) {
    if (shape.mover) // It knows no swizzle: gaps lie between the rows.
      allocate(shared, toFragments,
               make_layout({size, shape.tileK}, {shape.tileK + shape.gapBytes() / bytes(), 1}));
    else
      allocate(shared, toFragments,
               make_composed_layout(swizzle().swizzle(),
                                    make_ordered_layout({size, shape.tileK}, {1, 0})));
  }
  virtual ~RingOperand() = default;
  RingOperand(const RingOperand &) = delete;

  /// The policy of the loads from here on, unless they load parts of lines.
  virtual void loadBy(CachePolicy) {}
  /// Starts to load the tile of a step, for a stage of the ring.
  virtual void fetch(const Int32 &step, int stage) const = 0;
  /// Starts to load the tile of the last step, whose K may end inside of the tile.
  virtual void fetchLast(int stage) const = 0;
  /// Writes what was fetched last to the stage, if it is in registers.
  virtual void write(int stage) const {}

  /// Reads a part of a stage's tile into its fragment.
  virtual void read(int stage, int part) const {
    copy(atom_, read_[asIndex(stage)](_, _, part), filled_[numberOf(stage, part)]); // (V, m)
  }
  /// Fragments take turns from part to part, over the steps too.
  const Tensor &fragment(int stage, int part) const { return fragments_[numberOf(stage, part)]; }
  /// Loads of a tile for each thread, or moves of it by each wave.
  virtual int loads() const { return shape_.loadsOf(size_); }

protected:
  /// Without tiles, which `allocate` makes.
  RingOperand(const LoopShape &shape, DType dtype, int size, std::vector<Tensor> fragments)
      : shape_(shape), dtype_(dtype), size_(size),
        atom_(make_copy_atom(UniversalCopy128b(), dtype)), fragments_(std::move(fragments)) {}
  /// Allocates the tiles in any layout, which the class reads itself.
  template <class TileLayout> void allocate(SharedAllocator &shared, const TileLayout &layout) {
    for (int stage = 0; stage < shape_.stages; ++stage)
      stages_.push_back(shared.tensor(dtype_, layout, kPieceBytes)); // (size, tileK)
  }
  /// Allocates the tiles as (size, tileK), which `toFragments` reads.
  template <class TileLayout>
  void allocate(SharedAllocator &shared, const TiledCopy &toFragments, const TileLayout &layout) {
    allocate(shared, layout);
    const ThrCopy slice = toFragments.get_slice(thread_idx().x);
    for (const Tensor &stage : stages_)
      read_.push_back(slice.partition_S(stage)); // (V, m, parts)
    for (const Tensor &fragment : fragments_)
      filled_.push_back(slice.retile(fragment)(_, _, 0)); // (V, m)
  }
  const LoopShape &shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  int size() const { return size_; }
  const CopyAtom &atom() const { return atom_; }
  const Tensor &stage(int number) const { return stages_[asIndex(number)]; }
  int bytes() const { return shape_.form.bytes(); }
  int piece() const { return shape_.form.piece(); }
  /// Pieces of 16 bytes of a row of the tile.
  int across() const { return shape_.rowBytes() / kPieceBytes; }
  XorSwizzle swizzle() const {
    return xorSwizzle(shape_.form.bytes(), shape_.rowBytes(), lds_banks(target()));
  }
  /// The place of an element of the tile, which lies at `index` without the swizzle; and the other
  /// way round, because it is its own inverse.
  Int32 swizzled(const Int32 &index) const { return swizzle()(index); }
  /// Neighbouring threads copy the pieces of a row. The tile of a copy is (down, tileK).
  TiledCopy byRows() const {
    const int down = shape().loaders() / across();
    return make_tiled_copy_tv(atom(), make_ordered_layout({down, across()}, {1, 0}),
                              make_layout({1, piece()}));
  }

  /// Columns of the last step that K has.
  std::int64_t lastColumns() const {
    return shape_.k - static_cast<std::int64_t>(shape_.steps() - 1) * shape_.tileK;
  }

private:
  std::size_t numberOf(int stage, int part) const {
    return asIndex(stage * shape_.parts() + part) % fragments_.size();
  }

  LoopShape shape_;
  DType dtype_;
  int size_; ///< rows of the tile
  CopyAtom atom_;
  std::vector<Tensor> stages_, read_;      // (size, tileK), (V, m, parts)
  std::vector<Tensor> fragments_, filled_; // (V, m, k), (V, m) as reads fill it
};

class RowsThroughRegisters final : public RingOperand {
public:
  RowsThroughRegisters(const LoopShape &shape, const OperandTile &tile, SharedAllocator &shared,
                       const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, tile.dtype(), tile.size(), shared, toFragments, std::move(fragments)),
        load_(128, tile.dtype()), slice_(byRows().get_slice(thread_idx().x)),
        from_(slice_.partition_S(firstStepOf(shape, tile))),         // ((V, 1), m, 1)
        fetched_(make_fragment_like(slice_.partition_D(stage(0)))) { // ((V, 1), m, 1)
    for (int number = 0; number < shape.stages; ++number)
      to_.push_back(slice_.partition_D(stage(number))); // ((V, 1), m, 1)
  }

  void loadBy(CachePolicy cache) override { load_.by(cache); }
  void fetch(const Int32 &step, int) const override {
    copy(load_.atom(), from_, fetched_, {.soffset = step * shape().tileK});
  }
  void fetchLast(int stage) const override {
    const int last = shape().steps() - 1;
    if (lastColumns() >= shape().tileK)
      return fetch(last, stage);
    // A thread's pieces lie in one column of pieces, which is past the end or is not.
    const Numeric column = thread_idx().x % across() * piece();
    copy(load_.atom(), zerosUnless(column < lastColumns(), from_), fetched_,
         {.soffset = Int32(last * shape().tileK)});
  }
  void write(int stage) const override { copy(atom(), fetched_, to_[asIndex(stage)]); }

private:
  CopyByPolicy load_;
  ThrCopy slice_;
  Tensor from_, fetched_;  // ((V, 1), m, 1)
  std::vector<Tensor> to_; // ((V, 1), m, 1), of each stage
};

/// Rows that indices name, in any order and as often as they say.
class GatheredRows final : public RingOperand {
public:
  GatheredRows(const LoopShape &shape, const GatheredTile &tile, SharedAllocator &shared,
               const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, tile.matrix.dtype(), tile.size(), shared, toFragments,
                    std::move(fragments)),
        load_(make_copy_atom(BoundedCopy128b(), tile.matrix.dtype())),
        slice_(byRows().get_slice(thread_idx().x)),
        fetched_(make_fragment_like(slice_.partition_D(stage(0)))), // ((V, 1), m, 1)
        column_(thread_idx().x % across() * piece()) {
    const RowPlaces places(shape, tile);
    const Int32 first(thread_idx().x / across());
    for (int m = 0; m < loads(); ++m) {
      const Int32 row = first + m * (shape.loaders() / across());
      from_.push_back(make_view(places.buffer().iter() + places.at(row, column_),
                                make_layout(piece()))); // (V)
    }
    for (int number = 0; number < shape.stages; ++number)
      to_.push_back(slice_.partition_D(stage(number))); // ((V, 1), m, 1)
  }

  void fetch(const Int32 &step, int) const override {
    for (int m = 0; m < loads(); ++m)
      copy(load_, from_[asIndex(m)], fetched_(make_coord(_, 0), m, 0),
           {.soffset = step * shape().tileK}); // (V)
  }
  void fetchLast(int stage) const override {
    const int last = shape().steps() - 1;
    if (lastColumns() >= shape().tileK)
      return fetch(last, stage);
    const Boolean inside = column_ < static_cast<std::int32_t>(lastColumns());
    for (int m = 0; m < loads(); ++m)
      copy(load_, zerosUnless(inside, from_[asIndex(m)]), fetched_(make_coord(_, 0), m, 0),
           {.soffset = Int32(last * shape().tileK)}); // (V)
  }
  void write(int stage) const override { copy(atom(), fetched_, to_[asIndex(stage)]); }

private:
  CopyAtom load_;
  ThrCopy slice_;
  Tensor fetched_;           // ((V, 1), m, 1)
  Int32 column_;             // the column of the thread's pieces
  std::vector<Tensor> from_; // (V) of each row
  std::vector<Tensor> to_;   // ((V, 1), m, 1), of each stage
};

/// Elements of two bytes whose columns along K lie together in memory. A thread loads a block of 8
/// of K by some neighbours, turns it, and writes pieces of 16 bytes.
///
/// As many threads take pieces side by side along K as a thread has neighbours; then come the next
/// neighbours, so that what a wave loads lies together. The pieces that lanes write at a time meet
/// no bank twice: the swizzle exchanges pieces by the low bits of a row's number, and the
/// lowest of these tell neighbours from one another.
class ColumnsThroughRegisters final : public RingOperand {
public:
  ColumnsThroughRegisters(const LoopShape &shape, const OperandTile &tile, SharedAllocator &shared,
                          const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, tile.dtype(), tile.size(), shared, toFragments, std::move(fragments)),
        tile_(tile), neighbours_(std::min(loads(), piece())),
        slice_(byColumns().get_slice(thread_idx().x)), buffer_(buffer(Int32(0)).iter()),
        bytesAlongK_(Int32((Int64(tile.tile.stride()[1]) * bytes()).to(i32))),
        from_(slice_.partition_S(make_view(
            IntTuple(0), make_layout({tile.size(), shape.tileK},
                                     {bytes(), bytesAlongK_})))), // ((neighbour, k), pass, 1)
        fetched_(make_rmem_tensor({neighbours_, piece(), loads() / neighbours_},
                                  tile.dtype())), // (neighbours, piece, passes)
        turned_(make_rmem_tensor({piece(), neighbours_, loads() / neighbours_},
                                 tile.dtype())) { // (piece, neighbours, passes)
    for (int number = 0; number < shape.stages; ++number)
      to_.push_back(slice_.partition_D(stage(number))); // ((neighbour, k), pass, 1)
  }

  void fetch(const Int32 &step, int) const override {
    if (tile_.far)
      return fetchFrom(buffer(step).iter(), Int32(0));
    fetchFrom(buffer_, step * (shape().tileK * bytesAlongK_));
  }
  /// After the end of K is the end of the buffer, which gives zeros.
  void fetchLast(int stage) const override { fetch(shape().steps() - 1, stage); }
  void write(int stage) const override {
    const Tensor &to = to_[asIndex(stage)];
    for (int pass = 0; pass < loads() / neighbours_; ++pass)
      for (int n = 0; n < neighbours_; ++n) {
        for (int k = 0; k < piece(); ++k)
          turned_(k, n, pass) = fetched_(n, k, pass);
        copy(atom(), turned_(_, n, pass), to(make_coord(n, _), pass, 0)); // (piece)
      }
  }

private:
  /// The tile of step 0, as a buffer of all steps (firstStepOf); or of one step alone, if tiles are far.
  Tensor buffer(const Int32 &step) const {
    const Tensor &all = tile_.tile; // (size, K)
    const int tileK = shape().tileK;
    if (!tile_.far)
      return bufferOf(tileFrom(all, {0, 0}, {size(), tileK}),
                      {tile_.validRows, shape().k}); // (size, tileK)
    const Int32 left = Int32(static_cast<std::int32_t>(shape().k)) - step * tileK;
    return bufferOf(flat_divide(all, {size(), tileK})(_, _, 0, step),
                    {tile_.validRows, min(left, tileK)}); // (size, tileK)
  }
  void fetchFrom(const Pointer &buffer, const Int32 &before) const {
    for (int pass = 0; pass < loads() / neighbours_; ++pass)
      for (int k = 0; k < piece(); ++k) {
        const Int32 place(IntTuple(from_(make_coord(0, k), pass, 0)));
        if (neighbours_ == 1)
          fetched_(0, k, pass) = bounded_load(buffer, {place, before}, tile_.dtype());
        else
          fetched_(_, k, pass)
              .store(bounded_load(buffer, {place, before}, tile_.dtype(),
                                  neighbours_)); // (neighbours)
      }
  }
  /// A thread has pieces of K of some neighbours.
  TiledCopy byColumns() const {
    const int together = std::min(neighbours_, across()), down = shape().loaders() / across(),
              rows = down * neighbours_;
    return make_tiled_copy(
        make_copy_atom(UniversalCopy(neighbours_ * 8 * bytes()), tile_.dtype()),
        make_layout({{together, down, across() / together}, {neighbours_, piece()}},
                    {{piece() * rows, neighbours_, together * piece() * rows}, {1, rows}}),
        make_tile(rows, shape().tileK));
  }

  OperandTile tile_;
  int neighbours_;
  ThrCopy slice_;
  Pointer buffer_;
  Int32 bytesAlongK_;
  Tensor from_;            // ((neighbour, k), pass, 1): where they are in the buffer, in bytes
  Tensor fetched_;         // (neighbour, k, pass)
  Tensor turned_;          // (k, neighbour, pass)
  std::vector<Tensor> to_; // ((neighbour, k), pass, 1)
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
