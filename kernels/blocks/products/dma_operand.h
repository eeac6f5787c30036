// Operands of a product whose tiles are brought to the ring in shared memory (LDS) by loads that write
// LDS themselves (gfx950), and the choice among all operands of the ring:
//
//   RowsByDma      rows along K, also gathered
//   ColumnsByDma   columns along K, as they lie: they are turned by the reads of LDS
//   PreparedByDma  prepared weights, whose blocks come as they lie
//   RowsByMover    rows along K, by moves of whole tiles (gfx1250), also gathered
//
// The hardware writes the lanes' pieces of 16 bytes one after another. So a swizzle is in the choice of
// what a lane loads.
#pragma once

#include "blocks/products/moved_rows.h"
#include "blocks/products/ring_operand.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/bounded.h>
#include <flydsl/kernel/wave_memory.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The waves of a block that have different rows of an operand, the number of this one among them, and
/// its number among those that share K.
struct WavesOfOperand {
  int count;
  Int32 number, slice;

  static WavesOfOperand ofA(const LoopShape &shape) {
    const ThreadPlace thread(shape);
    return {shape.wavesM, thread.waveM(), thread.slice()};
  }
  static WavesOfOperand ofB(const LoopShape &shape) {
    const ThreadPlace thread(shape);
    return {shape.waves, thread.waveN(), thread.slice()};
  }
};

/// The copies of a tile by LDS's own loads: pass by pass, each thread has a piece of 16 bytes.
class DmaPasses {
public:
  explicit DmaPasses(const LoopShape &shape)
      : shape_(shape), wave_(gpu::uniform(thread_idx().x / shape.form.lanes)) {}
  /// The number of the thread's piece in the next pass.
  Int32 piece() const {
    return thread_idx().x + static_cast<int>(places_.size()) * shape_.loaders();
  }
  /// Adds that piece: the number along K of a step where it begins, and its place, bytes of the buffer.
  void add(const Int32 &alongK, const Int32 &place) {
    alongK_.push_back(alongK);
    places_.push_back(place);
  }
  /// The policy of the loads from here on.
  void by(CachePolicy cache) { cache_ = cache; }
  /// Loads all pieces to a stage. Of a step that has only `left` numbers along K, pieces that begin at
  /// these or after them are zeros.
  void load(const Tensor &buffer, const Int32 &ofStep, const Tensor &stage,
            std::int64_t left) const {
    for (std::size_t pass = 0; pass < places_.size(); ++pass) {
      const Int32 place = left < shape_.tileK
                              ? Int32(select(alongK_[pass] < static_cast<std::int32_t>(left),
                                             places_[pass], kPastTheEnd))
                              : places_[pass];
      const Int32 first = (wave_ * shape_.form.lanes + static_cast<int>(pass) * shape_.loaders()) *
                          shape_.form.piece();
      bounded_load_to_shared(buffer.iter(), {place, ofStep}, stage.iter() + first, kPieceBytes,
                             cache_);
    }
  }

private:
  LoopShape shape_;
  Int32 wave_;
  std::vector<Int32> alongK_, places_; // where the thread's piece of each pass begins
  CachePolicy cache_ = CachePolicy::cached;
};

class RowsByDma final : public RingOperand {
public:
  /// `tile` is an OperandTile or a GatheredTile.
  template <class Tile>
  RowsByDma(const LoopShape &shape, const Tile &tile, SharedAllocator &shared,
            const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, tile.dtype(), tile.size(), shared, toFragments, std::move(fragments)),
        rows_(shape, tile), passes_(shape) {
    for (int pass = 0; pass < loads(); ++pass) {
      const Int32 index = swizzled(passes_.piece() * piece()), column = index % shape.tileK;
      passes_.add(column, Int32(rows_.at(index / shape.tileK, column) * bytes()));
    }
  }

