// The kernels of attention. A block takes a tile of queries of one head, and goes over the tiles of
// keys that they see; each wave has its own queries, and all of them share the keys and the values.
#include "attention/attention_family.h"
#include "attention/kv_tile.h"
#include "blocks/attention_products.h"
#include "blocks/combine.h"

#include "blocks/groups.h"
#include "blocks/tile_order.h"
#include "frame/compile.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Numbers = std::array<Int64, kAttentionNumbers>;

/// The number of an index that is the same for the block, at an address.
Int32 uniformIndex(const Numeric &address) {
  return rocdl::s_load(Pointer::from_address(address, i32), i32);
}

/// A block's place: its sequence, head and tile of queries, and its part of the keys.
struct BlockPlace {
  Int32 sequence, head, first, part;
  Int32 queries, keys;  ///< of the sequence
  Int32 startQ, startK; ///< varlen: the sequence's first tokens
  Int32 across;         ///< tiles of a sequence that have blocks of their own

  static BlockPlace of(const AttentionProblem &problem, const AttentionConfig &config,
                       const Numbers &numbers, bool parts) {
    const Int32 across = ceildiv(number(numbers, kAttentionQueries), config.tile_q),
                down = number(numbers, kAttentionBatch) * problem.q_heads;
    const Int32 tiles = across * down, block = block_idx().x;
    const auto [row, column] =
        tileOf<Int32>(config.order, parts ? Int32(block % tiles) : block, down, across);
    // Under a causal mask the last queries see the most keys: they begin first.
    const Int32 tile = problem.causal ? Int32(across - 1 - column) : column,
                sequence = row / problem.q_heads;
    const auto index = [&](AttentionNumber at, const Int32 &i) {
      return uniformIndex(numbers[at] + i.to(i64) * 4);
    };
    const bool cache = problem.cache != KvCache::none, ownKeys = problem.varlen && !cache;
    const Int32 startQ = problem.varlen ? index(kAttentionStartsQ, sequence) : Int32(0),
                endQ = problem.varlen ? index(kAttentionStartsQ, sequence + 1)
                                      : number(numbers, kAttentionQueries),
                startK = ownKeys ? index(kAttentionStartsKv, sequence) : Int32(0),
                endK = ownKeys ? index(kAttentionStartsKv, sequence + 1)
                       : cache ? index(kAttentionLengthsKv, sequence)
                               : number(numbers, kAttentionKeys);
    return {sequence,
            row % problem.q_heads,
            tile * config.tile_q,
            parts ? Int32(block / tiles) : Int32(0),
            endQ - startQ,
            endK - startK,
            startQ,
            startK,
            across};
  }
  /// Calls `body` with each tile of queries that the block has, as a place. If sequences have their
  /// own lengths, one may be longer than the host said: its blocks take the tiles behind, too.
  template <class Body>
  void eachTile(const AttentionProblem &problem, const AttentionConfig &config, Body body) const {
    if (!problem.varlen)
      return body(*this);
    for (Int32 from : range(first, queries, Int32(across * config.tile_q)))
      body(BlockPlace{sequence, head, from, part, queries, keys, startQ, startK, across});
  }
  static Int32 number(const Numbers &numbers, AttentionNumber at) { return numbers[at].to(i32); }
};

/// What the kernels of a problem share: the rows of operands.
class AttentionRows {
public:
  AttentionRows(const AttentionProblem &problem, const AttentionConfig &config,
                const Numbers &numbers, const BlockPlace &place)
      : problem_(problem), config_(config), numbers_(numbers), place_(place) {}

