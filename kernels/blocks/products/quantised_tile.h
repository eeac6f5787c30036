// Tiles of C that leave a product in 8 bits: over one scale that is given, or over scales of 128
// neighbours of a row, which are made of the tile's own sums.
#pragma once

#include "blocks/products/epilogue.h"
#include "blocks/products/loop_shape.h"
#include "blocks/quant/quant.h"

#include <flydsl/flydsl.h>

#include <utility>
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

/// A tile whose rows have a scale for each 128 columns. The lanes of a row agree on the largest
/// magnitude by shuffles, and waves side by side by shared memory: all threads of the block come
/// here.
class TileInBlocks {
public:
  /// `scales` (m, n / 128), f32, or u8 as exponents.
  TileInBlocks(const TileOfC &tile, const Epilogue &epilogue, const GroupSums &sums, DType type,
               const Tensor &scales)
      : tile_(tile), type_(type), scales_(scales),
        blocks_(tile.columnsTogether() * tile.tilesN() / kScaleBlock) {
    for (int i = 0; i < tile.tilesM(); ++i)
      for (int j = 0; j < tile.tilesN(); ++j)
        values_.push_back(epilogue.group(sums, i, j).to(f32));
  }

  /// Stores the tile `to` (tileM, tileN) and its scales.
  void store(const Tensor &to) const {
    const std::vector<Numeric> largest = largestOfRows();
    const Tensor existing = tile_.existing(to); // (tileM, tileN)
    for (int i = 0; i < tile_.tilesM(); ++i)
      for (int block = 0; block < blocks_; ++block) {
        const auto [scale, inverse] = scaled(largest[at(i * blocks_ + block)]);
        for (int j = 0; j < tile_.tilesN(); ++j)
          if (blockOf(j) == block)
            tile_.store(existing, i, j, quantised(values(i, j), inverse, type_, true));
        storeScale(i, block, scale);
      }
  }

private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  const Vector &values(int i, int j) const { return values_[at(i * tile_.tilesN() + j)]; }
  /// The block of a thread's columns in tile j: waves lie side by side inside of it.
  int blockOf(int j) const { return j * tile_.columnsTogether() / kScaleBlock; }
  Boolean isFirstOfRow() const { return tile_.lane() < 16; }

  /// The largest magnitudes (i, block), as their bits, of all columns of a block.
  std::vector<Numeric> largestOfRows() const {
    std::vector<Numeric> largest;
    for (int i = 0; i < tile_.tilesM(); ++i)
      for (int block = 0; block < blocks_; ++block)
        largest.push_back(largestOfWave(i, block));
    const int rows = tile_.tileRows(), waves = tile_.waves();
    if (waves == 1)
      return largest;
    SharedAllocator shared;
    const Tensor all =
        shared.tensor(u32, make_layout({rows, waves, blocks_},
                                       {1, rows, rows * waves})); // (tileM, waves, blocks)
    if_(isFirstOfRow(), [&] {
      for (int i = 0; i < tile_.tilesM(); ++i)
        for (int block = 0; block < blocks_; ++block)
          all(tile_.row(i), tile_.wave(), block) = largest[at(i * blocks_ + block)];
    });
    gpu::barrier();
    std::vector<Numeric> ofAll;
    for (int i = 0; i < tile_.tilesM(); ++i)
      for (int block = 0; block < blocks_; ++block) {
        std::vector<Numeric> ofWaves;
        for (int wave = 0; wave < waves; ++wave)
          ofWaves.push_back(all(tile_.row(i), wave, block));
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
      if (blockOf(j) == block)
        parts.push_back(magnitudes(values(i, j)).reduce(Reduction::max));
    // The lanes of a row are 16 from each other.
    const auto both = [](const Numeric &own, int distance) {
      return Numeric(max(own, gpu::shuffle_xor(own, distance)));
    };
    const Numeric largest = both(largestOf(parts), 16);
    return target().wave_size() == 64 ? both(largest, 32) : largest;
  }

  /// A scale as it is stored, and one over it.
  std::pair<Numeric, Numeric> scaled(const Numeric &largest) const {
    if (scales_.dtype() != f32) {
      const BlockExponent exponent = blockExponent(largest, type_, BlockScale::ceil);
      return {exponent.byte, exponent.inverse};
    }
    const Numeric scale = scaleOf(largest, type_);
    return {scale, 1.0f / scale};
  }
  void storeScale(int i, int block, const Numeric &scale) const {
    const Int32 row = tile_.row(i);
    const Boolean exists = isFirstOfRow() & (tile_.wave() == 0) & (row < tile_.rows()) &
                           (Int32(block * kScaleBlock) < tile_.columnsLeft());
    if_(exists, [&] {
      scales_(tile_.firstRow() + row, tile_.firstColumn() / kScaleBlock + block) = scale;
    });
  }

  TileOfC tile_;
  DType type_;
  Tensor scales_;
  int blocks_;
  std::vector<Vector> values_; // (i, j)
};

inline void storeInBlocks(const TileOfC &tile, const Epilogue &epilogue, const GroupSums &sums,
                          const Tensor &to, const Tensor &scales) {
  TileInBlocks(tile, epilogue, sums, to.dtype(), scales).store(to);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