  void loadBy(CachePolicy cache) override { passes_.by(cache); }
  void fetch(const Int32 &step, int stage) const override { load(step, stage, shape().tileK); }
  void fetchLast(int stage) const override { load(shape().steps() - 1, stage, lastColumns()); }

private:
  void load(const Int32 &step, int stage, std::int64_t left) const {
    passes_.load(rows_.buffer(), step * (shape().tileK * bytes()), this->stage(stage), left);
  }

  RowPlaces rows_;
  DmaPasses passes_;
};

/// Elements of two bytes whose columns along K lie together in memory, and in LDS: a tile is
/// (tileK, size) there. An instruction reads four rows of 16 neighbours and gives each of 16 lanes a
/// column of four elements of K; two of them make a piece (`ds_read_b64_tr_b16`).
///
/// The lanes that LDS serves together, 32 of them, read rows k to k + 3 and k + 8 to k + 11, of 32 bytes
/// each. So that these are eight rows one after another, the rows of a tile lie in the order in which bits 2
/// and 3 of their number are exchanged; and the low bits of a row's place are xored into the number of its
/// 32 bytes.
class ColumnsByDma final : public RingOperand {
public:
  ColumnsByDma(const LoopShape &shape, const OperandTile &tile, SharedAllocator &shared,
               const WavesOfOperand &waves, std::vector<Tensor> fragments)
      : RingOperand(shape, tile.dtype(), tile.size(), std::move(fragments)), tile_(tile),
        passes_(shape), buffer_(buffer(Int32(0))),
        bytesAlongK_(Int32((Int64(tile.tile.stride()[1]) * bytes()).to(i32))),
        transpose_(make_copy_atom(TransposedCopyFromShared(8 * bytes(), 64), tile.dtype())) {
    if (bytes() != 2 || shape.form.run != piece())
      throw Error("columns are turned by reads of LDS for pieces of eight elements of K");
    allocate(shared, make_layout(size() * shape.tileK));
    for (int pass = 0; pass < loads(); ++pass) {
      const Int32 index = swizzle()(passes_.piece() * piece()), column = index % size(),
                  row = rowAt(Int32(index / size()));
      passes_.add(row, select(column < tile.validRows, Int32(row * bytesAlongK_ + column * bytes()),
                              kPastTheEnd));
    }
    const Int32 lane = thread_idx().x % shape.form.lanes, group = lane / 16,
                row = lane % 16 / kPiecesOfRow + group * piece() + waves.slice * shape.form.part(),
                column = lane % kPiecesOfRow * kRun;
    for (int tiles = 0; tiles < size() / 16 / waves.count; ++tiles)
      read_.push_back(swizzle()(
          Int32(placeOf(row) * size() + column + (waves.number + waves.count * tiles) * 16)));
  }

  void loadBy(CachePolicy cache) override { passes_.by(cache); }
  void fetch(const Int32 &step, int stage) const override { load(step, stage, shape().tileK); }
  void fetchLast(int stage) const override { load(shape().steps() - 1, stage, lastColumns()); }
  void read(int stage, int part) const override {
    const Tensor &to = fragment(stage, part); // (V, n, 1)
    for (int tile = 0; tile < static_cast<int>(read_.size()); ++tile)
      for (int run = 0; run < piece() / kRun; ++run) {
        // Bit 2 of K is bit 3 of a row's place, above what is xored.
        const int rows = part * shape().round() + run * 2 * kRun;
        const Tensor from =
            make_view(this->stage(stage).iter() + read_[asIndex(tile)] + rows * size(),
                      make_layout(kRun)); // (run)
        copy_atom_call(transpose_, from,
                       flat_divide(to(_, tile, 0), make_tile(kRun))(_, run)); // (kRun)
      }
  }

private:
  /// Elements of K that an instruction gives a lane, and pieces of them in a row that it reads.
  static constexpr int kRun = 4, kPiecesOfRow = 4;
  /// The place of a row of K in the tile, and the other way round.
  static Int32 rowAt(const Int32 &row) { return (row & ~12) | ((row & 4) << 1) | ((row & 8) >> 1); }
  static Int32 placeOf(const Int32 &row) { return rowAt(row); }
  XorSwizzle swizzle() const {
    const int chunks = std::bit_width(static_cast<unsigned>(size() / 16)) - 1;
    return {std::min(chunks, 3), 4, std::max(chunks, 3)};
  }
  /// The tile of step 0, as a buffer of all steps (firstStepOf); or of one step alone, if tiles are far.
  Tensor buffer(const Int32 &step) const {
    const Tensor &all = tile_.tile; // (size, K)
    const int tileK = shape().tileK;
    const Int32 valid = min(tile_.validRows, size());
    if (!tile_.far)
      return bufferOf(tileFrom(all, {0, 0}, {size(), tileK}), {valid, shape().k},
                      tile_.validRows > 0); // (size, tileK)
    const Int32 left = Int32(static_cast<std::int32_t>(shape().k)) - step * tileK;
    return bufferOf(flat_divide(all, {size(), tileK})(_, _, 0, step), {valid, min(left, tileK)},
                    tile_.validRows > 0); // (size, tileK)
  }
  void load(const Int32 &step, int stage, std::int64_t left) const {
    const Tensor buffer = tile_.far ? this->buffer(step) : buffer_;
    const Int32 ofStep = tile_.far ? Int32(0) : Int32(step * (shape().tileK * bytesAlongK_));
    passes_.load(buffer, ofStep, this->stage(stage), left);
  }

