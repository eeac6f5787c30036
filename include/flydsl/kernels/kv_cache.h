// Caches of keys and values in pages of tokens.
#pragma once

#include <flydsl/kernels/plan.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// How a cache of pages of `page` tokens lies in memory; x is `pack`, y is `v_pack`. The modes
/// before the | may lie at any distance from one another, the others are compact.
enum class KvCache : std::uint8_t {
  none,
  pages,  ///< k and v: (blocks, page, kv_heads | head)
  packed, ///< k: (blocks, kv_heads | head / x, page, x); v: (blocks, kv_heads | page / y, head, y)
};

} // namespace kernels
FLYDSL_NAMESPACE_END
