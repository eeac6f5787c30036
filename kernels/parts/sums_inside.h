// What the sums and the tiles of users' products are to the library.
#pragma once

#include "gemm/gemm_block.h"

#include <flydsl/kernels/parts/mainloop.h>

#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {

struct Sums::Inside {
  std::function<impl::GroupSums(int half)> ofHalf;
};

/// The tile as the library's own. Its number is not known: kernels may have orders of their own.
inline impl::BlockTile blockTile(const WorkTile &tile) {
  return {Int32(0), tile.m, tile.n, tile.part, tile.row, tile.column, tile.rows};
}

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
