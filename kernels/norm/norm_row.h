// The norm of a row, wherever the row comes from. A layer norm's variance is the mean of (x - mean)^2,
// in a pass of its own: the difference mean(x^2) - mean(x)^2 has no correct digit where the mean is
// far above the deviation.
#pragma once

#include "blocks/products/activation.h"
#include "blocks/quant/quant.h"
#include "blocks/rows/row_passes.h"
#include "norm/norm_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The operands of rows besides x, as far as the problem has them.
struct NormOperands {
  Tensor y;                                    // (m, n)
  Tensor weight;                               // (n)
  std::optional<Tensor> residual, residualOut; // (m, n)
  std::optional<Tensor> bias, smooth;          // (n)
  std::optional<Tensor> rstd, mean;            // (m)
  std::optional<Tensor> scale;                 // (m), or (m, n / group); a fixed scale is (1)
  std::optional<Tensor> gate;                  // (m, n)
  std::optional<Tensor> gain, shift;           // (batches, n)
  Int32 rowsOfBatch;                           // rows of x that share a row of gain and shift
};
inline NormOperands normOperands(const NormProblem &problem, const NormParams<OnDevice> &p) {
  const RowShape shape = rowShape(problem);
  const auto rows = [&](bool has, const Strided<OnDevice, 1> &operand) {
    return has ? std::optional(rowsOf(operand, problem.x, p.m, shape)) : std::nullopt; // (m, n)
  };
  const auto row = [&](bool has, const Strided<OnDevice, 0> &operand, DType type) {
    return has ? std::optional(rowOf(operand, type, shape)) : std::nullopt; // (n)
  };
  const auto numbers = [&](bool has, const Strided<OnDevice, 0> &operand, const IntTuple &count) {
    return has ? std::optional(operand.view(f32, count)) : std::nullopt; // (count)
  };
  const bool statistics = problem.statistics, fixed = problem.quantise == Quantisation::fixed;
  const auto ofBatches = [&](const Strided<OnDevice, 1> &operand) {
    return problem.modulation
               ? std::optional(rowsOf(operand, problem.x, p.batches, shape)) // (batches, n)
               : std::nullopt;
  };
  const auto scale = [&]() -> std::optional<Tensor> {
    if (problem.group)
      return scalesOfGroups(Family<NormProblem>::groups(problem), p.scale, p.m, problem.n);
    const Strided<OnDevice, 0> one{.address = p.scale.address, .stride = {}};
    return numbers(problem.quantise != Quantisation::none, one,
                   fixed ? IntTuple(1) : IntTuple(p.m));
  };
  return {.y = rowsOf(p.y, problem.y, p.m, shape),
          .weight = rowOf(p.weight, problem.weight, shape),
          .residual = rows(problem.residual, p.residual),
          .residualOut = rows(problem.residual, p.residualOut),
          .bias = row(problem.bias, p.bias, problem.weight),
          .smooth = row(problem.smooth, p.smooth, problem.smooth_type),
          .rstd = numbers(statistics, p.rstd, p.m),
          .mean = numbers(statistics && problem.kind == NormKind::layer, p.mean, p.m),
          .scale = scale(),
          .gate = rows(problem.gate != NormGate::none, p.gate),
          .gain = ofBatches(p.gain),
          .shift = ofBatches(p.shift),
          .rowsOfBatch = p.rowsOfBatch};
}

/// Whether a thread has registers for the weights and gates of its elements besides the row in f32.
inline bool affineFits(const NormProblem &problem, const RowConfig &config) {
  constexpr std::int64_t kRegisters = 64;
  const int bytes = 4 + problem.weight.bytes() * (problem.bias ? 2 : 1) +
                    (problem.smooth ? problem.smooth_type.bytes() : 0) +
                    (problem.gate != NormGate::none ? problem.x.bytes() : 0);
  return rowShape(problem).perThread(config.threads) * bytes <= kRegisters * 4;
}

/// Elements times 1 + gain, plus shift, by the rows of the thread's batch.
class RowModulation {
public:
  RowModulation(const NormOperands &operands, const RowThread &thread)
      : gain_((*operands.gain)(batchOf(operands, thread), _)),     // (n)
        shift_((*operands.shift)(batchOf(operands, thread), _)) {} // (n)
  Vector operator()(const RowThread::Cursor &at, const Vector &y) const {
    return y * (1.0f + at.load(gain_, 0).to(f32)) + at.load(shift_, 0).to(f32);
  }

private:
  static Int32 batchOf(const NormOperands &operands, const RowThread &thread) {
    return Int32(thread.row() / operands.rowsOfBatch);
  }
  Tensor gain_, shift_; // (n)
};

/// Elements times a function of the gate's.
class RowGate {
public:
  RowGate(NormGate function, const Tensor &gate, const RowThread &thread, bool early)
      : function_(function), gate_(gate) {
    if (early) // as the weights of NormAffine
      loaded_ = thread.load(gate_, 0);
  }
  Vector operator()(const RowThread::Cursor &at, const Vector &values) const {
    const Vector gate = (loaded_.empty() ? at.load(gate_, 0) : loaded_[at.slot()]).to(f32);
    return function_ == NormGate::silu ? values * sigmoidTimes(gate, gate)
                                       : sigmoidTimes(values, gate);
  }

private:
  NormGate function_;
  Tensor gate_;
  RowValues loaded_; ///< the gate of each slot; none: each pass loads it
};

