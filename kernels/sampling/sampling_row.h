// The row of a block that draws a token: its values, which logits become, and passes over them.
#pragma once

#include "sampling/sampling_family.h"

#include <flydsl/flydsl.h>

#include <functional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class SamplingRow {
public:
  using Numbers = std::vector<Numeric>;
  /// The tokens of an access.
  struct Tokens {
    Int32 first;
    Numbers values;
    Numbers drafts; ///< the probabilities that a draft's distribution gives them, if they were read

    Int32 number(std::size_t i) const { return first + static_cast<int>(i); }
  };
  using Visit = std::function<void(const Tokens &)>;
  /// What a pass reads.
  enum class Reads { values, drafts };

  SamplingRow(const SamplingParams<OnDevice> &p, const Spec<SamplingProblem> &spec)
      : problem_(spec.problem), p_(p), block_(spec.config.block), lanes_(gpu::num_warp_threads()),
        vector_(tokensOfAccess(problem_)),
        accesses_(static_cast<int>(problem_.vocabulary / vector_)), row_(block_idx().x),
        thread_(thread_idx().x), penalties_(penaltiesOf()) {}

  const SamplingProblem &problem() const { return problem_; }
  const SamplingParams<OnDevice> &operands() const { return p_; }
  int block() const { return block_; }
  int lanes() const { return lanes_; }
  int waves() const { return block_ / lanes_; }
  const Int32 &thread() const { return thread_; }
  const Int32 &number() const { return row_; }
  /// Tokens of an access, and accesses of the row.
  int vector() const { return vector_; }
  int accesses() const { return accesses_; }

  /// Accesses of a thread that are under way at a time.
  int ahead() const {
    const bool isPlain =
        !problem_.bias && !problem_.mask && !problem_.penalties && problem_.draft == Draft::none;
    return std::clamp((isPlain ? kTokensAhead : kTokensAhead / 2) / vector_, 1, 4);
  }

  /// What a vector (m) has for the row.
  Numeric own(const Strided<OnDevice, 0> &vector, DType dtype) const {
    return vector.view(dtype, p_.m)(row_); // (m)
  }
  /// The element of a token, from 0 on, in the row of a matrix (m, vocabulary).
  Numeric own(const Strided<OnDevice, 1> &matrix, DType dtype, const Int32 &token) const {
    return matrix.view(dtype, {p_.m, tokens()})(row_, token); // (m, tokens)
  }
  /// The value of a token, from 0 on.
  Numeric value(const Int32 &token) const {
    const Numbers near = tokensOf(read(Int32(token / vector_), Reads::values)).values;
    const Var<Float32> own(Float32{near.front()});
    for (int i = 1; i < vector_; ++i)
      own = select(token % vector_ == i, near[static_cast<std::size_t>(i)], own.get());
    return own.get();
  }

  /// Calls `visit` with accesses that are all read first.
  void visitAhead(const std::vector<Int32> &accesses, const Visit &visit,
                  Reads reads = Reads::values) const {
    std::vector<Raw> raw;
    for (const Int32 &access : accesses)
      raw.push_back(read(access, reads));
    gpu::schedule_fence();
    for (const Raw &one : raw)
      visit(tokensOf(one));
  }
  /// Calls `visit` with each access that is the thread's, in their order. Each pass reads the row anew:
  /// registers do not hold it.
  void each(const Visit &visit, Reads reads = Reads::values) const {
    const Int32 thread(rematerialised(thread_));
    const int rounds = accesses_ / (block_ * ahead());
    if (rounds)
      for (Int32 round : range(rounds)) {
        std::vector<Int32> own;
        for (int i = 0; i < ahead(); ++i)
          own.push_back(round * (block_ * ahead()) + i * block_ + thread);
        visitAhead(own, visit, reads);
      }
    for (int start = rounds * block_ * ahead(); start < accesses_; start += block_) {
      const Int32 access = thread + start;
      const auto one = [&] { visit(tokensOf(read(access, reads))); };
      if (start + block_ <= accesses_)
        one();
      else
        if_(access < accesses_, one);
    }
  }
  /// The sum over the row of what each token weighs, an i64, in all threads.
  using Weight = std::function<Numeric(const Tokens &, std::size_t i)>;
  Numeric sum(const Weight &weight, Reads reads = Reads::values) {
    const Var<Int64> all(Int64(0));
    each(
        [&](const Tokens &tokens) {
          for (std::size_t i = 0; i < tokens.values.size(); ++i)
            all += weight(tokens, i);
        },
        reads);
    return gpu::block_reduce(all.get(), Reduction::add, shared_);
  }
  SharedAllocator &shared() { return shared_; }

