// Decoding of multi-head latent attention (MLA): all heads have the same keys, and a value is the
// first elements of its key. A block's waves have 16 rows each, or share 16 rows and have elements of
// the values each. A step of keys goes through shared memory, from which all waves read it, and the
// next one is on its way into registers meanwhile. Without accumulation registers (RDNA) the sums
// leave no room for queries of 16 bits, which are in shared memory, too.
#pragma once

#include "blocks/attention/decode_wave.h"
#include "blocks/common/shared_rows.h"
#include "blocks/common/where.h"
#include "decode/decode_scores.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What the waves of a block share: a step of keys, in the type of q; and at the end, in the same
/// place, what each wave is about to write of its 16 rows.
class LatentMemory {
public:
  static constexpr int kElements = 64; ///< of a row that a wave writes at a time

  LatentMemory(const DecodeProblem &problem, const DecodeConfig &config, const MatrixForm &form)
      : start_(SharedAllocator().allocate(std::max(
            latentRowBytes(problem, RunsOfEight::of(form).rows() * form.runsOfEight(), target()),
            writesByRows(form) ? 0
                               : std::int64_t(config.block / form.lanes) * 16 * kDistance * 4))),
        keys(start_, operandOf(problem), problem.head, latentPlacement(target())) {
    if (latentSharesQueries(problem, form))
      queries.emplace(SharedAllocator().allocate(latentRowBytes(problem, config.rows, target())),
                      operandOf(problem), problem.head, latentPlacement(target()));
  }
  /// Whether a lane has runs of neighbours in its results that are worth a store of their own. The
  /// results of other forms go through shared memory.
  static bool writesByRows(const MatrixForm &form) { return !form.accumulates(); }

  /// An element of a row of a wave.
  Pointer result(const Int32 &wave, const Int32 &row, const Int32 &element) const {
    return start_.recast(f32) + ((wave * 16 + row) * kDistance + element);
  }
  /// The logarithm of a row of a wave.
  Pointer lse(const Int32 &wave, const Int32 &row) const {
    return result(wave, row, Int32(kElements));
  }

private:
  static constexpr int kDistance = kElements + 4; ///< of rows, against bank conflicts
  Pointer start_;

public:
  SharedRows keys;
  std::optional<SharedRows> queries; ///< of latentSharesQueries
};

/// The cache of latent keys, whose first elements are the values: (blocks, page, head).
inline Tensor cacheOf(const DecodeProblem &problem, const DecodeTraced &p) {
  const Strided<OnDevice, 2> tokens{.address = p.k.address,
                                    .stride = {p.k.stride[0], p.k.stride[1]}};
  return tokens.view(problem.kv, {kAnyBlocks, problem.page, problem.head},
                     kPieceBytes); // (blocks, page, head)
}

