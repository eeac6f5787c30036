// The kernels of a dispatch, and between them those of the sorting.
#include "expert_dispatch/expert_dispatch_body.h"
#include "frame/compile.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const FamilyKernel give{kDispatchGive, [](const DispatchGiveParams<OnDevice> &params,
                                          const Constexpr<Spec<ExpertDispatchProblem>> &spec) {
                          DispatchGive(params, spec.value()).run();
                        }};
const FamilyKernel take{kDispatchTake, [](const DispatchTakeParams<OnDevice> &params,
                                          const Constexpr<Spec<ExpertDispatchProblem>> &spec) {
                          DispatchTake(params, spec.value()).run();
                        }};

} // namespace

void Family<ExpertDispatchProblem>::compile(const Compiler<ExpertDispatchProblem> &compiler) {
  const int block = compiler.config().rows.block;
  compiler(give, block);
  compiler.part(sortingOf(compiler.problem()), compiler.config().sort);
  compiler(take, block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(ExpertDispatchProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
