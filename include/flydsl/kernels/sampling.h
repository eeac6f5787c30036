// The next token of each row of logits.
#pragma once

#include <flydsl/kernels/plan.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// Where the tokens come from that a smaller model or a guess has drafted.
enum class Draft : std::uint8_t {
  none,         ///< there are none
  token,        ///< each draft was the only choice: an n-gram's, or a greedy model's
  distribution, ///< it was drawn by `draft_probabilities`
};

/// tokens[i] is a token of the vocabulary that is drawn by the logits of row i.
///
/// A logit becomes a value in this order, which is vLLM's: `bias` is added; `penalties` change it; what
/// `mask` does not allow becomes -infinity. The row's candidates are all tokens, or those that remain
/// of these cuts, in this order: `min_p`, `top_k`, `top_p`. One of them is drawn with the
/// probability exp(value / temperature) over their sum.
///
/// Tokens with equal values are candidates together or not at all: top_k leaves those that are no
/// smaller than the k-th largest, and top_p the largest ones whose probabilities, among what the cuts
/// before it have left, first reach top_p together, with all that are equal to the smallest.
///
/// A row is *greedy*, its token is that of the largest value and of equal ones the first, without
/// `temperature`; where its temperature is below 1e-5 or a NaN; and where its largest value is +infinity
/// or a NaN, which counts as larger than any number. A row with -infinity alone has the token -1.
///
/// With a draft, row i has a token drafts[i] that was proposed for it. It is accepted with the probability
/// min(1, p / q), where p is its probability among the candidates and q the one that it was drawn with;
/// otherwise another token is drawn by max(p - q, 0), so that tokens[i] has the distribution of p. A
/// greedy row accepts its own token alone. The rows of a sequence, which `starts` names, follow one
/// another, one for each draft and one after the last, which has the draft -1: tokens after the first
/// that is no draft are -1, and `lengths` counts those before them.
///
/// Probabilities are integers, multiples of 2^-40 of the largest, so that sums do not depend on
/// their order: a row's token follows from its values, seed and offset, the same on each target and with
/// each configuration, but for the last bits of exp. Tokens below 2^-40 of the largest are never drawn.
struct FLYDSL_API SamplingProblem {
  DType logits = f32;          ///< f32, f16 or bf16
  std::int64_t vocabulary = 0; ///< tokens, 1 to 2^20
  bool temperature = false;    ///< draws; without it all rows are greedy, and have no cuts
  bool top_k = false, top_p = false, min_p = false; ///< of each row, with `temperature`
  bool bias = false;      ///< a number for each token is added: a logit bias
  bool mask = false;      ///< a bit for each token says whether it is allowed: a grammar's mask
  bool penalties = false; ///< of repetition, presence and frequency
  bool log_probabilities = false; ///< log_probabilities[i] is written
  bool advance = false;           ///< each offset is raised by 1: replays of a graph draw anew
  Draft draft = Draft::none;      ///< tokens were proposed, which are accepted or not
  /// A power of two: every row of logits starts at a multiple of so many elements, up to 16 bytes.
  /// 0: the largest up to 16 that divides the vocabulary.
  int row_align = 0;
  friend bool operator==(const SamplingProblem &, const SamplingProblem &) = default;
};

/// A block draws for a row; with drafts, a second kernel goes over the sequences.
struct FLYDSL_API SamplingConfig {
  int block = 1024; ///< threads, from 256 on
  friend bool operator==(const SamplingConfig &, const SamplingConfig &) = default;
};

/// The tensors of a call, for m rows; those that the problem does not have are left out. Parameters of
/// rows are in device memory, so that a graph may be replayed with others. Any number is taken as said.
struct FLYDSL_API SamplingArgs {
  TensorArg logits;                          ///< (m, vocabulary), contiguous rows
  TensorArg tokens;                          ///< (m), i32
  std::optional<TensorArg> temperature = {}; ///< (m), f32
  std::optional<TensorArg> top_k = {};       ///< (m), i32; all tokens if it is below 1
  /// (m), f32; all tokens from 1 on and for a NaN, the largest alone below the first one's share
  std::optional<TensorArg> top_p = {};
  /// (m), f32: the least probability, as a share of the largest; all tokens for a NaN
  std::optional<TensorArg> min_p = {};
  std::optional<TensorArg> seeds = {};   ///< (m), i64, with `temperature`: of fx::random
  std::optional<TensorArg> offsets = {}; ///< (m), i64, with `temperature`: the number of a draw
  /// (m, vocabulary), f32, contiguous rows whose stride may be 0
  std::optional<TensorArg> bias = {};
  /// (m, ceil(vocabulary / 32)), i32, contiguous rows: bit t % 32 of word t / 32 is 1 if t is allowed
  std::optional<TensorArg> mask = {};
  /// (m), f32, with `penalties`. A value of a token that the prompt or the output has is divided by
  /// `repetition` if it is positive and multiplied otherwise; then `frequency` times the token's number
  /// in the output is subtracted, and `presence` if that is not 0.
  std::optional<TensorArg> repetition = {}, presence = {}, frequency = {};
  std::optional<TensorArg> counts = {}; ///< (m, vocabulary), i32, contiguous rows: of the output
  /// (m, ceil(vocabulary / 32)), i32, contiguous rows: bits as those of the mask, of the prompt
  std::optional<TensorArg> prompt = {};
  /// (m), f32: the logarithm of the token's probability among all tokens, before the cuts. A NaN where
  /// the largest value is no finite number
  std::optional<TensorArg> log_probabilities = {};
  std::optional<TensorArg> drafts = {};   ///< (m), i32, with `draft`: a token, or -1 for none
  std::optional<TensorArg> accepted = {}; ///< (m), i32, with `draft`: 1 if the token is the draft's
  /// (m, vocabulary), f32, contiguous rows, with Draft::distribution; that of a row without a draft is
  /// not looked at
  std::optional<TensorArg> draft_probabilities = {};
  /// (sequences + 1), i32, with `draft`: the first row of each sequence, and the end of the last
  std::optional<TensorArg> starts = {};
  std::optional<TensorArg> lengths =
      {}; ///< (sequences), i32, with `draft`: tokens of each sequence
};

template <> struct FamilyOf<SamplingProblem> {
  using Config = SamplingConfig;
  using Args = SamplingArgs;
  static constexpr std::string_view name = "sampling";
};
using SamplingPlan = Plan<SamplingProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