  /// The address of a query's head in q or o, whose type is given.
  Numeric row(AttentionNumber at, DType type, const Int32 &query) const {
    return numbers_[at] +
           (place_.sequence.to(i64) * numbers_[at + 1] + token(query) * numbers_[at + 2] +
            place_.head.to(i64) * numbers_[at + 3]) *
               type.bytes();
  }
  /// Writes what was found of a row.
  void storeLse(const Int32 &query, const Numeric &base2) const {
    const Numeric at =
        numbers_[kAttentionLse] + (place_.sequence.to(i64) * numbers_[kAttentionLse + 1] +
                                   place_.head.to(i64) * numbers_[kAttentionLse + 2] +
                                   token(query) * numbers_[kAttentionLse + 3]) *
                                      4;
    Pointer::from_address(at, f32).store(base2 * static_cast<float>(1 / kLog2E));
  }
  /// The head's sink, times log2(e), if there are sinks.
  std::optional<Numeric> sink() const {
    if (!problem_.sink)
      return std::nullopt;
    return Numeric(ofHead(kAttentionSink) * static_cast<float>(kLog2E));
  }
  /// The factor of an operand, if it has one.
  std::optional<Numeric> descale(AttentionNumber at, DType type) const {
    if (!isFloat8(type))
      return std::nullopt;
    return rocdl::s_load(Pointer::from_address(numbers_[at], f32), f32);
  }
  /// The factor of the products.
  std::optional<Numeric> scoreDescale() const {
    const auto q = descale(kAttentionQDescale, problem_.q),
               k = descale(kAttentionKDescale, problem_.kv);
    return q && k ? std::optional<Numeric>(*q * *k) : q ? q : k;
  }
  Numeric ofHead(AttentionNumber at) const {
    return rocdl::s_load(Pointer::from_address(numbers_[at] + place_.head.to(i64) * 4, f32), f32);
  }
  /// The bias of a query.
  std::function<Numeric(const Int32 &)> bias(const Int32 &query) const {
    const DType type = problem_.bias_type;
    const Numeric row =
        numbers_[kAttentionBias] + (place_.sequence.to(i64) * numbers_[kAttentionBias + 1] +
                                    place_.head.to(i64) * numbers_[kAttentionBias + 2] +
                                    token(query) * numbers_[kAttentionBias + 3]) *
                                       type.bytes();
    const Int32 last = numbers_[kAttentionBias + 4].to(i32) - 1;
    return [row, last, type](const Int32 &key) {
      const Numeric at = row + Int32(min(key, last)).to(i64) * type.bytes();
      const Numeric value = Pointer::from_address(at, type).load();
      return type == f32 ? value : value.to(f32);
    };
  }

  /// The keys and values of the head.
  KvSource source() const {
    const int group = problem_.q_heads / problem_.kv_heads, bytes = problem_.kv.bytes();
    const Numeric head = (place_.head / group).to(i64);
    const bool cache = problem_.cache != KvCache::none;
    const auto strides = [&](AttentionNumber at) -> KvStrides {
      const Numeric start = head * numbers_[at + 3] + place_.startK.to(i64) * numbers_[at + 2];
      const Numeric sequence =
          cache ? start : Numeric(start + place_.sequence.to(i64) * numbers_[at + 1]);
      return {numbers_[at] + sequence * bytes, numbers_[at + 1], numbers_[at + 2]};
    };
    const Numeric table =
        numbers_[kAttentionTable] + place_.sequence.to(i64) * numbers_[kAttentionTable + 1] * 4;
    return KvSource(
        {problem_.cache, problem_.page, problem_.pack, vPackOf(problem_), headV(problem_), bytes},
        strides(kAttentionK), strides(kAttentionV), table);
  }

  // The workspace of parts of the keys.
  Numeric partRow(const Int32 &part, const Int32 &query) const {
    const Numeric rows = numbers_[kAttentionTokens] * problem_.q_heads;
    return part.to(i64) * rows + tokenOfAll(query) * problem_.q_heads + place_.head.to(i64);
  }
  /// The address of a part's result of a row, in f32.
  Numeric partValues(const Numeric &row) const {
    return numbers_[kAttentionWorkspace] + row * (headV(problem_) * 4);
  }
  /// The address of its logarithm.
  Numeric partLse(const Numeric &row) const {
    const Numeric rows = numbers_[kAttentionTokens] * (problem_.q_heads * config_.splits);
    return numbers_[kAttentionWorkspace] + (rows * headV(problem_) + row) * 4;
  }

private:
  /// The number of a query's token in a tensor, behind its sequence's if that has a mode.
  Numeric token(const Int32 &query) const { return (place_.startQ + query).to(i64); }
  Numeric tokenOfAll(const Int32 &query) const {
    return problem_.varlen
               ? token(query)
               : Numeric(place_.sequence.to(i64) * numbers_[kAttentionQueries] + query.to(i64));
  }

  const AttentionProblem &problem_;
  const AttentionConfig &config_;
  const Numbers &numbers_;
  const BlockPlace &place_;
};

