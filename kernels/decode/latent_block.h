// Decoding of multi-head latent attention (MLA): all heads have the same keys, and a value is the
// first elements of its key. A block's waves have 16 rows each, or share 16 rows and have elements of
// the values each. A step of keys goes through shared memory, from which all waves read it, and the
// next one is on its way into registers meanwhile. Where shared memory has room for two steps, waves
// wait for each other once in a step. Without accumulation registers (RDNA) the sums
// leave no room for queries of 16 bits, which are in shared memory, too.
#pragma once

#include "blocks/attention/decode_wave.h"
#include "blocks/common/shared_rows.h"
#include "blocks/common/where.h"
#include "decode/decode_scores.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What the waves of a block share: a step of keys or two, in the type of q; and at the end, in the same
/// place, what each wave is about to write of its 16 rows.
class LatentMemory {
public:
  static constexpr int kElements = 64; ///< elements of a row that a wave writes at a time

  LatentMemory(const DecodeProblem &problem, const DecodeConfig &config, const MatrixForm &form)
      : stages(latentStages(problem, config, form)), type_(operandOf(problem)), head_(problem.head),
        placement_(latentPlacement(problem, form)),
        ofStage_(static_cast<std::int32_t>(latentKeyBytes(problem, form))),
        start_(SharedAllocator().allocate(std::max<std::int64_t>(
            stages * latentKeyBytes(problem, form),
            writesByRows(form) ? 0
                               : std::int64_t(config.block / form.lanes) * 16 * kDistance * 4))) {
    if (latentSharesQueries(problem, form))
      queries.emplace(SharedAllocator().allocate(latentRowBytes(problem, config.rows, form)), type_,
                      head_, placement_);
  }
  /// Whether a lane has runs of neighbours in its results that are worth a store of their own. The
  /// results of other forms go through shared memory.
  static bool writesByRows(const MatrixForm &form) { return !form.accumulates(); }

  /// The keys of a stage.
  SharedRows keys(const Int32 &stage) const {
    return {stages == 1 ? start_ : start_ + stage * ofStage_, type_, head_, placement_};
  }
  /// An element of a row of a wave.
  Pointer result(const Int32 &wave, const Int32 &row, const Int32 &element) const {
    return start_.recast(f32) + ((wave * 16 + row) * kDistance + element);
  }
  /// The logarithm of a row of a wave.
  Pointer lse(const Int32 &wave, const Int32 &row) const {
    return result(wave, row, Int32(kElements));
  }

  int stages;                        ///< steps of keys
  std::optional<SharedRows> queries; ///< the block's queries, if latentSharesQueries

private:
  static constexpr int kDistance =
      kElements + 4; ///< elements from a row to the next, against bank conflicts
  DType type_;
  int head_;
  RowPlacement placement_;
  std::int32_t ofStage_; ///< bytes
  Pointer start_;
};

/// The cache of latent keys, whose first elements are the values: (pages, page, head).
inline Tensor cacheOf(const DecodeProblem &problem, const DecodeTraced &p) {
  const Strided<OnDevice, 3> k = nearTokens(problem, p.k);
  const Strided<OnDevice, 2> tokens{.address = k.address, .stride = {k.stride[0], k.stride[1]}};
  return tokens.view(problem.kv, {kAnyPages, problem.page, problem.head},
                     kPieceBytes); // (pages, page, head)
}

/// A block with one sequence.
class LatentBlock {
public:
  LatentBlock(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &p,
              const MatrixForm &form, const LatentMemory &memory, const DecodePart &part)
      : problem_(problem), config_(config), memory_(memory), part_(part),
        shares_(valueShares(config, form.lanes)), transposes_(latentTransposes(problem, form)),
        lane_(form, std::max(form.piece(), form.perLane()), problem.latent / shares_,
              transposes_          ? 1
              : form.accumulates() ? form.piece()
                                   : kCombineElements),
        wave_(gpu::uniform(thread_idx().x / form.lanes).to<Int32>()),
        firstRow_(part.firstRow + wave_ / shares_ * 16),
        firstValue_(wave_ % shares_ * (problem.latent / shares_)),
        rows_(problem, config, p, part.sequence, Int32(0), part.endRow),
        queries_(BlockQueries::of(problem, config, rows_, part)),
        visibility_(visibilityOf(problem, p, part.sequence, rows_.queries())),
        scores_(problem, p, rows_, part, queries_, visibility_),
        source_({.cache = KvCache::pages, .tokensOfPage = problem.page}, cacheOf(problem, p),
                cacheOf(problem, p), tableOf(problem, p, part.sequence)) {
    if (scalesHeads(problem)) {
      scale_.emplace(headScale(problem, p, p.kScale, part.sequence, Int32(0)));
      scoreScale_.emplace(*scoreScale(problem, p, part.sequence, Int32(0)));
    }
  }

