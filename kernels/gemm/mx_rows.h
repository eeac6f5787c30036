// The scales of 32 elements of K of an operand's rows, as a wave loads them for its products.
//
// Of 128 elements of K, a part, on CDNA each lane of group g of 16 lanes gives the matrix instruction a
// byte for elements 32 g to 32 g + 31 of its row; on gfx1250 a lane gives the four bytes of its row.
//
//   as made    row after row of K / 32 bytes. The four bytes of a part are loaded by all lanes of a row as
//              a word; a load brings the scales of up to four parts. On CDNA an instruction names the byte
//              of a lane's register that is the scale: a lane puts its own bytes of two neighbouring parts
//              into one register by one permutation, and shifts that of a part alone down. Where rows do
//              not start at multiples of words, each lane loads its bytes. A load touches a line a row.
//   prepared   a word has the lane's bytes of two parts, of its row and of the one 16 rows below
//              (PreparedScales, on CDNA alone). A load touches two lines.
#pragma once

#include "blocks/common/as_index.h"
#include "blocks/products/loop_shape.h"
#include "blocks/products/operand_tile.h"
#include "blocks/products/views.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/bounded.h>
#include <flydsl/kernels/weight.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A lane's register, and the byte of it that is the scale, or where its scales begin.
struct OwnScale {
  Numeric word;
  int byte = 0;
};

/// The tiles of 16 rows that a wave has: `count`, from number `wave` on, in turns with so many `waves`.
struct MxTiles {
  int count;
  Int32 wave;
  int waves;

  Int32 number(int tile) const { return wave + waves * tile; }
};

class MxRows {
public:
  virtual ~MxRows() = default;
  /// Loads of each thread for a step of so many parts.
  virtual int loads(int parts) const = 0;
  /// Loads the scales of a step into one of two sets of registers. `guarded`: those past the end of K are zeros;
  /// otherwise K has all of them.
  virtual void fetch(const Int32 &step, int set, int parts, bool guarded) const = 0;
  /// The lane's scales of a tile in a step of so many parts.
  virtual OwnScale own(int set, int part, int parts, int tile) const = 0;
};

/// Rows of scales in global memory, u8, over the block's part of K.
struct MxTile {
  Tensor scales;              // (rows, K / 32)
  Int32 validRows;            ///< rows of the tile that the matrix has
  std::int64_t ofRow, ofPart; ///< scales of a row of the matrix, and of the block's part of K
  /// If rows are gathered: their scales are rows of `gathered->matrix` (rows, K / 32), by the same indices,
  /// and `scales` and `validRows` are not looked at.
  std::optional<GatheredTile> gathered = {};
};

class MxRowsAsMade final : public MxRows {
public:
  MxRowsAsMade(const LoopShape &shape, const MxTile &tile, const MxTiles &tiles)
      : shape_(shape), tile_(tile), count_(tiles.count), lane_(thread_idx().x % shape.form.lanes),
        ownBytes_(lane_ / 16 * 0x0101 + 0x0400), word_(mxWords(tile.ofRow, shape.parts())),
        buffer_(tile.gathered ? bufferOf(tile.gathered->matrix, {tile.gathered->rows, tile.ofRow},
                                         tile.gathered->rows > 0)
                              : bufferOf(tile.scales, {tile.validRows, tile.ofPart},
                                         tile.validRows > 0)) { // (rows, K / 32)
    for (int i = 0; i < count_; ++i)
      places_.push_back(placeOf(lane_ % 16 + 16 * tiles.number(i)));
    for (int set = 0; set < 2; ++set)
      words_.push_back(make_rmem_tensor(make_layout({shape.parts() * registersOfPart(), count_},
                                                    {1, shape.parts() * registersOfPart()}),
                                        u32)); // (part, tile)
  }
  int loads(int parts) const override {
    return count_ * (word_ ? (parts + word_ - 1) / word_ : parts * registersOfPart());
  }
  void fetch(const Int32 &step, int set, int parts, bool guarded) const override {
    for (int tile = 0; tile < count_; ++tile)
      for (int part = 0; part < parts; part += std::max(word_, 1))
        load(step, set, part, tile, guarded);
  }
  OwnScale own(int set, int part, int parts, int tile) const override {
    const Tensor words = words_[asIndex(set)](_, tile); // (words)
    const Numeric word = joined(words, part * registersOfPart(), registersOfPart());
    if (!word_ || ofRow())
      return {word.to(i32)};
    const int first = part / 2 * 2;
    if (first + 1 == parts)
      return {Numeric(word >> (lane_ / 16 * 8).to(u32)).to(i32)};
    const auto wordAt = [&](int number) { return Int32(Numeric(words(number)).to(i32)); };
    return {permute_bytes(wordAt(first + 1), wordAt(first), ownBytes_), part % 2};
  }

private:
  /// Registers of a tile's scales of a part: a word, or bytes.
  int registersOfPart() const { return word_ ? 1 : shape_.form.scalesOfLane(); }
  /// True if a lane gives the scales of its row's part of K, false if it gives one of them.
  bool ofRow() const { return shape_.form.scalesOfLane() == kMxScalesOfPart; }
  /// Bytes from the start of the buffer to those of a row, or of the last one that exists.
  Int32 placeOf(const Int32 &row) const {
    if (!tile_.gathered)
      return Int32(buffer_.layout()(min(row, max(tile_.validRows - 1, 0)), 0));
    const GatheredTile::Found found = tile_.gathered->find(row);
    return insideOf(buffer_, found.valid, Int32(buffer_.layout()(found.row, 0)));
  }
  void load(const Int32 &step, int set, int part, int tile, bool guarded) const {
    const Pointer buffer = buffer_.iter();
    const Int32 first = (step * shape_.parts() + part) * kMxScalesOfPart;
    const auto end = static_cast<std::int32_t>(tile_.ofPart);
    const Tensor to = words_[asIndex(set)](_, tile); // (part)
    if (word_ == 0) {
      for (int i = 0; i < registersOfPart(); ++i) {
        const Int32 own = ofRow() ? Int32(i) : Int32(lane_ / 16);
        to(part * registersOfPart() + i) =
            bounded_load(
                buffer,
                {select(first + own < end, places_[asIndex(tile)] + own, kPastTheEnd), first}, u8)
                .to(u32);
      }
      return;
    }
    const Int32 place = guarded ? Int32(select(first < end, places_[asIndex(tile)], kPastTheEnd))
                                : places_[asIndex(tile)];
    if (word_ == 1)
      to(part) = bounded_load(buffer, {place, first}, u32);
    else
      make_view(to.iter() + part, make_layout(word_))
          .store(bounded_load(buffer, {place, first}, u32, word_)); // (word)
  }
  /// `count` registers from `first` on, whose lowest bytes become the bytes of a word; one as it is.
  static Numeric joined(const Tensor &words, int first, int count) {
    if (count == 1)
      return words(first);
    return joined(words, first, count - 1) | words(first + count - 1)
                                                 << static_cast<unsigned>(8 * (count - 1));
  }

