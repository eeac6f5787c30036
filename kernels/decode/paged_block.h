// Decoding over caches of keys and of values. A block has the rows of one group of heads, or some of
// them; its waves take steps of keys in turn, each by itself, straight from memory into registers,
// and add up at the end what they found.
#pragma once

#include "blocks/attention/decode_wave.h"
#include "blocks/common/shared_rows.h"
#include "decode/decode_scores.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/argument.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline KvLayout kvLayout(const DecodeProblem &problem) {
  return kvLayoutOf(problem, valueOf(problem), cacheAlign(problem) * problem.kv.bytes());
}

/// Neighbouring elements of a value that a lane loads; a packed cache has tokens there.
inline int valueWidth(const DecodeProblem &problem, const DecodeStep &step) {
  return problem.cache == KvCache::packed ? 1 : std::min(step.width, cacheAlign(problem));
}

/// Neighbouring tokens of a sequence, those from a multiple of 8 to below the next: in pages of a
/// multiple of 8 tokens, the table is read once for them. Tokens past `last` are the last one again.
class KvRun {
public:
  KvRun(const KvSource &source, const Int32 &first, const Int32 &last)
      : source_(source), shared_(source.layout().tokensOfPage % RunsOfEight::kRun == 0),
        last_(last), start_(first), left_(max(last - first, 0)) {
    if (shared_)
      place_.emplace(source.place(min(first, last)));
  }
  /// The place of the token `i` after the first one.
  KvPlace operator()(const Int32 &i) const {
    if (!shared_)
      return source_.place(min(start_ + i, last_));
    return {place_->page, place_->token + min(i, left_)};
  }
  const Int32 &start() const { return start_; }

private:
  const KvSource &source_;
  bool shared_;
  Int32 last_, start_;
  Int32 left_; ///< the tokens after the first one
  std::optional<KvPlace> place_;
};

/// What the waves of a block share.
struct PagedMemory {
  WaveParts found;
  std::optional<SharedRows> queries; ///< the block's queries, if DecodeStep::sharedQueries

  PagedMemory(const DecodeProblem &problem, const DecodeConfig &config, const MatrixForm &form)
      : PagedMemory(problem, config, form,
                    config.block / form.lanes / DecodeStep::of(problem, config.rows, form).shares) {
  }

private:
  /// `waves`: those that have keys of their own.
  PagedMemory(const DecodeProblem &problem, const DecodeConfig &config, const MatrixForm &form,
              int waves)
      : found(waves, rowsAtOnce(problem, form, config.rows, waves), valueInSteps(problem)) {
    if (!DecodeStep::of(problem, config.rows, form).sharedQueries)
      return;
    const RowPlacement placement = RowPlacement::of(target(), RowsRead::neighbours);
    const DType type = operandOf(problem);
    const int head = keyInSteps(problem, form);
    queries.emplace(SharedAllocator().allocate(placement.bytes(config.rows, head, type)), type,
                    head, placement);
  }
};