private:
  int tokens() const { return static_cast<int>(problem_.vocabulary); }

  static constexpr int kTokensAhead = 16;

  struct Penalties {
    Numeric repetition, presence, frequency;
  };
  /// What memory has of an access, all of it read before any of it is used.
  struct Raw {
    Int32 first; ///< token
    Vector logits;
    std::optional<Vector> bias, counts, drafts;
    std::optional<Numeric> allowed, prompt; ///< bits, from bit 0 on
  };

  std::optional<Penalties> penaltiesOf() const {
    if (!problem_.penalties)
      return std::nullopt;
    return Penalties{own(p_.repetition, f32), own(p_.presence, f32), own(p_.frequency, f32)};
  }

  Vector read(const Strided<OnDevice, 1> &matrix, DType dtype, const Int32 &access) const {
    const int bytes = std::min(16, vector_ * dtype.bytes());
    const Tensor row = matrix.view(dtype, {p_.m, tokens()}, bytes)(row_, _); // (V)
    const Layout whole = make_layout({vector_, accesses_}, {1, vector_});
    return composition(row, whole)(_, access).load(); // (vector)
  }
  Numeric readBits(const Strided<OnDevice, 1> &matrix, const Int32 &first) const {
    const Tensor words =
        matrix.view(i32, {p_.m, static_cast<int>(wordsOf(problem_))})(row_, _); // (words)
    return Numeric(words(first / kTokensOfWord)) >> (first % kTokensOfWord);
  }
  Raw read(const Int32 &access, Reads reads) const {
    const Int32 first = access * vector_;
    const auto vector = [&](bool has, const Strided<OnDevice, 1> &from, DType dtype) {
      return has ? std::optional<Vector>(read(from, dtype, access)) : std::nullopt;
    };
    const auto bits = [&](bool has, const Strided<OnDevice, 1> &from) {
      return has ? std::optional<Numeric>(readBits(from, first)) : std::nullopt;
    };
    return {first,
            read(p_.logits, problem_.logits, access),
            vector(problem_.bias, p_.bias, f32),
            vector(problem_.penalties, p_.counts, i32),
            vector(reads == Reads::drafts, p_.draftProbabilities, f32),
            bits(problem_.mask, p_.mask),
            bits(problem_.penalties, p_.prompt)};
  }

  static Boolean bit(const Numeric &bits, int i) { return Boolean(((bits >> i) & 1) == 1); }
  Tokens tokensOf(const Raw &raw) const {
    const Vector logits = raw.logits.to(f32);
    Numbers values, drafts;
    for (int i = 0; i < vector_; ++i) {
      const Numeric logit = logits.at(i);
      const Numeric biased = raw.bias ? Numeric(logit + raw.bias->at(i)) : logit;
      const Numeric value =
          raw.counts ? penalised(biased, raw.counts->at(i), bit(*raw.prompt, i)) : biased;
      values.push_back(raw.allowed ? select(bit(*raw.allowed, i), value, Float32(-kInfinity))
                                   : value);
      if (raw.drafts)
        drafts.push_back(raw.drafts->at(i));
    }
    return {raw.first, values, drafts};
  }
  Numeric penalised(const Numeric &value, const Numeric &count, const Boolean &inPrompt) const {
    const Boolean inOutput(count > 0);
    const Numeric repeated =
        select(value > 0.0f, value / penalties_->repetition, value * penalties_->repetition);
    const Numeric once = select(Boolean(inPrompt | inOutput), repeated, value);
    return once - penalties_->frequency * count.to(f32) -
           select(inOutput, penalties_->presence, Float32(0.0f));
  }

  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  SamplingProblem problem_;
  const SamplingParams<OnDevice> &p_;
  int block_, lanes_, vector_, accesses_;
  Int32 row_, thread_;
  std::optional<Penalties> penalties_;
  SharedAllocator shared_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
