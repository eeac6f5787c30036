// What the sums and the tiles of users' products are to the library.
#pragma once

#include "gemm/gemm_block.h"

#include <flydsl/kernels/parts/mainloop.h>

#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {

struct Sums::Inside {
  std::function<impl::SumsAt(int half)> ofHalf;
};

/// The tile as the library's own. Its number is not known: kernels may have orders of their own.
inline impl::BlockTile blockTile(const WorkTile &tile) {
  return {.number = Int32(0),
          .m = tile.m,
          .n = tile.n,
          .part = tile.part,
          .row = tile.row,
          .column = tile.column,
          .rows = tile.rows};
}

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
