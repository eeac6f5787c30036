// The numbers by which worklists are made: lengths of sequences.
#include "worklist/worklist_family.h"

#include "blocks/attention/scores.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<WorklistProblem>::IndexRow>
Family<WorklistProblem>::indexRows(const WorklistProblem &problem, const WorklistConfig &) {
  std::vector<IndexRow> rows{
      {.rule = {.argument = "seq_lens", .meaning = "the tokens that a sequence may have"},
       .values = [](const P &, const A &args) {
         return IndexValues{
             .address = address(args.seq_lens), .count = args.seq_lens.shape()[0], .end = kNoLimit};
       }}};
  if (problem.varlen)
    rows.push_back({.rule = {.argument = "cu_seqlens_q",
                             .kind = IndexKind::rising,
                             .meaning = "the queries that a call may have"},
                    .values = [](const P &, const A &args) {
                      return IndexValues{.address = address(args.cu_seqlens_q),
                                         .count = args.cu_seqlens_q->shape()[0],
                                         .end = INT64_C(1) << 31};
                    }});
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
