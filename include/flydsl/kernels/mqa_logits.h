// The scores by which sparse attention chooses its keys: many query heads, one key head.
#pragma once

#include <flydsl/kernels/plan.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// The lightning indexer of DeepSeek V3.2: for token i and key j
///
///   logits[i, j] = k_scale[j] sum over h of weights[i, h] max(0, q[i, h] . k[j])
///
/// where first[i] <= j < last[i], and -infinity elsewhere. Scales of q are part of the weights.
struct FLYDSL_API MqaLogitsProblem {
  /// Of q and k: f16 or bf16, or 8-bit floats of the target's matrix instructions: f8E4M3FNUZ and
  /// f8E5M2FNUZ on gfx942, f8E4M3FN and f8E5M2 on gfx950 and gfx1201.
  DType x = f8E4M3FN;
  int heads = 64;      ///< of q: a multiple of 16, 16 to 128
  int head = 128;      ///< elements of a head: a multiple of 64, 64 to 256
  bool k_scale = true; ///< each key has a scale
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

/// The tensors of a call with m tokens and n keys.
struct FLYDSL_API MqaLogitsArgs {
  TensorArg q;                           ///< (m, heads, head); tokens and heads at any distance
  TensorArg k;                           ///< (n, head); rows at any distance
  std::optional<TensorArg> k_scale = {}; ///< (n), f32
  TensorArg weights;                     ///< (m, heads), f32; rows at any distance
  TensorArg first, last;                 ///< (m), i32: the window of each token
  TensorArg logits;                      ///< (m, n), f32; rows at any distance
};

template <> struct FamilyOf<MqaLogitsProblem> {
  using Config = MqaLogitsConfig;
  using Args = MqaLogitsArgs;
  static constexpr std::string_view name = "mqa_logits";
};
using MqaLogitsPlan = Plan<MqaLogitsProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
