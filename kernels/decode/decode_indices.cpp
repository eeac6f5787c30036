// The numbers by which decoding finds memory: lengths of sequences, page tables, worklists.
#include "decode/decode_family.h"

#include "blocks/attention/csr_rules.h"
#include "blocks/attention/worklist.h"
#include "frame/arguments.h"

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

namespace {

using P = DecodeProblem;
using A = DecodeArgs;

std::int64_t blocksOfCall(const A &args) { return args.k_cache.shape()[0]; }
/// The tokens that a sequence may have: columns of the bias.
std::int64_t mostTokens(const P &problem, const A &args) {
  return problem.bias ? args.bias->shape()[2] : INT64_C(1) << 31;
}
IndexRowOf<P, A> queriesRow(const P &problem) {
  return {.rule = {.argument = "cu_seqlens_q",
                   .kind = IndexKind::rising,
                   .meaning = problem.mask ? "the tokens of q, and no more of a sequence "
                                             "than the mask has bits"
                                           : "the tokens of q"},
          .values = [](const P &p, const A &args) {
            IndexValues values{.address = address(args.cu_seqlens_q),
                               .count = args.cu_seqlens_q->shape()[0],
                               .end = args.q.shape()[0] + 1};
            if (p.mask)
              values.most = args.mask->shape()[1] * 32;
            return values;
          }};
}

} // namespace

std::vector<Family<DecodeProblem>::IndexRow>
Family<DecodeProblem>::indexRows(const DecodeProblem &problem, const DecodeConfig &config) {
  if (problem.csr) {
    std::vector<IndexRow> rows = csrRows<P, A, blocksOfCall, mostTokens>(problem);
    if (problem.varlen)
      rows.push_back(queriesRow(problem));
    return rows;
  }
  const char *room = problem.bias ? "the tokens that a row of tables and a row of the bias have "
                                    "room for"
                                  : "the tokens that a row of tables has room for";
  std::vector<IndexRow> rows{
      // A length past its row would read the next sequence's.
      {.rule = {.argument = "contexts", .meaning = room},
       .values =
           [](const P &p, const A &args) {
             const std::int64_t tokens = args.tables->shape()[1] * p.page;
             return IndexValues{.address = address(args.contexts),
                                .count = args.contexts->shape()[0],
                                .end = (p.bias ? std::min(tokens, args.bias->shape()[2]) : tokens) +
                                       1};
           }},
      {.rule = {.argument = "tables",
                .kind = IndexKind::pages,
                .meaning = "the blocks of k_cache",
                .page = problem.page,
                .align = kKeyAlign,
                .window = problem.window},
       .values =
           [](const P &p, const A &args) {
             return IndexValues{.address = address(args.tables),
                                .count = args.contexts->shape()[0],
                                .end = args.k_cache.shape()[0],
                                .stride = args.tables->strides()[0],
                                .columns = args.tables->shape()[1],
                                .lengths = address(args.contexts),
                                .starts = address(args.cu_seqlens_q),
                                .queries = p.queries,
                                .before = args.before};
           }},
  };
  if (problem.varlen)
    rows.push_back(queriesRow(problem));
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
                                         .count = args.contexts->shape()[0],
                                         .lengths = address(args.contexts),
                                         .before = args.before};
                    }});
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