  LoopShape shape_;
  MxTile tile_;
  int count_;
  Int32 lane_;
  /// A selector for permute_bytes: byte 0 takes byte g of the first part's word, byte 1 takes byte g of the
  /// second part's, which is number 4 + g of both words. g = lane / 16.
  Int32 ownBytes_;
  int word_;
  Tensor buffer_;             // (rows, K / 32)
  std::vector<Int32> places_; // where a row's scales begin, for each tile
  std::vector<Tensor> words_; // (part, tile), of each set
};

/// Prepared scales of a block's rows in global memory, u8, over the block's part of K.
struct PreparedMxTile {
  Tensor scales;     // (groups, blocks, block)
  Int32 validGroups; ///< groups of 32 rows that the matrix has from the tile's first one on
  int blocks;        ///< blocks of the block's part of K
  Int32 first;       ///< the tile of 16 rows of the first group with which the block begins: 0 or 1
  bool isWhole;      ///< `first` is 0, and the block has whole groups
};

class MxRowsPrepared final : public MxRows {
public:
  MxRowsPrepared(const LoopShape &shape, const PreparedMxTile &of, const MxTiles &tiles)
      : parts_(shape.parts()), blocks_(of.blocks), pairs_(of.isWhole && tiles.waves == 1),
        count_(pairs_ ? tiles.count / 2 : tiles.count),
        buffer_(bufferOf(of.scales, {of.validGroups, of.blocks, PreparedScales::kBlock},
                         of.validGroups > 0)) { // (groups, blocks, block)
    const Int32 lane = thread_idx().x % shape.form.lanes;
    for (int i = 0; i < count_; ++i) {
      const Int32 tile = of.first + tiles.number(pairs_ ? 2 * i : i);
      places_.push_back(
          Int32(buffer_.layout()(min(tile / 2, max(of.validGroups - 1, 0)), 0, lane * kWord)));
      if (!pairs_)
        halves_.push_back((tile % 2 * 8).to(u32));
    }
    for (int set = 0; set < 2; ++set)
      words_.push_back(
          make_rmem_tensor(make_layout({(parts_ + 1) / 2, count_}, {1, (parts_ + 1) / 2}),
                           u32)); // (block, tile)
  }
  int loads(int parts) const override { return count_ * ((parts + 1) / 2); }
  void fetch(const Int32 &step, int set, int parts, bool guarded) const override {
    for (int i = 0; i < count_; ++i)
      for (int of = 0; of < (parts + 1) / 2; ++of) {
        const Int32 block = step * (parts_ / 2) + of;
        const Int32 &there = places_[asIndex(i)];
        const Int32 place = guarded ? Int32(select(block < blocks_, there, kPastTheEnd)) : there;
        words_[asIndex(set)](of, i) =
            bounded_load(buffer_.iter(), {place, block * PreparedScales::kBlock}, u32);
      }
  }
  OwnScale own(int set, int part, int, int tile) const override {
    const int ofHalf = part % 2 * 2;
    if (pairs_)
      return {Numeric(words_[asIndex(set)](part / 2, tile / 2)).to(i32), ofHalf + tile % 2};
    const Numeric word = words_[asIndex(set)](part / 2, tile);
    return {Numeric(word >> halves_[asIndex(tile)]).to(i32), ofHalf};
  }

private:
  static constexpr int kWord = 4; ///< bytes

  int parts_, blocks_;
  bool pairs_;                  ///< whether a word has the scales of two tiles of the wave
  int count_;                   ///< words of a block
  Tensor buffer_;               // (groups, blocks, block)
  std::vector<Int32> places_;   // where each word of a block is
  std::vector<Numeric> halves_; // by how many bits each word is shifted
  std::vector<Tensor> words_;   // (block, word), of each set
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