  OperandTile tile_;
  DmaPasses passes_;
  Tensor buffer_; // (size, tileK)
  Int32 bytesAlongK_;
  CopyAtom transpose_;
  std::vector<Int32> read_; // where the lane's reads of a stage begin, for each tile of 16 columns
};

/// Prepared weights: blocks of 16 rows by 64 bytes, which a wave loads and reads as they lie, a kilobyte
/// at a time.
class PreparedByDma final : public RingOperand {
public:
  PreparedByDma(const LoopShape &shape, const PreparedRows &tile, SharedAllocator &shared,
                const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, tile.dtype(), tile.size, std::move(fragments)), weights_(tile.weights),
        padded_(paddedPart(shape, tile.weights)), passes_(shape), buffer_(buffer(shape, tile)) {
    const Preshuffled ofTile{size(), shape.tileK, weights_.bytes};
    allocate(shared, toFragments, preshuffledTile(ofTile, size(), shape.tileK));
    const int across = shape.tileK / weights_.blockK(),
              ofBlock = Preshuffled::kRows * Preshuffled::kPieces;
    for (int pass = 0; pass < loads(); ++pass) {
      const Int32 number = passes_.piece(), block = number / ofBlock;
      passes_.add(Int32(block % across * weights_.blockK()),
                  Int32(buffer_.layout()(make_coord(0, Int32(block / across)),
                                         make_coord(0, 0, Int32(block % across))) *
                            bytes() +
                        number % ofBlock * kPieceBytes));
    }
  }

  void fetch(const Int32 &step, int stage) const override { load(step, stage, shape().tileK); }
  /// What lies past the end of a part of K are other columns, or other rows.
  void fetchLast(int stage) const override {
    const int last = shape().steps() - 1;
    load(last, stage, padded_ - std::int64_t{last} * shape().tileK);
  }

private:
  /// The tile of step 0, as a buffer of all steps; see firstStepOf.
  static Tensor buffer(const LoopShape &shape, const PreparedRows &tile) {
    const Int32 valid = min(tile.validBlocks, tile.size / Preshuffled::kRows);
    return bufferOf(
        make_view(tile.from.iter(), preshuffledTile(tile.weights, tile.size, shape.tileK)),
        preshuffledShape(tile.weights, valid, paddedPart(shape, tile.weights)),
        tile.validBlocks > 0); // ((16, n / 16), (piece, 4, tileK / blockK))
  }
  void load(const Int32 &step, int stage, std::int64_t left) const {
    passes_.load(buffer_, step * (Preshuffled::kRows * shape().tileK * bytes()), this->stage(stage),
                 left);
  }

