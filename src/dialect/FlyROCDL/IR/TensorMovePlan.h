// How the tensor data mover moves a tile: the box of one wave, and how the tensor's modes become
// the box's dimensions.
#pragma once

#include "layout/layout.h"
#include "layout/tile.h"

#include <cstdint>
#include <vector>

namespace mlir::fly_rocdl {

/// Dimensions that a descriptor has at most.
constexpr int kMaxBoxRank = 5;
/// Elements along a dimension of a box at most: the field has 16 bits.
constexpr int64_t kMaxBoxExtent = 65535;

struct TensorMovePlan {
  std::vector<int32_t> box; ///< extents, outermost first
  /// The tensor's shape with a leaf for each mode: steps along a
  /// dimension of the box (`4E0`), or 0.
  flydsl::layout::IntTuple modes;
  int64_t padInterval = 0, padAmount = 0; ///< in elements; 0: LDS has no gaps
};

/// The plan for tiles of `tensor` that `tiler` takes from it, as they lie in LDS by `lds`, moved by
/// `waves` waves in equal parts. A LayoutError says what does not fit. The rules are those of
/// FlyDSL's make_tiled_tdm_load_atom, which follow CuTe's make_tma_atom: the tile is walked in the
/// order of LDS; modes of the tensor that follow each other in both memories share a dimension; the
/// waves' parts follow each other in LDS.
TensorMovePlan planTensorMove(const flydsl::layout::Layout &tensor,
                              const flydsl::layout::Layout &lds, const flydsl::layout::Tile &tiler,
                              int64_t waves);

/// From (an element of a box, a wave, a box of the wave) to the tile's index, for a tile that lies in LDS
/// by `lds` and is moved in boxes of so many elements. The boxes follow each other in LDS, and waves take them
/// in turn. A LayoutError says why `lds` is no tile of such boxes.
flydsl::layout::Layout boxesOfWaves(const flydsl::layout::Layout &lds, int64_t box, int64_t waves);

} // namespace mlir::fly_rocdl
