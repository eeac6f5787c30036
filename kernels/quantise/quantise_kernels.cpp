// Quantisation's kernels.
#include "blocks/common/host_or_traced.h"
#include "blocks/quant/quant_row.h"
#include "frame/compile.h"
#include "quantise/quantise_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using SpecOf = Constexpr<Spec<QuantiseProblem>>;
using Cursor = RowThread::Cursor;

/// The factors of columns, if the problem has them.
std::optional<Tensor> smoothOf(const QuantiseProblem &problem,
                               const Strided<OnDevice, 0> &operand) {
  if (!problem.smooth)
    return std::nullopt;
  return rowOf(operand, problem.smooth_type, rowShape(problem));
}
Vector smoothed(const Cursor &at, const Vector &values, const std::optional<Tensor> &smooth) {
  return smooth ? values * at.load(*smooth, 0).to(f32) : values;
}

/// The values of a row in f32, times the factors of columns.
RowPasses passes(const RowThread &thread, const RowConfig &config, RowReduce &reduce,
                 const Tensor &x, const std::optional<Tensor> &smooth) {
  RowPasses row(thread, config, reduce, {x}, x,
                [](const Cursor &, const std::vector<Vector> &parts) { return parts[0].to(f32); });
  if (smooth)
    row.map([smooth](const Cursor &at, const Vector &v) { return smoothed(at, v, smooth); });
  return row;
}

/// Rows whose scale is given, or is one for each row.
void quantiseRows(const QuantiseProblem &problem, const RowConfig &config,
                  const QuantiseParams<OnDevice> &p, const Int32 &m, const Tensor &x,
                  const Tensor &q, const std::optional<Tensor> &smooth) {
  const bool own = problem.scale == ScaleOf::row;
  const Tensor scales = Strided<OnDevice, 0>{.address = p.scale.address, .stride = {}}.view(
      f32, own ? IntTuple(p.m) : IntTuple(1)); // (m), or one
  const RowThread thread(rowShape(problem), config, m);
  RowReduce reduce(config);
  RowPasses row = passes(thread, config, reduce, x, smooth);
  if (own)
    storeByOwnScale(thread, row, q, scales, problem.q);
  else
    storeScaled(row, q, scales(0), problem.q, true);
}

/// Groups of neighbours of a row, each with a scale of its own. Each thread has an access of one.
void quantiseGroups(const QuantiseProblem &problem, const RowConfig &config,
                    const QuantiseParams<OnDevice> &p, const Int32 &m, const Tensor &x,
                    const Tensor &q, const std::optional<Tensor> &smooth) {
  const RowShape shape = rowShape(problem);
  const QuantGroups groups = Family<QuantiseProblem>::groups(problem);
  const Tensor scales = scalesOfGroups(groups, p.scale, p.m, problem.n); // (m, n / group)
  const RowThread thread(shape, config, m);
  const int lanes = groups.lanes(shape);
  const auto group = [&](const Cursor &at, const Vector &raw) {
    const auto [values, scale] =
        quantisedGroup(smoothed(at, raw.to(f32), smooth), lanes, groups, problem.q);
    at.store(q, values);
    at.storeGroup(scales, lanes, scale);
  };
  if (config.resident) {
    const RowValues values = thread.load(x, 0);
    thread.visit([&](const Cursor &at) { group(at, values[at.slot()]); });
  } else {
    thread.stream([&](const Cursor &at) { group(at, at.load(x, 0)); });
  }
}

const FamilyKernel quantise{kQuantise, [](const QuantiseParams<OnDevice> &p, const SpecOf &spec) {
                              const QuantiseProblem &problem = spec->problem;
                              const RowShape shape = rowShape(problem);
                              const Tensor x = rowsOf(p.x, problem.x, p.m, shape); // (m, n)
                              const Tensor q = rowsOf(p.q, problem.q, p.m, shape); // (m, n)
                              const std::optional<Tensor> smooth = smoothOf(problem, p.smooth);
                              withRows(
                                  problem.rows, p.rows, p.m, spec->config, [&](const Int32 &m) {
                                    if (Family<QuantiseProblem>::groups(problem))
                                      quantiseGroups(problem, spec->config, p, m, x, q, smooth);
                                    else
                                      quantiseRows(problem, spec->config, p, m, x, q, smooth);
                                  });
                            }};

/// One thread does the work on the scale of a whole tensor.
void once(const std::function<void()> &body) { if_(thread_idx().x == 0, body); }

const FamilyKernel clear{kClear, [](const QuantiseScaleParams<OnDevice> &p, const SpecOf &) {
                           once([&] { p.scale.view(u32, 1)(0) = UInt32(0); }); // (1)
                         }};
const FamilyKernel largest{
    kLargest, [](const QuantiseLargestParams<OnDevice> &p, const SpecOf &spec) {
      const RowConfig config = largestConfig(spec->config);
      const RowShape shape = rowShape(spec->problem);
      const Tensor x = rowsOf(p.x, spec->problem.x, p.m, shape);              // (m, n)
      const std::optional<Tensor> smooth = smoothOf(spec->problem, p.smooth); // (n)
      withRows(spec->problem.rows, p.rows, p.m, config, [&](const Int32 &m) {
        const int each = RowThread::rowsPerBlock(config);
        const Var<Numeric> ofThread(UInt32(0));
        RowReduce none(config);
        for (Int32 first : range(counted(block_idx().x * each), counted(m), grid_dim().x * each)) {
          const RowThread thread(shape, config, m, first);
          passes(thread, config, none, x, smooth).each([&](const Cursor &at, const Vector &v) {
            ofThread = max(ofThread.get(), at.padded(magnitudes(v), 0).reduce(Reduction::max));
          });
        }
        RowConfig whole = config;
        whole.threads = whole.block;
        const Numeric bits = RowReduce(whole).max(ofThread.get());
        once([&] { atomic(AtomicOp::max, p.scale.view(u32, 1).iter(), bits); }); // (1)
      });
    }};
const FamilyKernel scaleKernel{kScale,
                               [](const QuantiseScaleParams<OnDevice> &p, const SpecOf &spec) {
                                 once([&] {
                                   const Numeric bits = p.scale.view(u32, 1)(0);             // (1)
                                   p.scale.view(f32, 1)(0) = scaleOf(bits, spec->problem.q); // (1)
                                 });
                               }};

} // namespace

void Family<QuantiseProblem>::compile(const Compiler<QuantiseProblem> &compiler) {
  const int block = compiler.config().block;
  if (compiler.problem().scale == ScaleOf::tensor) {
    compiler(clear, kOneBlock);
    compiler(largest, largestConfig(compiler.config()).block);
    compiler(scaleKernel, kOneBlock);
  }
  compiler(quantise, block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(QuantiseProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
