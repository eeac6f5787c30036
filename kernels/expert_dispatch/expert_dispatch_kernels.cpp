// The kernels of a dispatch, and between them those of the sorting.
#include "expert_dispatch/expert_dispatch_body.h"
#include "frame/compile.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const FamilyKernel give{kDispatchGive, [](const DispatchGiveParams<OnDevice> &params,
                                          const Constexpr<Spec<DispatchGiving>> &spec) {
                          DispatchGive(params, {spec->problem.dispatch, spec->config}).run();
                        }};
const FamilyKernel take{kDispatchTake, [](const DispatchTakeParams<OnDevice> &params,
                                          const Constexpr<Spec<DispatchTaking>> &spec) {
                          DispatchTake(params, {spec->problem.dispatch, spec->config}).run();
                        }};

} // namespace

void Family<DispatchGiving>::compile(const Compiler<DispatchGiving> &compiler) {
  compiler(give, compiler.config().rows.block);
}
void Family<DispatchTaking>::compile(const Compiler<DispatchTaking> &compiler) {
  compiler(take, compiler.config().rows.block);
}
void Family<ExpertDispatchProblem>::compile(const Compiler<ExpertDispatchProblem> &compiler) {
  eachPart(compiler.problem(), compiler.config(),
           [&](const auto &part, const auto &config) { compiler.part(part, config); });
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(ExpertDispatchProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
