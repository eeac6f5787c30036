// The numbers by which worklists are made: lengths of sequences.
#include "worklist/worklist_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<WorklistProblem>::IndexRow>
Family<WorklistProblem>::indexRows(const WorklistProblem &, const WorklistConfig &) {
  // A cache has less than 2^30 tokens of a sequence (blocks/attention/scores.h).
  return {{.rule = {.argument = "contexts", .meaning = "the tokens that a sequence may have"},
           .values = [](const P &, const A &args) {
             return IndexValues{.address = address(args.contexts),
                                .count = args.contexts.shape()[0],
                                .end = INT64_C(1) << 30};
           }}};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
