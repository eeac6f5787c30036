// The body of the kernels of attention.
#pragma once

#include "attention/group_loop.h"
#include "attention/tile_loop.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The tokens of a tile, or of a block of a cache, are near one another; a packed cache has no
/// stride of tokens.
inline void assumeNearTokens(const AttentionTraced &p, const AttentionProblem &problem,
                             const AttentionConfig &config) {
  if (problem.cache == KvCache::packed)
    return;
  const int count = problem.cache == KvCache::pages ? problem.page : config.tile_k;
  for (const Strided<OnDevice, 3> &of : {p.k, p.v})
    assumeNearTokens(of, problem.kv, count);
}

/// Goes over the keys of a tile of queries and stores what was found.
inline void attendTile(const AttentionShape &shape, const KvSource &source, const BlockPlace &place,
                       WaveQueries &queries, bool parts) {
  const auto over = [&](auto loop) {
    loop.run(parts);
    loop.store(parts);
  };
  if (shape.loop == AttentionLoop::groups)
    over(GroupLoop(shape, source, place.keys, queries));
  else
    over(TileLoop(shape, source, place, queries));
}

/// Computes the results of a block's queries over all keys, or over the block's part of them.
inline void attend(const AttentionTraced &p, const AttentionProblem &problem,
                   const AttentionConfig &config, bool parts, const Keep &keep) {
  assumeNearTokens(p, problem, config);
  const AttentionShape shape = *AttentionShape::of(problem, config, target(), keep);
  const auto eachTile = [&](const BlockPlace &tile) {
    const BlockPlace place = shape.keep.acrossTiles ? tile : tile.again();
    const AttentionRows rows(problem, config, p, place);
    WaveQueries queries(problem, config, shape, place, rows,
                        {p.window.left.to<Int32>(), p.window.right.to<Int32>()});
    attendTile(shape, rows.source(), place, queries, parts);
  };
  BlockPlace::of(problem, config, p, parts, shape.valueParts()).eachTile(problem, config, eachTile);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
