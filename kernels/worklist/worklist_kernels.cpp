#include "blocks/attention/worklist_kernel.h"
#include "frame/compile.h"
#include "worklist/worklist_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

const Kernel worklist{kWorklist.name(), [](Int64 contexts, Int64 list, Int32 n, Int32 before,
                                           Constexpr<Spec<WorklistProblem>> spec) {
                        const auto &[problem, config] = spec.value();
                        makeWorklist(problem, config.block, contexts, list, n, before);
                      }};

} // namespace

void Family<WorklistProblem>::compile(const Compiler<WorklistProblem> &compiler) {
  compiler(kWorklist, worklist, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(WorklistProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
