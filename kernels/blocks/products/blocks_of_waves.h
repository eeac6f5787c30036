// How blocks of columns of C that share a scale lie among the waves of a block. No compiler is needed
// to ask.
#pragma once

#include <flydsl/export.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Waves lie side by side, with `columns` neighbours each of tile 0, then of tile 1 and so on. A block
/// of `block` columns is of several tiles of all waves, or of some waves' columns of one tile.
struct BlocksOfWaves {
  int columns, waves, tiles, block;

  /// The columns of a tile of all waves, which are neighbours.
  int together() const { return columns * waves; }
  /// Waves that have columns of a block.
  int sharing() const { return std::min(waves, block / columns); }
  /// Whether a block is of whole tiles of all waves.
  bool ofTiles() const { return together() <= block; }
  /// The blocks that a wave has columns of.
  int ofWave() const { return ofTiles() ? together() * tiles / block : tiles; }
  /// The number, among those of a wave, of the block of its columns of a tile.
  int ofTile(int tile) const { return ofTiles() ? tile * together() / block : tile; }
  /// Whether the columns of all waves are whole blocks.
  bool whole() const {
    return block % columns == 0 &&
           (ofTiles() ? block % together() == 0 && together() * tiles % block == 0
                      : together() % block == 0);
  }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
