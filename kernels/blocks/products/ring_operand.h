// An operand of a product that goes through a ring of tiles in shared memory (LDS), from which the
// waves of a block read it. How its tiles come there is the difference between the classes below:
//
//   RowsThroughRegisters     rows along K, by registers
//   ColumnsThroughRegisters  columns along K, which are turned in registers on their way
//   RowsByDma                rows along K, by loads that write LDS themselves (gfx950)
//
// In LDS a tile is always the same: rows along K, swizzled against conflicts of banks.
#pragma once

#include "blocks/facts/lds_layout.h"
#include "blocks/products/product_sources.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/gemm.h>

#include <cstdint>
#include <memory>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A tile of an operand in global memory, from the start of the block's part of K on.
struct OperandTile {
  DType dtype;
  int size;       ///< rows of A, or columns of B's product
  Int64 first;    ///< address
  Int64 distance; ///< elements between its rows, or between its columns
  Int32 exist;    ///< of `size`
  OperandLayout layout;
  /// By columns: the tiles of all steps span more than a buffer, and each has its own.
  bool far = false;
};

class RingOperand {
public:
  /// The ring's tiles are allocated from `shared`. `toFragments` reads them into fragments of a
  /// part, which take turns.
  RingOperand(const LoopShape &shape, const OperandTile &tile, SharedAllocator &shared,
              const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : shape_(shape), tile_(tile), atom_(make_copy_atom(UniversalCopy128b(), tile.dtype)),
        slice_(toFragments.get_slice(thread_idx().x)), fragments_(std::move(fragments)) {
    for (int stage = 0; stage < shape.stages; ++stage) {
      stages_.push_back(
          shared.tensor(tile.dtype,
                        make_composed_layout(swizzle().swizzle(),
                                             make_ordered_layout({tile.size, shape.tileK}, {1, 0})),
                        kPieceBytes)); // (size, tileK)
      read_.push_back(slice_.partition_S(stages_.back()));
    }
  }
  virtual ~RingOperand() = default;
  RingOperand(const RingOperand &) = delete;

  /// Starts to load the tile of a step, for a stage of the ring.
  virtual void fetch(const Int32 &step, int stage) const = 0;
  /// The same for the last step, whose K may end inside of the tile.
  virtual void fetchLast(int stage) const = 0;
  /// Writes what was fetched last to the stage, if it is in registers.
  virtual void write(int stage) const {}

  /// Reads a part of a stage's tile into its fragment.
  void read(int stage, int part) const {
    copy(atom_, read_[at(stage)](_, _, part), slice_.retile(fragment(stage, part))(_, _, 0));
  }
  /// Fragments take turns from part to part, over the steps too.
  const Tensor &fragment(int stage, int part) const {
    return fragments_[at(stage * shape_.parts() + part) % fragments_.size()];
  }
  /// Loads of a tile for each thread.
  int loads() const { return shape_.loadsOf(tile_.size); }

protected:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  const LoopShape &shape() const { return shape_; }
  const OperandTile &tile() const { return tile_; }
  const CopyAtom &atom() const { return atom_; }
  const Tensor &stage(int number) const { return stages_[at(number)]; }
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
  /// Columns of the last step that exist.
  std::int64_t lastColumns() const {
    return shape_.k - static_cast<std::int64_t>(shape_.steps() - 1) * shape_.tileK;
  }

private:
  LoopShape shape_;
  OperandTile tile_;
  CopyAtom atom_;
  ThrCopy slice_;
  std::vector<Tensor> stages_, read_; // (size, tileK), (V, m, parts)
  std::vector<Tensor> fragments_;
};

class RowsThroughRegisters final : public RingOperand {
public:
  RowsThroughRegisters(const LoopShape &shape, const OperandTile &tile, SharedAllocator &shared,
                       const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, tile, shared, toFragments, std::move(fragments)),
        load_(make_copy_atom(rocdl::BufferCopy128b(), tile.dtype)),
        slice_(byRows().get_slice(thread_idx().x)),
        from_(slice_.partition_S(
            rowsOf(tile.dtype, tile.size, shape, tile.first, tile.distance, tile.exist))),
        fetched_(make_fragment_like(slice_.partition_D(stage(0)))) {
    for (int number = 0; number < shape.stages; ++number)
      to_.push_back(slice_.partition_D(stage(number)));
  }