/// The work of a block on its queries.
class AttentionBlock {
public:
  AttentionBlock(const AttentionProblem &problem, const AttentionConfig &config,
                 const AttentionShape &shape, const BlockPlace &place, const AttentionRows &rows,
                 const Numbers &numbers)
      : problem_(problem), config_(config), shape_(shape), place_(place), rows_(rows),
        rules_{.scale = scaleOf(problem),
               .soft_cap = problem.soft_cap,
               .bias = problem.bias,
               .alibi = problem.alibi,
               .descaled = isFloat8(problem.q) || isFloat8(problem.kv),
               .causal = problem.causal,
               .window = problem.window},
        sight_{problem.causal,
               problem.window,
               place.queries,
               place.keys,
               BlockPlace::number(numbers, kAttentionLeft),
               BlockPlace::number(numbers, kAttentionRight)},
        runs_(RunsOfEight::of(shape.form)), tile_(shape, rows.source()),
        scoresMma_(keysByQueries(shape.form, sideBySide())),
        valuesMma_(valuesByQueries(shape.form, sideBySide())),
        softmax_(shape.repeats(), rules_.factor(), problem.y, overLanes(16)),
        scores_(scoresMma_.make_fragment_C({shape.tileK, shape.tileQ})),
        results_(valuesMma_.make_fragment_C({shape.headV, shape.tileQ})),
        atom_(make_copy_atom(UniversalCopy128b(), problem.y)),
        readKeys_(make_tiled_copy_A(atom_, scoresMma_).get_slice(thread_idx().x)),
        readValues_(make_tiled_copy_A(atom_, valuesMma_).get_slice(thread_idx().x)) {

    for (int r = 0; r < shape.repeats(); ++r)
      queries_.push_back(place.first + r * shape.queriesAtOnce() +
                         thread_idx().x / shape.form.lanes * 16 + thread_idx().x % 16);
    for (int part = 0; part < shape.head / shape.form.part(); ++part)
      operandQ_.push_back(scoresMma_.make_fragment_B(
          make_layout({shape.tileQ, shape.form.part()}, {shape.form.part(), 1})));
  }

  /// Goes over the keys. `parts`: over the block's part of them alone.
  void run(bool parts) {
    const Int32 last = min(place_.first + config_.tile_q, place_.queries) - 1;
    const TileSpan<Int32> tiles = sight_.tiles(place_.first, last, config_.tile_k);
    const Int32 each = parts ? Int32(ceildiv(tiles.end - tiles.first, config_.splits)) : Int32(0);
    const Int32 begin =
                    parts ? Int32(min(tiles.first + place_.part * each, tiles.end)) : tiles.first,
                end = parts ? Int32(min(begin + each, tiles.end)) : tiles.end;
    results_.fill(0);
    if (shape_.keepsQueries())
      for (std::size_t part = 0; part < operandQ_.size(); ++part)
        loadQueries(part);
    const bool ahead = shape_.fetchesAhead();
    if (ahead)
      if_(begin < end, [&] { tile_.fetch(begin * config_.tile_k, place_.keys); });
    for (Int32 tile : range(begin, end)) {
      gpu::barrier(); // all waves are done with the tile before
      if (ahead)
        tile_.store();
      else
        tile_.move(tile * config_.tile_k, place_.keys);
      gpu::barrier();
      if (ahead)
        if_(tile + 1 < end, [&] { tile_.fetch((tile + 1) * config_.tile_k, place_.keys); });
      multiplyKeys();
      multiplyValues(weights(tile, tiles));
    }
  }

  /// Writes the results.
  void store() const {
    forRows(
        [&](const Int32 &query, const SoftmaxEnd &end, const Vector &values) {
          const Numeric row = rows_.row(kAttentionO, problem_.y, query);
          eachRun(values, [&](const Vector &run, const Int32 &element) {
            Pointer::from_address(row + element.to(i64) * problem_.y.bytes(), problem_.y,
                                  AddressSpace::global, 16)
                .store(run.to(problem_.y));
          });
          if (problem_.lse)
            if_(isFirst(), [&] { rows_.storeLse(query, end.lse); });
        },
        rows_.sink());
  }
  /// Writes the results of a part of the keys to the workspace.
  void storePart() const {
    forRows(
        [&](const Int32 &query, const SoftmaxEnd &end, const Vector &values) {
          const Numeric row = rows_.partRow(place_.part, query), start = rows_.partValues(row);
          eachRun(values, [&](const Vector &run, const Int32 &element) {
            for (int half = 0; half < 2; ++half)
              Pointer::from_address(start + (element + 4 * half).to(i64) * 4, f32,
                                    AddressSpace::global, 16)
                  .store(part(run, 4 * half, 4));
          });
          if_(isFirst(), [&] { Pointer::from_address(rows_.partLse(row), f32).store(end.lse); });
        },
        std::nullopt);
  }

private:
  Layout sideBySide() const { return make_layout({1, shape_.waves(), 1}, {0, 1, 0}); }

  /// Whether the lane is the first of those that share its queries.
  Boolean isFirst() const { return Boolean(gpu::lane_id() < 16); }

