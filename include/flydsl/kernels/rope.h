// Rotary position embedding of the heads of q and k, with an RMS norm of each head before it and
// quantisation after it, and writing k and v into a paged cache.
#pragma once

#include <flydsl/kernels/kv_cache.h>
#include <flydsl/kernels/quantisation.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// Which elements of a head's rotary part are a pair (a, b), for i below rotary / 2.
enum class RopeStyle : std::uint8_t {
  neox, ///< elements i and i + rotary / 2
  gptj, ///< elements 2 i and 2 i + 1
};

/// Whether each head is divided by its root mean square before it is rotated.
enum class HeadNorm : std::uint8_t {
  none,
  plain,    ///< x / sqrt(mean(x^2) + eps)
  weighted, ///< that times a weight for each element
};

/// Each pair (a, b) of a head of token t, after the norm if there is one, becomes
/// (a c - b s, b c + a s), where c and s are element i of row positions[t] of the tables cos and
/// sin. Elements outside of the rotary part do not rotate. All of it is computed in f32 and rounded
/// once. If there is a cache, k as it is then and v of token t are written to place slots[t] % page
/// of block slots[t] / page; different tokens of a call have different slots. A token whose slot is
/// negative or past the cache leaves the cache alone. A position outside of the tables makes NaNs.
struct FLYDSL_API RopeProblem {
  DType x = f16; ///< of q, k and v: f32, f16 or bf16
  /// Of q_out and k_out: f32, f16 or bf16; if they are quantised, i8 or a float of 8 bits.
  DType y = f16;
  DType table = f32; ///< of cos and sin: f32, f16 or bf16
  DType index = i32; ///< of positions and slots: i32 or i64
  int q_heads = 0;   ///< heads of q; 0: there is no q
  int kv_heads = 0;  ///< heads of k and v; 0: there are none
  int head = 0;      ///< elements of a head, an even number
  int rotary = -1;   ///< elements of a head that rotate, an even number; -1: all, 0: none
  RopeStyle style = RopeStyle::neox;
  bool tail = false; ///< the rotary part is the end of a head instead of its start
  bool k_out = true; ///< k is also written to k_out
  KvCache cache = KvCache::none;
  /// f32, f16 or bf16, which x is rounded to; or i8 or a float of 8 bits, which is quantised as
  /// `cache_scales` says.
  DType cached = f16;
  int page = 16;        ///< tokens of a block of the cache
  int pack = 16;        ///< KvCache::packed: elements of k that lie together, a power of two
  int v_pack = 0;       ///< KvCache::packed: tokens of v that lie together; 0: page
  bool v_cached = true; ///< v is written to the cache; without it, there is no v
  HeadNorm q_norm = HeadNorm::none, k_norm = HeadNorm::none;
  DType weight = f16; ///< of q_weight and k_weight: f32, f16 or bf16
  double eps = 1e-6;  ///< of the norms: at least 0, rounded to f32
  /// Elements at the start of a head that the norms take, an even number: the others keep their
  /// values, and weights have so many. 0: all. With `tail`, a latent key of MLA is normed and its
  /// rotary part is not.
  int normed = 0;
  /// Of q_out and k_out, with a scale for each group of elements of a head as its row.
  Quantisation quantise = Quantisation::none;
  int group = 0; ///< Quantisation::row: elements of a group, a power of two; 0: all of a head
  /// Quantisation::row: f32; or f8E8M0FNU, whose scales are powers of two: BlockScale::ceil of
  /// QuantiseProblem. y is then a float of 8 bits.
  DType scale = f32;
  /// Of a cache of 8 bits. KvScales::tensor and KvScales::head: scales are given, one for each of k and v,
  /// or one for each of their heads, Quantisation::fixed. KvScales::token: each head of a token has one,
  /// which is written, by the rule of Quantisation::row.
  KvScales cache_scales = KvScales::tensor;
  /// A power of two: every head of all operands, of the cache too, starts at a multiple of so many
  /// elements, up to 16 bytes. 0: the largest up to 16 that divides `head`.
  int row_align = 0;
  friend bool operator==(const RopeProblem &, const RopeProblem &) = default;
};

/// How the heads are shared among threads.
struct FLYDSL_API RopeConfig {
  int lanes = 8;   ///< threads of a head: a power of two up to the wave
  int heads = 1;   ///< heads of a token that the same threads take, one after another
  int block = 256; ///< threads of a block
  friend bool operator==(const RopeConfig &, const RopeConfig &) = default;
};

/// The tensors of a call with m tokens; those that the problem does not have are left out. In
/// tensors of heads, the elements of a head are contiguous, and tokens and heads may lie at any
/// distance: q, k and v may be parts of one tensor. q_out may be q, and k_out may be k.
struct FLYDSL_API RopeArgs {
  std::optional<TensorArg> q = {};         ///< (m, q_heads, head)
  std::optional<TensorArg> k = {}, v = {}; ///< (m, kv_heads, head)
  std::optional<TensorArg> positions = {}; ///< (m)
  /// (positions, rotary / 2) with rows at any distance: parts of one table, or of a table with both
  /// halves. Both have the same number of rows.
  std::optional<TensorArg> cos = {}, sin = {};
  std::optional<TensorArg> slots = {};                   ///< (m)
  std::optional<TensorArg> q_out = {}, k_out = {};       ///< as q and k
  std::optional<TensorArg> k_cache = {}, v_cache = {};   ///< see KvCache
  std::optional<TensorArg> q_weight = {}, k_weight = {}; ///< (head), or (normed)
  /// Of q_out and k_out. Quantisation::fixed: (1), f32, read. Quantisation::row, written and
  /// compact: (m, q_heads, head / group) and (m, kv_heads, head / group).
  std::optional<TensorArg> q_scale = {}, k_scale = {};
  /// f32, of a quantised cache. KvScales::tensor: (1), read. KvScales::head: (kv_heads), read.
  /// KvScales::token: (blocks, page, kv_heads), written where tokens are. Each at any distance.
  std::optional<TensorArg> k_cache_scale = {}, v_cache_scale = {};
};

template <> struct FamilyOf<RopeProblem> {
  using Config = RopeConfig;
  using Args = RopeArgs;
  static constexpr std::string_view name = "rope";
};
using RopePlan = Plan<RopeProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
