// Attention of a head, for kernels of one's own: scores that a function changes, masks of any shape,
// heads that lie anywhere. The guide is docs/kernels/write-your-own-attention.md.
#pragma once

#include <flydsl/kernel/tensor.h>
#include <flydsl/kernel/vector.h>
#include <flydsl/kernels/attention.h>

#include <functional>
#include <memory>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {

/// The constants of a kernel of attention, a parameter `Constexpr<AttentionSpec>` of it.
/// `choose(problem, m)` and `configs(problem, m)` give configurations.
///
/// Of the problem the parts take the types, float8_products, the heads and their sizes, scale,
/// soft_cap, causal, window, and pages of a cache. What else a problem may have is the kernel's own
/// here, so that `bias`, `alibi`, `mask`, `sink`, `lse`, `varlen` and `csr` are false. Its
/// configuration has splits = 1: a second kernel that combines parts of the keys is AttentionPlan's.
struct FLYDSL_API AttentionSpec {
  AttentionProblem problem;
  AttentionConfig config;
  /// How much is computed or loaded again, and not kept in registers: from 0, the fastest as long as
  /// the compiler spills no registers, to 5. A plan takes the first that spills none.
  int recompute = 0;
  friend bool operator==(const AttentionSpec &, const AttentionSpec &) = default;
};

/// Whether the target has such parts; if not, why.
FLYDSL_API Support supported(const AttentionSpec &spec, const Target &target);
/// The blocks of a grid: for each head of q of so many sequences, and each tile of their queries. A
/// block has config.threads threads. Kernels get registers for that by the hint waves_per_eu = 2.
FLYDSL_API std::int64_t tiles(const AttentionSpec &spec, std::int64_t sequences,
                              std::int64_t queries);

/// What a block computes: the results of config.tile_q queries of a head, from `first` on.
struct FLYDSL_API QueryTile {
  Int32 sequence, head; ///< of q
  Int32 kv_head;        ///< the head of k and v that it has
  Int32 first;          ///< query of the sequence; there may be none there
  /// Values of more than 256 elements are dealt to several blocks: the number of the block's part.
  Int32 value_part;
};

/// Which tile a block computes, in a kernel.
class FLYDSL_API QueryScheduler {
public:
  /// For `sequences` sequences of up to `queries` queries. Throws TraceError, with the reason, if the
  /// target has no such parts.
  QueryScheduler(const AttentionSpec &spec, const Int32 &sequences, const Int32 &queries,
                 Loc loc = Loc::current());
  /// The tile of a block of a grid of tiles(spec, sequences, queries), in the order of the
  /// configuration. Under a causal mask the last queries come first. A kernel with an order of its
  /// own fills in a QueryTile.
  QueryTile at(const Int32 &block) const;

private:
  AttentionSpec spec_;
  Int32 sequences_, queries_;
};

/// The keys and the values of a head in a sequence.
class FLYDSL_API KeysAndValues {
public:
  /// k (keys, head) and v (keys, head_v), in global memory. Their rows are contiguous.
  static KeysAndValues rows(const Tensor &k, const Tensor &v, Loc loc = Loc::current());
  /// Pages of a cache, if problem.cache is KvCache::pages: k (blocks, page, head) and
  /// v (blocks, page, head_v) of one head of it, the sequence's numbers of blocks, a vector of i32,
  /// and its number of keys. The caller promises that the blocks are inside of k and v.
  static KeysAndValues pages(const Tensor &k, const Tensor &v, const Tensor &blocks,
                             const Int32 &keys, Loc loc = Loc::current());

private:
  friend class Attention;
  KeysAndValues(const Tensor &k, const Tensor &v, const std::optional<Tensor> &blocks,
                const Int32 &keys, Loc loc)
      : k_(k), v_(v), blocks_(blocks), keys_(keys), loc_(loc) {}
  Tensor k_, v_;
  std::optional<Tensor> blocks_;
  Int32 keys_;
  Loc loc_;
};

/// The query and the key of a score, by their numbers in the sequence.
struct FLYDSL_API ScoreAt {
  Int32 query;  ///< one that there is
  Int32 key;    ///< may lie after the last one: its score is masked afterwards
  Int32 keys;   ///< of the sequence
  Int32 offset; ///< from a query to the key that it stands at: keys - queries

  /// The key, or the last one if there are fewer: for functions that read memory by it.
  Int32 key_inside() const;
};

/// What becomes of a score, a number of f32: scale * q . k, and the soft cap after it.
using ScoreStage = std::function<Numeric(const Numeric &score, const ScoreAt &at)>;
/// Whether a query sees a key.
using Sees = std::function<Boolean(const ScoreAt &at)>;
/// What becomes of a group of neighbours of a result before it is rounded, a vector of f32: those of
/// a query from element `element` of its head on.
using ResultStage =
    std::function<Vector(const Vector &values, const Int32 &query, const Int32 &element)>;

/// The attention of a tile of queries of a head: softmax(scores) * v. All threads of the block make
/// it, and call store(), once.
class FLYDSL_API Attention {
public:
  /// `q`: (queries, head), the head's own in global memory, with contiguous rows. Throws TraceError
  /// for operands that are not those of the spec: of another type, rank or size.
  ///
  /// Rows start at multiples of 8 elements, with float8_products of 16, and those of a tile of keys
  /// span less than 2 GiB; where the launch alone knows that, the kernel looks, and traps.
  Attention(const AttentionSpec &spec, const QueryTile &tile, const Tensor &q,
            const KeysAndValues &keys, Loc loc = Loc::current());

  /// Adds a step between scores and softmax. It is traced for each score that a thread has, and gives
  /// a number of f32. Scores of -infinity count as masked; those below -2^100 too.
  Attention &score(ScoreStage stage, Loc loc = Loc::current());
  /// Masks the keys that a query does not see, besides what `causal` and `window` say. All tiles of
  /// keys are loaded: those that no query of the tile sees are better left out by `window`.
  Attention &sees(Sees sees);
  /// The keys that a query sees before and after the one that it stands at; negative: all. The spec's
  /// problem has `window`.
  Attention &window(const Int32 &left, const Int32 &right, Loc loc = Loc::current());
  /// A score of f32 that takes part in the sum of exponentials, and has no value.
  Attention &sink(const Numeric &score, Loc loc = Loc::current());
  /// Factors of f32, not negative: of the scores, which is that of q times that of k, and of the values.
  Attention &descale(const Numeric &scores, const Numeric &values, Loc loc = Loc::current());
  /// Adds a step between the results and their store.
  Attention &then(ResultStage stage, Loc loc = Loc::current());

  /// Goes over the keys and stores the results of the tile in o (queries, head_v), whose rows are
  /// contiguous and start at multiples of 8 elements (16 for 8 bits); and in `lse`, a vector of f32,
  /// the logarithm of the sum of each query's exponentials. Does nothing if the tile begins after the
  /// last query. Throws TraceError for tensors of another type, rank or size, and if the spec's
  /// problem has a window and none was given.
  void store(const Tensor &o, Loc loc = Loc::current()) const;
  void store(const Tensor &o, const Tensor &lse, Loc loc = Loc::current()) const;

private:
  struct Inside;
  void stored(const Tensor &o, const std::optional<Tensor> &lse, Loc loc) const;
  std::shared_ptr<Inside> inside_;
};

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
