// The kernel of grouped products.
#include "frame/compile.h"
#include "grouped_gemm/group_block.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const FamilyKernel groupedGemm{kGroupedGemm, [](const GroupedGemmParams<OnDevice> &p,
                                                const Constexpr<Spec<GroupedGemmProblem>> &spec) {
                                 GroupTiles(spec->problem, spec->config, p)
                                     .at(Int32(block_idx().x), [&](const GroupTile &tile) {
                                       GroupBlock(p, spec->problem, spec->config, tile).run();
                                     });
                               }};

} // namespace

void Family<GroupedGemmProblem>::compile(const Compiler<GroupedGemmProblem> &compiler) {
  compiler(groupedGemm, compiler.config().threads);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(GroupedGemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
