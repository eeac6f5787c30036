// Decoding of multi-head latent attention (MLA): all heads have the same keys, and a value is the
// first elements of its key. A block's waves have 16 rows each, or share 16 rows and have elements of
// the values each. A step of keys goes through shared memory, from which all waves read it, and the
// next one is on its way into registers meanwhile.
#pragma once

#include "blocks/attention/decode_wave.h"
#include "blocks/common/shared_rows.h"
#include "decode/decode_part.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What the waves of a block share: a step of keys, in the type of q; and at the end, in the same
/// place, what each wave is about to write of its 16 rows.
class LatentMemory {
public:
  static constexpr int kElements = 64; ///< of a row that a wave writes at a time
  static std::int64_t bytes(const DecodeProblem &problem, int waves) {
    return std::max(SharedRows::bytes(kKeyAlign, problem.head, operandOf(problem), placement()),
                    std::int64_t(waves) * 16 * kDistance * 4);
  }

  LatentMemory(const DecodeProblem &problem, int waves)
      : start_(SharedAllocator().allocate(bytes(problem, waves))),
        keys(start_, operandOf(problem), problem.head, placement()) {}

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
  static RowPlacement placement() { return RowPlacement::of(target(), RowsRead::groups); }
  Pointer start_;

public:
  SharedRows keys;
};

/// The cache of latent keys, whose first elements are the values: (blocks, page, head).
inline Tensor cacheOf(const DecodeProblem &problem, const DecodeTraced &p) {
  const Strided<OnDevice, 2> tokens{.address = p.k.address,
                                    .stride = {p.k.stride[0], p.k.stride[1]}};
  return tokens.view(problem.kv, {kAnyBlocks, problem.page, problem.head}, kPieceBytes);
}

/// A block with one sequence.
class LatentBlock {
public:
  LatentBlock(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &p,
              const MatrixForm &form, const LatentMemory &memory, const DecodePart &part)
      : problem_(problem), config_(config), memory_(memory), part_(part),
        shares_(valueShares(config, form.lanes)),
        lane_(form, form.piece(), problem.latent / shares_, form.piece()),
        wave_(gpu::uniform(thread_idx().x / form.lanes).to<Int32>()),
        firstRow_(block_idx().y * config.rows + wave_ / shares_ * 16),
        firstValue_(wave_ % shares_ * (problem.latent / shares_)),
        rows_(problem, config, p, part.sequence, Int32(0)),
        visibility_(visibilityOf(problem, p, part.sequence)),
        source_({.cache = KvCache::pages, .page = problem.page}, cacheOf(problem, p),
                cacheOf(problem, p), tableOf(p, part.sequence)) {
    rules_.scale = scaleOf(problem);
    if (problem.scales == KvScales::tensor) {
      scale_.emplace(tensorScale(p.kScale));
      scoreScale_.emplace(scoreScale(problem, p, *scale_));
    }
  }

