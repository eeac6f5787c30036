// The recurrent form of the gated delta rule. A lane holds rows of the state, four columns of each,
// from the first token of a sequence to the last; the lanes of a column are neighbours, which add up
// what they have of a product with k or q.
#include "delta_rule/delta_rule_family.h"
#include "frame/compile.h"

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Numbers = std::array<Int64, kDeltaNumbers>;

constexpr float kLog2E = 1.44269504088896341f;
/// What fla and the models' own code add to a sum of squares before its root.
constexpr float kNormEps = 1e-6f;

/// A lane's part of a head of q or k: four rows of the state at a time.
using RowPieces = std::vector<Vector>;

class DeltaThread {
public:
  DeltaThread(const DeltaRuleProblem &problem, const DeltaRuleConfig &config,
              const Numbers &numbers)
      : problem_(problem), keyLanes_(config.key_lanes),
        columns_(config.block / config.key_lanes * kDeltaColumns),
        rows_(problem.key / config.key_lanes), numbers_(numbers), head_(block_idx().y),
        sequence_(block_idx().z), rowLane_(thread_idx().x % config.key_lanes),
        column_((block_idx().x * (config.block / config.key_lanes) +
                 thread_idx().x / config.key_lanes) *
                kDeltaColumns) {}

  void run() {
    const Numeric slot = perSequence(kDeltaStateSlots, i32).to(i64);
    const bool ragged = problem_.value % columns_ != 0;
    const Boolean inState((slot >= 0) & (slot < numbers_[kDeltaSlots]));
    // All lanes of a column leave or stay together.
    if_(ragged ? Boolean(inState & (column_ < problem_.value)) : inState, [&] { tokens(slot); });
  }

private:
  Numeric perSequence(DeltaNumber at, DType dtype, int more = 0) const {
    return Pointer::from_address(numbers_[at] + (sequence_ + more).to(i64) * dtype.bytes(), dtype)
        .load();
  }

  void tokens(const Numeric &slot) const {
    const Int32 begin = perSequence(kDeltaStarts, i32).to<Int32>(),
                end = perSequence(kDeltaStarts, i32, 1).to<Int32>();
    const Numeric place =
        numbers_[kDeltaState] +
        (slot * numbers_[kDeltaState + 1] + head_.to(i64) * numbers_[kDeltaState + 2] +
         ((rowLane_ * rows_) * problem_.value + column_).to(i64)) *
            4;
    const auto row = [&](int r) {
      return Pointer::from_address(place + std::int64_t(r) * problem_.value * 4, f32,
                                   AddressSpace::global, 16);
    };
    std::vector<Var<Vector>> state;
    const auto read = [&](int r) { return row(r).load(kDeltaColumns); };
    const auto zeros = [] { return Vector::splat(0.0f, kDeltaColumns, f32); };
    if (problem_.fresh) {
      const Boolean fresh(perSequence(kDeltaFresh, u8) != UInt8(0));
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
    const Int32 keyHead = head_ / (problem_.v_heads / problem_.heads);
    const RowPieces rawQ = load(kDeltaQ, t, keyHead), rawK = load(kDeltaK, t, keyHead);
    const Vector v = ofValue(kDeltaV, t, problem_.x).load(kDeltaColumns);
    const Numeric g = gate(kDeltaG, t), beta = gate(kDeltaBeta, t);
    const double scale = problem_.scale ? problem_.scale : 1 / std::sqrt(double(problem_.key));
    const RowPieces k = scaled(rawK, 1), q = scaled(rawQ, scale);
    const Numeric decay = [&] {
      const FastMathScope approximate(FastMath::afn);
      return math::exp2(g * kLog2E);
    }();
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
    if_(rowLane_ == 0,
        [&] { ofValue(kDeltaY, t, problem_.y).store(problem_.y == f32 ? y : y.to(problem_.y)); });
  }

  /// The address of token t's head of a tensor of heads.
  Numeric headStart(DeltaNumber at, const Int32 &t, const Int32 &head, DType dtype) const {
    return numbers_[at] +
           (t.to(i64) * numbers_[at + 1] + head.to(i64) * numbers_[at + 2]) * dtype.bytes();
  }
  /// The lane's columns of v or y.
  Pointer ofValue(DeltaNumber at, const Int32 &t, DType dtype) const {
    return Pointer::from_address(headStart(at, t, head_, dtype) + column_.to(i64) * dtype.bytes(),
                                 dtype, AddressSpace::global, kDeltaColumns * dtype.bytes());
  }
  Numeric gate(DeltaNumber at, const Int32 &t) const {
    const DType dtype = problem_.gate;
    const Numeric value =
        Pointer::from_address(
            numbers_[at] + (t.to(i64) * numbers_[at + 1] + head_.to(i64)) * dtype.bytes(), dtype)
            .load();
    return dtype == f32 ? value : value.to(f32);
  }
  /// The lane's rows of q or k, in f32.
  RowPieces load(DeltaNumber at, const Int32 &t, const Int32 &head) const {
    const DType dtype = problem_.x;
    const Numeric start =
        headStart(at, t, head, dtype) + (rowLane_ * rows_).to(i64) * dtype.bytes();
    RowPieces pieces;
    for (int r = 0; r < rows_; r += 4) {
      const Vector piece = Pointer::from_address(start + r * dtype.bytes(), dtype,
                                                 AddressSpace::global, 4 * dtype.bytes())
                               .load(4);
      pieces.push_back(dtype == f32 ? piece : piece.to(f32));
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
  const Numbers &numbers_;
  Int32 head_, sequence_, rowLane_, column_;
};

const Kernel deltaRule{kDeltaRule.name(),
                       [](Numbers numbers, Constexpr<Spec<DeltaRuleProblem>> spec) {
                         const auto &[problem, config] = spec.value();
                         DeltaThread(problem, config, numbers).run();
                       }};

} // namespace

void Family<DeltaRuleProblem>::compile(const Compiler<DeltaRuleProblem> &compiler) {
  compiler(kDeltaRule, deltaRule, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(DeltaRuleProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
