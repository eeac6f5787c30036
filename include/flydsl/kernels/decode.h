// Attention of the newest tokens of sequences over their keys and values in a paged cache.
#pragma once

#include <flydsl/kernels/kv_cache.h>
#include <flydsl/kernels/worklist.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// Query i of a sequence's `queries`, which are its last tokens, stands at token
/// p = context - queries + i and sees the tokens j from max(0, p - window_left) to p:
///
///   s[j] = scale q . k[j]
///   s    = soft_cap tanh(s / soft_cap)             if soft_cap is not 0
///   s    = s + bias[j] - slope (p - j)             if there is a bias, and ALiBi's slopes
///   w[j] = e^s[j]
///   o    = sum over j of w[j] v[j] / (sum over j of w[j] + e^sink)     e^sink if there is one
///
/// Head h of q has head h / (q_heads / kv_heads) of k and v. A query that sees nothing gets 0.
/// The words are those of AttentionProblem and AttentionArgs; a score below -2^100 counts as -infinity here, too.
struct FLYDSL_API DecodeProblem {
  /// f16 or bf16; or a float of 8 bits that the target's matrix instructions take, as kv: the products
  /// are of 8 bits then, and the weights are rounded to q's type.
  DType q = bf16;
  DType kv = bf16; ///< as q, or a float of 8 bits, which becomes q's type: nothing is lost
  DType y = bf16;  ///< of o: f32, f16 or bf16
  /// With q of f16 or bf16 the products are of 8 bits, too: each head of q is divided by a power of
  /// 2 that brings it into the range of kv's type, and rounded to that type, as the weights are. kv
  /// is a float of 8 bits that the target's matrix instructions take.
  bool float8_products = false;
  int q_heads = 8;
  int kv_heads = 1; ///< divides q_heads
  int head = 128;   ///< elements of a head: a multiple of 8, 8 to 512; with latent of 64, to 640
  int head_v = 0;   ///< of v and o, the same; 0: as many as `head`
  KvCache cache = KvCache::pages;
  int page = 16; ///< tokens of a block of the cache, 1 to 65536
  /// The pages of sequences lie one after another: there are kv_indptr, kv_indices and
  /// kv_last_page_len in place of block_table and seq_lens.
  bool csr = false;
  int pack = 8;   ///< KvCache::packed: elements of k that lie together, a power of two from 8
  int v_pack = 0; ///< KvCache::packed: tokens of v that lie together, a multiple of 8; 0: page
  /// Of a sequence, 1 to 65535; with varlen about the most that one has.
  int queries = 1;
  double scale = 0;    ///< 0: 1 / sqrt(head)
  double soft_cap = 0; ///< positive; 0: none
  /// There is the argument `window_left`; otherwise a query sees all before it
  bool window = false;
  /// Sequences have different numbers of queries, 0 too: cu_seqlens_q says where they are. Results
  /// are right for any numbers; blocks are made for `queries` of each sequence, and those of one
  /// that has more go over its other queries after these, which takes longer.
  bool varlen = false;
  KvScales scales = KvScales::none; ///< of a cache of 8 bits
  /// Not 0: multi-head latent attention (MLA). A value is the first so many elements of its key, such
  /// as 512 of head = 576; there is no v, kv_heads is 1, and o has heads of this size.
  int latent = 0;
  bool bias = false;
  DType bias_type = f32; ///< f32, f16 or bf16
  bool alibi = false;    ///< a slope for each head of q
  bool sink = false;     ///< a score for each head of q
  /// A bit for each two queries of a sequence says whether the one sees the other, as well as the
  /// order of tokens does: drafts that are a tree. Tokens before the queries are seen as ever.
  bool tree_mask = false;
  bool lse = false; ///< the logarithm of the sum of w is written, the sink's included
  /// Tokens of a sequence, about: for `choose`, `configs` and `tune`. The code is right for any.
  int context = 4096;
  friend bool operator==(const DecodeProblem &, const DecodeProblem &) = default;
};

