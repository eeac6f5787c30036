// The kernel of all-reduces with a norm.
#include "collective_norm/collective_norm_body.h"
#include "frame/compile.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const FamilyKernel collectiveNorm{kCollectiveNorm,
                                  [](const CollectiveNormParams<OnDevice> &params,
                                     const Constexpr<Spec<CollectiveNormProblem>> &spec) {
                                    CollectiveNormBody(params, spec.value()).run();
                                  }};

} // namespace

void Family<CollectiveNormProblem>::compile(const Compiler<CollectiveNormProblem> &compiler) {
  compiler(collectiveNorm, compiler.config().rows.block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(CollectiveNormProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
