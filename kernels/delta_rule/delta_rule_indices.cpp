// The numbers by which linear attention finds tokens and states.
#include "delta_rule/delta_rule_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<DeltaRuleProblem>::IndexRow>
Family<DeltaRuleProblem>::indexRows(const DeltaRuleProblem &, const DeltaRuleConfig &) {
  return {
      {.rule = {.argument = "starts", .kind = IndexKind::rising, .meaning = "the tokens of q"},
       .values =
           [](const P &, const A &args) {
             return IndexValues{.address = address(args.starts),
                                .count = args.starts.shape()[0],
                                .end = args.q.shape()[0] + 1};
           }},
      // Two sequences with one state would both write it. A slot past the state is left out without
      // the check; with it, a sequence is left out by -1 alone.
      {.rule = {.argument = "state_slots",
                .meaning = "the slots of state",
                .orNone = true,
                .distinct = true},
       .values =
           [](const P &, const A &args) {
             return IndexValues{.address = address(args.state_slots),
                                .count = args.state_slots.shape()[0],
                                .end = args.state.shape()[0]};
           }},
  };
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