  void run() {
    const int step = lane_.keys();
    const Span<Int32> part = keysOfBlock(config_, visibility_, queries_, part_, step);
    const Int32 row = rowOf(), key = lane_.key(0), group = lane_.product().element(0),
                valueLane = firstValue_ + lane_.element(0, lane_.product().row());
    const LaneQuery query = memory_.queries ? shareQueries() : this->query(row);
    DecodeWave wave(lane_, 1, lane_.product().pieces(problem_.head), scores_.factor(), false,
                    transposes_);
    std::vector<Var<Vector>> fetched;
    for (int i = 0; i < ahead(); ++i)
      fetched.emplace_back(Vector::splat(0.0f, fetchPiece(), problem_.kv));
    if_(part.first < part.end, [&] { fetch(part.first, part.end - 1, fetched, 0); });
    const Var<Int32> stage(0);
    for (Int32 base : range(counted(part.first), part.end, step)) {
      const SharedRows shared = memory_.keys(stage);
      if (memory_.stages == 1)
        gpu::barrier(AddressSpace::shared); // all waves are done with the step before
      put(shared, fetched, 0);
      for (int first = ahead(); first < fetches(); first += ahead()) {
        fetch(base, part.end - 1, fetched, first);
        put(shared, fetched, first);
      }
      gpu::barrier(AddressSpace::shared);
      if_(base + step < part.end, [&] { fetch(base + step, part.end - 1, fetched, 0); });
      const Boolean partial = scores_.masks(base, step, part.end);
      // Without rematerialised, the compiler reads queries before the loop, into registers.
      std::optional<Int32> own;
      if (memory_.queries)
        own.emplace(rematerialised(wave_ / shares_ * 16 + lane_.product().row()).to<Int32>());
      wave.step(
          [&](int, int piece) {
            return own ? memory_.queries->load(*own, *own, group, lane_.product().pieceAt(piece),
                                               lane_.product().piece())
                       : query.pieces[static_cast<std::size_t>(piece)];
          },
          [&](int tile, int piece) {
            return shared.load(lane_.key(tile), key, group, lane_.product().pieceAt(piece),
                               lane_.product().piece());
          },
          [&](int tile) {
            if (transposes_)
              return turnedValues(shared, tile);
            return valuesOfRows(lane_, lane_.width(), [&](int i) {
              const Int32 own = lane_.valueKey(i);
              return shared.load(own, lane_.form().replicated() ? own : lane_.scoreKey(), valueLane,
                                 lane_.elementOfTile(tile), lane_.width());
            });
          },
          [&](int, const Tensor &scores) {
            if (query.scale)
              scores.store(scores.load() * *query.scale);
            scores_.finish(
                scores, [&] { return row; }, lane_, base, part.end, partial);
          },
          [](const Vector &probabilities) { return probabilities; });
      if (memory_.stages > 1)
        stage = 1 - stage;
    }
    write(wave);
  }

private:
  int threads() const { return config_.block; }
  /// Elements of a piece of a key on its way into shared memory, and pieces of a thread.
  int fetchPiece() const { return kPieceBytes / problem_.kv.bytes(); }
  int pieces() const { return lane_.keys() * problem_.head / fetchPiece(); }
  int fetches() const { return (pieces() + threads() - 1) / threads(); }
  /// The pieces of a thread that are on their way while the waves multiply the step before. Without accumulation
  /// registers there is room for nine, what four waves have of keys of 576, and on RDNA3, whose lanes
  /// hold whole rows of operands, for four. The others are brought when the step before is done.
  int ahead() const {
    if (lane_.form().accumulates())
      return fetches();
    return std::min(lane_.form().replicated() ? 4 : 9, fetches());
  }

  /// The lane's row; rows past the last one are the first one again, and are not stored.
  Int32 rowOf() const {
    const Int32 row = firstRow_ + lane_.product().row();
    return select(row < rows_.count(), row, part_.firstRow);
  }
  LaneQuery query(const Int32 &row) const {
    const Tensor own = lane_.product().partition(rows_.q(row)); // (piece, pieces)
    std::vector<Vector> pieces;
    for (int i = 0; i < lane_.product().pieces(problem_.head); ++i)
      pieces.push_back(own(_, i).load()); // (piece)
    return laneQuery(problem_, lane_.product(), pieces, scoreScale_);
  }

