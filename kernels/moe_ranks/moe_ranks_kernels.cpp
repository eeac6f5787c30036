// The kernels of a mixture of experts over ranks are those of its parts, or some of them and two that
// move rows while they multiply.
#include "frame/compile.h"
#include "moe_ranks/fused_products.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const FamilyKernel takeProduct{
    kTakeProduct,
    [](const TakeProductParams<OnDevice> &params, const Constexpr<Spec<FusedProducts>> &spec) {
      TakeProduct(params, partsOf(spec->problem.ranks, spec->config.unit), spec->config).run();
    }};
const FamilyKernel productCombine{
    kProductCombine,
    [](const ProductCombineParams<OnDevice> &params, const Constexpr<Spec<FusedProducts>> &spec) {
      ProductCombine(params, partsOf(spec->problem.ranks, spec->config.unit), spec->config).run();
    }};

} // namespace

void Family<FusedProducts>::compile(const Compiler<FusedProducts> &compiler) {
  compiler(takeProduct, compiler.config().first.threads);
  compiler(productCombine, compiler.config().second.threads);
}
void Family<MoeRanksProblem>::compile(const Compiler<MoeRanksProblem> &compiler) {
  eachPart(compiler.problem(), compiler.config(),
           [&](const auto &part, const auto &config) { compiler.part(part, config); });
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(MoeRanksProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
