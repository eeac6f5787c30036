// The kernels of a mixture of experts over ranks are those of its parts.
#include "frame/compile.h"
#include "moe_ranks/moe_ranks_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

void Family<MoeRanksProblem>::compile(const Compiler<MoeRanksProblem> &compiler) {
  eachPart(compiler.problem(), compiler.config(),
           [&](const auto &problem, const auto &config) { compiler.part(problem, config); });
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(MoeRanksProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
