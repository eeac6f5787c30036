// The drafts of rows, and the rows of sequences.
#include "sampling/sampling_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<SamplingProblem>::IndexRow>
Family<SamplingProblem>::indexRows(const SamplingProblem &problem, const SamplingConfig &) {
  if (problem.draft == Draft::none)
    return {};
  // Without the check, any other number is no draft, and rows that there are not are left out.
  return {
      {.rule = {.argument = "drafts", .meaning = "the tokens of the vocabulary", .orNone = true},
       .values =
           [](const P &p, const A &args) {
             return IndexValues{.address = address(args.drafts),
                                .count = args.logits.shape()[0],
                                .end = p.vocabulary};
           }},
      {.rule = {.argument = "starts", .kind = IndexKind::rising, .meaning = "the rows of logits"},
       .values = [](const P &, const A &args) {
         return IndexValues{.address = address(args.starts),
                            .count = args.starts->shape()[0],
                            .end = args.logits.shape()[0] + 1};
       }}};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
