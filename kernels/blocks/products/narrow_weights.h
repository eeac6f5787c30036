// Narrow weights in a kernel: codes of 4 or 8 bits, or 8-bit floats, that become 16-bit numbers on their way
// to the matrix unit, or codes of 4 bits that become 8-bit ones.
//
// A lane loads pieces of 16 bytes as they are, one step ahead; a piece has several runs of
// elements, and each run is a piece of the other operand (narrow_rules.h). What a code stands
// for, less its zero point, is an integer of at most 9 bits, sign included, or half of one: 16-bit
// floats have all of them. Scales of groups are not multiplied here but in the sums (group_scaled_sums.h),
// where there are fewer numbers and f32.
#pragma once

#include "blocks/common/as_index.h"
#include "blocks/products/fragments_of_b.h"
#include "blocks/products/narrow_numbers.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/bounded.h>

#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The fragments of narrow weights.
class NarrowFragments final : public FragmentsOfB {
public:
  /// `thread` counts those of the waves that share a step.
  NarrowFragments(const LoopShape &shape, const TiledMma &mma, const PreparedTile &tile,
                  const Int32 &thread)
      : FragmentsOfB(tile.once), shape_(shape), mma_(mma), tile_(*tile.narrow),
        type_(*narrowType(tile_.dtype)), bytes_(tile.weights), blockK_(narrowBlockK(tile_.dtype)) {
    const MatrixForm &form = shape.form;
    const ThreadPlace place(shape, thread);
    const Int32 lane = place.lane(), wave = place.waveN(),
                first = form.replicated() ? Int32(0) : Int32(lane / 16 % form.across);
    for (const Tensor &half : tile.halves)
      buffers_.push_back(bufferOfHalf(half, tile.validBlocks));
    for (int j = 0; j < shape.tilesOfHalf(); ++j) {
      const Int32 rows = wave + j * shape.waves;
      pieces_.push_back(rows * static_cast<std::int32_t>(bytes_.rowOfBlocks()) +
                        (first * Preshuffled::kRows + lane % 16) * Preshuffled::kPieceBytes);
      zerosAt_.push_back(rows * 16 + lane % 16);
    }
    for (int set = 0; set < 2; ++set) {
      const int pieces = tiles() * blocksOfStep() * piecesOfBlock();
      words_.push_back(make_rmem_tensor(make_layout({4, pieces}, {1, 4}), u32)); // (4, pieces)
      if (hasZeros())
        zeros_.push_back(
            make_rmem_tensor(IntTuple(tiles() * groupsOfStep()), f32)); // (tiles * groups)
    }
  }

  void fetchPart(const Int32 &step, int set, int part, bool guarded) const override {
    if (part % partsOfBlock() == 0)
      fetchBlock(step, set, part / partsOfBlock(), guarded);
    if (hasZeros() && part % partsOfGroup() == 0)
      fetchZeros(step, set, part / partsOfGroup());
  }
  int loads(int parts) const override {
    const auto of = [](int count, int unit) { return (count + unit - 1) / unit; };
    return tiles() * (of(parts, partsOfBlock()) * piecesOfBlock() +
                      (hasZeros() ? of(parts, partsOfGroup()) : 0));
  }
  int reads() const override { return 0; }
  Tensor fragment(int, int set, int part, int half) const override {
    const int round = shape_.round(), runs = shape_.form.part() / shape_.form.granule();
    const Tensor numbers =
        mma_.make_fragment_A(make_layout({shape_.tileOfHalf(), round}, {round, 1})); // (V, n, k)
    for (int j = 0; j < shape_.tilesOfHalf(); ++j)
      for (int run = 0; run < runs; ++run) {
        const Vector values = NarrowNumbers(type_, wordsOf(set, part * runs + run, half, j),
                                            zeroOf(set, part, half, j), shape_.form.b)
                                  .run();
        make_view(numbers(_, j, 0).iter() + ofRun() * run, make_layout(ofRun()))
            .store(values); // (elements of a run)
      }
    return numbers;
  }

private:
  void loadBy(CachePolicy cache) override { cache_ = cache; }
  /// Elements of a run.
  int ofRun() const { return shape_.form.piece(); }
  bool hasZeros() const { return !tile_.zeros.empty(); }
  /// Tiles of 16 rows of a wave, in both halves.
  int tiles() const { return shape_.halves * shape_.tilesOfHalf(); }
  int tileNumber(int half, int j) const { return half * shape_.tilesOfHalf() + j; }
  int partsOfBlock() const { return blockK_ / shape_.form.part(); }
  int partsOfGroup() const { return tile_.group / shape_.form.part(); }
  int blocksOfStep() const { return shape_.tileK / blockK_; }
  int groupsOfStep() const { return shape_.tileK / tile_.group; }
  /// Pieces of a block's row that a lane has.
  int piecesOfBlock() const { return Preshuffled::kPieces / shape_.form.across; }
  /// Bytes of a block that elements take.
  int bytesOf(std::int64_t elements) const {
    return static_cast<int>(elements * tile_.dtype.memory_bits() / 8);
  }

