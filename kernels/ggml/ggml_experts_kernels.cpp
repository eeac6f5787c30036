// The kernels of products with experts are those of their parts.
#include "frame/compile.h"
#include "ggml/ggml_experts_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

void Family<GgmlExpertsProblem>::compile(const Compiler<GgmlExpertsProblem> &compiler) {
  eachPart(compiler.problem(), compiler.config(),
           [&](const auto &problem, const auto &config) { compiler.part(problem, config); });
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(GgmlExpertsProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
