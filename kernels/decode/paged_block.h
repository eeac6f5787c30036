// Decoding over caches of keys and of values. A block has the rows of one group of heads, or some of
// them; its waves take steps of keys in turn, each by itself, straight from memory into registers,
// and add up at the end what they found.
#pragma once

#include "blocks/decode_wave.h"
#include "decode/decode_part.h"

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline KvLayout kvLayout(const DecodeProblem &problem) {
  return {.cache = problem.cache,
          .page = problem.page,
          .pack = problem.pack,
          .v_pack = vPackOf(problem),
          .head_v = problem.head,
          .bytes = problem.kv.bytes()};
}

/// Neighbouring elements of a value that a lane loads; a packed cache has tokens there.
inline int valueWidth(const DecodeProblem &problem) {
  return problem.cache == KvCache::packed ? 1 : kPieceBytes / problem.kv.bytes();
}

/// Neighbouring tokens of a sequence, those from a multiple of 8 to below the next: in pages of a
/// multiple of 8 tokens, the table is read once for them. Tokens past `last` are the last one again.
class KvRun {
public:
  KvRun(const KvSource &source, const Int32 &first, const Int32 &last)
      : source_(source), shared_(source.layout().page % RunsOfEight::kRun == 0), last_(last),
        start_(first), from_(min(first, last)) {
    if (shared_)
      place_.emplace(source.place(from_));
  }
  /// The place of the token `i` behind the first one.
  KvPlace operator()(const Int32 &i) const {
    const Int32 token = min(start_ + i, last_);
    if (!shared_)
      return source_.place(token);
    return {place_->block, place_->inside + (token - from_).to(i64)};
  }
  const Int32 &start() const { return start_; }

private:
  const KvSource &source_;
  bool shared_;
  Int32 last_, start_, from_;
  std::optional<KvPlace> place_;
};

/// A block with one sequence.
class PagedBlock {
public:
  PagedBlock(const DecodeProblem &problem, const DecodeConfig &config, const DecodeTraced &numbers,
             const MatrixForm &form, const WaveParts &found, const DecodePart &part)
      : problem_(problem), config_(config), numbers_(numbers), found_(found), part_(part),
        lane_(form, keyPiece(problem, form), problem.head, valueWidth(problem)),
        kvHead_(block_idx().y / rowBlocks(problem, config)),
        firstRow_(block_idx().y % rowBlocks(problem, config) * config.rows),
        wave_(rocdl::readfirstlane(thread_idx().x / form.lanes).to<Int32>()),
        waves_(config.block / form.lanes), rows_(problem, numbers, part.sequence, kvHead_),
        sight_(sightOf(problem, numbers, part.sequence)),
        source_(kvLayout(problem), strides(kDecodeK), strides(kDecodeV),
                Int64(numbers[kDecodeTables] +
                      part.sequence.to(i64) * numbers[kDecodeTables + 1] * 4)) {
    rules_.scale = scaleOf(problem);
    rules_.causal = true;
    rules_.window = problem.window;
    if (problem.scales == KvScales::tensor) {
      kScale_.emplace(scaleAt(kDecodeKScale));
      vScale_.emplace(scaleAt(kDecodeVScale));
    }
  }

  void run() {
    DecodeWave wave(lane_, queries(), rules_.factor());
    const int step = lane_.keys();
    const Span<Int32> part = keysOfBlock(config_, sight_, part_, step * waves_);
    for (Int32 base : range(part.first + wave_ * step, part.end, waves_ * step))
      keys(wave, base, part);
    write(wave);
  }

private:
  KvStrides strides(DecodeNumber at) const {
    const int bytes = problem_.kv.bytes();
    return {.start = Int64(numbers_[at] + kvHead_.to(i64) * numbers_[at + 3] * bytes),
            .block = numbers_[at + 1],
            .token = numbers_[at + 2]};
  }
  Numeric scaleAt(DecodeNumber at, const Numeric &more = Int64(0)) const {
    return Pointer::from_address(numbers_[at] + more * 4, f32).load();
  }
  int tiles() const { return config_.rows / 16; }
  /// The row of the block's rows that the lane has in a tile; rows past the last one are the first
  /// one again, and are not stored.
  Int32 rowOf(int tile) const {
    const Int32 row = firstRow_ + tile * 16 + lane_.product().row();
    return select(row < rowsOf(problem_), row, firstRow_);
  }
  Int32 queryOf(const Int32 &row) const { return row / groupOf(problem_); }

