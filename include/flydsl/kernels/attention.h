// Attention of many queries: o = softmax(scores of queries and keys) * v for each head.
#pragma once

#include <flydsl/kernels/kv_cache.h>
#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/tile_order.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// For query i and key j of a sequence with `queries` and `keys`, and at = i + keys - queries (the
/// last query stands at the last key):
///
///   s[i, j] = scale * sum_d q[i, d] * k[j, d]
///   s = soft_cap * tanh(s / soft_cap)            if soft_cap is not 0
///   s = s + bias[i, j] - slope * |at - j|        if there is a bias, and ALiBi's slopes
///   s = -infinity                                of keys that the query does not see
///   o[i] = sum_j exp(s[i, j]) * v[j]
///        / (sum_j exp(s[i, j]) + exp(sink))      exp(sink) if there is one
///
/// A query sees the keys up to j = at if `causal`, and from at - window_left to at + window_right
/// if `window`. A query that sees none has o = 0. Head h of q has the keys of head
/// h / (q_heads / kv_heads). Sums are in f32; the exponentials are rounded to the products' type for
/// the second product. A score below -2^100 counts as -infinity. Operands of 8 bits are multiplied by
/// their scales, which are not negative.
///
/// Products are of numbers of type_of_products(), which holds those of 8 bits exactly, unless
/// `float8_products`: then q and kv have 8 bits and are multiplied as they are, and the
/// exponentials are rounded to f8E4M3FN, or on gfx942 to f8E4M3FNUZ: relative to the largest of a
/// query those below 2^-15 are lost, and others off by up to 2^-4 of themselves. They are weights
/// that add up to 1 all the same.
struct FLYDSL_API AttentionProblem {
  /// Of q: f16, bf16, f32 or a float of 8 bits. f32 is rounded to the type of the products.
  DType q = f16;
  /// Of k and v: f16, bf16 or a float of 8 bits. If q has 16 bits, too, they have one type.
  DType kv = f16;
  /// Of o: f32, f16 or bf16. Results of parts of the keys that are merged by their logarithms
  /// (merge_states.h) are f32, so that they are rounded once.
  DType y = f16;
  /// Of the products, f16 or bf16, where neither q nor kv has 16 bits and y does not say it.
  DType products = {};
  /// Of q, k and v of 8 bits. With KvScales::token k and v have 8 bits, and q has one of
  /// KvScales::tensor if it has 8 bits too.
  KvScales scales = KvScales::none;
  bool float8_products = false;
  int q_heads = 0;  ///< a multiple of kv_heads
  int kv_heads = 0; ///< heads of k and v
  /// Elements of a head of q and k, a multiple of 8 up to 512; float8_products: of 16
  int head = 0;
  int head_v = 0;   ///< of v and o, the same; 0: as many as `head`
  double scale = 0; ///< positive; 0: 1 / sqrt(head)
  double soft_cap = 0;
  bool causal = false, window = false;
  /// The sequences of q lie one after another, and those of k and v too unless they are in a
  /// cache; cu_seqlens_q and cu_seqlens_kv say where. Otherwise all sequences have the same length.
  bool varlen = false;
  /// k and v are in a cache: seq_lens has the number of keys of each sequence, and block_table
  /// the blocks. A page has at least a multiple of 8 tokens if it is packed.
  KvCache cache = KvCache::none;
  int page = 16;  ///< tokens of a block of the cache
  int pack = 8;   ///< KvCache::packed: elements of k that lie together, a multiple of 8
  int v_pack = 0; ///< KvCache::packed: tokens of v that lie together, a multiple of 8; 0: page
  /// The pages of sequences lie one after another: there are kv_indptr, kv_indices and
  /// kv_last_page_len in place of block_table and seq_lens.
  bool csr = false;
  bool bias = false;
  DType bias_type = f32; ///< f32, f16 or bf16
  bool alibi = false;    ///< a slope for each head of q, or for each sequence and head
  bool sink = false;     ///< a score for each head of q
  /// A bit for each query and key says whether the one sees the other, as well as `causal` and
  /// `window` do.
  bool mask = false;
  bool lse = false; ///< the logarithm of the sum of exponentials is written, the sink's included
  /// Keys of a sequence, about: for `choose`, `configs` and `tune`, which then share them among blocks
  /// where queries are few. 0: as many as there are queries. The code is right for any.
  int context = 0;
  /// The type of the products: that of 16 bits among q and kv, otherwise `products`, or y.
  DType type_of_products() const {
    return q.bits() == 16 ? q : kv.bits() == 16 ? kv : products ? products : y;
  }
  friend bool operator==(const AttentionProblem &, const AttentionProblem &) = default;
};

