// The kernels of linear attention. A block has columns of the state (key, value) of one sequence
// and one head of v. In the recurrent form, a lane holds rows of the state, four columns of each, in
// registers from the first token of the sequence to the last; the lanes of a column are neighbours,
// which add up what they have of a product with k or q. For each token a lane loads its rows' elements
// of q and k (rows), and its columns of v (4); the first lane of a column writes those of y.
#include "delta_rule/delta_chunks.h"
#include "delta_rule/delta_gates.h"
#include "frame/compile.h"
#include "frame/forms.h"

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
        rows_(problem.key / config.key_lanes), memory_(params, problem, kDeltaColumns),
        rowLane_(thread_idx().x % config.key_lanes),
        columnLane_(block_idx().x * (config.block / config.key_lanes) +
                    thread_idx().x / config.key_lanes) {}

  void run() {
    // All lanes of a column leave or stay together.
    const Boolean inState = memory_.inState();
    if_(problem_.value % columns_
            ? Boolean(inState & (columnLane_ * kDeltaColumns < problem_.value))
            : inState,
        [&] { sequence(); });
  }

private:
  static constexpr int kPiece = kDeltaAlign; ///< elements of q or k that a lane loads at a time

  void sequence() const {
    const Int32 begin = memory_.begin(), end = memory_.end();
    const Tensor own = flat_divide(memory_.state(), {rows_, kDeltaColumns})(
        _, _, rowLane_, columnLane_); // (rows, 4)
    std::vector<Var<Vector>> state;
    const auto read = [&](int r) { return own(r, _).load(); }; // (4)
    const auto zeros = [] { return Vector::splat(0.0f, kDeltaColumns, f32); };
    if (problem_.fresh) {
      const Boolean fresh = memory_.isFresh();
      for (int r = 0; r < rows_; ++r)
        state.emplace_back(if_(fresh, zeros, [&] { return read(r); }));
    } else {
      for (int r = 0; r < rows_; ++r)
        state.emplace_back(read(r));
    }
    const DeltaGates gates(problem_, memory_);
    const RowPieces biases =
        problem_.by_channel && gates.makesSteps() ? load(memory_.channelsOfDtBias()) : RowPieces();
    for (Int32 t : range(begin, end))
      token(t, state, gates, biases);
    for (int r = 0; r < rows_; ++r)
      own(r, _).store(state[std::size_t(r)].get()); // (4)
  }

  /// `biases`: dt_bias of the lane's rows, if each row has one.
  void token(const Int32 &t, const std::vector<Var<Vector>> &state, const DeltaGates &gates,
             const RowPieces &biases) const {
    const RowPieces rawQ = load(memory_.q()(t, _)), rawK = load(memory_.k()(t, _)); // (key), (key)
    const Vector v = columns(memory_.v()(t, _)).load();                             // (4)
    const DeltaGates::Token gate = gates.of(t);
    const RowPieces decays =
        problem_.by_channel ? load(memory_.channelsOfG()(t, _)) : RowPieces(); // (key)
    const RowPieces k = scaled(rawK, 1), q = scaled(rawQ, scaleOf(problem_));
    const auto power = [](const Numeric &decay) { return powerOf2(Numeric(decay * kToBase2)); };
    const auto ofRow = [&](int r) {
      return power(gates.ofChannel(
          element(decays, r), biases.empty() ? std::nullopt : std::optional(element(biases, r))));
    };
    const std::optional<Numeric> ofAll =
        gate.decay ? std::optional(power(*gate.decay)) : std::nullopt;
    std::vector<Vector> decayed;
    for (int r = 0; r < rows_; ++r)
      decayed.push_back(state[std::size_t(r)].get() * (ofAll ? *ofAll : ofRow(r)));
    const Vector wide = v.to(f32);
    const Vector change =
        (problem_.update == StateUpdate::delta ? Vector(wide - product(decayed, k)) : wide) *
        gate.beta;
    std::vector<Vector> now;
    for (int r = 0; r < rows_; ++r) {
      const std::size_t i = std::size_t(r);
      now.push_back(decayed[i] + change * element(k, r));
      state[i] = now.back();
    }
    const Vector seen = product(now, q), y = gates.skip ? seen + wide * *gates.skip : seen;
    if_(rowLane_ == 0, [&] { columns(memory_.y()(t, _)).store(y.to(problem_.y)); }); // (4)
  }

  /// The lane's columns of a token's v or y (value): (4).
  Tensor columns(const Tensor &row) const {
    return logical_divide(row, kDeltaColumns)(_, columnLane_); // (4)
  }
  /// The lane's elements of a token's q or k (key), in f32.
  RowPieces load(const Tensor &row) const {
    const Layout lanes = make_layout({kPiece, rows_ / kPiece, keyLanes_});
    const Tensor own = composition(row, lanes)(_, _, rowLane_); // (4, pieces)
    RowPieces pieces;
    for (int piece = 0; piece < rows_ / kPiece; ++piece)
      pieces.push_back(own(_, piece).load().to(f32)); // (4)
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
    return pieces[std::size_t(row / kPiece)].at(row % kPiece);
  }
  /// The lane's columns of the transposed matrix times a vector. The lanes of a column have rows each,
  /// and add up their sums.
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
  Int32 rowLane_;    ///< among the lanes of a column, which have the rows
  Int32 columnLane_; ///< among those of the head, with four columns each
};

using DeltaKernel = FamilyKernel<DeltaRuleProblem, DeltaRuleParams>;
/// `readsAgain`: see DeltaChunks.
DeltaKernel deltaRuleBy(bool readsAgain) {
  return {kDeltaRule,
          [readsAgain](const DeltaTraced &params, const Constexpr<Spec<DeltaRuleProblem>> &spec) {
            const DeltaRuleProblem problem = spec->problem;
            const DeltaRuleConfig config = spec->config;
            if (config.chunks)
              DeltaChunks(problem, config, params, *chunkForm(problem, target()), readsAgain).run();
            else
              DeltaThread(problem, config, params).run();
          }};
}
/// In order of preference.
const std::array<DeltaKernel, 2> deltaRule{deltaRuleBy(false), deltaRuleBy(true)};

} // namespace

void Family<DeltaRuleProblem>::compile(const Compiler<DeltaRuleProblem> &compiler) {
  // Only chunks read arguments again.
  compileFirstThatFits(compiler, std::span(deltaRule).first(compiler.config().chunks ? 2 : 1),
                       compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(DeltaRuleProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
