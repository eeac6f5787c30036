// The pages of sequences one after another, in place of a table with a row for each: FlashInfer's
// paged_kv_indptr, paged_kv_indices and paged_kv_last_page_len, and aiter's.
#pragma once

#include <flydsl/strided.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct CsrPages {
  Strided<Side, 0> starts;  ///< (n + 1): where the pages of sequences start among all, and the end
  Strided<Side, 0> pages;   ///< (pages of all sequences): their numbers in the cache
  Strided<Side, 0> lengths; ///< (n): tokens of the last page of each
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
