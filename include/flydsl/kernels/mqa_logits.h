// The scores by which sparse attention chooses its keys: many query heads, one key head.
#pragma once

#include <flydsl/kernels/plan.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// The lightning indexer of DeepSeek V3.2: for token i and key j
///
///   logits[i, j] = k_scale[j] sum over h of weights[i, h] max(0, q[i, h] . k[j])  + bias[i, j]
///
/// where first[i] <= j < last[i], and -infinity elsewhere. Scales of q are part of the weights. A mask
/// is a bias of 0 and -infinity.
///
/// Paged, keys are those of sequences in the blocks of a cache, and key j is token j of the token's
/// sequence. The tokens of a call are the last ones of their sequences: of a sequence with `context`
/// keys and `queries` tokens in the call, token i of these sees keys 0 to context - queries + i.
struct FLYDSL_API MqaLogitsProblem {
  /// Of q and k: f16 or bf16, or 8-bit floats of the target's matrix instructions: f8E4M3FNUZ and
  /// f8E5M2FNUZ on gfx942, f8E4M3FN and f8E5M2 on gfx950 and gfx1201.
  DType x = f8E4M3FN;
  int heads = 64;      ///< of q: a multiple of 16, 16 to 128
  int head = 128;      ///< elements of a head: a multiple of 64, 64 to 256
  bool k_scale = true; ///< each key has a scale
  /// Tokens have windows; without them each sees all keys. (Paged, tokens have those of their sequences.)
  bool windows = true;
  bool bias = false;     ///< a number is added to each logit
  DType bias_type = f32; ///< f32, f16 or bf16
  /// There are cu_seqlens_q, seq_lens and block_table in place of first and last
  bool paged = false;
  int page = 64; ///< paged: tokens of a block of the cache, 1 to 65536
  friend bool operator==(const MqaLogitsProblem &, const MqaLogitsProblem &) = default;
};

/// How the logits are shared among waves: each has some keys in registers and goes over the rows of
/// its block.
struct FLYDSL_API MqaLogitsConfig {
  int keys = 256;  ///< of a block: 16, 32 or 64 for each of its waves
  int block = 256; ///< threads of a block, whose waves have keys side by side
  int rows = 32;   ///< tokens of a block, 1 to 1024
  friend bool operator==(const MqaLogitsConfig &, const MqaLogitsConfig &) = default;
};

/// The tensors of a call with m tokens and n keys; paged, of s sequences that have n keys at most.
struct FLYDSL_API MqaLogitsArgs {
  TensorArg q; ///< (m, heads, head); tokens and heads at any distance
  /// (n, head), rows at any distance; paged (blocks, page, head), blocks and places at any distance.
  TensorArg k;
  /// f32: (n); paged (blocks, page), both modes at any distance.
  std::optional<TensorArg> k_scale = {};
  TensorArg weights;                              ///< (m, heads), f32; rows at any distance
  std::optional<TensorArg> first = {}, last = {}; ///< (m), i32: the window of each token
  TensorArg logits;                               ///< (m, n), f32; rows at any distance
  /// (m, n), of bias_type; rows at any distance. Where it is -infinity, logits are, whatever the key has.
  std::optional<TensorArg> bias = {};
  /// Paged: where the tokens of sequences start, and the end: (s + 1), i32; 0 tokens, too.
  std::optional<TensorArg> cu_seqlens_q = {};
  /// Paged: the most tokens of a sequence in the call, for which there are blocks; 0: as an average one
  /// has. Results are right for any number; a sequence that has more takes longer.
  std::int64_t max_seqlen_q = 0;
  std::optional<TensorArg> seq_lens = {}; ///< paged: (s), i32: keys of each sequence, up to n
  /// Paged: (s, blocks of a sequence), i32: numbers of blocks; rows at any distance.
  std::optional<TensorArg> block_table = {};
};

template <> struct FamilyOf<MqaLogitsProblem> {
  using Config = MqaLogitsConfig;
  using Args = MqaLogitsArgs;
  static constexpr std::string_view name = "mqa_logits";
};
using MqaLogitsPlan = Plan<MqaLogitsProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
