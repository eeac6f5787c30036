// The norms' kernel. A layer norm's variance is the mean of (x - mean)^2, in a pass of its own: the
// difference mean(x^2) - mean(x)^2 has no correct digit where the mean is far above the deviation.
#include "blocks/quant/quant.h"
#include "blocks/rows/row_passes.h"
#include "frame/compile.h"
#include "norm/norm_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// The run-time arguments of the kernel.
struct Operands {
  RowMemory x, residual, y, residualOut;
  Int64 weight, bias, smooth, scale, rstd, mean;
};

/// One number of a vector of f32, a number for each row.
Pointer rowNumber(const Int64 &vector, const RowThread &thread) {
  return Pointer::from_address(vector + thread.row().to(i64) * 4, f32);
}

/// Whether a thread has registers for the weights of its elements beside the row in f32.
bool affineFits(const NormProblem &problem, const RowConfig &config) {
  constexpr std::int64_t kRegisters = 64;
  const int bytes = 4 + problem.weight.bytes() * (problem.bias ? 2 : 1) + (problem.smooth ? 4 : 0);
  return rowShape(problem).perThread(config.threads) * bytes <= kRegisters * 4;
}

/// xhat * weight + bias, times smooth if there is one.
class Affine {
public:
  Affine(const NormProblem &problem, const Operands &operands, const RowThread &thread, bool early)
      : problem_(problem), operands_(operands) {
    // The loads are under way while the row is reduced, if there are registers for what they bring.
    if (!early)
      return;
    weight_ = thread.loadShared(operands.weight, problem.weight, 0);
    if (problem.bias)
      bias_ = thread.loadShared(operands.bias, problem.weight, 0);
    if (problem.smooth)
      smooth_ = thread.loadShared(operands.smooth, f32, 0);
  }
  Vector operator()(const RowThread::Cursor &at, const Vector &xhat) const {
    if (weight_.empty())
      at.limitLoadsAhead();
    const Vector scaled = xhat * get(at, weight_, operands_.weight, problem_.weight);
    const Vector y =
        problem_.bias ? scaled + get(at, bias_, operands_.bias, problem_.weight) : scaled;
    return problem_.smooth ? y * get(at, smooth_, operands_.smooth, f32) : y;
  }

private:
  static Vector get(const RowThread::Cursor &at, const RowValues &kept, const Int64 &address,
                    DType dtype) {
    const Vector raw = kept.empty() ? at.loadShared(address, dtype, 0) : kept[at.slot()];
    return dtype == f32 ? raw : raw.to(f32);
  }
  const NormProblem &problem_;
  const Operands &operands_;
  RowValues weight_, bias_, smooth_;
};

void normRow(const NormProblem &problem, const RowConfig &config, const Operands &operands,
             const Int32 &m) {
  const RowThread thread(rowShape(problem), config, m);
  RowReduce reduce(config);
  using Cursor = RowThread::Cursor;

  std::vector<RowMemory> sources{operands.x};
  if (problem.residual)
    sources.push_back(operands.residual);
  RowPasses row(thread, config, reduce, sources,
                problem.residual ? operands.residualOut : operands.x,
                [&](const Cursor &at, const std::vector<Vector> &parts) {
                  if (!problem.residual)
                    return parts[0].to(f32);
                  const Vector sum = (parts[0].to(f32) + parts[1].to(f32)).to(problem.x);
                  at.store(operands.residualOut, sum);
                  return sum.to(f32);
                });
  const Affine affine(problem, operands, thread, config.resident && affineFits(problem, config));

  const bool centred = problem.kind == NormKind::layer;
  const float one = 1.0f / static_cast<float>(problem.n);
  const Numeric mean =
      centred ? row.reduce(Reduction::add, [](const Cursor &, const Vector &v) { return v; }) * one
              : Numeric(Float32(0.0f));
  if (centred)
    row.map([&](const Cursor &at, const Vector &v) { return at.keep(v - mean, 0); });
  const Numeric squares =
      row.reduce(Reduction::add, [](const Cursor &, const Vector &v) { return v * v; });
  const Numeric rstd = math::rsqrt(squares * one + static_cast<float>(problem.eps));
  if (problem.statistics)
    thread.once([&] {
      rowNumber(operands.rstd, thread).store(rstd);
      if (centred)
        rowNumber(operands.mean, thread).store(mean);
    });
  row.map([&](const Cursor &at, const Vector &v) { return affine(at, v * rstd); });

  if (problem.quantise == Quantisation::none) {
    row.each([&](const Cursor &at, const Vector &v) { at.store(operands.y, v); });
    return;
  }
  const bool fixed = problem.quantise == Quantisation::fixed;
  const auto largest = [](const Cursor &at, const Vector &v) { return at.keep(magnitudes(v), 0); };
  const Numeric scale = fixed ? Pointer::from_address(operands.scale, f32).load()
                              : scaleOf(row.reduce(Reduction::max, largest, u32), problem.y);
  if (!fixed)
    thread.once([&] { rowNumber(operands.scale, thread).store(scale); });
  const Numeric inverse = 1.0f / scale;
  row.each([&](const Cursor &at, const Vector &v) {
    at.store(operands.y, quantised(v, inverse, problem.y, fixed));
  });
}

const FamilyKernel norm{
    kNorm, [](const NormParams<OnDevice> &p, const Constexpr<Spec<NormProblem>> &spec) {
      const NormProblem &problem = spec->problem;
      normRow(problem, spec->config,
              {.x = rowMemory(p.x, problem.x),
               .residual = rowMemory(p.residual, problem.x),
               .y = rowMemory(p.y, problem.y),
               .residualOut = rowMemory(p.residualOut, problem.x),
               .weight = p.weight.address,
               .bias = p.bias.address,
               .smooth = p.smooth.address,
               .scale = p.scale.address,
               .rstd = p.rstd.address,
               .mean = p.mean.address},
              p.m);
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
