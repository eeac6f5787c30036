// The kernel that returns experts' results.
#include "expert_combine/expert_combine_body.h"
#include "frame/compile.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const FamilyKernel combineExperts{kExpertCombine,
                                  [](const ExpertCombineParams<OnDevice> &params,
                                     const Constexpr<Spec<ExpertCombineProblem>> &spec) {
                                    ExpertCombineBody(params, spec.value()).run();
                                  }};

} // namespace

void Family<ExpertCombineProblem>::compile(const Compiler<ExpertCombineProblem> &compiler) {
  compiler(combineExperts, compiler.config().rows.block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(ExpertCombineProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