/// How the waves of a block go over the tiles of keys.
enum class AttentionLoop : std::uint8_t {
  together, ///< a tile goes through registers into shared memory, where all waves meet
  /// gfx950: tiles go straight to shared memory, and two groups of four waves take turns at the
  /// matrix units. Heads of 64 and 128, keys and values of 16 bits or with float8_products, side by
  /// side or in KvCache::pages.
  groups,
};

/// How the work is shared among threads.
struct FLYDSL_API AttentionConfig {
  int tile_q = 128;  ///< queries of a block: 16 or 32 for each of its waves
  int tile_k = 64;   ///< keys that are loaded together: a multiple of 32
  int threads = 256; ///< of a block; AttentionLoop::groups: 512
  AttentionLoop loop = AttentionLoop::together;
  /// Blocks that share the keys of a tile of queries. If there are several, their results go
  /// through a workspace, and a second kernel combines them, always in the same order.
  int splits = 1;
  TileOrder order = {}; ///< of (sequence and head) by (tile of queries)
  friend bool operator==(const AttentionConfig &, const AttentionConfig &) = default;
};

/// The tensors of a call; those that the problem does not have are left out. The elements of a head
/// are contiguous; all other modes may lie at any distance of a multiple of 8 elements, of q, k and
/// v of 16 if `float8_products`. `tokens` are the queries of all sequences.
struct FLYDSL_API AttentionArgs {
  TensorArg q; ///< (batch, queries, q_heads, head); varlen: (tokens, q_heads, head)
  /// (batch, keys, kv_heads, head) and head_v; varlen: (tokens, kv_heads, head) of their own
  /// tokens; a cache: see KvCache.
  TensorArg k, v;
  TensorArg o; ///< as q, with head_v
  /// With scales, of operands of 8 bits, f32. q_scale: (1), or (batch, kv_heads). k_scale and v_scale:
  /// KvScales::tensor (1); KvScales::head (batch, kv_heads), for each sequence and head; KvScales::token
  /// (batch, keys, kv_heads), varlen (tokens, kv_heads), a cache (blocks, page, kv_heads). Each is 0 or
  /// positive; all modes at any distance.
  std::optional<TensorArg> q_scale = {}, k_scale = {}, v_scale = {};
  /// Where the sequences start, and the end: (batch + 1), i32.
  std::optional<TensorArg> cu_seqlens_q = {}, cu_seqlens_kv = {};
  /// varlen: queries of the longest sequence, for which there are blocks; 0: of an average one.
  /// Results are right for any number. The blocks of a sequence that has more queries take the
  /// tiles after theirs too, which takes longer.
  std::int64_t max_seqlen_q = 0;
  std::optional<TensorArg> seq_lens = {};    ///< a cache: (batch), i32
  std::optional<TensorArg> block_table = {}; ///< a cache: (batch, blocks), i32
  /// csr: where the pages of sequences start, and the end, (batch + 1), i32; the numbers of their
  /// blocks, i32, contiguous; and the keys of the last page of each, 1 to page, (batch), i32. A
  /// sequence without pages has no keys.
  std::optional<TensorArg> kv_indptr = {}, kv_indices = {}, kv_last_page_len = {};
  std::int64_t window_left = -1, window_right = -1; ///< keys on both sides; -1: all
  /// (batch, q_heads, queries, keys); varlen: (q_heads, tokens, keys). With a cache or varlen it
  /// has at least as many columns as a sequence has keys. Distances may be 0 where it is the same.
  std::optional<TensorArg> bias = {};
  /// f32, (q_heads), or (batch, q_heads) for each sequence at any distance.
  std::optional<TensorArg> alibi_slopes = {};
  std::optional<TensorArg> sink = {}; ///< (q_heads), f32
  /// (batch, queries, bytes); varlen: (tokens, bytes); u8, rows at any distance: bit j % 8 of byte
  /// j / 8 says whether the query sees key j. With a cache or varlen a row has bits for as many keys
  /// as a sequence has at least.
  std::optional<TensorArg> mask = {};
  /// (batch, queries, q_heads); varlen: (tokens, q_heads); f32, all modes at any distance.
  std::optional<TensorArg> lse = {};
  /// At least plan.workspace_bytes(tokens) bytes of type u8, if these are not 0.
  std::optional<TensorArg> workspace = {};
};

template <> struct FamilyOf<AttentionProblem> {
  using Config = AttentionConfig;
  using Args = AttentionArgs;
  static constexpr std::string_view name = "attention";
};
using AttentionPlan = Plan<AttentionProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