/// xhat * weight + bias, times smooth if there is one.
class NormAffine {
public:
  NormAffine(const NormOperands &operands, const RowThread &thread, bool early)
      : operands_(operands) {
    // The loads are under way while the row is reduced, if registers suffice for the weights (affineFits).
    if (!early)
      return;
    weight_ = thread.load(operands.weight, 0);
    if (operands.bias)
      bias_ = thread.load(*operands.bias, 0);
    if (operands.smooth)
      smooth_ = thread.load(*operands.smooth, 0);
  }
  Vector operator()(const RowThread::Cursor &at, const Vector &xhat) const {
    if (weight_.empty())
      at.limitLoadsAhead();
    const Vector scaled = xhat * get(at, weight_, operands_.weight);
    const Vector y = operands_.bias ? scaled + get(at, bias_, *operands_.bias) : scaled;
    return operands_.smooth ? y * get(at, smooth_, *operands_.smooth) : y;
  }

private:
  static Vector get(const RowThread::Cursor &at, const RowValues &loaded, const Tensor &vector) {
    const Vector raw = loaded.empty() ? at.load(vector, 0) : loaded[at.slot()];
    return raw.to(f32);
  }
  const NormOperands &operands_;
  RowValues weight_, bias_, smooth_;
};

/// Normalises the row of a thread. `x` makes the f32 values of one access of the values that were read from
/// each of `sources`; the residual is added to them.
inline void normRow(const NormProblem &problem, const RowConfig &config,
                    const NormOperands &operands, const RowThread &thread, RowReduce &reduce,
                    std::vector<Tensor> sources,
                    const std::function<Vector(const std::vector<Vector> &)> &x) {
  using Cursor = RowThread::Cursor;
  // A row that does not stay in registers is read again where the residual has been added already.
  const Tensor stored = problem.residual ? *operands.residualOut : sources.front();
  if (problem.residual)
    sources.push_back(*operands.residual);
  RowPasses row(thread, config, reduce, std::move(sources), stored,
                [&](const Cursor &at, const std::vector<Vector> &parts) {
                  if (!problem.residual)
                    return x(parts);
                  const Vector sum =
                      (x({parts.begin(), parts.end() - 1}) + parts.back().to(f32)).to(problem.x);
                  at.store(*operands.residualOut, sum);
                  return sum.to(f32);
                });
  const bool early = config.resident && affineFits(problem, config);
  const NormAffine affine(operands, thread, early);
  std::optional<RowGate> gate;
  if (operands.gate)
    gate.emplace(problem.gate, *operands.gate, thread, early);
  if (problem.gate_first)
    row.map(*gate);
  std::optional<RowModulation> modulation;
  if (problem.modulation)
    modulation.emplace(operands, thread);

  const bool centred = problem.kind == NormKind::layer;
  const float inverseN = 1.0f / static_cast<float>(problem.n);
  const Numeric mean =
      centred
          ? row.reduce(Reduction::add, [](const Cursor &, const Vector &v) { return v; }) * inverseN
          : Numeric(Float32(0.0f));
  if (centred)
    // Elements past the row are 0 - mean otherwise, and would count in the variance.
    row.map([&](const Cursor &at, const Vector &v) { return at.padded(v - mean, 0); });
  const Numeric squares =
      row.reduce(Reduction::add, [](const Cursor &, const Vector &v) { return v * v; });
  const Numeric rstd = math::rsqrt(squares * inverseN + static_cast<float>(problem.eps));
  if (problem.statistics)
    thread.once([&] {
      (*operands.rstd)(thread.row()) = rstd;
      if (centred)
        (*operands.mean)(thread.row()) = mean;
    });
  row.map([&](const Cursor &at, const Vector &v) {
    const Vector affined = affine(at, v * rstd),
                 y = modulation ? (*modulation)(at, affined) : affined;
    return gate && !problem.gate_first ? (*gate)(at, y) : y;
  });

  if (problem.quantise == Quantisation::none) {
    row.each([&](const Cursor &at, const Vector &v) { at.store(operands.y, v); });
    return;
  }
  if (problem.group) {
    const QuantGroups groups = Family<NormProblem>::groups(problem);
    const int lanes = groups.lanes(rowShape(problem));
    row.each([&](const Cursor &at, const Vector &v) {
      const QuantisedGroup group = quantisedGroup(v, lanes, groups, problem.y);
      at.store(operands.y, group.values);
      at.storeGroup(*operands.scale, lanes, group.scale);
    });
    return;
  }
  const bool fixed = problem.quantise == Quantisation::fixed;
  const auto largest = [](const Cursor &at, const Vector &v) {
    return at.padded(magnitudes(v), 0);
  };
  const Numeric scale = fixed ? Numeric((*operands.scale)(0))
                              : scaleOf(row.reduce(Reduction::max, largest, u32), problem.y);
  if (!fixed)
    thread.once([&] { (*operands.scale)(thread.row()) = scale; });
  const Numeric inverse = 1.0f / scale;
  row.each([&](const Cursor &at, const Vector &v) {
    at.store(operands.y, quantised(v, inverse, problem.y, fixed));
  });
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
