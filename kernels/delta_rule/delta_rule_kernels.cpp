// The kernels of the gated delta rule. In the recurrent form, a lane holds rows of the state, four
// columns of each, from the first token of a sequence to the last; the lanes of a column are
// neighbours, which add up what they have of a product with k or q.
#include "delta_rule/delta_chunks.h"
#include "frame/compile.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// A lane's part of a head of q or k: four rows of the state at a time.
using RowPieces = std::vector<Vector>;

class DeltaThread {
public:
  DeltaThread(const DeltaRuleProblem &problem, const DeltaRuleConfig &config,
              const DeltaTraced &params)
      : problem_(problem), keyLanes_(config.key_lanes),
        columns_(config.block / config.key_lanes * kDeltaColumns),
        rows_(problem.key / config.key_lanes), memory_(params, problem),
        rowLane_(thread_idx().x % config.key_lanes),
        column_((block_idx().x * (config.block / config.key_lanes) +
                 thread_idx().x / config.key_lanes) *
                kDeltaColumns) {}

  void run() {
    // All lanes of a column leave or stay together.
    const Boolean inState = memory_.inState();
    if_(problem_.value % columns_ ? Boolean(inState & (column_ < problem_.value)) : inState,
        [&] { sequence(); });
  }

private:
  void sequence() const {
    const Int32 begin = memory_.begin(), end = memory_.end();
    const auto row = [&](int r) {
      return memory_.state(rowLane_ * rows_ + r, column_, kDeltaColumns);
    };
    std::vector<Var<Vector>> state;
    const auto read = [&](int r) { return row(r).load(kDeltaColumns); };
    const auto zeros = [] { return Vector::splat(0.0f, kDeltaColumns, f32); };
    if (problem_.fresh) {
      const Boolean fresh(memory_.fresh() != UInt8(0));
      for (int r = 0; r < rows_; ++r)
        state.emplace_back(if_(fresh, zeros, [&] { return read(r); }));
    } else {
      for (int r = 0; r < rows_; ++r)
        state.emplace_back(read(r));
    }
    for (Int32 t : range(begin, end))
      token(t, state);
    for (int r = 0; r < rows_; ++r)
      row(r).store(state[std::size_t(r)].get());
  }

  void token(const Int32 &t, const std::vector<Var<Vector>> &state) const {
    const RowPieces rawQ = load(memory_.params().q, t), rawK = load(memory_.params().k, t);
    const Vector v = memory_.columns(memory_.params().v, t, column_, problem_.x, kDeltaColumns)
                         .load(kDeltaColumns);
    const Numeric g = memory_.gate(memory_.params().g, t),
                  beta = memory_.gate(memory_.params().beta, t);
    const RowPieces k = scaled(rawK, 1), q = scaled(rawQ, scaleOf(problem_));
    const Numeric decay = powerOf2(Numeric(g * static_cast<float>(kLog2E)));
    std::vector<Vector> decayed;
    for (const Var<Vector> &row : state)
      decayed.push_back(row.get() * decay);
    const Vector delta = (v.dtype() == f32 ? v : v.to(f32)) - product(decayed, k);
    const Vector change = delta * beta;
    std::vector<Vector> now;
    for (int r = 0; r < rows_; ++r) {
      const std::size_t i = std::size_t(r);
      now.push_back(decayed[i] + change * element(k, r));
      state[i] = now.back();
    }
    const Vector y = product(now, q);
    if_(rowLane_ == 0, [&] {
      memory_.columns(memory_.params().y, t, column_, problem_.y, kDeltaColumns)
          .store(problem_.y == f32 ? y : y.to(problem_.y));
    });
  }

  /// The lane's rows of q or k, in f32.
  RowPieces load(const Strided<OnDevice, 2> &of, const Int32 &t) const {
    RowPieces pieces;
    for (int r = 0; r < rows_; r += 4) {
      const Vector piece = memory_.head(of, t, rowLane_ * rows_ + r, 4);
      pieces.push_back(problem_.x == f32 ? piece : piece.to(f32));
    }
    return pieces;
  }
  /// The pieces times a factor, and over their head's root of the sum of squares if the problem
  /// says so.
  RowPieces scaled(const RowPieces &pieces, double scale) const {
    if (!problem_.normalise && scale == 1)
      return pieces;
    const auto factor = [&]() -> Numeric {
      if (!problem_.normalise)
        return Float32(static_cast<float>(scale));
      std::vector<Vector> squares;
      for (const Vector &piece : pieces)
        squares.push_back(squares.empty() ? piece * piece
                                          : math::fma(piece, piece, squares.back()));
      const Numeric sum =
          gpu::warp_reduce(squares.back().reduce(Reduction::add), Reduction::add, keyLanes_);
      return math::rsqrt(sum + kNormEps) * static_cast<float>(scale);
    }();
    RowPieces results;
    for (const Vector &piece : pieces)
      results.push_back(piece * factor);
    return results;
  }
  static Numeric element(const RowPieces &pieces, int row) {
    return pieces[std::size_t(row / 4)].at(row % 4);
  }
  /// The lane's columns of the transposed matrix times a vector, of which all lanes of the columns
  /// have rows.
  Vector product(const std::vector<Vector> &matrix, const RowPieces &vector) const {
    std::vector<Vector> sums;
    for (int r = 0; r < rows_; ++r) {
      const Vector &row = matrix[std::size_t(r)];
      sums.push_back(sums.empty() ? row * element(vector, r)
                                  : math::fma(row, element(vector, r), sums.back()));
    }
    std::vector<Numeric> all;
    for (int c = 0; c < kDeltaColumns; ++c)
      all.push_back(gpu::warp_reduce(sums.back().at(c), Reduction::add, keyLanes_));
    return Vector::of({all[0], all[1], all[2], all[3]});
  }

  const DeltaRuleProblem &problem_;
  int keyLanes_, columns_, rows_;
  DeltaMemory memory_;
  Int32 rowLane_, column_;
};

const FamilyKernel deltaRule{
    kDeltaRule, [](const DeltaTraced &params, const Constexpr<Spec<DeltaRuleProblem>> &spec) {
      const DeltaRuleProblem problem = spec->problem;
      const DeltaRuleConfig config = spec->config;
      if (config.chunks)
        DeltaChunks(problem, config, params, *chunkForm(problem, target())).run();
      else
        DeltaThread(problem, config, params).run();
    }};

} // namespace

void Family<DeltaRuleProblem>::compile(const Compiler<DeltaRuleProblem> &compiler) {
  compiler(deltaRule, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(DeltaRuleProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
