// The kernels that draw tokens. A block has a row, and goes over it several times: for its largest
// value; for each cut, by the digits of what is sought; for the sum of what is left; and to find the
// token at the place that is drawn. Nothing is sorted.
//
// Values are compared as integers that have their order (keys). Probabilities are integers, too, so
// that the sums of many threads do not depend on who adds first.
//
// A draft's token is taken with the probability p / q, where p is its own and q what it was drawn with;
// otherwise one is drawn by max(p - q, 0) of all tokens. The tokens are then those of p (Leviathan,
// Kalman and Matias, "Fast inference from transformers via speculative decoding", 2023).
#include "frame/compile.h"
#include "sampling/sampling_search.h"

#include <flydsl/kernel/random.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace sampling {
namespace {

using Tokens = SamplingRow::Tokens;
using RowSearch = KeySearch<SamplingRow>;
using Reads = SamplingRow::Reads;

/// vLLM's: a row with a lower temperature is greedy.
constexpr float kLeastTemperature = 1e-5f;
/// A draw is a number of so many bits, of two words of 32.
constexpr int kDrawnBits = 53;

/// The largest value of a row, and the first token that has it.
struct Largest {
  Numeric value;
  Int32 token;

  /// Nothing is allowed where the largest value is -infinity.
  Int32 greedy() const { return Int32(select(value == -kInfinity, Int32(-1), token)); }
};
Largest largestOf(SamplingRow &row) {
  const Var<Int32> order(Int32{kLeastOrder}), token(Int32(0));
  row.each([&](const Tokens &tokens) {
    for (std::size_t i = 0; i < tokens.values.size(); ++i) {
      // A thread comes by its tokens in their order.
      const Numeric own = orderOf(nanFirst(tokens.values[i]));
      const Boolean isLarger(own > order);
      token = select(isLarger, tokens.number(i), token.get());
      order = select(isLarger, own, order.get());
    }
  });
  const Numeric best =
      gpu::block_reduce(candidateOf(order.get(), token.get()), Reduction::max, row.shared());
  return {valueOf(orderOfCandidate(best)), placeOfCandidate(best)};
}

/// The share that a token has at least. The largest stays, whatever is asked for.
std::optional<Numeric> leastShareOf(const SamplingRow &row) {
  if (!row.problem().min_p)
    return std::nullopt;
  const Numeric least = row.own(row.operands().minP, f32);
  return select(math::isnan(least), Float32(0.0f), min(least, 1.0f));
}
std::optional<Numeric> keyOfTopK(const SamplingRow &row, RowSearch &search) {
  if (!row.problem().top_k)
    return std::nullopt;
  const Numeric k = row.own(row.operands().topK, i32);
  const Int32 all(static_cast<int>(row.problem().vocabulary));
  return search(select(Boolean((k < 1) | (k > all)), all, k),
                [](const Numeric &) { return Numeric(Int64(1)); });
}
Numeric keyOfTopP(const SamplingRow &row, RowSearch &search, const Remaining &left,
                  const Numeric &total) {
  const Numeric p = row.own(row.operands().topP, f32);
  const Numeric asked = select(Boolean(p < 1.0f), max(p, 0.0f), Float32(1.0f));
  const Numeric target = Numeric(asked.to(f64) * total.to(f64)).to(i64);
  return search(max(min(target, total), Int64(1)),
                [&](const Numeric &value) { return left.of(value); });
}

/// The numbers of a row's draw, each from 0 to below 1, an f64.
struct Drawn {
  Numeric place, acceptance;
};
Drawn drawnOf(const SamplingRow &row) {
  const auto words = random::randint4x(Int64(row.own(row.operands().seeds, i64)),
                                       Int64(row.own(row.operands().offsets, i64)));
  const auto number = [&](std::size_t i) {
    const Numeric bits = joined(words[i], words[i + 1]).bitcast(u64) >> (64 - kDrawnBits);
    return bits.to(f64) * 0x1p-53;
  };
  return {number(0), number(2)};
}
/// A number from 0 to below the total.
Numeric placeIn(const Numeric &total, const Numeric &drawn) {
  return min(Numeric(drawn * total.to(f64)).to(i64), total - 1);
}

/// What a row is given: its token, and whether that is the draft's.
struct Chosen {
  Int32 token, accepted;
};

/// The row's draft, if it has one.
class RowDraft {
public:
  explicit RowDraft(const SamplingRow &row)
      : row_(row), token_(row.own(row.operands().drafts, i32)),
        exists_((token_ >= 0) & (token_ < static_cast<int>(row.problem().vocabulary))) {}