/// A block with one sequence.
class PagedBlock {
public:
  /// `readsAgain`: the arguments are read again here, and for the results.
  PagedBlock(const DecodeProblem &problem, const DecodeConfig &config,
             const DecodeTraced &arguments, const MatrixForm &form, const PagedMemory &memory,
             const DecodePart &part, bool readsAgain)
      : problem_(problem), config_(config), arguments_(arguments),
        p_(readsAgain ? read_again(arguments) : arguments), memory_(memory), part_(part),
        readsAgain_(readsAgain), step_(DecodeStep::of(problem, config.rows, form)),
        lane_(form, keyPiece(problem, form), valueInSteps(problem) / step_.shares,
              valueWidth(problem, step_), step_.repeats),
        kvHead_(block_idx().y / rowBlocks(problem, config)), firstRow_(part.firstRow),
        number_(gpu::uniform(thread_idx().x / form.lanes).to<Int32>()),
        wave_(number_ / step_.shares),
        firstValue_(number_ % step_.shares * (valueInSteps(problem) / step_.shares)),
        waves_(config.block / form.lanes / step_.shares),
        rows_(problem, config, p_, part.sequence, kvHead_, part.endRow),
        queries_(BlockQueries::of(problem, config, rows_, part)),
        visibility_(visibilityOf(problem, p_, part.sequence, rows_.queries())),
        scores_(problem, p_, rows_, part, queries_, visibility_),
        source_(kvLayout(problem),
                keysOfHead(kvLayout(problem), nearTokens(problem, p_.k), kvHead_),
                valuesOfHead(kvLayout(problem), nearTokens(problem, p_.v), kvHead_),
                tableOf(problem, p_, part.sequence)) {
    if (const auto scale = scoreScale(problem, p_, part.sequence, kvHead_))
      kScale_.emplace(*scale);
    if (scalesHeads(problem)) {
      vScale_.emplace(headScale(problem, p_, p_.vScale, part.sequence, kvHead_));
    }
  }

  void run() {
    const QueryPiece query = queries();
    DecodeWave wave(lane_, tiles(), pieces(), scores_.factor(), scalesProbabilities(problem_));
    const int step = lane_.keys();
    const Span<Int32> part = keysOfBlock(config_, visibility_, queries_, part_, step * waves_);
    for (Int32 base : range(counted(part.first + wave_ * step), counted(part.end), waves_ * step))
      keys(wave, query, base, part);
    write(wave);
  }

private:
  static constexpr int kRun = RunsOfEight::kRun;

  int tiles() const { return config_.rows / 16; }
  /// Pieces of a key that a lane has.
  int pieces() const {
    return lane_.product().pieces(keyInSteps(problem_, lane_.product().form()));
  }
  /// The row of the block's rows that the lane has in a tile; rows past the last one are the first
  /// one again, and are not stored.
  Int32 rowOf(int tile) const {
    const Int32 row = firstRow_ + tile * 16 + lane_.product().row();
    return select(row < rows_.count(), row, firstRow_);
  }

