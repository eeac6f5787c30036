// The kernel that merges attention's states: a thread has a piece of a token's head, of all states.
#include "blocks/attention/combine.h"
#include "frame/compile.h"
#include "merge_states/merge_states_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The states that one operand has of a token's head.
class OperandStates {
public:
  OperandStates(const MergeStatesProblem &problem, const Int32 &m,
                const Strided<OnDevice, 3> &values, const Strided<OnDevice, 3> &lse,
                const Int32 &token, const Int32 &head)
      : piece_(pieceOfState(problem)),
        values_(values.view(problem.x, {m, statesOfA(problem), problem.heads, problem.head},
                            kTogether * problem.x.bytes())(token, _, head, _)), // (states, head)
        lse_(lse.view(f32, {m, statesOfA(problem), problem.heads})(token, _, head)) {} // (states)

  /// The logarithm of a state. Infinity is what FlashAttention 2 writes of a row without keys.
  Numeric lse(const Int32 &state) const {
    const Numeric own = lse_(state);
    return select(Boolean(own == kInfinity), -kInfinity, own);
  }
  /// Piece `number` of a state's result; what a state without keys has there is not looked at.
  Vector values(const Int32 &state, const Int32 &number) const {
    const Vector own =
        logical_divide(values_(state, _), piece_)(_, number).load().to(f32); // (piece)
    return select(Vector::splat(lse(state), piece_) == -kInfinity, 0.0f, own);
  }

private:
  static constexpr int kTogether = 8; // elements, see MergeStatesArgs
  int piece_;
  Tensor values_; // (states, head)
  Tensor lse_;    // (states)
};

const FamilyKernel merge{
    kMergeStates,
    [](const MergeStatesParams<OnDevice> &p, const Constexpr<Spec<MergeStatesProblem>> &spec) {
      const auto &[problem, config] = spec.value();
      const int piece = pieceOfState(problem), across = problem.head / piece;
      const Numeric number = block_idx().x.to(u32) * UInt32(config.block) + thread_idx().x.to(u32);
      const Numeric row = number / UInt32(across);
      const Int32 token = (row / UInt32(problem.heads)).to<Int32>(),
                  head = (row % UInt32(problem.heads)).to<Int32>(),
                  own = (number % UInt32(across)).to<Int32>();
      exit_if(token >= p.m);

      const OperandStates a(problem, p.m, p.a, p.aLse, token, head);
      std::optional<OperandStates> b;
      if (!problem.states)
        b.emplace(problem, p.m, p.b, p.bLse, token, head);
      const float toBase2 = problem.base2 ? 1.0f : kToBase2;
      std::optional<Numeric> sink;
      if (problem.sink)
        sink.emplace(p.sink.view(f32, problem.heads)(head).to(f32) * toBase2); // (heads)
      const Int32 zero(0);
      const CombinedRow found = combineParts(
          {.count = Int32(statesOf(problem)),
           .lse =
               [&](const Int32 &state) {
                 return b ? select(Boolean(state == 0), a.lse(zero), b->lse(zero)) : a.lse(state);
               },
           .values =
               [&](const Int32 &state) {
                 if (!b)
                   return a.values(state, own);
                 return select(Vector::splat(state, piece) == 0, a.values(zero, own),
                               b->values(zero, own));
               },
           .known = statesOf(problem),
           .toBase2 = toBase2},
          piece, sink);

      RowResult result{.values = p.y.view(problem.y, {p.m, problem.heads, problem.head},
                                          8 * problem.y.bytes())(token, head, _), // (head)
                       .natural = !problem.base2};
      if (problem.lse)
        result.lse.emplace(p.lse.view(f32, {p.m, problem.heads, 1})(token, head, _)); // (1)
      result.store(piece, own, found);
    }};

} // namespace

void Family<MergeStatesProblem>::compile(const Compiler<MergeStatesProblem> &compiler) {
  compiler(merge, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(MergeStatesProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