  Preshuffled weights_;
  std::int64_t padded_; // columns of the block's part of K
  DmaPasses passes_;
  Tensor buffer_; // ((16, n / 16), (piece, 4, tileK / blockK))
};

/// Whole tiles by a tensor data mover. `Rows` is MovedRows or MovedGather.
template <class Rows> class RowsByMover final : public RingOperand {
public:
  template <class Tile>
  RowsByMover(const LoopShape &shape, const Tile &tile, SharedAllocator &shared,
              const TiledCopy &toFragments, std::vector<Tensor> fragments)
      : RingOperand(shape, tile.dtype(), tile.size(), shared, toFragments, std::move(fragments)),
        rows_(shape, tile) {}

  void fetch(const Int32 &step, int stage) const override { rows_.fetch(step, this->stage(stage)); }
  void fetchLast(int stage) const override { rows_.fetchLast(this->stage(stage)); }

  int loads() const override { return Rows::movesOf(shape(), size()); }

private:
  Rows rows_;
};

/// The operand of the tile's layout.
inline std::unique_ptr<RingOperand> ringOperand(const LoopShape &shape, const OperandTile &tile,
                                                SharedAllocator &shared,
                                                const TiledCopy &toFragments,
                                                const WavesOfOperand &waves,
                                                std::vector<Tensor> fragments) {
  if (tile.layout == OperandLayout::columns && shape.dma)
    return std::make_unique<ColumnsByDma>(shape, tile, shared, waves, std::move(fragments));
  if (tile.layout == OperandLayout::columns)
    return std::make_unique<ColumnsThroughRegisters>(shape, tile, shared, toFragments,
                                                     std::move(fragments));
  if (shape.mover)
    return std::make_unique<RowsByMover<MovedRows>>(shape, tile, shared, toFragments,
                                                    std::move(fragments));
  if (shape.dma)
    return std::make_unique<RowsByDma>(shape, tile, shared, toFragments, std::move(fragments));
  return std::make_unique<RowsThroughRegisters>(shape, tile, shared, toFragments,
                                                std::move(fragments));
}
inline std::unique_ptr<RingOperand>
ringOperand(const LoopShape &shape, const GatheredTile &tile, SharedAllocator &shared,
            const TiledCopy &toFragments, const WavesOfOperand &, std::vector<Tensor> fragments) {
  if (shape.mover)
    return std::make_unique<RowsByMover<MovedGather>>(shape, tile, shared, toFragments,
                                                      std::move(fragments));
  if (shape.dma)
    return std::make_unique<RowsByDma>(shape, tile, shared, toFragments, std::move(fragments));
  return std::make_unique<GatheredRows>(shape, tile, shared, toFragments, std::move(fragments));
}
inline std::unique_ptr<RingOperand>
ringOperand(const LoopShape &shape, const PreparedRows &tile, SharedAllocator &shared,
            const TiledCopy &toFragments, const WavesOfOperand &, std::vector<Tensor> fragments) {
  return std::make_unique<PreparedByDma>(shape, tile, shared, toFragments, std::move(fragments));
}
/// The operands of the ring of A and of B, with so many fragments of a part.
template <class Tile>
std::unique_ptr<RingOperand> ringOperandA(const LoopShape &shape, const TiledMma &mma,
                                          const Tile &tile, SharedAllocator &shared,
                                          int fragments = 2) {
  return ringOperand(shape, tile, shared,
                     make_tiled_copy_B(make_copy_atom(UniversalCopy128b(), tile.dtype()), mma),
                     WavesOfOperand::ofA(shape), partsOfA(shape, mma, fragments));
}
template <class Tile>
std::unique_ptr<RingOperand> ringOperandB(const LoopShape &shape, const TiledMma &mma,
                                          const Tile &tile, SharedAllocator &shared,
                                          int fragments = 2) {
  return ringOperand(shape, tile, shared,
                     make_tiled_copy_A(make_copy_atom(UniversalCopy128b(), tile.dtype()), mma),
                     WavesOfOperand::ofB(shape), partsOfB(shape, mma, fragments));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