  /// The queries, in registers; or none, and they are in shared memory.
  QueryPiece queries() {
    if (step_.sharedQueries) {
      shareQueries();
      for (int tile = 0; kScale_ && tile < tiles(); ++tile)
        scoreScales_.push_back(*kScale_);
      return nullptr; // see queriesOfStep
    }
    std::vector<std::vector<Vector>> ofTiles;
    for (int tile = 0; tile < tiles(); ++tile) {
      const Int32 row = rowOf(tile);
      std::vector<Vector> all;
      for (int i = 0; i < pieces(); ++i)
        all.push_back(pieceOfRow(rows_.q(row), i, queryAlign(problem_), problem_.q));
      const LaneQuery query = laneQuery(problem_, lane_.product(), all, kScale_);
      ofTiles.push_back(query.pieces);
      if (query.scale)
        scoreScales_.push_back(*query.scale);
    }
    return
        [ofTiles](int tile, int piece) { return ofTiles[std::size_t(tile)][std::size_t(piece)]; };
  }
  void shareQueries() const {
    const int count = queryAlign(problem_),
              across = keyInSteps(problem_, lane_.product().form()) / count;
    for (int at = 0; at < config_.rows * across; at += config_.block) {
      const Int32 number = thread_idx().x + at, row = number / across, piece = number % across,
                  own = firstRow_ + row;
      const auto bring = [&] {
        const Tensor query = rows_.q(select(own < rows_.count(), own, firstRow_)); // (head)
        memory_.queries->store(row, piece * count,
                               count * across > problem_.head
                                   ? pieceOrZeros(query, piece, count)
                                   : pieceOf(query, piece, count).load());
      };
      if (at + config_.block > config_.rows * across)
        if_(number < config_.rows * across, bring);
      else
        bring();
    }
    gpu::barrier(AddressSpace::shared);
  }
  /// The queries in shared memory, as a step reads them. Without rematerialised the compiler would read
  /// them before the loop, into registers.
  QueryPiece queriesOfStep() const {
    const Int32 row = rematerialised(lane_.product().row()).to<Int32>();
    return [this, row](int tile, int piece) {
      return memory_.queries->load(row + tile * 16, row, lane_.product().element(0),
                                   lane_.product().pieceAt(piece), lane_.product().piece());
    };
  }
  /// A step of keys from `base` on. Those past the part are its last one again, and are masked.
  void keys(DecodeWave &wave, const QueryPiece &held, const Int32 &base,
            const Span<Int32> &part) const {
    const QueryPiece query = held ? held : queriesOfStep();
    const Int32 last = part.end - 1;
    std::vector<std::vector<Vector>> keys; // of all pieces, or of those that are loaded together
    const int together = step_.keyPieces ? step_.keyPieces : pieces();
    const auto key = [&](int tile, int piece) {
      if (tile == 0 && piece > 0 && piece % together == 0) {
        gpu::schedule_fence();
        keys = this->keys(base, last, piece, std::min(together, pieces() - piece));
      }
      return keys[std::size_t(tile)][std::size_t(piece % together)];
    };
    keys = this->keys(base, last, 0, together);
    const std::vector<KvRun> runs = valueRuns(base, packed() ? Int32(last / kRun * kRun) : last);
    ValueOperands loaded; // all tiles, or those that are asked for
    const auto load = [&](int tile, int end) {
      if (packed())
        return packedValues(base, last, runs);
      ValueOperands values;
      for (; tile < end; tile += lane_.width())
        for (const Vector &operand : this->values(runs, tile))
          values.push_back(operand);
      return values;
    };
    const bool late = step_.lateValues && !packed();
    if (!step_.lateValues)
      loaded = load(0, lane_.valueTiles());
    const int count = lane_.product().sums() * lane_.keyTiles();
    std::vector<Numeric> kScales, vScales;
    if (problem_.scales == KvScales::token) {
      const Tensor ofKeys = tokenScales(p_.kScale);   // (pages, page)
      const Tensor ofValues = tokenScales(p_.vScale); // (pages, page)
      for (int first = 0; first < count; first += kRun) {
        const KvRun run(source_, base + lane_.scoreKey() + lane_.scoreOffset(first), last);
        for (int i = 0; i < kRun; ++i) {
          const KvPlace place = run(Int32(i));
          kScales.push_back(ofKeys(place.page, place.token));
          vScales.push_back(ofValues(place.page, place.token));
        }
      }
    }
    const Boolean partial = scores_.masks(base, lane_.keys(), part.end);
    wave.step(
        query, key,
        [&](int tile) {
          if (late)
            return load(tile, tile + lane_.width());
          if (loaded.empty())
            loaded = load(0, lane_.valueTiles());
          const auto first = loaded.begin() + tile;
          return ValueOperands(first, first + lane_.width());
        },
        [&](int tile, const Tensor &scores) {
          if (!scoreScales_.empty())
            scores.store(scores.load() * scoreScales_[std::size_t(tile)]);
          for (std::size_t i = 0; i < kScales.size(); ++i)
            scores(int(i)) = scores(int(i)) * kScales[i];
          scores_.finish(
              scores, [&] { return rowOf(tile); }, lane_, base, part.end, partial);
        },
        [&](const Vector &probabilities) {
          if (vScales.empty() ||
              scalesProbabilities(problem_)) // which the softmax has multiplied already
            return probabilities;
          const Tensor scaled = make_rmem_tensor(IntTuple(count), operandOf(problem_)); // (count)
          for (int i = 0; i < count; ++i)
            scaled(i) =
                (probabilities.at(i).to(f32) * vScales[std::size_t(i)]).to(operandOf(problem_));
          return scaled.load();
        },
        scalesProbabilities(problem_) ? vScales : std::vector<Numeric>());
  }
  /// The scales of the head's keys or values, of tokens: (pages, page).
  Tensor tokenScales(const Strided<OnDevice, 3> &of) const {
    const Tensor all =
        of.view(f32, {kAnyPages, problem_.page, problem_.kv_heads}); // (pages, page, kv_heads)
    return all(_, _, kvHead_);                                       // (pages, page)
  }
  /// `count` neighbours of a row from `first`, a multiple of `count`, on, in accesses of at most
  /// `most` elements, as elements of `type`. `zeros`: those past the row are zeros.
  static Vector loadRun(const Tensor &row, const Int32 &first, int count, int most, DType type,
                        bool zeros = false) {
    const int each = std::min({count, most, kPieceBytes / row.dtype().bytes()});
    const auto load = [&](int at) {
      const Int32 number = (first + at) / each;
      return (zeros ? pieceOrZeros(row, number, each) : pieceOf(row, number, each).load()).to(type);
    };
    if (each == count)
      return load(0);
    const Tensor all =
        make_rmem_tensor(IntTuple({each, count / each}), type); // (each, count / each)
    for (int i = 0; i < count / each; ++i)
      all(_, i).store(load(i * each)); // (each)
    return all.load();
  }
  /// The lane's piece `i` of a row of a key or of a query, as elements of `type`.
  Vector pieceOfRow(const Tensor &row, int i, int most, DType type) const {
    const ProductLane &lane = lane_.product();
    const bool zeros = (i + 1) * lane.piece() * lane.form().across > problem_.head;
    return loadRun(row, lane.element(i), lane.piece(), most, type, zeros);
  }
  /// The lane's pieces of the keys of a step, by tile: `count` from number `from` on.
  std::vector<std::vector<Vector>> keys(const Int32 &base, const Int32 &last, int from,
                                        int count) const {
    const int most = packed() ? problem_.pack : cacheAlign(problem_);
    std::vector<std::vector<Vector>> keys;
    std::vector<KvRun> runs;
    for (int tile = 0; tile < lane_.keyTiles(); ++tile) {
      const Int32 key = lane_.key(tile);
      if (tile % lane_.tilesOfRun() == 0) // the lane's keys of these tiles are of one run
        runs.emplace_back(source_, base + key / kRun * kRun, last);
      const KvPlace place = runs.back()(key % kRun);
      keys.emplace_back();
      for (int i = from; i < from + count; ++i)
        keys.back().push_back(pieceOfRow(source_.key(place), i, most, operandOf(problem_)));
    }
    return keys;
  }
  bool packed() const { return problem_.cache == KvCache::packed; }
  /// The lane's parts of `width()` tiles of the values of a step.
  ValueOperands values(const std::vector<KvRun> &runs, int tile) const {
    const Int32 element = elementOf(tile, lane_.width());
    return valuesOfRows(lane_, lane_.width(), [&](int i) {
      const KvPlace place = runs[std::size_t(i / kRun)](Int32(i % kRun));
      return loadRun(source_.value(place), element, lane_.width(), cacheAlign(problem_),
                     operandOf(problem_));
    });
  }
  /// The first of `count` elements of values that the lane has of a tile. Past the last ones are the
  /// last ones again: of what becomes of them nothing is stored.
  Int32 elementOf(int tile, int count) const {
    const Int32 element = firstValue_ + lane_.element(tile, lane_.product().row());
    if (valueInSteps(problem_) == valueOf(problem_))
      return element;
    return min(element, valueOf(problem_) - count);
  }
  /// The values of all tiles of a packed cache, whose neighbours are an element of 8 tokens. Past the last
  /// token may be anything: it becomes 0, which a probability of 0 leaves 0.
  ValueOperands packedValues(const Int32 &base, const Int32 &last,
                             const std::vector<KvRun> &runs) const {
    std::vector<Tensor> tiles;
    for (int tile = 0; tile < lane_.valueTiles(); ++tile) {
      tiles.push_back(make_rmem_tensor(IntTuple({kRun, std::ssize(runs)}),
                                       operandOf(problem_))); // (kRun, runs)
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const KvPlace place = runs[i](Int32(0));
        const Tensor tokens = source_.tokens(place.page, elementOf(tile, 1)); // (page)
        tiles.back()(_, int(i)).store(
            loadRun(tokens, place.token, kRun, kRun, operandOf(problem_))); // (kRun)
      }
    }
    if_(base + lane_.keys() > last + 1, [&] {
      for (const Tensor &tile : tiles)
        for (std::size_t i = 0; i < runs.size(); ++i)
          for (int k = 0; k < kRun; ++k)
            tile(k, int(i)) = select(runs[i].start() + k <= last, tile(k, int(i)), 0.0f);
    });
    ValueOperands operands;
    for (const Tensor &tile : tiles)
      operands.push_back(tile.load());
    return operands;
  }
  /// The runs of tokens of whose values the lane holds elements.
  std::vector<KvRun> valueRuns(const Int32 &base, const Int32 &last) const {
    std::vector<KvRun> runs;
    for (int i = 0; i < lane_.valueKeys(); i += kRun)
      runs.emplace_back(source_, base + lane_.valueKey(i), last);
    return runs;
  }

  /// Adds up what the waves found, and writes it.
  void write(const DecodeWave &wave) const {
    const DecodeTraced p = readsAgain_ ? read_again(arguments_) : p_;
    const DecodeRows rows = rows_.with(p);
    const DecodeResults results(config_, rows, part_);
    for (int tile = 0; tile < tiles(); ++tile)
      for (int first = 0; first < rowsOfTile(problem_); first += memory_.found.rows()) {
        if (tile + first > 0)
          gpu::barrier(AddressSpace::shared); // all threads have read the rows before
        memory_.found.put(wave, tile, first, wave_, firstValue_);
        gpu::barrier(AddressSpace::shared);
        writeRows(results, firstRow_ + (tile * 16 + first));
      }
  }
  /// Writes the rows that are in shared memory, those from `first` on.
  void writeRows(const DecodeResults &results, const Int32 &first) const {
    constexpr int size = kCombineElements;
    const int count = memory_.found.rows(), across = valueOf(problem_) / size,
              pieces = count * across;
    for (int at = 0; at < pieces; at += config_.block) {
      const Int32 number = thread_idx().x + at, row = number / across, piece = number % across,
                  own = first + row;
      const Boolean exists(own < rows_.count());
      if_(pieces % config_.block ? Boolean(exists & (row < count)) : exists, [&] {
        const CombinedRow found = memory_.found.combined(row, piece * size, size);
        results.write(results.row(own), piece,
                      {vScale_ ? found.values * *vScale_ : found.values, found.lse});
      });
    }
  }

  const DecodeProblem &problem_;
  const DecodeConfig &config_;
  const DecodeTraced &arguments_; ///< the kernel's arguments as they came
  DecodeTraced p_;
  const PagedMemory &memory_;
  const DecodePart &part_;
  bool readsAgain_;
  DecodeStep step_;
  DecodeLane lane_;
  Int32 kvHead_, firstRow_;
  Int32 number_;     ///< the wave's number in the block
  Int32 wave_;       ///< its number among the waves that have other keys
  Int32 firstValue_; ///< the first of the elements that the wave has of values
  int waves_;
  DecodeRows rows_;
  BlockQueries queries_;
  Visibility<Int32> visibility_;
  DecodeScores scores_;
  KvSource source_;
  std::optional<Numeric> kScale_, vScale_;
  std::vector<Numeric> scoreScales_; ///< one for each tile of rows; none: all are 1
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