/// A block with one sequence.
class LatentBlock {
public:
  LatentBlock(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &p,
              const MatrixForm &form, const LatentMemory &memory, const DecodePart &part)
      : problem_(problem), config_(config), memory_(memory), part_(part),
        shares_(valueShares(config, form.lanes)),
        lane_(form, std::max(form.piece(), form.perLane()), problem.latent / shares_,
              form.accumulates() ? form.piece() : kCombineElements),
        wave_(gpu::uniform(thread_idx().x / form.lanes).to<Int32>()),
        firstRow_(part.firstRow + wave_ / shares_ * 16),
        firstValue_(wave_ % shares_ * (problem.latent / shares_)),
        rows_(problem, config, p, part.sequence, Int32(0), part.endRow),
        queries_(BlockQueries::of(problem, config, rows_, part)),
        visibility_(visibilityOf(problem, p, part.sequence, rows_.queries())),
        scores_(problem, p, rows_, part, queries_, visibility_),
        source_({.cache = KvCache::pages, .page = problem.page}, cacheOf(problem, p),
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
    DecodeWave wave(lane_, 1, lane_.product().pieces(problem_.head), scores_.factor());
    std::vector<Var<Vector>> fetched;
    for (int i = 0; i < ahead(); ++i)
      fetched.emplace_back(Vector::splat(0.0f, fetchPiece(), problem_.kv));
    if_(part.first < part.end, [&] { fetch(part.first, part.end - 1, fetched, 0); });
    for (Int32 base : range(part.first, part.end, step)) {
      gpu::barrier(AddressSpace::shared); // all waves are done with the step before
      put(fetched, 0);
      for (int first = ahead(); first < fetches(); first += ahead()) {
        fetch(base, part.end - 1, fetched, first);
        put(fetched, first);
      }
      gpu::barrier(AddressSpace::shared);
      if_(base + step < part.end, [&] { fetch(base + step, part.end - 1, fetched, 0); });
      const Boolean partial = scores_.masks(base, step, part.end);
      // Without rematerialised, the compiler reads queries before the loop, into registers.
      const Int32 shared =
          memory_.queries ? rematerialised(wave_ / shares_ * 16 + lane_.product().row()).to<Int32>()
                          : row;
      wave.step(
          [&](int, int piece) {
            return memory_.queries ? memory_.queries->load(shared, shared, group,
                                                           lane_.product().pieceAt(piece),
                                                           lane_.product().piece())
                                   : query.pieces[static_cast<std::size_t>(piece)];
          },
          [&](int tile, int piece) {
            return memory_.keys.load(lane_.key(tile), key, group, lane_.product().pieceAt(piece),
                                     lane_.product().piece());
          },
          [&](int tile) {
            return valuesOfRows(lane_, lane_.width(), [&](int i) {
              const Int32 own = lane_.valueKey(i);
              return memory_.keys.load(own, lane_.form().replicated() ? own : lane_.scoreKey(),
                                       valueLane, lane_.elementOfTile(tile), lane_.width());
            });
          },
          [&](int, const Tensor &scores) {
            if (query.scale)
              scores.store(scores.load() * *query.scale);
            scores_.finish(
                scores, [&] { return row; }, lane_, base, part.end, partial);
          },
          [](const Vector &probabilities) { return probabilities; });
    }
    write(wave);
  }

private:
  int threads() const { return config_.block; }
  /// Elements of a piece of a key on its way into shared memory, and pieces of a thread.
  int fetchPiece() const { return kPieceBytes / problem_.kv.bytes(); }
  int pieces() const { return lane_.keys() * problem_.head / fetchPiece(); }
  int fetches() const { return (pieces() + threads() - 1) / threads(); }
  /// Those that are on their way while the waves multiply the step before. Without accumulation
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
      pieces.push_back(own(_, i).load());
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
  void put(const std::vector<Var<Vector>> &fetched, int first) const {
    each(first, fetched, [&](const Piece &piece, const Var<Vector> &own) {
      const auto store = [&] {
        memory_.keys.store(piece.key, piece.element, own.get().to(operandOf(problem_)));
      };
      where(piece.inside, store);
    });
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
  /// memory, and neighbouring lanes write 16 neighbours at a time.
  void writeTogether(const DecodeWave &wave, const DecodeResults &results, const SoftmaxEnd &end,
                     const Numeric &factor) const {
    constexpr int size = kCombineElements, kTogether = 16;
    const int width = lane_.width(), rows = kTogether / width; // of the product's result
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
    for (int tile = 0; tile < lane_.valueTiles(); tile += width)
      for (int v = 0; v < lane_.product().sums(); v += rows) {
        gpu::barrier(AddressSpace::shared); // all have read what was there before
        for (int i = 0; i < rows; ++i)
          for (int e = 0; e < width; e += size) {
            const Tensor run = make_rmem_tensor(IntTuple(size), f32); // (size)
            for (int k = 0; k < size; ++k)
              run(k) = wave.sums(0, tile + e + k)(v + i) * factor;
            const Int32 at = lane_.product().group() * kTogether + (i * width + e);
            memory_.result(wave_, lane_.product().row(), at).store(run.load());
          }
        const bool withLse = tile == 0 && v == 0;
        if (withLse)
          memory_.lse(wave_, lane_.product().row()).store(end.lse);
        gpu::barrier(AddressSpace::shared);
        for (const Piece &piece : pieces) {
          // Of the value's pieces: those of other waves and tiles, and of other rows of the product.
          constexpr int kPieces = kTogether / size;
          const Int32 ofWave = wave_ % shares_ * (problem_.latent / shares_ / size),
                      row = piece.number / kPieces * 4 + v,
                      number = ofWave + row * (width / size) +
                               (lane_.elementOfTile(tile) / size + piece.number % kPieces);
          if_(piece.exists, [&] {
            results.write(
                piece.place, number,
                {memory_.result(wave_, piece.row, piece.number * size).load(size),
                 withLse || problem_.sink ? memory_.lse(wave_, piece.row).load() : end.lse},
                withLse);
          });
        }
      }
  }

  const DecodeProblem &problem_;
  const DecodeConfig &config_;
  const LatentMemory &memory_;
  const DecodePart &part_;
  int shares_;
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
