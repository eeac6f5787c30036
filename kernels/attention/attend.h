// The body of the kernels of attention.
#pragma once

#include "attention/group_loop.h"
#include "attention/tile_loop.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The rows of a tile of keys or values lie less than kMostTileBytes from its first one; the host
/// refuses strides of tokens with which they would not.
inline void assumeNearRows(const AttentionTraced &p, const AttentionProblem &problem,
                           const AttentionConfig &config) {
  if (problem.cache != KvCache::none)
    return;
  const std::int64_t end = kMostTileBytes / (config.tile_k * problem.kv.bytes()) + 1;
  for (const Strided<OnDevice, 3> &rows : {p.k, p.v})
    assume(Boolean((rows.stride[1] >= 0) & (rows.stride[1] < end)));
}

/// Computes the results of a block's queries over all keys, or over the block's part of them.
inline void attend(const AttentionTraced &p, const AttentionProblem &problem,
                   const AttentionConfig &config, bool parts, Thrift thrift) {
  assumeNearRows(p, problem, config);
  const AttentionShape shape = *AttentionShape::of(problem, config, target(), thrift);
  BlockPlace::of(problem, config, p, parts).eachTile(problem, config, [&](const BlockPlace &tile) {
    const BlockPlace place = shape.isThrifty() ? tile.again() : tile;
    const AttentionRows rows(problem, config, p, place);
    WaveQueries queries(problem, config, shape, place, rows, p);
    const auto over = [&](auto loop) {
      loop.run(parts);
      loop.store(parts);
    };
    if (config.loop == AttentionLoop::groups)
      over(GroupLoop(shape, rows.source(), place.keys, queries));
    else
      over(TileLoop(shape, rows.source(), place.keys, queries));
  });
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