  /// Loads a part of the elements of the lane's queries: pieces of 16 bytes, which lanes that share
  /// a query take in turn. Past the last query it is loaded again.
  void loadQueries(std::size_t part) const {
    const MatrixForm &form = shape_.form;
    const int piece = form.piece(), lanes = form.across;
    for (int r = 0; r < shape_.repeats(); ++r) {
      const Int32 query = min(queries_[std::size_t(r)], place_.queries - 1);
      const Numeric row = rows_.row(kAttentionQ, problem_.q, query);
      const Tensor operand = operandQ_[part](_, r, _);
      for (int i = 0; i < size(operand).value(); i += piece) {
        const Int32 element = gpu::lane_id() / 16 % lanes * piece +
                              (static_cast<int>(part) * form.part() + i * lanes);
        const int bytes = problem_.q.bytes();
        const Vector loaded = Pointer::from_address(row + element.to(i64) * bytes, problem_.q,
                                                    AddressSpace::global, piece * bytes)
                                  .load(piece);
        const Vector values = loaded.dtype() == form.a ? loaded : loaded.to(form.a);
        for (int k = 0; k < piece; ++k)
          operand(i + k) = values.at(k);
      }
    }
  }

  /// S^T = K * Q^T.
  void multiplyKeys() const {
    const int width = shape_.form.part();
    const Tensor from = readKeys_.partition_S(tile_.keys()), // (V, keys, parts)
        operand = scoresMma_.make_fragment_A(make_layout({shape_.tileK, width}, {width, 1}));
    scores_.fill(0);
    for (std::size_t part = 0; part < operandQ_.size(); ++part) {
      if (!shape_.keepsQueries())
        loadQueries(part);
      copy(atom_, from(_, _, static_cast<int>(part)), readKeys_.retile(operand)(_, _, 0));
      gemm(scoresMma_, scores_, operand, operandQ_[part], scores_);
    }
  }
  /// The probabilities of a tile, for each repeat.
  std::vector<Vector> weights(const Int32 &tile, const TileSpan<Int32> &tiles) {
    const ScoreKeys keys{tile * config_.tile_k + runs_.first(),
                         [this](int i) { return runs_.offset(i); }};
    std::vector<Tensor> rows;
    for (int r = 0; r < shape_.repeats(); ++r) {
      rows.push_back(scores_(_, _, r));
      const Int32 query = min(queries_[std::size_t(r)], place_.queries - 1);
      if (rules_.changed())
        finishScores(
            rules_, rows.back(), keys,
            {.bias = problem_.bias ? rows_.bias(query) : nullptr,
             .slope = problem_.alibi ? std::optional(rows_.ofHead(kAttentionSlopes)) : std::nullopt,
             .descale = rows_.scoreDescale(),
             .at = query + (place_.keys - place_.queries)});
    }
    if_(needsMask(tiles, tile), [&] {
      for (int r = 0; r < shape_.repeats(); ++r)
        maskScores(rows[std::size_t(r)], keys, sight_.ofQuery(queries_[std::size_t(r)]));
    });
    return softmax_.add(rows, [&](int r, const Numeric &factor) {
      const Tensor result = results_(_, _, r);
      result.store(result.load() * factor);
    });
  }
  /// O^T += V^T * P^T.
  void multiplyValues(const std::vector<Vector> &weights) const {
    const int width = shape_.form.part(), own = width / runs_.groups;
    const Tensor from = readValues_.partition_S(tile_.values()), // (V, elements, parts)
        operand = valuesMma_.make_fragment_A(make_layout({shape_.headV, width}, {width, 1})),
                 operandP =
                     valuesMma_.make_fragment_B(make_layout({shape_.tileQ, width}, {width, 1}));
    for (int p = 0; p < shape_.tileK / width; ++p) {
      for (int r = 0; r < shape_.repeats(); ++r)
        giveProbabilities(shape_.form, part(weights[std::size_t(r)], p * own, own),
                          operandP(_, r, _));
      copy(atom_, from(_, _, p), readValues_.retile(operand)(_, _, 0));
      gemm(valuesMma_, results_, operand, operandP, results_);
    }
  }

  /// Calls `body` with each query that there is, the end of its softmax, and its results.
  template <class Body> void forRows(Body body, const std::optional<Numeric> &sink) const {
    const std::optional<Numeric> descale = rows_.descale(kAttentionVDescale, problem_.kv);
    for (int r = 0; r < shape_.repeats(); ++r) {
      const SoftmaxEnd end = softmax_.finish(r, sink);
      const Numeric factor = descale ? Numeric(end.inverse * *descale) : end.inverse;
      const Int32 &query = queries_[std::size_t(r)];
      if_(query < place_.queries, [&] { body(query, end, results_(_, _, r).load() * factor); });
    }
  }
  /// Calls `body` with each run of 8 elements of a result, and the first one's number.
  template <class Body> void eachRun(const Vector &values, Body body) const {
    constexpr int kRun = RunsOfEight::kRun;
    for (int i = 0; i < values.size(); i += kRun)
      body(part(values, i, kRun), Int32(runs_.first() + runs_.offset(i)));
  }

