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

/// What a quantised cache's numbers are multiplied by.
enum class KvScales : std::uint8_t {
  none,
  tensor, ///< a number for all keys, and one for all values
  token,  ///< a number for each key and each value of a head
  head,   ///< a number for all keys of a head, and one for all its values
};

} // namespace kernels
FLYDSL_NAMESPACE_END
