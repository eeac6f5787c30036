// The order in which the blocks of a kernel take the tiles of a matrix, as a configuration has it.
#pragma once

#include <flydsl/export.h>

#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// The order of tiles; kernels/blocks/products/tile_order.h has its definition.
struct FLYDSL_API TileOrder {
  /// The direction in which neighbours follow one another inside a group.
  enum class Along : std::uint8_t { m, n };
  /// The rows (or columns, along n) of tiles that a group has. 1: row after row.
  int group = 1;
  Along along = Along::m;
  /// The dies with L2 caches of their own to which the hardware deals blocks in turn: 8 on MI300X
  /// and MI355X. 1: the order does not look at them.
  int xcds = 1;
  /// The neighbouring tiles that a die gets at a time. 0: as many as there are for it.
  int chunk = 0;
  friend bool operator==(const TileOrder &, const TileOrder &) = default;
};

} // namespace kernels
FLYDSL_NAMESPACE_END