  const AttentionProblem &problem_;
  const AttentionConfig &config_;
  AttentionShape shape_;
  const BlockPlace &place_;
  const AttentionRows &rows_;
  ScoreRules rules_;
  Sight<Int32> sight_;
  RunsOfEight runs_;
  KvTile tile_;
  TiledMma scoresMma_, valuesMma_;
  OnlineSoftmax softmax_;
  Tensor scores_;  // (V, keys, queries)
  Tensor results_; // (V, elements, queries)
  CopyAtom atom_;
  ThrCopy readKeys_, readValues_;

  std::vector<Int32> queries_;   // of the lane, for each repeat
  std::vector<Tensor> operandQ_; // for each part of the elements (V, queries, k)
};

/// The kernel over all keys, or over parts of them.
void attend(const Numbers &numbers, const Spec<AttentionProblem> &spec, bool parts) {
  const auto &[problem, config] = spec;
  const AttentionShape shape = *AttentionShape::of(problem, config, target());
  BlockPlace::of(problem, config, numbers, parts)
      .eachTile(problem, config,
                [&, &problem = problem, &config = config](const BlockPlace &place) {
                  const AttentionRows rows(problem, config, numbers, place);
                  AttentionBlock block(problem, config, shape, place, rows, numbers);
                  block.run(parts);
                  if (parts)
                    block.storePart();
                  else
                    block.store();
                });
}

/// Registers for two waves of a SIMD, see AttentionShape::kRegisters.
const KernelHints kHints{.waves_per_eu = 2};

const Kernel attention{kAttention.name(),
                       [](Numbers numbers, Constexpr<Spec<AttentionProblem>> spec) {
                         attend(numbers, spec.value(), false);
                       },
                       kHints};
const Kernel attentionParts{kAttentionParts.name(),
                            [](Numbers numbers, Constexpr<Spec<AttentionProblem>> spec) {
                              attend(numbers, spec.value(), true);
                            },
                            kHints};

/// Combines the parts of a tile of queries: a thread takes four neighbours of a row.
void combineTile(const Numbers &numbers, const Spec<AttentionProblem> &spec,
                 const BlockPlace &place) {
  constexpr int kEach = 4;
  const auto &[problem, config] = spec;
  const AttentionRows rows(problem, config, numbers, place);
  const int across = headV(problem) / kEach;
  const Int32 count = min(place.queries - place.first, config.tile_q) * across;
  const std::optional<Numeric> sink = rows.sink();
  for (Int32 i : range(thread_idx().x, count, config.threads)) {
    const Int32 query = place.first + i / across, element = i % across * kEach;
    const CombinedRow row = combineParts(
        {Int32(config.splits),
         [&](const Int32 &part) {
           return Pointer::from_address(rows.partLse(rows.partRow(part, query)), f32).load();
         },
         [&](const Int32 &part) {
           const Numeric start = rows.partValues(rows.partRow(part, query));
           return Pointer::from_address(start + element.to(i64) * 4, f32, AddressSpace::global, 16)
               .load(kEach);
         }},
        kEach, sink);
    Pointer::from_address(rows.row(kAttentionO, problem.y, query) +
                              element.to(i64) * problem.y.bytes(),
                          problem.y, AddressSpace::global, 8)
        .store(row.values.to(problem.y));
    if (problem.lse)
      if_(element == 0, [&] { rows.storeLse(query, row.lse); });
  }
}
const Kernel attentionCombine{
    kAttentionCombine.name(), [](Numbers numbers, Constexpr<Spec<AttentionProblem>> spec) {
      BlockPlace::of(spec->problem, spec->config, numbers, false)
          .eachTile(spec->problem, spec->config,
                    [&](const BlockPlace &place) { combineTile(numbers, spec.value(), place); });
    }};

} // namespace

void Family<AttentionProblem>::compile(const Compiler<AttentionProblem> &compiler) {
  const int threads = compiler.config().threads;
  if (compiler.config().splits > 1) {
    compiler(kAttentionParts, attentionParts, threads);
    compiler(kAttentionCombine, attentionCombine, threads);
  } else {
    compiler(kAttention, attention, threads);
  }
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(AttentionProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
