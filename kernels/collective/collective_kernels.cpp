// The kernel of all collectives.
#include "collective/collective_body.h"
#include "frame/compile.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const FamilyKernel collective{kCollective, [](const CollectiveParams<OnDevice> &params,
                                              const Constexpr<Spec<CollectiveProblem>> &spec) {
                                CollectiveBody(params, spec.value()).run();
                              }};

} // namespace

void Family<CollectiveProblem>::compile(const Compiler<CollectiveProblem> &compiler) {
  compiler(collective, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(CollectiveProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
