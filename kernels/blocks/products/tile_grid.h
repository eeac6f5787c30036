// How a product is cut into the work of blocks. No compiler is needed to ask.
#pragma once

#include <flydsl/kernels/tile_order.h>

#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// How C is cut into tiles, and K into parts.
struct TileGrid {
  int tileM, tileN; ///< rows and columns of C
  std::int64_t n;   ///< columns of C
  int parts = 1;    ///< of K
  TileOrder order = {};

  /// Tiles side by side.
  std::int64_t across() const { return (n + tileN - 1) / tileN; }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