  const Boolean &exists() const { return exists_; }
  const Int32 &token() const { return token_; }
  bool hasDistribution() const { return row_.problem().draft == Draft::distribution; }
  Reads reads() const { return hasDistribution() ? Reads::drafts : Reads::values; }

  /// Whether it is accepted: with p over q, for the total of p, which are integers.
  Boolean isAccepted(const Remaining &left, const Numeric &total, const Numeric &drawn) const {
    const Int32 known(select(exists_, token_, Int32(0)));
    const Numeric p = left.of(row_.value(known));
    const Numeric q = hasDistribution() ? row_.own(row_.operands().draftProbabilities, f32, known)
                                        : Numeric(Float32(1.0f));
    return Boolean(exists_ & (drawn * q.to(f64) * total.to(f64) < p.to(f64)));
  }
  /// p - q of a token, where that is positive.
  SamplingRow::Weight beyond(const Remaining &left, const Numeric &total) const {
    const Numeric all = Shares::shareOf(total);
    return [this, left, all](const Tokens &tokens, std::size_t i) -> Numeric {
      const Numeric p = left.of(tokens.values[i]);
      if (!hasDistribution())
        return select(Boolean(exists_ & (tokens.number(i) == token_)), Int64(0), p);
      // A q that is no number counts as none; one past the largest probability leaves nothing.
      const Numeric q = tokens.drafts[i] * all;
      const Numeric share = select(Boolean(exists_ & (q > 0.0f)), min(q, 1.0f), Float32(0.0f));
      return max(p - Shares::number(share), Int64(0));
    };
  }

private:
  const SamplingRow &row_;
  Int32 token_;
  Boolean exists_;
};

/// Draws among the tokens that are left.
Chosen among(SamplingRow &row, const Remaining &left, const Numeric &total) {
  const Drawn drawn = drawnOf(row);
  if (row.problem().draft == Draft::none) {
    const auto weight = [&](const Tokens &tokens, std::size_t i) {
      return left.of(tokens.values[i]);
    };
    return {PlaceSearch(row, weight)(placeIn(total, drawn.place)), Int32(0)};
  }
  const RowDraft draft(row);
  const Var<Int32> token(draft.token()), accepted(Int32(1));
  if_(!draft.isAccepted(left, total, drawn.acceptance), [&] {
    const SamplingRow::Weight weight = draft.beyond(left, total);
    const Numeric rest = row.sum(weight, draft.reads());
    // Nothing is left where p and q are the same but for roundings: the draft is right then.
    if_(rest > 0, [&] {
      token = PlaceSearch(row, weight, draft.reads())(placeIn(rest, drawn.place));
      accepted = 0;
    });
  });
  return {token.get(), accepted.get()};
}
Chosen draw(SamplingRow &row, const Shares &shares) {
  RowSearch search(row);
  const auto sum = [&](const Remaining &left) {
    return row.sum([&](const Tokens &tokens, std::size_t i) { return left.of(tokens.values[i]); });
  };
  const Remaining first{shares, {leastShareOf(row), keyOfTopK(row, search)}};
  const Numeric ofFirst = sum(first);
  if (!row.problem().top_p)
    return among(row, first, ofFirst);
  const Remaining second{shares, {first.cuts.leastShare, keyOfTopP(row, search, first, ofFirst)}};
  return among(row, second, sum(second));
}
Chosen greedy(const SamplingRow &row, const Largest &largest) {
  const Int32 token = largest.greedy();
  if (row.problem().draft == Draft::none)
    return {token, Int32(0)};
  const RowDraft draft(row);
  return {token,
          Int32(select(Boolean(draft.exists() & (draft.token() == token)), Int32(1), Int32(0)))};
}

/// ln of the probability of a token among all.
Numeric logProbability(SamplingRow &row, const Shares &shares, const Int32 &token) {
  const Numeric all = row.sum([&](const Tokens &tokens, std::size_t i) {
    return Shares::number(shares.of(tokens.values[i]));
  });
  const Numeric value = row.value(Int32(max(token, 0)));
  return ((value - shares.largest) * shares.scale - math::log2(Shares::shareOf(all))) * kToNatural;
}

/// Chooses the token of the block's row.
void choose(SamplingRow &row) {
  const SamplingProblem &problem = row.problem();
  const SamplingParams<OnDevice> &p = row.operands();
  const Largest largest = largestOf(row);
  const Boolean isNumber(math::abs(largest.value) < kInfinity); // no NaN, either
  const auto temperature = [&] { return row.own(p.temperature, f32); };
  const Boolean isDrawn = problem.temperature
                              ? Boolean(isNumber & (temperature() >= kLeastTemperature))
                              : Boolean(false);
  const Shares shares{largest.value, problem.temperature ? select(isDrawn, kToBase2 / temperature(),
                                                                  Float32(kToBase2))
                                                         : Numeric(Float32(kToBase2))};
  const Chosen byValue = greedy(row, largest);
  const Var<Int32> token(byValue.token), accepted(byValue.accepted);
  if (problem.temperature)
    if_(isDrawn, [&] {
      const Chosen drawn = draw(row, shares);
      token = drawn.token;
      accepted = drawn.accepted;
    });
  std::optional<Numeric> log;
  if (problem.log_probabilities)
    log.emplace(select(isNumber, logProbability(row, shares, token.get()), Float32(kNaN)));
  // All waves have read the offset, which no barrier of a search follows where a draft is accepted.
  if (problem.advance && row.waves() > 1)
    gpu::barrier();
  if_(row.thread() == 0, [&] {
    p.tokens.view(i32, p.m)(row.number()) = token; // (m)
    if (problem.draft != Draft::none)
      p.accepted.view(i32, p.m)(row.number()) = accepted; // (m)
    if (log)
      p.logProbabilities.view(f32, p.m)(row.number()) = *log; // (m)
    if (problem.advance) {
      const Tensor offsets = p.offsets.view(i64, p.m); // (m)
      offsets(row.number()) = offsets(row.number()) + 1;
    }
  });
}

const FamilyKernel rows{
    kSampling, [](const SamplingParams<OnDevice> &p, const Constexpr<Spec<SamplingProblem>> &spec) {
      SamplingRow row(p, spec.value());
      choose(row);
    }};

/// The sequences of a call, a thread each: tokens count to the first that is no draft's.
const FamilyKernel sequences{
    kSamplingSequences,
    [](const SamplingParams<OnDevice> &p, const Constexpr<Spec<SamplingProblem>> &) {
      const Int32 sequence = block_idx().x * kSequencesBlock + thread_idx().x;
      if_(sequence < p.sequences, [&] {
        const Tensor starts = p.starts.view(i32, Int32(p.sequences + 1)), // (sequences + 1)
            tokens = p.tokens.view(i32, p.m),                             // (m)
            accepted = p.accepted.view(i32, p.m);                         // (m)
        const auto inside = [&](const Numeric &row) { return Int32(min(max(row, 0), p.m)); };
        const Int32 begin = inside(starts(sequence)), end = inside(starts(sequence + 1));
        const Var<Int32> count(Int32(0)), goesOn(Int32(1));
        for (Int32 row : range(begin, end)) {
          if_(goesOn == 0, [&] { tokens(row) = -1; });
          count += goesOn;
          goesOn &= accepted(row);
        }
        p.lengths.view(i32, p.sequences)(sequence) = count; // (n)
      });
    }};

} // namespace
} // namespace sampling

void Family<SamplingProblem>::compile(const Compiler<SamplingProblem> &compiler) {
  compiler(sampling::rows, compiler.config().block);
  if (compiler.problem().draft != Draft::none)
    compiler(sampling::sequences, kSequencesBlock);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(SamplingProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
