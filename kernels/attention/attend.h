// The body of the kernels of attention: attend(), which attention_kernels.cpp calls.
#pragma once

#include "attention/group_loop.h"
#include "attention/tile_loop.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Tells the compiler that the tokens of a tile, or of a page of a cache, are near one another. A packed
/// cache has no stride of tokens: it needs nothing.
inline void assumeNearTokens(const AttentionTraced &p, const AttentionProblem &problem,
                             const AttentionConfig &config) {
  if (problem.cache == KvCache::packed)
    return;
  const int count = problem.cache == KvCache::pages ? problem.page : config.tile_k;
  for (const Strided<OnDevice, 3> &of : {p.k, p.v})
    assumeNearTokens(of, problem.kv, count);
}

/// Goes over the keys of a tile of queries and stores the results: in the workspace if the keys are
/// split among blocks (`isSplit`).
inline void attendTile(const AttentionShape &shape, const KvSource &source, const BlockPlace &place,
                       WaveQueries &queries, bool isSplit) {
  const auto attendBy = [&](auto loop) {
    loop.run(isSplit);
    loop.store(isSplit);
  };
  if (shape.loop == AttentionLoop::groups)
    attendBy(GroupLoop(shape, source, place.keys, queries));
  else
    attendBy(TileLoop(shape, source, place, queries));
}

/// Computes the results of a block's queries over all keys or, if `isSplit`, over the block's part of the
/// keys.
inline void attend(const AttentionTraced &p, const AttentionProblem &problem,
                   const AttentionConfig &config, bool isSplit, const Keep &keep) {
  assumeNearTokens(p, problem, config);
  const AttentionShape shape = *AttentionShape::of(problem, config, target(), keep);
  const auto eachTile = [&](const BlockPlace &tile) {
    const BlockPlace place =
        shape.keep.acrossTiles ? tile : tile.recomputed(shape.valueParts() > 1);
    const AttentionRows rows(problem, config, p, place);
    WaveQueries queries(problem, config, shape, place, rows,
                        {p.window.left.to<Int32>(), p.window.right.to<Int32>()});
    attendTile(shape, rows.source(), place, queries, isSplit);
  };
  BlockPlace::of(problem, config, p, isSplit, shape.valueParts())
      .eachTile(problem, config, eachTile);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
