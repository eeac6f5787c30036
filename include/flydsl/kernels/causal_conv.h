// The causal convolution over time of state-space models and of linear attention (Mamba, Gated
// DeltaNet, Kimi Linear): each channel has a filter of a few taps of its own.
#pragma once

#include <flydsl/kernels/activation.h>
#include <flydsl/kernels/plan.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// How the columns of a sequence's state lie in memory. A column has one number for each channel.
enum class ConvStateOrder : std::uint8_t {
  channels_last, ///< (slots, columns, channels): the channels of a column are neighbours
  columns_last,  ///< (slots, channels, columns): the columns of a channel are neighbours
};

/// For each sequence, its tokens t from 0 on, and each channel c:
///
///   y[t, c] = activation(bias[c] + sum over j < width of weight[c, j] x[t - (width - 1) + j, c])
///
/// The tokens before the first, x[-1, c], x[-2, c], ..., are the columns of the sequence's state, of
/// which the last is the newest. After the call the state has the last width - 1 tokens. Sums are in
/// f32, and y is rounded once.
///
/// Speculative decoding: with `drafts`, a state has width - 1 + drafts columns. A call takes the
/// width - 1 columns from number accepted - 1 on as the tokens before the sequence, where `accepted`
/// says how many tokens of the last call's were right, and then writes all but the oldest of these
/// columns, and the call's tokens after them, from column 0 on. The next call finds what was
/// accepted by its number alone.
struct FLYDSL_API CausalConvProblem {
  DType x = bf16;      ///< f32, f16 or bf16
  DType y = bf16;      ///< f32, f16 or bf16
  DType weight = bf16; ///< f32, f16 or bf16, also of bias
  DType state = bf16;  ///< f32, f16 or bf16
  int channels = 0;    ///< up to 2^20
  int width = 4;       ///< taps of a filter, 2 to 8
  bool bias = false;
  Activation activation = Activation::none;
  /// Sequences begin after zeros, and nothing is kept: there is no state.
  bool stateless = false;
  ConvStateOrder order = ConvStateOrder::channels_last;
  bool fresh = false; ///< there is the argument `fresh`
  int drafts = 0;     ///< tokens that a sequence may have besides its first, 0 to 15; 0: any number
  /// Sequences have many tokens. `choose` then deals the tokens of a sequence to several threads.
  bool prefill = false;
  /// A power of two: every row of x and y, and every column or slot of the state, starts at a
  /// multiple of so many elements, up to 16 bytes. 0: the largest up to 16 that divides `channels`.
  int row_align = 0;
  friend bool operator==(const CausalConvProblem &, const CausalConvProblem &) = default;
};

/// How the work is shared among threads: a thread has neighbouring channels of a run of neighbouring
/// tokens of one sequence. What a run needs of the tokens before it, is read a second time.
struct FLYDSL_API CausalConvConfig {
  int channels = 8; ///< of a thread: a power of two up to 16 bytes, which divides row_align
  int tokens = 4;   ///< of a thread: at least width - 1 and drafts + 1, up to 64
  int block = 64;   ///< threads of a block, which lie along the channels: a multiple of the wave
  friend bool operator==(const CausalConvConfig &, const CausalConvConfig &) = default;
};

/// The tensors of a call with m tokens of n sequences.
struct FLYDSL_API CausalConvArgs {
  TensorArg x;                        ///< (m, channels), contiguous rows
  TensorArg weight;                   ///< (channels, width), contiguous
  std::optional<TensorArg> bias = {}; ///< (channels), contiguous
  /// (n + 1), i32, contiguous: sequence i has the tokens from starts[i] to below starts[i + 1]. A
  /// sequence without tokens changes nothing, its state neither.
  TensorArg starts;
  /// Read and written. (slots, width - 1 + drafts, channels), slots and columns at any distance; or
  /// (slots, channels, width - 1 + drafts), slots at any distance, as ConvStateOrder says.
  std::optional<TensorArg> state = {};
  /// (n), i32, contiguous: the slot of each sequence. A sequence whose slot is negative or past the
  /// state is left out: nothing is read or written for it. No two have the same slot.
  std::optional<TensorArg> state_slots = {};
  /// (n), u8, contiguous: a sequence whose number is not 0 begins after zeros, and the memory of its
  /// state is not read.
  std::optional<TensorArg> fresh = {};
  /// (n), i32, contiguous, if there are `drafts`: the tokens of the last call that were right, from
  /// 1 to drafts + 1; for a state that a call without `drafts` wrote, 1. Smaller numbers count as 1,
  /// larger ones as drafts + 1.
  std::optional<TensorArg> accepted = {};
  TensorArg y; ///< (m, channels), contiguous rows, in memory of its own
};

template <> struct FamilyOf<CausalConvProblem> {
  using Config = CausalConvConfig;
  using Args = CausalConvArgs;
  static constexpr std::string_view name = "causal_conv";
};
using CausalConvPlan = Plan<CausalConvProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
