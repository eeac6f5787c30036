// The kernels of a mixture of experts are those of its parts.
#include "blocks/quant/quant_row.h"
#include "frame/compile.h"
#include "moe_forward/moe_forward_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const FamilyKernel insideRows{
    kInsideRows, [](const InsideRowsParams<OnDevice> &p, const Constexpr<Spec<InsideRows>> &spec) {
      const InsideRows &problem = spec->problem;
      const RowShape shape = rowShape(problem);
      const Int32 place(block_idx().x);
      const Tensor totals = p.totals.view(i32, 3);        // (3)
      const Tensor ids = p.sortedIds.view(i32, p.places); // (places)
      const Tensor scales = p.scale.view(f32, p.places);  // (places)
      exit_if(place >= gpu::uniform(Int32(totals(0))));
      exit_if(gpu::uniform(Int32(ids(place)) >> kIdTokenBits) >= problem.topk);
      const Tensor x = rowsOf(p.x, problem.x, p.places, shape); // (places, n)
      const Tensor q = rowsOf(p.q, problem.q, p.places, shape); // (places, n)
      const RowThread thread(shape, spec->config, p.places);
      RowReduce reduce(spec->config);
      RowPasses row(
          thread, spec->config, reduce, {x}, x,
          [](const RowThread::Cursor &, const RowValues &parts) { return parts[0].to(f32); });
      storeByOwnScale(thread, row, q, scales, problem.q);
    }};

} // namespace

void Family<InsideRows>::compile(const Compiler<InsideRows> &compiler) {
  compiler(insideRows, compiler.config().block);
}
void Family<MoeForwardProblem>::compile(const Compiler<MoeForwardProblem> &compiler) {
  eachPart(compiler.problem(), compiler.config(),
           [&](const auto &problem, const auto &config) { compiler.part(problem, config); });
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(MoeForwardProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
