// The kernel of grouped products: C = activation(A * B[expert]^T + bias[expert]), for the rows of each
// expert. Rows stand at places; the places of an expert follow one another.
//
//   a block                                                                     the file
//   its tile of C: an expert, and up to tile_m of the expert's places           group_tiles.h
//   views of the expert's weights, scales and bias, from addresses per expert   group_block.h
//   A (tile_m, K): the rows of the places, or those of tokens by their ids      group_block.h
//   the main loop over K: the sums (tile_m, tile_n), as of a product            gemm_block.h
//   scales, bias, gates, the router's weights: in registers                     group_block.h
//   C: registers -> memory, as rows of places or of slots, or added to tokens   group_block.h
//
// The device alone knows how many tiles there are. The grid is an upper bound of their number; a block
// without a tile leaves at once.
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
