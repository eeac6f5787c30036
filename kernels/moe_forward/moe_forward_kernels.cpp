// The kernels of a mixture of experts are those of its parts.
#include "frame/compile.h"
#include "moe_forward/moe_forward_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

void Family<MoeForwardProblem>::compile(const Compiler<MoeForwardProblem> &compiler) {
  eachPart(compiler.problem(), compiler.config(),
           [&](const auto &problem, const auto &config) { compiler.part(problem, config); });
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(MoeForwardProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
