// The numbers by which decoding finds memory: lengths of sequences, page tables, worklists.
#include "decode/decode_family.h"

#include "blocks/attention/csr_rules.h"
#include "blocks/attention/sequence_rows.h"
#include "blocks/attention/worklist.h"
#include "frame/arguments.h"

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

namespace {

using P = DecodeProblem;
using A = DecodeArgs;

std::int64_t blocksOfCall(const A &args) { return args.k.shape()[0]; }
/// The tokens that a sequence may have: columns of the bias.
std::int64_t mostTokens(const P &problem, const A &args) {
  return problem.bias ? args.bias->shape()[2] : INT64_C(1) << 31;
}
IndexRowOf<P, A> queriesOf(const P &problem) {
  return {.rule = {.argument = "cu_seqlens_q",
                   .kind = IndexKind::rising,
                   .meaning = problem.tree_mask ? "the tokens of q, and no more of a sequence "
                                                  "than tree_mask has bits"
                                                : "the tokens of q"},
          .values = [](const P &p, const A &args) {
            IndexValues values = queriesValues(args);
            if (p.tree_mask)
              values.most = args.tree_mask->shape()[1] * 32;
            return values;
          }};
}

} // namespace

std::vector<Family<DecodeProblem>::IndexRow>
Family<DecodeProblem>::indexRows(const DecodeProblem &problem, const DecodeConfig &config) {
  if (problem.csr) {
    std::vector<IndexRow> rows = csrRows<P, A, blocksOfCall, mostTokens>(problem);
    if (problem.varlen)
      rows.push_back(queriesOf(problem));
    return rows;
  }
  const char *room = problem.bias
                         ? "the tokens that a row of block_table and a row of the bias have "
                           "room for"
                         : "the tokens that a row of block_table has room for";
  std::vector<IndexRow> rows{
      // A length past its row would read the next sequence's.
      {.rule = {.argument = "seq_lens", .meaning = room},
       .values =
           [](const P &p, const A &args) {
             const std::int64_t tokens = args.block_table->shape()[1] * p.page;
             return IndexValues{.address = address(args.seq_lens),
                                .count = args.seq_lens->shape()[0],
                                .end = (p.bias ? std::min(tokens, args.bias->shape()[2]) : tokens) +
                                       1};
           }},
      {.rule = {.argument = "block_table",
                .kind = IndexKind::pages,
                .meaning = "the blocks of k",
                .page = problem.page,
                .align = kKeyAlign,
                .window = problem.window},
       .values =
           [](const P &p, const A &args) {
             IndexValues values = blockTableValues(args);
             values.starts = address(args.cu_seqlens_q);
             values.queries = p.queries;
             values.before = args.window_left;
             return values;
           }},
  };
  if (problem.varlen)
    rows.push_back(queriesOf(problem));
  // Without the argument, the plan makes a worklist of its own.
  if (config.workers)
    rows.push_back({.rule = {.argument = "worklist",
                             .kind = IndexKind::worklist,
                             .window = problem.window,
                             .unit = config.unit,
                             .workers = config.workers,
                             .queries = problem.queries},
                    .values = [](const P &, const A &args) {
                      return IndexValues{.address = address(args.worklist),
                                         .count = args.seq_lens->shape()[0],
                                         .lengths = address(args.seq_lens),
                                         .starts = address(args.cu_seqlens_q),
                                         .before = args.window_left};
                    }});
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
