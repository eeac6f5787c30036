// Tiles of C that leave a product in 4 or 8 bits: over one scale that is given, or over scales of 32 or
// 128 neighbours of a row, which are made of the tile's own sums.
#pragma once

#include "blocks/common/as_index.h"
#include "blocks/products/blocks_of_waves.h"
#include "blocks/products/epilogue.h"
#include "blocks/products/loop_shape.h"
#include "blocks/quant/quant.h"

#include <flydsl/flydsl.h>

#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A group of C in its type: over one scale.
inline Conversion overScale(DType type, const Numeric &scale) {
  const Numeric inverse = 1.0f / scale;
  return [type, inverse](const Vector &values) {
    return quantised(values.to(f32), inverse, type, true);
  };
}

/// A tile whose rows have a scale for each `block` columns. The lanes of a row agree on the largest
/// magnitude by shuffles, and waves side by side by shared memory: all threads of the block come
/// here.
class TileInBlocks {
public:
  /// `scales` (m, n / block), f32, or u8 as exponents. `allRows`: rows of the tile past the last one of C have
  /// scales, too, of any value.
  TileInBlocks(const TileOfC &tile, const Epilogue &epilogue, const SumsAt &sums, DType type,
               const Tensor &scales, int block, bool allRows)
      : tile_(tile), type_(type), scales_(scales), block_(block),
        allRows_(allRows), lie_{tile.columnsTogether() / tile.waves(), tile.waves(), tile.tilesN(),
                                block},
        blocks_(lie_.ofWave()) {
    for (int i = 0; i < tile.tilesM(); ++i)
      for (int j = 0; j < tile.tilesN(); ++j)
        values_.push_back(epilogue.group(sums, i, j).to(f32));
  }

  /// Stores the tile `to` (tileM, tileN) and its scales; elements of 4 bits as bytes (tileM, tileN / 2).
  void store(const Tensor &to) const {
    const std::vector<Numeric> largest = largestOfRows();
    const TileOfC units = isPacked() ? tile_.pairs() : tile_;
    const Tensor existing = units.existing(to); // (tileM, tileN)
    for (int i = 0; i < tile_.tilesM(); ++i)
      for (int block = 0; block < blocks_; ++block) {
        const BlockFactor factor = scaled(largest[asIndex(i * blocks_ + block)]);
        for (int j = 0; j < tile_.tilesN(); ++j)
          if (lie_.ofTile(j) == block)
            units.store(existing, i, j, elements(values(i, j), factor.inverse));
        storeScale(i, block, factor.scale);
      }
  }

private:
  const Vector &values(int i, int j) const { return values_[asIndex(i * tile_.tilesN() + j)]; }
  bool isPacked() const { return type_.bits() < 8; }
  /// Values over their scale; `inverse` is one over it.
  Vector elements(const Vector &values, const Numeric &inverse) const {
    return isPacked() ? blockValues(values, {.byte = inverse, .inverse = inverse}, type_)
                      : quantised(values, inverse, type_, true);
  }
  /// The wave's place among those that share a block, and the first of them.
  Int32 placeInBlock() const { return tile_.wave() % lie_.sharing(); }
  Int32 firstOfBlock() const { return Int32(tile_.wave() - placeInBlock()); }
  Boolean isFirstOfRow() const { return tile_.lane() < 16; }

  /// The largest magnitudes (i, block), as their bits, of all columns of a block.
  std::vector<Numeric> largestOfRows() const {
    std::vector<Numeric> largest;
    for (int i = 0; i < tile_.tilesM(); ++i)
      for (int block = 0; block < blocks_; ++block)
        largest.push_back(largestOfWave(i, block));
    const int rows = tile_.tileRows(), waves = tile_.waves();
    if (lie_.sharing() == 1)
      return largest;
    SharedAllocator shared;
    const Tensor all =
        shared.tensor(u32, make_layout({rows, waves, blocks_},
                                       {1, rows, rows * waves})); // (tileM, waves, blocks)
    if_(isFirstOfRow(), [&] {
      for (int i = 0; i < tile_.tilesM(); ++i)
        for (int block = 0; block < blocks_; ++block)
          all(tile_.row(i), tile_.wave(), block) = largest[asIndex(i * blocks_ + block)];
    });
    gpu::barrier();
    std::vector<Numeric> ofAll;
    for (int i = 0; i < tile_.tilesM(); ++i)
      for (int block = 0; block < blocks_; ++block) {
        std::vector<Numeric> ofWaves;
        for (int wave = 0; wave < lie_.sharing(); ++wave)
          ofWaves.push_back(all(tile_.row(i), firstOfBlock() + wave, block));
        ofAll.push_back(largestOf(ofWaves));
      }
    return ofAll;
  }
  static Numeric largestOf(const std::vector<Numeric> &numbers) {
    return combine<Numeric>(numbers,
                            [](const Numeric &a, const Numeric &b) { return Numeric(max(a, b)); });
  }
  Numeric largestOfWave(int i, int block) const {
    std::vector<Numeric> parts;
    for (int j = 0; j < tile_.tilesN(); ++j)
      if (lie_.ofTile(j) == block)
        parts.push_back(magnitudes(values(i, j)).reduce(Reduction::max));
    // The lanes of a row are 16 from each other.
    const auto both = [](const Numeric &own, int distance) {
      return Numeric(max(own, gpu::shuffle_xor(own, distance)));
    };
    const Numeric largest = both(largestOf(parts), 16);
    return target().wave_size() == 64 ? both(largest, 32) : largest;
  }

  /// A scale as it is stored, and one over it.
  struct BlockFactor {
    Numeric scale, inverse;
  };
  BlockFactor scaled(const Numeric &largest) const {
    if (scales_.dtype() != f32) {
      const BlockExponent exponent = blockExponent(largest, type_, BlockScale::ceil);
      return {exponent.byte, exponent.inverse};
    }
    const Numeric scale = scaleOf(largest, type_);
    return {scale, 1.0f / scale};
  }
  void storeScale(int i, int block, const Numeric &scale) const {
    const Int32 row = tile_.row(i);
    // Where a tile of all waves has several blocks, each is that of its waves.
    const Int32 number =
        lie_.ofTiles() ? Int32(block)
                       : Int32(tile_.wave() / lie_.sharing() + block * (lie_.together() / block_));
    const Boolean isOwn = isFirstOfRow() & (placeInBlock() == 0);
    const Boolean isOfRow = allRows_ ? isOwn : Boolean(isOwn & (row < tile_.rows()));
    if_(isOfRow & (number * block_ < tile_.columnsLeft()),
        [&] { scales_(tile_.firstRow() + row, tile_.firstColumn() / block_ + number) = scale; });
  }

  TileOfC tile_;
  DType type_;
  Tensor scales_; // (m, n / block)
  int block_;     ///< columns of C that share a scale
  bool allRows_;  ///< rows past the last one of C have scales, too
  BlocksOfWaves lie_;
  int blocks_;                 ///< blocks of columns that a wave has
  std::vector<Vector> values_; // (i, j)
};

inline void storeInBlocks(const TileOfC &tile, const Epilogue &epilogue, const SumsAt &sums,
                          const Tensor &to, DType type, const Tensor &scales, int block,
                          bool allRows = false) {
  TileInBlocks(tile, epilogue, sums, type, scales, block, allRows).store(to);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