  Tensor bufferOfHalf(const Tensor &half, const Int32 &blocks) const {
    const int stepBytes = bytesOf(shape_.tileK);
    const Preshuffled ofPart{bytes_.n, bytesOf(shape_.k), 1};
    const Int32 valid = min(blocks, shape_.tileOfHalf() / Preshuffled::kRows);
    return bufferOf(make_view(half.iter(), preshuffledTile(bytes_, shape_.tileOfHalf(), stepBytes)),
                    preshuffledShape(bytes_, valid, ofPart.paddedK())); // (tileN / halves, bytes)
  }
  void fetchBlock(const Int32 &step, int set, int block, bool guarded) const {
    const Boolean inside =
        step * shape_.tileK + block * blockK_ < static_cast<std::int32_t>(shape_.k);
    for (int half = 0; half < shape_.halves; ++half)
      for (int j = 0; j < shape_.tilesOfHalf(); ++j)
        for (int piece = 0; piece < piecesOfBlock(); ++piece) {
          const Tensor &buffer = buffers_[asIndex(half)];
          const Int32 place =
              pieces_[asIndex(j)] +
              (block * bytes_.block() +
               piece * shape_.form.across * Preshuffled::kRows * Preshuffled::kPieceBytes);
          words_[asIndex(set)](_, pieceNumber(half, j, block, piece)) // (4)
              .store(bounded_load(buffer.iter(),
                                  {guarded ? insideOf(buffer, inside, place) : place,
                                   step * (bytesOf(shape_.tileK) * Preshuffled::kRows)},
                                  u32, 4, cache_));
        }
  }
  void fetchZeros(const Int32 &step, int set, int group) const {
    for (int half = 0; half < shape_.halves; ++half)
      for (int j = 0; j < shape_.tilesOfHalf(); ++j) {
        const Tensor &buffer = tile_.zeros[asIndex(half)];
        const Int32 row = step * groupsOfStep() + group;
        zeros_[asIndex(set)](tileNumber(half, j) * groupsOfStep() + group) =
            bounded_load(buffer.iter(), {zerosAt_[asIndex(j)], Int32(buffer.layout()(row, 0))}, u8)
                .to(f32);
      }
  }
  int pieceNumber(int half, int j, int block, int piece) const {
    return (tileNumber(half, j) * blocksOfStep() + block) * piecesOfBlock() + piece;
  }
  /// The bytes of a run, by its number among those of a lane in a step.
  Vector wordsOf(int set, int run, int half, int j) const {
    const int ofBlock = blockK_ / shape_.form.granule(), block = run / ofBlock,
              inBlock = run % ofBlock, words = ofRun() * tile_.dtype.memory_bits() / 32;
    const Tensor piece =
        words_[asIndex(set)](_, pieceNumber(half, j, block, inBlock % piecesOfBlock())); // (4)
    return make_view(piece.iter() + inBlock / piecesOfBlock() * words, make_layout(words))
        .load(); // (words)
  }
  std::optional<Numeric> zeroOf(int set, int part, int half, int j) const {
    if (!hasZeros())
      return std::nullopt;
    return zeros_[asIndex(set)](tileNumber(half, j) * groupsOfStep() + part / partsOfGroup());
  }

  LoopShape shape_;
  TiledMma mma_;
  NarrowTile tile_;
  NarrowType type_;
  Preshuffled bytes_;
  int blockK_;
  CachePolicy cache_ = CachePolicy::cached;
  std::vector<Tensor> buffers_;         // (tileN / halves, bytes of a step), of each half
  std::vector<Int32> pieces_, zerosAt_; // where a lane's are in a tile of 16 rows
  std::vector<Tensor> words_, zeros_;   // of each set
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