  std::vector<std::vector<Vector>> queries() const {
    std::vector<std::vector<Vector>> all;
    const int bytes = problem_.q.bytes(), piece = lane_.product().piece();
    for (int tile = 0; tile < tiles(); ++tile) {
      const Int32 row = rowOf(tile);
      all.emplace_back();
      for (int i = 0; i < lane_.product().pieces(problem_.head); ++i) {
        const Numeric at = rows_.element(kDecodeQ, problem_.q, rows_.token(row), rows_.head(row),
                                         lane_.product().element(i));
        all.back().push_back(Pointer::from_address(at, problem_.q, AddressSpace::global,
                                                   std::min(kPieceBytes, piece * bytes))
                                 .load(piece));
      }
    }
    return all;
  }

  /// A step of keys from `base` on. Those past the part are its last one again, and are masked.
  void keys(DecodeWave &wave, const Int32 &base, const Span<Int32> &part) const {
    const Int32 last = part.end - 1;
    const std::vector<std::vector<Vector>> keys = this->keys(base, last);
    const ValueOperands values =
        problem_.cache == KvCache::packed ? packedValues(base, last) : this->values(base, last);
    const int count = lane_.product().sums() * lane_.keyTiles();
    std::vector<Numeric> kScales, vScales;
    if (problem_.scales == KvScales::token) {
      const KvRun run(source_, base + lane_.scoreKey(), last);
      for (int i = 0; i < count; ++i) {
        const KvPlace place = run(Int32(i));
        kScales.push_back(tokenScale(kDecodeKScale, place));
        vScales.push_back(tokenScale(kDecodeVScale, place));
      }
    }
    const Boolean partial = masksDecode(sight_, base, lane_.keys(), part.end);
    wave.step(
        [&](int tile, int piece) { return keys[std::size_t(tile)][std::size_t(piece)]; },
        [&](int tile) {
          const auto first = values.begin() + tile;
          return ValueOperands(first, first + lane_.width());
        },
        [&](int tile, const Tensor &scores) {
          if (kScale_)
            scores.store(scores.load() * *kScale_);
          for (std::size_t i = 0; i < kScales.size(); ++i)
            scores(int(i)) = scores(int(i)) * kScales[i];
          if_(partial, [&] {
            maskDecode(scores, sight_, queryOf(rowOf(tile)), base + lane_.scoreKey(), part.end);
          });
        },
        [&](const Vector &probabilities) {
          if (vScales.empty())
            return probabilities;
          const Tensor weighed = make_rmem_tensor(IntTuple(count), problem_.q);
          for (int i = 0; i < count; ++i)
            weighed(i) = (probabilities.at(i).to(f32) * vScales[std::size_t(i)]).to(problem_.q);
          return weighed.load();
        });
  }
  Numeric tokenScale(DecodeNumber at, const KvPlace &place) const {
    return scaleAt(at, place.block * numbers_[at + 1] + place.inside * numbers_[at + 2] +
                           kvHead_.to(i64) * numbers_[at + 3]);
  }
  Vector asQ(const Vector &values) const {
    return problem_.kv == problem_.q ? values : values.to(problem_.q);
  }
  /// `count` neighbours in the cache, in accesses of at most `most` elements.
  Vector loadRun(const std::function<Numeric(int)> &address, int count, int most) const {
    const int bytes = problem_.kv.bytes(), each = std::min({count, most, kPieceBytes / bytes});
    const auto load = [&](int at) {
      return asQ(Pointer::from_address(address(at), problem_.kv, AddressSpace::global, each * bytes)
                     .load(each));
    };
    if (each == count)
      return load(0);
    const Tensor all = make_rmem_tensor(IntTuple({each, count / each}), problem_.q);
    for (int i = 0; i < count / each; ++i)
      all(_, i).store(load(i * each));
    return all.load();
  }
  /// The lane's pieces of the keys of a step, by tile.
  std::vector<std::vector<Vector>> keys(const Int32 &base, const Int32 &last) const {
    const int most = problem_.cache == KvCache::packed ? problem_.pack : problem_.head;
    // The lane's keys of all tiles are of one run.
    const Int32 start = lane_.key(0) / RunsOfEight::kRun * RunsOfEight::kRun;
    const KvRun run(source_, base + start, last);
    std::vector<std::vector<Vector>> keys;
    for (int tile = 0; tile < lane_.keyTiles(); ++tile) {
      const KvPlace place = run(lane_.key(tile) - start);
      keys.emplace_back();
      for (int i = 0; i < lane_.product().pieces(problem_.head); ++i)
        keys.back().push_back(
            loadRun([&](int at) { return source_.key(place, lane_.product().element(i) + at); },
                    lane_.product().piece(), most));
    }
    return keys;
  }
  /// The lane's parts of the values of a step.
  ValueOperands values(const Int32 &base, const Int32 &last) const {
    std::vector<KvPlace> places;
    for (const KvRun &run : valueRuns(base, last))
      for (int i = 0; i < RunsOfEight::kRun; ++i)
        places.push_back(run(Int32(i)));
    ValueOperands tiles;
    for (int tile = 0; tile < lane_.valueTiles(); tile += lane_.width())
      for (const Vector &operand : valuesOfRows(lane_, tile, [&](int i, const Int32 &element) {
             return loadRun(
                 [&](int at) { return source_.value(places[std::size_t(i)], element + at); },
                 lane_.width(), problem_.head);
           }))
        tiles.push_back(operand);
    return tiles;
  }
  /// The same of a packed cache, whose neighbours are an element of 8 tokens. Past the last token
  /// may be anything: it becomes 0, which a weight of 0 leaves 0.
  ValueOperands packedValues(const Int32 &base, const Int32 &last) const {
    constexpr int kRun = RunsOfEight::kRun;
    const std::vector<KvRun> runs = valueRuns(base, last / kRun * kRun);
    std::vector<Tensor> tiles;
    for (int tile = 0; tile < lane_.valueTiles(); ++tile) {
      tiles.push_back(make_rmem_tensor(IntTuple({kRun, std::ssize(runs)}), problem_.q));
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const Numeric start =
            source_.value(runs[i](Int32(0)), lane_.element(tile, lane_.product().row()));
        tiles.back()(_, int(i)).store(
            loadRun([&](int at) { return start + at * problem_.kv.bytes(); }, kRun, kRun));
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
    for (int i = 0; i < lane_.valueKeys(); i += RunsOfEight::kRun)
      runs.emplace_back(source_, base + lane_.valueKey(i), last);
    return runs;
  }

  /// Adds up what the waves found, and writes it.
  void write(const DecodeWave &wave) const {
    constexpr int size = kCombineElements;
    const DecodeResults results(config_, rows_, part_);
    const int across = problem_.head / size;
    for (int tile = 0; tile < tiles(); ++tile) {
      if (tile > 0)
        gpu::barrier(); // all threads have read the tile before
      found_.put(wave, tile, wave_);
      gpu::barrier();
      for (int at = 0; at < 16 * across; at += config_.block) {
        const Int32 number = thread_idx().x + at;
        const Int32 row = number / across, first = number % across * size;
        const Int32 own = firstRow_ + tile * 16 + row;
        const Boolean exists(own < rowsOf(problem_));
        if_(16 * across % config_.block ? Boolean(exists & (row < 16)) : exists, [&] {
          const CombinedRow found = found_.combined(row, first, size);
          results.write(own, first, {vScale_ ? found.values * *vScale_ : found.values, found.lse});
        });
      }
    }
  }
  const DecodeProblem &problem_;
  const DecodeConfig &config_;
  const DecodeTraced &numbers_;
  const WaveParts &found_;
  const DecodePart &part_;
  DecodeLane lane_;
  Int32 kvHead_, firstRow_, wave_;
  int waves_;
  DecodeRows rows_;
  Sight<Int32> sight_;
  KvSource source_;
  ScoreRules rules_;
  std::optional<Numeric> kScale_, vScale_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
