// The checks of numbers that say where sequences and their keys are: queries one after another, and tables of
// the blocks of a cache.
#pragma once

#include "frame/arguments.h"
#include "frame/index_rows.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Where the queries of each sequence start, among the tokens of q.
template <class A> IndexValues queriesValues(const A &args) {
  return {.address = address(args.cu_seqlens_q),
          .count = args.cu_seqlens_q->shape()[0],
          .end = args.q.shape()[0] + 1};
}
template <class P, class A> IndexRowOf<P, A> queriesRow() {
  return {
      .rule = {.argument = "cu_seqlens_q", .kind = IndexKind::rising, .meaning = "the tokens of q"},
      .values = [](const P &, const A &args) { return queriesValues(args); }};
}

/// The blocks of each sequence, among those of k. Which queries a window has is the family's.
template <class A> IndexValues blockTableValues(const A &args) {
  return {.address = address(args.block_table),
          .count = args.seq_lens->shape()[0],
          .end = args.k.shape()[0],
          .stride = args.block_table->strides()[0],
          .columns = args.block_table->shape()[1],
          .lengths = address(args.seq_lens)};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
