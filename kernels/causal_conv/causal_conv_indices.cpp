// The numbers by which the causal convolution finds tokens and states.
#include "causal_conv/causal_conv_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<CausalConvProblem>::IndexRow>
Family<CausalConvProblem>::indexRows(const CausalConvProblem &problem, const CausalConvConfig &) {
  std::vector<IndexRow> rows{
      {.rule = {.argument = "starts", .kind = IndexKind::rising, .meaning = "the tokens of x"},
       .values =
           [](const P &p, const A &args) {
             IndexValues values{.address = address(args.starts),
                                .count = args.starts.shape()[0],
                                .end = args.x.shape()[0] + 1};
             // A state has room for so many tokens of a call.
             if (p.drafts)
               values.most = p.drafts + 1;
             return values;
           }},
  };
  // Two sequences with one state would both write it. A slot past the state is left out without
  // the check; with it, a sequence is left out by -1 alone.
  if (!problem.stateless)
    rows.push_back({.rule = {.argument = "state_slots",
                             .meaning = "the slots of state",
                             .orNone = true,
                             .distinct = true},
                    .values = [](const P &, const A &args) {
                      return IndexValues{.address = address(args.state_slots),
                                         .count = args.state_slots->shape()[0],
                                         .end = args.state->shape()[0]};
                    }});
  if (problem.drafts)
    rows.push_back({.rule = {.argument = "accepted", .meaning = "the tokens of the last call"},
                    .values = [](const P &p, const A &args) {
                      return IndexValues{.address = address(args.accepted),
                                         .count = args.accepted->shape()[0],
                                         .end = p.drafts + 2};
                    }});
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
