// What problems of attention mean where they leave a number open.
#pragma once

#include "blocks/common/near_bytes.h"

#include <flydsl/kernels/kv_cache.h>
#include <flydsl/kernels/plan.h>

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Tokens of v that lie together in a packed cache: all of a page where `v_pack` is 0.
template <class P> int vPackOf(const P &problem) {
  return problem.v_pack ? problem.v_pack : problem.page;
}
/// What lies together in a packed cache: elements of a token's keys, and tokens of values. 1 each in other
/// caches, whose problems may leave pack and v_pack at 0.
struct CachePacks {
  std::int64_t keys = 1, tokens = 1;
};
template <class P> CachePacks packsOf(const P &problem) {
  return problem.cache == KvCache::packed ? CachePacks{problem.pack, vPackOf(problem)}
                                          : CachePacks{};
}
/// The least multiple of `to` that is not below a number of elements.
inline int roundedUp(int elements, int to) { return (elements + to - 1) / to * to; }
/// What scores are multiplied by: 1 / sqrt(elements of a head) where `scale` is 0.
inline double scaleOr(double scale, int elements) {
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(elements));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