  /// Brings the block's queries into shared memory; all waves wait for the first keys before they
  /// read them.
  LaneQuery shareQueries() const {
    const int count = kPieceBytes / problem_.q.bytes(), across = problem_.head / count;
    for (int at = 0; at < config_.rows * across; at += threads()) {
      const Int32 number = thread_idx().x + at, row = number / across, piece = number % across,
                  own = part_.firstRow + row;
      const auto bring = [&] {
        const Tensor query = rows_.q(select(own < rows_.count(), own, part_.firstRow)); // (head)
        memory_.queries->store(row, piece * count, pieceOf(query, piece, count).load());
      };
      if (at + threads() > config_.rows * across)
        if_(number < config_.rows * across, bring);
      else
        bring();
    }
    return {{}, scoreScale_};
  }

  /// The key of a step and the element at which a thread's piece starts; none past the last piece.
  struct Piece {
    Int32 key, element;
    std::optional<Boolean> inside;
  };
  Piece piece(int i) const {
    const Int32 number = thread_idx().x + i * threads();
    const int across = problem_.head / fetchPiece();
    Piece piece{Int32(number / across), Int32(number % across * fetchPiece()), {}};
    if ((i + 1) * threads() > pieces())
      piece.inside.emplace(number < pieces());
    return piece;
  }
  /// The thread's pieces from `first` on, as many as there are.
  void each(int first, const std::vector<Var<Vector>> &all,
            const std::function<void(const Piece &, const Var<Vector> &)> &body) const {
    for (int i = 0; i < static_cast<int>(all.size()) && first + i < fetches(); ++i)
      body(piece(first + i), all[static_cast<std::size_t>(i)]);
  }
  /// Loads pieces of a step of keys. Those past the last one are the last one again.
  void fetch(const Int32 &base, const Int32 &last, const std::vector<Var<Vector>> &into,
             int first) const {
    each(first, into, [&](const Piece &piece, const Var<Vector> &own) {
      const auto load = [&] {
        const KvPlace place = source_.place(min(base + piece.key, last));
        own = pieceOf(source_.key(place), piece.element / fetchPiece(), fetchPiece()).load();
      };
      where(piece.inside, load);
    });
  }
  void put(const SharedRows &keys, const std::vector<Var<Vector>> &fetched, int first) const {
    each(first, fetched, [&](const Piece &piece, const Var<Vector> &own) {
      const auto store = [&] {
        keys.store(piece.key, piece.element, own.get().to(operandOf(problem_)));
      };
      where(piece.inside, store);
    });
  }

  /// A tile of values of a step, turned by the reads: of each run of 8 keys, two lanes of 16 read the 16
  /// elements of one, and each lane gets its element of all.
  ValueOperands turnedValues(const SharedRows &keys, int tile) const {
    constexpr int kRun = RunsOfEight::kRun;
    const int runs = lane_.valueKeys() / kRun;
    const CopyAtom turned =
        make_copy_atom(TransposedCopyFromShared(8, 8 * kRun), operandOf(problem_));
    const Int32 row = lane_.product().row(), element = firstValue_ + row % 2 * kRun;
    const Tensor operand =
        make_rmem_tensor(IntTuple({kRun, runs}), operandOf(problem_)); // (run, runs)
    for (int i = 0; i < runs; ++i) {
      const Int32 first = lane_.valueKey(i * kRun);
      copy_atom_call(
          turned,
          make_view(keys.place(first + row / 2, first, element, lane_.elementOfTile(tile)),
                    make_layout(kRun)),
          operand(_, i)); // (run)
    }
    return {operand.load()};
  }

