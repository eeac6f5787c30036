// The kernel that chooses experts.
#include "frame/compile.h"
#include "topk_gating/gating.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const FamilyKernel choice{
    kTopkGating,
    [](const TopkGatingParams<OnDevice> &p, const Constexpr<Spec<TopkGatingProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      gating::Row(p, problem, config, Int32(block_idx().x * RowThread::rowsPerBlock(config))).run();
    }};

} // namespace

void Family<TopkGatingProblem>::compile(const Compiler<TopkGatingProblem> &compiler) {
  compiler(choice, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(TopkGatingProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