  void run() {
    const int step = lane_.keys();
    const Span<Int32> part = keysOfBlock(config_, visibility_, part_, step);
    const Int32 row = rowOf(), key = lane_.key(0), group = lane_.product().element(0),
                valueLane = firstValue_ + lane_.element(0, lane_.product().row());
    const LaneQuery query = this->query(row);
    DecodeWave wave(lane_, 1, static_cast<int>(query.pieces.size()), rules_.factor());
    std::vector<Var<Vector>> fetched;
    for (int i = 0; i < fetches(); ++i)
      fetched.emplace_back(Vector::splat(0.0f, fetchPiece(), problem_.kv));
    if_(part.first < part.end, [&] { fetch(part.first, part.end - 1, fetched); });
    for (Int32 base : range(part.first, part.end, step)) {
      gpu::barrier(); // all waves are done with the step before
      put(fetched);
      gpu::barrier();
      if_(base + step < part.end, [&] { fetch(base + step, part.end - 1, fetched); });
      const Boolean partial = masksDecode(visibility_, base, step, part.end);
      wave.step([&](int, int piece) { return query.pieces[static_cast<std::size_t>(piece)]; },
                [&](int tile, int piece) {
                  return memory_.keys.load(lane_.key(tile), key, group,
                                           lane_.product().pieceAt(piece), lane_.product().piece());
                },
                [&](int tile) {
                  return valuesOfRows(lane_, lane_.width(), [&](int i) {
                    return memory_.keys.load(lane_.valueKey(i), lane_.scoreKey(), valueLane,
                                             lane_.elementOfTile(tile), lane_.width());
                  });
                },
                [&](int, const Tensor &scores) {
                  if (query.scale)
                    scores.store(scores.load() * *query.scale);
                  if_(partial, [&] {
                    maskDecode(scores, visibility_, row / problem_.q_heads, lane_, base, part.end);
                  });
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

  /// The lane's row; rows past the last one are the first one again, and are not stored.
  Int32 rowOf() const {
    const Int32 row = firstRow_ + lane_.product().row();
    return select(row < rowsOf(problem_), row, Int32(0));
  }
  LaneQuery query(const Int32 &row) const {
    const Tensor own = lane_.product().partition(rows_.query(row)); // (piece, pieces)
    std::vector<Vector> pieces;
    for (int i = 0; i < lane_.product().pieces(problem_.head); ++i)
      pieces.push_back(own(_, i).load());
    return laneQuery(problem_, lane_.product(), pieces, scoreScale_);
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
  /// Loads a step of keys. Those past the last one are the last one again.
  void fetch(const Int32 &base, const Int32 &last, const std::vector<Var<Vector>> &into) const {
    for (std::size_t i = 0; i < into.size(); ++i) {
      const Piece piece = this->piece(static_cast<int>(i));
      const auto load = [&] {
        const KvPlace place = source_.place(min(base + piece.key, last));
        into[i] = pieceOf(source_.key(place), piece.element / fetchPiece(), fetchPiece()).load();
      };
      if (piece.inside)
        if_(*piece.inside, load);
      else
        load();
    }
  }
  void put(const std::vector<Var<Vector>> &fetched) const {
    for (std::size_t i = 0; i < fetched.size(); ++i) {
      const Piece piece = this->piece(static_cast<int>(i));
      const auto store = [&] {
        const Vector values = fetched[i].get();
        memory_.keys.store(piece.key, piece.element,
                           problem_.kv == operandOf(problem_) ? values
                                                              : values.to(operandOf(problem_)));
      };
      if (piece.inside)
        if_(*piece.inside, store);
      else
        store();
    }
  }

  /// Writes what the wave found. A lane's numbers of a row are not neighbours of the next lane's, so
  /// they go through shared memory, and neighbouring lanes write 16 neighbours at a time.
  void write(const DecodeWave &wave) const {
    constexpr int size = kCombineElements, kTogether = 16;
    const DecodeResults results(config_, rows_, part_);
    const SoftmaxEnd end = wave.finish(0);
    const Numeric factor = scale_ ? Numeric(end.inverse * *scale_) : end.inverse;
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
          {row, Int32(number % across), Boolean(own < rowsOf(problem_)), results.row(own)});
    }
    for (int tile = 0; tile < lane_.valueTiles(); tile += width)
      for (int v = 0; v < lane_.product().sums(); v += rows) {
        gpu::barrier(); // all have read what was there before
        for (int i = 0; i < rows; ++i)
          for (int e = 0; e < width; e += size) {
            const Tensor run = make_rmem_tensor(IntTuple(size), f32);
            for (int k = 0; k < size; ++k)
              run(k) = wave.sums(0, tile + e + k)(v + i) * factor;
            const Int32 at = lane_.product().group() * kTogether + (i * width + e);
            memory_.result(wave_, lane_.product().row(), at).store(run.load());
          }
        const bool withLse = tile == 0 && v == 0;
        if (withLse)
          memory_.lse(wave_, lane_.product().row()).store(end.lse);
        gpu::barrier();
        for (const Piece &piece : pieces) {
          // Of the value's pieces: those of other waves and tiles, and of other rows of the product.
          constexpr int kPieces = kTogether / size;
          const Int32 ofWave = wave_ % shares_ * (problem_.latent / shares_ / size),
                      row = piece.number / kPieces * 4 + v,
                      number = ofWave + row * (width / size) +
                               (lane_.elementOfTile(tile) / size + piece.number % kPieces);
          if_(piece.exists, [&] {
            results.write(piece.place, number,
                          {memory_.result(wave_, piece.row, piece.number * size).load(size),
                           withLse ? memory_.lse(wave_, piece.row).load() : end.lse},
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
  Visibility<Int32> visibility_;
  KvSource source_;
  ScoreRules rules_;
  std::optional<Numeric> scale_, scoreScale_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