/// How the work is shared: a block has some rows, which are queries of heads that have the same keys,
/// and a part of the keys; each wave takes its own share of that part.
struct FLYDSL_API DecodeConfig {
  int block = 256; ///< threads of a block
  int rows = 16;   ///< of a block: 16, 32, 48 or 64; with latent up to 16 for each wave
  int splits = 1;  ///< parts of a sequence, whose results a second kernel combines
  /// Not 0: a worklist deals the keys of all sequences to so many blocks, and `splits` is 1.
  int workers = 0;
  int unit = 256; ///< keys of a unit of the worklist: a multiple of 32
  friend bool operator==(const DecodeConfig &, const DecodeConfig &) = default;
};
/// The worklist that a plan with workers takes.
inline WorklistProblem worklist_of(const DecodeProblem &problem, const DecodeConfig &config) {
  return {.workers = config.workers,
          .unit = config.unit,
          .queries = problem.queries,
          .window = problem.window,
          .varlen = problem.varlen};
}

/// The tensors of a call with n sequences, whose queries are m tokens, side by side by sequence:
/// `queries` of each, or with varlen as many as cu_seqlens_q says.
struct FLYDSL_API DecodeArgs {
  TensorArg q; ///< (m, q_heads, head); tokens and heads at any distance
  /// See KvCache; blocks, places and heads at any distance.
  TensorArg k;
  std::optional<TensorArg> v = {}; ///< missing with latent
  TensorArg o; ///< (m, q_heads, head_v or latent); tokens and heads at any distance
  /// With q of 8 bits and scales: (1) or (n, kv_heads), f32, what q's numbers are multiplied by.
  std::optional<TensorArg> q_scale = {};
  /// f32. KvScales::tensor: (1). KvScales::head: (n, kv_heads), for each sequence and head; a stride of
  /// 0 gives all sequences those of one. KvScales::token: (blocks, page, kv_heads). Each at any distance;
  /// the scales of a block's tokens span less than 2 GiB.
  std::optional<TensorArg> k_scale = {}, v_scale = {};
  /// varlen: where the queries of sequences start, and the end: (n + 1), i32.
  std::optional<TensorArg> cu_seqlens_q = {};
  /// (n), i32: tokens of each sequence in the cache, its queries among them.
  std::optional<TensorArg> seq_lens = {};
  /// (n, blocks of a sequence), i32: numbers of blocks; rows at any distance.
  std::optional<TensorArg> block_table = {};
  /// csr: where the pages of sequences start, and the end, (n + 1), i32; the numbers of their blocks,
  /// i32, contiguous; and the tokens of the last page of each, 1 to page, (n), i32. A sequence
  /// without pages has no tokens.
  std::optional<TensorArg> kv_indptr = {}, kv_indices = {}, kv_last_page_len = {};
  /// With a window: tokens that a query sees before its own; -1: all.
  std::int64_t window_left = -1;
  /// (q_heads, m, keys), with a column for each token of the longest sequence at least; heads and
  /// tokens at any distance, 0 where it is the same.
  std::optional<TensorArg> bias = {};
  /// f32, (q_heads), or (n, q_heads) for each sequence at any distance.
  std::optional<TensorArg> alibi_slopes = {};
  std::optional<TensorArg> sink = {}; ///< (q_heads), f32
  /// (m, words), i32, rows at any distance: bit j % 32 of word j / 32 says whether the query sees
  /// query j of its sequence. There are bits for all queries of a sequence.
  std::optional<TensorArg> tree_mask = {};
  /// With workers: (n + 1 + workers), i32, of worklist_of. Without it, the plan makes its own, but
  /// for varlen; with csr it always does.
  std::optional<TensorArg> worklist = {};
  std::optional<TensorArg> lse = {}; ///< (m, q_heads), f32, contiguous; -infinity: nothing is seen
  std::optional<TensorArg> workspace = {}; ///< u8, plan.workspace_bytes(m) or more
};

template <> struct FamilyOf<DecodeProblem> {
  using Config = DecodeConfig;
  using Args = DecodeArgs;
  static constexpr std::string_view name = "decode";
};
using DecodePlan = Plan<DecodeProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
