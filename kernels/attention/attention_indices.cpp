// The numbers by which attention finds tokens: starts and lengths of sequences, page tables.
#include "attention/attention_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// The keys that a row of the bias has a column for.
std::int64_t mostKeys(const AttentionProblem &problem, const AttentionArgs &args) {
  constexpr std::int64_t any = INT64_C(1) << 30; // lengths are below it
  return problem.bias ? args.bias->shape()[static_cast<std::size_t>(args.bias->rank() - 1)] : any;
}

} // namespace

std::vector<Family<AttentionProblem>::IndexRow>
Family<AttentionProblem>::indexRows(const AttentionProblem &problem,
                                    const AttentionConfig &config) {
  std::vector<IndexRow> rows;
  const bool cache = problem.cache != KvCache::none;
  if (problem.varlen)
    rows.push_back({.rule = {.argument = "cu_seqlens_q",
                             .kind = IndexKind::rising,
                             .meaning = "the tokens of q"},
                    .values = [](const P &, const A &args) {
                      return IndexValues{.address = address(args.cu_seqlens_q),
                                         .count = args.cu_seqlens_q->shape()[0],
                                         .end = args.q.shape()[0] + 1};
                    }});
  if (problem.varlen && !cache)
    rows.push_back({.rule = {.argument = "cu_seqlens_kv",
                             .kind = IndexKind::rising,
                             .meaning = problem.bias ? "the tokens of k, and no more of a sequence "
                                                       "than the bias has columns"
                                                     : "the tokens of k"},
                    .values = [](const P &p, const A &args) {
                      return IndexValues{.address = address(args.cu_seqlens_kv),
                                         .count = args.cu_seqlens_kv->shape()[0],
                                         .end = args.k.shape()[0] + 1,
                                         .most = mostKeys(p, args)};
                    }});
  if (!cache)
    return rows;
  // A length past its row would read the next sequence's.
  rows.push_back({.rule = {.argument = "seqlens_kv",
                           .meaning = problem.bias ? "the keys that a row of block_table and a row "
                                                     "of the bias have room for"
                                                   : "the keys that a row of block_table has room "
                                                     "for"},
                  .values = [](const P &p, const A &args) {
                    const std::int64_t room = args.block_table->shape()[1] * p.page;
                    return IndexValues{.address = address(args.seqlens_kv),
                                       .count = args.seqlens_kv->shape()[0],
                                       .end = std::min(room, mostKeys(p, args)) + 1};
                  }});
  rows.push_back({.rule = {.argument = "block_table",
                           .kind = IndexKind::pages,
                           .meaning = "the blocks of k",
                           .page = problem.page,
                           .align = config.tile_k,
                           .window = problem.window},
                  .values = [](const P &p, const A &args) {
                    return IndexValues{.address = address(args.block_table),
                                       .count = args.seqlens_kv->shape()[0],
                                       .end = args.k.shape()[0],
                                       .stride = args.block_table->strides()[0],
                                       .columns = args.block_table->shape()[1],
                                       .lengths = address(args.seqlens_kv),
                                       .starts = address(args.cu_seqlens_q),
                                       .queries = p.varlen ? 0 : args.q.shape()[1],
                                       .before = args.window_left};
                  }});
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
