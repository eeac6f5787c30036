// The numbers that say which keys a token's logits are computed of.
#include "mqa_logits/mqa_logits_family.h"

#include "blocks/attention/sequence_rows.h"

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<MqaLogitsProblem>::IndexRow>
Family<MqaLogitsProblem>::indexRows(const MqaLogitsProblem &problem, const MqaLogitsConfig &) {
  if (problem.paged)
    return {
        {.rule = {.argument = "seq_lens",
                  .meaning = "the keys that a row of block_table has room for, and logits columns"},
         .values =
             [](const P &p, const A &args) {
               return IndexValues{
                   .address = address(args.seq_lens),
                   .count = args.seq_lens->shape()[0],
                   .end =
                       std::min(args.block_table->shape()[1] * p.page, args.logits.shape()[1]) + 1};
             }},
        {.rule = {.argument = "block_table",
                  .kind = IndexKind::pages,
                  .meaning = "the blocks of k",
                  .page = problem.page},
         .values = [](const P &, const A &args) { return blockTableValues(args); }},
        queriesRow<P, A>()};
  if (!hasWindowArgs(problem))
    return {};
  // The kernel compares both with the keys that there are, and reads nothing else; but a window past
  // the keys is the mistake of a caller who counts other keys.
  const auto row = [](const char *argument, IndexValues (*values)(const P &, const A &)) {
    return IndexRow{.rule = {.argument = argument, .meaning = "the keys of k"}, .values = values};
  };
  return {row("first",
              [](const P &, const A &args) {
                return IndexValues{.address = address(args.first),
                                   .count = args.first->shape()[0],
                                   .end = args.k.shape()[0] + 1};
              }),
          row("last", [](const P &, const A &args) {
            return IndexValues{.address = address(args.last),
                               .count = args.last->shape()[0],
                               .end = args.k.shape()[0] + 1};
          })};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
