// Attention over keys that were taken in parts: results of the parts become the result of all keys.
#pragma once

#include <flydsl/kernels/plan.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// A state is what attention over some keys leaves of a token's head: its result v, and the
/// logarithm s of the sum of its exponentials. `attention` and `decode` write both with `lse`. For
/// each token and head, over its states i:
///
///   lse = log(sum over i of e^s[i] + e^sink)             e^sink if there is one
///   y   = sum over i of e^(s[i] - lse) v[i]
///
/// which is the result over the keys of all states together. A state with s = -infinity has no
/// keys, and its v is not looked at; +infinity says the same, as FlashAttention 2 writes it. A row
/// none of whose states has keys is 0, and its lse -infinity, or the sink. A sink that a state has
/// already counts once for each such state: leave it out of them, and give it here. Sums are in f32
/// and in the order of the states.
///
/// Logarithms are natural, as those of `attention`, `decode`, vLLM and FlashAttention are.
struct FLYDSL_API MergeStatesProblem {
  DType x = bf16; ///< of the states' results: f32, f16 or bf16
  DType y = bf16; ///< f32, f16 or bf16
  int heads = 8;  ///< of q, 1 to 65536
  int head = 128; ///< elements of a head: a multiple of 8 up to 65536
  /// 0: two states, which are operands of their own, a and b. Otherwise 1 to 1024, all in a.
  int states = 0;
  /// s, sink and lse are logarithms and scores to the base 2: log2(sum of e^score), as FlashInfer's
  /// kernels have them.
  bool base2 = false;
  bool sink = false; ///< a score for each head, which has no value
  bool lse = false;  ///< the logarithm of all states is written
  friend bool operator==(const MergeStatesProblem &, const MergeStatesProblem &) = default;
};

/// How the work is shared among threads.
struct FLYDSL_API MergeStatesConfig {
  int block = 256; ///< threads: each has 16 bytes of all states of a row
  friend bool operator==(const MergeStatesConfig &, const MergeStatesConfig &) = default;
};

/// The tensors of a call, for m tokens. All modes but the elements of a head lie at any distance, of
/// results a multiple of 8 elements. y may be the first state's memory, with the same strides;
/// what is written shares no other memory with what is read.
struct FLYDSL_API MergeStatesArgs {
  TensorArg a;                     ///< (m, heads, head); with `states` (m, states, heads, head)
  TensorArg a_lse;                 ///< (m, heads); with `states` (m, states, heads); f32
  std::optional<TensorArg> b = {}; ///< without `states`: as a
  std::optional<TensorArg> b_lse = {};
  std::optional<TensorArg> sink = {}; ///< (heads), f32
  TensorArg y;                        ///< (m, heads, head)
  std::optional<TensorArg> lse = {};  ///< (m, heads), f32
};

template <> struct FamilyOf<MergeStatesProblem> {
  using Config = MergeStatesConfig;
  using Args = MergeStatesArgs;
  static constexpr std::string_view name = "merge_states";
};
using MergeStatesPlan = Plan<MergeStatesProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
