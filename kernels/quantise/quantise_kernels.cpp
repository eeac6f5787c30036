// Quantisation's kernels.
#include "blocks/quant/quant.h"
#include "blocks/rows/row_passes.h"
#include "frame/compile.h"
#include "quantise/quantise_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using SpecOf = Constexpr<Spec<QuantiseProblem>>;
using Cursor = RowThread::Cursor;

/// The bits of the largest magnitude of a row.
Numeric largestOfRow(RowPasses &row) {
  return row.reduce(
      Reduction::max, [](const Cursor &at, const Vector &v) { return at.keep(magnitudes(v), 0); },
      u32);
}

RowPasses passes(const RowThread &thread, const RowConfig &config, RowReduce &reduce,
                 const Tensor &x) {
  return RowPasses(
      thread, config, reduce, {x}, x,
      [](const Cursor &, const std::vector<Vector> &parts) { return parts[0].to(f32); });
}

/// Rows whose scale is given, or is one for each row.
void quantiseRows(const QuantiseProblem &problem, const RowConfig &config, const Tensor &x,
                  const Tensor &q, const Tensor &scales, const Int32 &m) {
  const RowThread thread(rowShape(problem), config, m);
  RowReduce reduce(config);
  RowPasses row = passes(thread, config, reduce, x);
  const bool own = problem.scale == ScaleOf::row;
  const Numeric scale = own ? scaleOf(largestOfRow(row), problem.q) : Numeric(scales(0));
  if (own)
    thread.once([&] { scales(thread.row()) = scale; });
  const Numeric inverse = 1.0f / scale;
  row.each([&](const Cursor &at, const Vector &v) {
    at.store(q, quantised(v, inverse, problem.q, !own));
  });
}

/// Blocks of 32 values. Each thread has an access of one.
void quantiseBlocks(const QuantiseProblem &problem, const RowConfig &config, const Tensor &x,
                    const Tensor &q, const Tensor &scales, const Int32 &m) {
  const RowShape shape = rowShape(problem);
  const RowThread thread(shape, config, m);
  const int lanes = kBlock / shape.vector;
  const auto block = [&](const Cursor &at, const Vector &raw) {
    const Vector v = raw.to(f32);
    const Numeric largest =
        gpu::warp_reduce(magnitudes(v).reduce(Reduction::max), Reduction::max, lanes);
    const BlockExponent exponent = blockExponent(largest, problem.q, problem.block);
    at.store(q, blockValues(v, exponent, problem.q));
    at.storeGroup(scales, lanes, exponent.byte);
  };
  if (config.resident) {
    const RowValues values = thread.load(x, 0);
    thread.visit([&](const Cursor &at) { block(at, values[at.slot()]); });
  } else {
    thread.stream([&](const Cursor &at) { block(at, at.load(x, 0)); });
  }
}

const FamilyKernel quantise{
    kQuantise, [](const QuantiseParams<OnDevice> &p, const SpecOf &spec) {
      const QuantiseProblem &problem = spec->problem;
      const RowShape shape = rowShape(problem);
      const Tensor x = rowsOf(p.x, problem.x, p.m, shape); // (m, n)
      const Tensor q = rowsOf(p.q, problem.q, p.m, shape); // (m, n)
      if (problem.scale == ScaleOf::block) {
        const Tensor scales = p.scale.view(u8, {p.m, problem.n / kBlock}); // (m, n / 32)
        quantiseBlocks(problem, spec->config, x, q, scales, p.m);
      } else {
        const bool own = problem.scale == ScaleOf::row;
        const Tensor scales = Strided<OnDevice, 0>{.address = p.scale.address, .stride = {}}.view(
            f32, own ? IntTuple(p.m) : IntTuple(1)); // (m), or one
        quantiseRows(problem, spec->config, x, q, scales, p.m);
      }
    }};

/// One thread does the work on the scale of a whole tensor.
void once(const std::function<void()> &body) { if_(thread_idx().x == 0, body); }

const FamilyKernel clear{kClear, [](const QuantiseScaleParams<OnDevice> &p, const SpecOf &) {
                           once([&] { p.scale.view(u32, 1)(0) = UInt32(0); });
                         }};
const FamilyKernel largest{
    kLargest, [](const QuantiseLargestParams<OnDevice> &p, const SpecOf &spec) {
      const RowThread thread(rowShape(spec->problem), spec->config, p.m);
      RowReduce reduce(spec->config);
      RowPasses row = passes(thread, spec->config, reduce,
                             rowsOf(p.x, spec->problem.x, p.m, rowShape(spec->problem)));
      const Numeric bits = largestOfRow(row);
      thread.once([&] { atomic(AtomicOp::max, p.scale.view(u32, 1).iter(), bits); });
    }};
const FamilyKernel scaleKernel{kScale,
                               [](const QuantiseScaleParams<OnDevice> &p, const SpecOf &spec) {
                                 once([&] {
                                   const Numeric bits = p.scale.view(u32, 1)(0);
                                   p.scale.view(f32, 1)(0) = scaleOf(bits, spec->problem.q);
                                 });
                               }};

} // namespace

void Family<QuantiseProblem>::compile(const Compiler<QuantiseProblem> &compiler) {
  const int block = compiler.config().block;
  if (compiler.problem().scale == ScaleOf::tensor) {
    compiler(clear, kOneBlock);
    compiler(largest, block);
    compiler(scaleKernel, kOneBlock);
  }
  compiler(quantise, block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(QuantiseProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