  void fetch(const Int32 &step, int) const override {
    copy(load_, from_, fetched_, {.soffset = step * shape().tileK});
  }
  void fetchLast(int stage) const override {
    const int last = shape().steps() - 1;
    if (lastColumns() >= shape().tileK)
      return fetch(last, stage);
    // A thread's pieces lie in one column of pieces, which is past the end or is not.
    const Numeric column = thread_idx().x % across() * piece();
    const Int32 away = select(column < lastColumns(), 0, kPastTheEnd / bytes());
    copy(load_, make_view(from_.iter() + away, from_.layout()), fetched_,
         {.soffset = Int32(last * shape().tileK)});
  }
  void write(int stage) const override { copy(atom(), fetched_, to_[at(stage)]); }

private:
  /// A row is copied by neighbouring threads.
  TiledCopy byRows() const {
    const int down = shape().loaders() / across();
    return make_tiled_copy(
        atom(), make_layout({{across(), down}, {1, piece()}}, {{down * piece(), 1}, {1, down}}),
        make_tile(down, shape().tileK));
  }

  CopyAtom load_;
  ThrCopy slice_;
  Tensor from_, fetched_;  // (V, m, k)
  std::vector<Tensor> to_; // (V, m, k)
};

/// Elements of two bytes whose columns along K lie together in memory. A thread loads a block of 8
/// of K by some neighbours, turns it, and writes pieces of 16 bytes.
///
/// As many threads take pieces side by side along K as a thread has neighbours; then come the next
/// neighbours, so that what a wave loads lies together. The pieces that lanes write at a time meet
/// no bank twice: the swizzle exchanges pieces by the low bits of a row's number, of which the
/// neighbours are the lowest.
class ColumnsThroughRegisters final : public RingOperand {
public:
  ColumnsThroughRegisters(const LoopShape &shape, const OperandTile &tile, SharedAllocator &shared,
                          const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, tile, shared, toFragments, std::move(fragments)),
        neighbours_(std::min(loads(), piece())), passes_(loads() / neighbours_),
        buffer_(bufferOf(tile.first, Int64(shape.k))), apart_((tile.distance * bytes()).to(i32)),
        column_(pieceOf(thread_idx().x) * piece()),
        row_(thread_idx().x / together() % down() * neighbours_),
        fetched_(make_rmem_tensor(
            make_layout({neighbours_, piece(), passes_}, {1, neighbours_, neighbours_ * piece()}),
            tile.dtype)) {}

  void fetch(const Int32 &step, int) const override {
    if (!tile().far)
      return fetchFrom(buffer_, step * (shape().tileK * apart_));
    const Int64 before = step.to(i64) * shape().tileK;
    fetchFrom(bufferOf(tile().first + before * tile().distance * bytes(),
                       min(Int64(shape().k) - before, shape().tileK)),
              Int32(0));
  }
  /// Behind the end of K is the end of the buffer, which gives zeros.
  void fetchLast(int stage) const override { fetch(shape().steps() - 1, stage); }
  void write(int stage) const override {
    const Numeric base = this->stage(stage).iter().address();
    for (int pass = 0; pass < passes_; ++pass)
      for (int n = 0; n < neighbours_; ++n) {
        std::vector<Numeric> alongK;
        for (int k = 0; k < piece(); ++k)
          alongK.push_back(fetched_(n, k, pass));
        const Int32 index = swizzled((row(pass) + n) * shape().tileK + column_);
        Pointer::from_address(base + index * bytes(), tile().dtype, AddressSpace::shared,
                              kPieceBytes)
            .store(Vector::of({alongK[0], alongK[1], alongK[2], alongK[3], alongK[4], alongK[5],
                               alongK[6], alongK[7]}));
      }
  }

private:
  /// So many columns from an address on.
  Pointer bufferOf(const Int64 &first, const Int64 &columns) const {
    const Int64 end = reachOfColumns<Int32>(tile().exist, tile().distance, columns) * bytes();
    return rocdl::make_buffer_ptr(
        Pointer::from_address(first, tile().dtype, AddressSpace::global, kPieceBytes),
        {.num_records_bytes = end});
  }
  void fetchFrom(const Pointer &buffer, const Int32 &before) const {
    for (int pass = 0; pass < passes_; ++pass)
      for (int k = 0; k < piece(); ++k) {
        const Int32 offset = (column_ + k) * apart_ + row(pass) * bytes();
        const rocdl::RawBuffer options{.soffset = before};
        const Tensor to = fetched_(_, k, pass);
        if (neighbours_ == 1)
          fetched_(0, k, pass) = rocdl::raw_buffer_load(buffer, offset, tile().dtype, options);
        else
          to.store(rocdl::raw_buffer_load(buffer, offset, tile().dtype, neighbours_, options));
      }
  }
  /// Threads side by side along K, and groups of neighbours in a pass.
  int together() const { return std::min(neighbours_, across()); }
  int down() const { return shape().loaders() / across(); }
  /// The number of the thread's piece in a row.
  Int32 pieceOf(const Int32 &thread) const {
    return thread / (together() * down()) * together() + thread % together();
  }
  /// The thread's first row in a pass.
  Int32 row(int pass) const { return row_ + pass * (down() * neighbours_); }

