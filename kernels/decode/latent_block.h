// Decoding of multi-head latent attention (MLA): all heads have the same keys, and a value is the
// first elements of its key. A block's waves have 16 rows each, or share 16 rows and have elements of
// the values each. A step of keys goes through shared memory, from which all waves read it, and the
// next one is on its way into registers meanwhile.
#pragma once

#include "blocks/decode_wave.h"
#include "decode/decode_part.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A step of keys in shared memory, in the type of q.
class LatentMemory {
public:
  static constexpr int kPad = 8; ///< elements between keys, against bank conflicts
  static std::int64_t bytes(int keys, int head, int elementBytes) {
    return std::int64_t(keys) * (head + kPad) * elementBytes;
  }

  explicit LatentMemory(const DecodeProblem &problem)
      : type_(problem.q), distance_(problem.head + kPad),
        start_(SharedAllocator()
                   .allocate(bytes(kKeyAlign, problem.head, problem.q.bytes()))
                   .recast(problem.q)) {}

  /// `count` elements of a key, 8 at a time.
  Vector load(const Int32 &key, const Int32 &element, int count) const {
    if (count <= 8)
      return at(key, element).load(count);
    const Tensor all = make_rmem_tensor(IntTuple({8, count / 8}), type_);
    for (int i = 0; i < count / 8; ++i)
      all(_, i).store(at(key, element + 8 * i).load(8));
    return all.load();
  }
  /// Writes a piece of a key, 8 elements at a time.
  void store(const Int32 &key, const Int32 &element, const Vector &values) const {
    const int count = static_cast<int>(values.size());
    const Tensor all = make_rmem_tensor(IntTuple({8, count / 8}), type_);
    all.store(values);
    for (int i = 0; i < count / 8; ++i)
      at(key, element + 8 * i).store(all(_, i).load());
  }

private:
  Pointer at(const Int32 &key, const Int32 &element) const {
    return start_ + (key * distance_ + element);
  }
  DType type_;
  int distance_;
  Pointer start_;
};

/// A block with one sequence.
class LatentBlock {
public:
  LatentBlock(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &numbers,
              const MatrixForm &form, const LatentMemory &memory, const DecodePart &part)
      : problem_(problem), config_(config), memory_(memory), part_(part),
        shares_(valueShares(config, form.lanes)),
        lane_(form, kPieceBytes / problem.q.bytes(), problem.latent / shares_,
              kPieceBytes / problem.q.bytes()),
        wave_(rocdl::readfirstlane(thread_idx().x / form.lanes).to<Int32>()),
        firstRow_(block_idx().y * config.rows + wave_ / shares_ * 16),
        firstValue_(wave_ % shares_ * (problem.latent / shares_)),
        rows_(problem, numbers, part.sequence, Int32(0)),
        sight_(sightOf(problem, numbers, part.sequence)),
        source_({.cache = KvCache::pages,
                 .page = problem.page,
                 .head_v = problem.latent,
                 .bytes = problem.kv.bytes()},
                {.start = numbers[kDecodeK],
                 .block = numbers[kDecodeK + 1],
                 .token = numbers[kDecodeK + 2]},
                {.start = numbers[kDecodeK], .token = Int64(0)},
                Int64(numbers[kDecodeTables] +
                      part.sequence.to(i64) * numbers[kDecodeTables + 1] * 4)) {
    rules_.scale = scaleOf(problem);
    if (problem.scales == KvScales::tensor)
      scale_.emplace(Pointer::from_address(numbers[kDecodeKScale], f32).load());
  }

  void run() {
    const int step = lane_.keys();
    const Span<Int32> part = keysOfBlock(config_, sight_, part_, step);
    const Int32 row = rowOf();
    DecodeWave wave(lane_, {query(row)}, rules_.factor());
    std::vector<Var<Vector>> fetched;
    for (int i = 0; i < fetches(); ++i)
      fetched.emplace_back(Vector::splat(0.0f, fetchPiece(), problem_.kv));
    if_(part.first < part.end, [&] { fetch(part.first, part.end - 1, fetched); });
    for (Int32 base : range(part.first, part.end, step)) {
      gpu::barrier(); // all waves are done with the step before
      put(fetched);
      gpu::barrier();
      if_(base + step < part.end, [&] { fetch(base + step, part.end - 1, fetched); });
      const Boolean partial = masksDecode(sight_, base, step, part.end);
      wave.step(
          [&](int tile, int piece) {
            return memory_.load(lane_.key(tile), lane_.product().element(piece),
                                lane_.product().piece());
          },
          [&](int tile) {
            return valuesOfRows(lane_, tile, [&](int i, const Int32 &element) {
              return memory_.load(lane_.valueKey(i), firstValue_ + element, lane_.width());
            });
          },
          [&](int, const Tensor &scores) {
            if (scale_)
              scores.store(scores.load() * *scale_);
            if_(partial, [&] {
              maskDecode(scores, sight_, row / problem_.q_heads, base + lane_.scoreKey(), part.end);
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
  std::vector<Vector> query(const Int32 &row) const {
    std::vector<Vector> pieces;
    for (int i = 0; i < lane_.product().pieces(problem_.head); ++i)
      pieces.push_back(
          Pointer::from_address(rows_.element(kDecodeQ, problem_.q, rows_.token(row),
                                              rows_.head(row), lane_.product().element(i)),
                                problem_.q, AddressSpace::global, kPieceBytes)
              .load(lane_.product().piece()));
    return pieces;
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
        into[i] = Pointer::from_address(source_.key(place, piece.element), problem_.kv,
                                        AddressSpace::global, kPieceBytes)
                      .load(fetchPiece());
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
        memory_.store(piece.key, piece.element,
                      problem_.kv == problem_.q ? values : values.to(problem_.q));
      };
      if (piece.inside)
        if_(*piece.inside, store);
      else
        store();
    }
  }

  void write(const DecodeWave &wave) const {
    const DecodeResults results(config_, rows_, part_);
    const SoftmaxEnd end = wave.finish(0);
    const Numeric factor = scale_ ? Numeric(end.inverse * *scale_) : end.inverse;
    const Int32 row = firstRow_ + lane_.product().row();
    if_(row < rowsOf(problem_), [&] {
      constexpr int size = kCombineElements;
      for (int v = 0; v < lane_.product().sums(); ++v)
        for (int tile = 0; tile < lane_.valueTiles(); tile += size) {
          const Tensor run = make_rmem_tensor(IntTuple(size), f32);
          for (int e = 0; e < size; ++e)
            run(e) = wave.sums(0, tile + e)(v) * factor;
          const Int32 first = firstValue_ + lane_.element(tile, lane_.product().sumRow(v));
          results.write(row, first, {run.load(), end.lse});
        }
    });
  }

  const DecodeProblem &problem_;
  const DecodeConfig &config_;
  const LatentMemory &memory_;
  const DecodePart &part_;
  int shares_;
  DecodeLane lane_;
  Int32 wave_, firstRow_, firstValue_;
  DecodeRows rows_;
  Sight<Int32> sight_;
  KvSource source_;
  ScoreRules rules_;
  std::optional<Numeric> scale_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
