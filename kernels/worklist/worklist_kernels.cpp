#include "blocks/attention/worklist_kernel.h"
#include "frame/compile.h"
#include "worklist/worklist_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const FamilyKernel worklist{
    kWorklist, [](const WorklistParams<OnDevice> &p, const Constexpr<Spec<WorklistProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      makeWorklist(problem, config.block, SequencesOfList(problem, p.seqLens, p.starts, p.n),
                   p.worklist, p.windowLeft);
    }};

} // namespace

void Family<WorklistProblem>::compile(const Compiler<WorklistProblem> &compiler) {
  compiler(worklist, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(WorklistProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
