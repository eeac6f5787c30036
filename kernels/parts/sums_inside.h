// What the sums of a tile are to the library: groups of each half of b.
#pragma once

#include "blocks/products/epilogue.h"
#include "gemm/gemm_shape.h"

#include <flydsl/kernels/parts/mainloop.h>

#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {

struct Sums::Inside {
  std::function<impl::GroupSums(int half)> ofHalf;
};

/// The tile, as one of a matrix of n columns.
inline impl::TileOfC tileOfC(const GemmSpec &spec, const WorkTile &tile, std::int64_t n) {
  const GemmConfig &config = spec.config;
  return {target().wave_size(),
          config.tile_m,
          impl::tileAcross(spec.problem, config),
          config.threads / config.waves_k,
          n,
          tile.row,
          tile.column,
          tile.rows,
          config.waves_m};
}

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