  /// Writes what the wave found.
  void write(const DecodeWave &wave) const {
    const DecodeResults results(config_, rows_, part_);
    const SoftmaxEnd end = wave.finish(0);
    const Numeric factor = scale_ ? Numeric(end.inverse * *scale_) : end.inverse;
    if (LatentMemory::writesByRows(lane_.form()))
      writeByRows(wave, results, end, factor);
    else
      writeTogether(wave, results, end, factor);
  }
  /// Each lane writes the neighbours that it has of its row.
  void writeByRows(const DecodeWave &wave, const DecodeResults &results, const SoftmaxEnd &end,
                   const Numeric &factor) const {
    constexpr int size = kCombineElements;
    const Int32 own = firstRow_ + lane_.product().row();
    if_(own < rows_.count(), [&] {
      const DecodeResults::Row place = results.row(own);
      for (int tile = 0; tile < lane_.valueTiles(); tile += lane_.width())
        for (int v = 0; v < lane_.product().sums(); ++v)
          for (int e = 0; e < lane_.width(); e += size) {
            const Tensor run = make_rmem_tensor(IntTuple(size), f32); // (size)
            for (int k = 0; k < size; ++k)
              run(k) = wave.sums(0, tile + e + k)(v) * factor;
            const Int32 element = firstValue_ + lane_.element(tile, lane_.product().sumRow(v)) + e;
            results.write(place, element / size, {run.load(), end.lse});
          }
    });
  }
  /// A lane's numbers of a row are not neighbours of the next lane's, so they go through shared
  /// memory, and neighbouring lanes write 16 neighbours at a time, or 64.
  void writeTogether(const DecodeWave &wave, const DecodeResults &results, const SoftmaxEnd &end,
                     const Numeric &factor) const {
    constexpr int size = kCombineElements, kTogether = 16;
    // What the lane writes of each 64 elements: for each of these, its row and the place of its pieces.
    constexpr int across = LatentMemory::kElements / size;
    struct Piece {
      Int32 row, number;
      Boolean exists;
      DecodeResults::Row place;
    };
    std::vector<Piece> pieces;
    // Nothing of it is kept in registers from before the loop over keys.
    const Int32 lane = rematerialised(gpu::lane_id()).to<Int32>();
    for (int at = 0; at < 16 * across; at += lane_.form().lanes) {
      const Int32 number = lane + at, row = number / across, own = firstRow_ + row;
      pieces.push_back(
          {row, Int32(number % across), Boolean(own < rows_.count()), results.row(own)});
    }
    const Int32 ofWave = wave_ % shares_ * (problem_.latent / shares_ / size);
    // 64 elements of the wave's rows: `put` brings the lane's, `place(number)` says which piece of the
    // row a piece of them is.
    const auto pass = [&](bool withLse, const std::function<void()> &put,
                          const std::function<Int32(const Int32 &number)> &place) {
      gpu::barrier(AddressSpace::shared); // all have read what was there before
      put();
      if (withLse)
        memory_.lse(wave_, lane_.product().row()).store(end.lse);
      gpu::barrier(AddressSpace::shared);
      for (const Piece &piece : pieces)
        if_(piece.exists, [&] {
          results.write(piece.place, place(piece.number),
                        {memory_.result(wave_, piece.row, piece.number * size).load(size),
                         withLse || problem_.sink ? memory_.lse(wave_, piece.row).load() : end.lse},
                        withLse);
        });
    };
    const auto put = [&](const Int32 &at, const std::function<Numeric(int k)> &element) {
      const Tensor run = make_rmem_tensor(IntTuple(size), f32); // (size)
      for (int k = 0; k < size; ++k)
        run(k) = element(k) * factor;
      memory_.result(wave_, lane_.product().row(), at).store(run.load());
    };
    const int width = lane_.width(), rows = kTogether / width; // of the product's result
    if (width == 1) { // a lane's sums of a tile are neighbours
      constexpr int kTiles = LatentMemory::kElements / 16;
      for (int tile = 0; tile < lane_.valueTiles(); tile += kTiles)
        pass(
            tile == 0,
            [&] {
              for (int i = 0; i < kTiles; ++i)
                put(lane_.product().group() * size + i * 16,
                    [&](int k) { return wave.sums(0, tile + i)(k); });
            },
            [&](const Int32 &number) { return ofWave + number + tile * (16 / size); });
      return;
    }
    for (int tile = 0; tile < lane_.valueTiles(); tile += width)
      for (int v = 0; v < lane_.product().sums(); v += rows)
        pass(
            tile == 0 && v == 0,
            [&] {
              for (int i = 0; i < rows; ++i)
                for (int e = 0; e < width; e += size)
                  put(lane_.product().group() * kTogether + (i * width + e),
                      [&](int k) { return wave.sums(0, tile + e + k)(v + i); });
            },
            [&](const Int32 &number) {
              // Of the value's pieces: those of other waves and tiles, and of other rows of the product.
              constexpr int kPieces = kTogether / size;
              const Int32 row = number / kPieces * 4 + v;
              return ofWave + row * (width / size) +
                     (lane_.elementOfTile(tile) / size + number % kPieces);
            });
  }

  const DecodeProblem &problem_;
  const DecodeConfig &config_;
  const LatentMemory &memory_;
  const DecodePart &part_;
  int shares_;
  bool transposes_; ///< see latentTransposes
  DecodeLane lane_;
  Int32 wave_, firstRow_, firstValue_;
  DecodeRows rows_;
  BlockQueries queries_;
  Visibility<Int32> visibility_;
  DecodeScores scores_;
  KvSource source_;
  std::optional<Numeric> scale_, scoreScale_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
