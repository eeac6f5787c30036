// The norms' kernel. `threads` threads of a block share a row; a block has block / threads rows.
//
//   a row                                                                       the file
//   x (n), + residual (n): memory -> registers, in f32; the sum is written      norm_row.h
//   layer norm: mean = sum of x / n, by all threads of the row; x - mean        row_passes.h, row.h
//   rstd = 1 / sqrt(sum of x^2 / n + eps), by all threads of the row
//   y = x * rstd * weight + bias, by gates and modulations: in registers        norm_row.h
//   y, or y over a scale of the row or of groups: registers -> memory           quant.h
//
// Rows too long for registers are read again in each pass: RowPasses knows which.
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
            {rowsOf(p.x, problem.x, p.m, shape)}, // (m, n)
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
