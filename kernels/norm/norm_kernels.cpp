// The norms' kernel.
#include "frame/compile.h"
#include "norm/norm_row.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

void normRows(const NormProblem &problem, const RowConfig &config, const NormParams<OnDevice> &p) {
  const RowShape shape = rowShape(problem);
  withRows(problem.rows, p.rows, p.m, config, [&](const Int32 &m) {
    const RowThread thread(shape, config, m);
    RowReduce reduce(config);
    normRow(problem, config, normOperands(problem, p), thread, reduce,
            {rowsOf(p.x, problem.x, p.m, shape)},
            [](const std::vector<Vector> &x) { return x[0].to(f32); });
  });
}

const FamilyKernel norm{
    kNorm, [](const NormParams<OnDevice> &p, const Constexpr<Spec<NormProblem>> &spec) {
      normRows(spec->problem, spec->config, p);
    }};

} // namespace

void Family<NormProblem>::compile(const Compiler<NormProblem> &compiler) {
  compiler(norm, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(NormProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