  int neighbours_, passes_;
  Pointer buffer_;
  Int32 apart_, column_, row_;
  Tensor fetched_; // (neighbour, k, pass)
};

/// The hardware writes the lanes' pieces one after another. So the swizzle is in the choice of what
/// a lane loads.
class RowsByDma final : public RingOperand {
public:
  RowsByDma(const LoopShape &shape, const OperandTile &tile, SharedAllocator &shared,
            const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, tile, shared, toFragments, std::move(fragments)),
        buffer_(rowsOf(tile.dtype, tile.size, shape, tile.first, tile.distance, tile.exist).iter()),
        wave_(gpu::uniform(thread_idx().x / shape.form.lanes)) {
    const Int32 apart(tile.distance.to(i32));
    for (int pass = 0; pass < loads(); ++pass) {
      const Int32 index = swizzled((thread_idx().x + pass * shape.loaders()) * piece());
      columns_.push_back(Int32(index % shape.tileK));
      offsets_.push_back(Int32((index / shape.tileK * apart + columns_.back()) * bytes()));
    }
  }

  void fetch(const Int32 &step, int stage) const override {
    for (int pass = 0; pass < loads(); ++pass)
      load(step, stage, pass, offsets_[at(pass)]);
  }
  void fetchLast(int stage) const override {
    const int last = shape().steps() - 1;
    if (lastColumns() >= shape().tileK)
      return fetch(last, stage);
    for (int pass = 0; pass < loads(); ++pass)
      load(last, stage, pass,
           select(columns_[at(pass)] < static_cast<std::int32_t>(lastColumns()), offsets_[at(pass)],
                  kPastTheEnd));
  }

private:
  void load(const Int32 &step, int stage, int pass, const Int32 &offset) const {
    const Int32 first = (wave_ * shape().form.lanes + pass * shape().loaders()) * piece();
    rocdl::raw_buffer_load_lds(buffer_, this->stage(stage).iter() + first, kPieceBytes, offset,
                               {.soffset = step * (shape().tileK * bytes())});
  }

  Pointer buffer_;
  Int32 wave_;
  std::vector<Int32> columns_, offsets_; // of each pass
};

/// The operand of the tile's layout.
inline std::unique_ptr<RingOperand> ringOperand(const LoopShape &shape, const OperandTile &tile,
                                                SharedAllocator &shared,
                                                const TiledCopy &toFragments,
                                                std::vector<Tensor> fragments) {
  if (tile.layout == OperandLayout::columns)
    return std::make_unique<ColumnsThroughRegisters>(shape, tile, shared, toFragments,
                                                     std::move(fragments));
  if (shape.dma)
    return std::make_unique<RowsByDma>(shape, tile, shared, toFragments, std::move(fragments));
  return std::make_unique<RowsThroughRegisters>(shape, tile, shared, toFragments,
                                                std::move(fragments));
}
/// Those of A and of B, with so many fragments of a part.
inline std::unique_ptr<RingOperand> ringOperandA(const LoopShape &shape, const TiledMma &mma,
                                                 const OperandTile &tile, SharedAllocator &shared,
                                                 int fragments = 2) {
  return ringOperand(shape, tile, shared,
                     make_tiled_copy_B(make_copy_atom(UniversalCopy128b(), tile.dtype), mma),
                     partsOfA(shape, mma, fragments));
}
inline std::unique_ptr<RingOperand> ringOperandB(const LoopShape &shape, const TiledMma &mma,
                                                 const OperandTile &tile, SharedAllocator &shared,
                                                 int fragments = 2) {
  return ringOperand(shape, tile, shared,
                     make_tiled_copy_A(make_copy_atom(UniversalCopy128b(), tile.dtype), mma),
                     partsOfB(shape, mma, fragments));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
