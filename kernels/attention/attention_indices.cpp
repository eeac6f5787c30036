// The numbers by which attention finds tokens: starts and lengths of sequences, page tables.
#include "attention/attention_family.h"

#include "blocks/attention/csr_rules.h"
#include "blocks/attention/sequence_rows.h"
#include "frame/arguments.h"

#include <algorithm>
#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// The keys that a row of the bias has a column for, and a row of the mask a bit.
std::int64_t mostKeys(const AttentionProblem &problem, const AttentionArgs &args) {
  constexpr std::int64_t any = INT64_C(1) << 30; // lengths are below it
  const auto lastOf = [](const TensorArg &tensor) {
    return tensor.shape()[static_cast<std::size_t>(tensor.rank() - 1)];
  };
  return std::min(problem.bias ? lastOf(*args.bias) : any,
                  problem.mask ? std::min(lastOf(*args.mask), any) * 8 : any);
}
std::int64_t blocksOfCall(const AttentionArgs &args) { return args.k.shape()[0]; }
/// One of four texts: without bias and mask, with a bias, with a mask, with both.
const char *meaning(const AttentionProblem &problem, const std::array<const char *, 4> &texts) {
  return texts[std::size_t(problem.bias) + 2 * std::size_t(problem.mask)];
}

} // namespace

std::vector<Family<AttentionProblem>::IndexRow>
Family<AttentionProblem>::indexRows(const AttentionProblem &problem,
                                    const AttentionConfig &config) {
  std::vector<IndexRow> rows;
  const bool cache = problem.cache != KvCache::none;
  if (problem.varlen)
    rows.push_back(queriesRow<P, A>());
  if (problem.varlen && !cache)
    rows.push_back(
        {.rule = {.argument = "cu_seqlens_kv",
                  .kind = IndexKind::rising,
                  .meaning = meaning(
                      problem, {"the tokens of k",
                                "the tokens of k, and no more of a sequence than the bias has "
                                "columns",
                                "the tokens of k, and no more of a sequence than the mask has "
                                "bits",
                                "the tokens of k, and no more of a sequence than the bias has "
                                "columns and the mask has bits"})},
         .values = [](const P &p, const A &args) {
           return IndexValues{.address = address(args.cu_seqlens_kv),
                              .count = args.cu_seqlens_kv->shape()[0],
                              .end = args.k.shape()[0] + 1,
                              .most = mostKeys(p, args)};
         }});
  if (problem.csr)
    for (const IndexRow &row :
         csrRows<AttentionProblem, AttentionArgs, blocksOfCall, mostKeys>(problem))
      rows.push_back(row);
  if (!cache || problem.csr)
    return rows;
  // A length past its row would read the next sequence's.
  rows.push_back(
      {.rule = {.argument = "seq_lens",
                .meaning = meaning(
                    problem, {"the keys that a row of block_table has room for",
                              "the keys that a row of block_table and a row of the bias have room "
                              "for",
                              "the keys that a row of block_table and a row of the mask have room "
                              "for",
                              "the keys that rows of block_table, of the bias and of the mask have "
                              "room for"})},
       .values = [](const P &p, const A &args) {
         const std::int64_t room = args.block_table->shape()[1] * p.page;
         return IndexValues{.address = address(args.seq_lens),
                            .count = args.seq_lens->shape()[0],
                            .end = std::min(room, mostKeys(p, args)) + 1};
       }});
  rows.push_back({.rule = {.argument = "block_table",
                           .kind = IndexKind::pages,
                           .meaning = "the blocks of k",
                           .page = problem.page,
                           .align = config.tile_k,
                           .window = problem.window},
                  .values = [](const P &p, const A &args) {
                    IndexValues values = blockTableValues(args);
                    values.starts = address(args.cu_seqlens_q);
                    values.queries = p.varlen ? 0 : args.q.shape()[1];
                    values.before = args.window_left;
                    return values;
                  }});
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
