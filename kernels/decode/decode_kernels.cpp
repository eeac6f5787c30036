// The kernels of attention over a paged cache. A block has the rows of one group of heads, or some of
// them, and a part of a sequence's keys; its waves take steps of keys in turn, each by itself, and
// add up at the end what they found. With several parts, a second kernel combines theirs.
#include "blocks/decode_wave.h"
#include "blocks/kv_source.h"
#include "decode/decode_family.h"
#include "frame/compile.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Numbers = std::array<Int64, kDecodeNumbers>;

constexpr float kLn2 = 0.693147180559945309f;

KvLayout kvLayout(const DecodeProblem &problem) {
  return {.cache = problem.cache,
          .page = problem.page,
          .pack = problem.pack,
          .v_pack = vPackOf(problem),
          .head_v = problem.head,
          .bytes = problem.kv.bytes()};
}

/// Neighbouring elements of a value that a lane loads; a packed cache has tokens there.
int valueWidth(const DecodeProblem &problem) {
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

/// Where results are: those of the rows of a group of heads of a sequence.
class DecodeRows {
public:
  DecodeRows(const DecodeProblem &problem, const Numbers &numbers, const Int32 &sequence,
             const Int32 &kvHead)
      : problem_(problem), numbers_(numbers), firstToken_(sequence * problem.queries),
        firstHead_(kvHead * groupOf(problem)) {}

  Int32 token(const Int32 &row) const { return firstToken_ + row / groupOf(problem_); }
  Int32 head(const Int32 &row) const { return firstHead_ + row % groupOf(problem_); }
  /// The address of an element of q or y.
  Numeric element(DecodeNumber at, DType dtype, const Int32 &token, const Int32 &head,
                  const Int32 &element) const {
    return numbers_[at] +
           (token.to(i64) * numbers_[at + 1] + head.to(i64) * numbers_[at + 2] + element.to(i64)) *
               dtype.bytes();
  }
  /// Writes elements of a row's result, and with the first of them its logarithm.
  void store(const Int32 &token, const Int32 &head, const Int32 &first,
             const CombinedRow &result) const {
    const Vector values = problem_.y == f32 ? result.values : result.values.to(problem_.y);
    Pointer::from_address(element(kDecodeY, problem_.y, token, head, first), problem_.y,
                          AddressSpace::global, kCombineElements * problem_.y.bytes())
        .store(values);
    if (problem_.lse)
      if_(first == 0, [&] {
        Pointer::from_address(
            numbers_[kDecodeLse] + (token.to(i64) * problem_.q_heads + head.to(i64)) * 4, f32)
            .store(result.lse * kLn2);
      });
  }
  /// The number of a part of a row in the workspace.
  Numeric part(const Int32 &token, const Int32 &head, int splits, const Int32 &split) const {
    return (token.to(i64) * problem_.q_heads + head.to(i64)) * splits + split.to(i64);
  }
  Pointer partValues(const Numeric &part, const Int32 &first) const {
    return Pointer::from_address(numbers_[kDecodePartValues] +
                                     (part * problem_.head + first.to(i64)) * 4,
                                 f32, AddressSpace::global, 16);
  }
  Pointer partLse(const Numeric &part) const {
    return Pointer::from_address(numbers_[kDecodePartLse] + part * 4, f32);
  }

private:
  const DecodeProblem &problem_;
  const Numbers &numbers_;
  Int32 firstToken_, firstHead_;
};

/// A block of the first kernel.
class DecodeBlock {
public:
  DecodeBlock(const DecodeProblem &problem, const DecodeConfig &config, const Numbers &numbers,
              const MatrixForm &form)
      : problem_(problem), config_(config), numbers_(numbers),
        lane_(form, keyPiece(problem, form), problem.head, valueWidth(problem)),
        sequence_(block_idx().z), kvHead_(block_idx().y / rowBlocks(problem, config)),
        firstRow_(block_idx().y % rowBlocks(problem, config) * config.rows),
        wave_(rocdl::readfirstlane(thread_idx().x / form.lanes).to<Int32>()),
        waves_(config.block / form.lanes), rows_(problem, numbers, sequence_, kvHead_),
        context_(
            Pointer::from_address(numbers[kDecodeContexts] + sequence_.to(i64) * 4, i32).load()),
        source_(
            kvLayout(problem), strides(kDecodeK), strides(kDecodeV),
            Int64(numbers[kDecodeTables] + sequence_.to(i64) * numbers[kDecodeTables + 1] * 4)) {
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
    const Span<Int32> part = keysOfPart();
    const int step = lane_.keys();
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
  Sight<Int32> sight() const {
    return {.causal = true,
            .window = problem_.window,
            .queries = Int32(problem_.queries),
            .keys = context_,
            .before = numbers_[kDecodeBefore].to<Int32>(),
            .behind = Int32(0)};
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

  /// The keys of the block: its part of those that any query of the sequence sees, from a multiple
  /// of a step on.
  Span<Int32> keysOfPart() const {
    const Sight<Int32> sight = this->sight();
    const int keys = lane_.keys(), step = keys * waves_;
    const Int32 first = sight.ofQuery(Int32(0)).first / keys * keys,
                end = sight.ofQuery(Int32(problem_.queries - 1)).end;
    if (config_.splits == 1)
      return {first, end};
    // Parts are whole steps of the block.
    const Int32 each = ceildiv(ceildiv(max(end - first, 0), step), config_.splits) * step,
                begin = first + block_idx().x * each;
    return {begin, min(begin + each, end)};
  }

  /// A step of keys from `base` on. Those past the part are its last one again, and are masked.
  void keys(DecodeWave &wave, const Int32 &base, const Span<Int32> &part) const {
    const Int32 last = part.end - 1;
    const KeyOperands keys = this->keys(base, last);
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
    const Sight<Int32> sight = this->sight();
    const Int32 lowEnd = min(sight.ofQuery(Int32(0)).end, part.end),
                highFirst = sight.ofQuery(Int32(problem_.queries - 1)).first;
    const Boolean partial((base + lane_.keys() > lowEnd) | (base < highFirst));
    wave.step(
        keys, values,
        [&](int tile, const Tensor &scores) {
          if (kScale_)
            scores.store(scores.load() * *kScale_);
          for (std::size_t i = 0; i < kScales.size(); ++i)
            scores(int(i)) = scores(int(i)) * kScales[i];
          if_(partial, [&] {
            const Span<Int32> seen = sight.ofQuery(queryOf(rowOf(tile)));
            maskScores(scores,
                       {.base = Int32(base + lane_.scoreKey()), .offset = [](int i) { return i; }},
                       {seen.first, Int32(min(seen.end, part.end))});
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
  /// The lane's pieces of the keys of a step.
  KeyOperands keys(const Int32 &base, const Int32 &last) const {
    const int most = problem_.cache == KvCache::packed ? problem_.pack : problem_.head;
    // The lane's keys of all tiles are of one run.
    const Int32 start = lane_.key(0) / RunsOfEight::kRun * RunsOfEight::kRun;
    const KvRun run(source_, base + start, last);
    KeyOperands keys;
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
    return valuesOfRows(lane_, [&](int i, const Int32 &element) {
      return loadRun([&](int at) { return source_.value(places[std::size_t(i)], element + at); },
                     lane_.width(), problem_.head);
    });
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
    const WaveParts parts(waves_, problem_.head);
    constexpr int size = kCombineElements;
    const int across = problem_.head / size;
    for (int tile = 0; tile < tiles(); ++tile) {
      if (tile > 0)
        gpu::barrier(); // all threads have read the tile before
      parts.put(wave, tile, wave_);
      gpu::barrier();
      for (int at = 0; at < 16 * across; at += config_.block) {
        const Int32 number = thread_idx().x + at;
        const Int32 row = number / across, first = number % across * size;
        const Int32 own = firstRow_ + tile * 16 + row;
        const Boolean exists(own < rowsOf(problem_));
        if_(16 * across % config_.block ? Boolean(exists & (row < 16)) : exists,
            [&] { writeRow(own, first, parts.combined(row, first, size)); });
      }
    }
  }
  void writeRow(const Int32 &row, const Int32 &first, const CombinedRow &found) const {
    const CombinedRow result{vScale_ ? found.values * *vScale_ : found.values, found.lse};
    const Int32 token = rows_.token(row), head = rows_.head(row);
    if (config_.splits == 1)
      return rows_.store(token, head, first, result);
    const Numeric part = rows_.part(token, head, config_.splits, block_idx().x);
    rows_.partValues(part, first).store(result.values);
    if_(first == 0, [&] { rows_.partLse(part).store(result.lse); });
  }

  const DecodeProblem &problem_;
  const DecodeConfig &config_;
  const Numbers &numbers_;
  DecodeLane lane_;
  Int32 sequence_, kvHead_, firstRow_, wave_;
  int waves_;
  DecodeRows rows_;
  Int32 context_;
  KvSource source_;
  ScoreRules rules_;
  std::optional<Numeric> kScale_, vScale_;
};

const Kernel decode{kDecode.name(), [](Numbers numbers, Constexpr<Spec<DecodeProblem>> spec) {
                      const auto &[problem, config] = spec.value();
                      DecodeBlock(problem, config, numbers, *decodeForm(problem, target())).run();
                    }};

const Kernel combine{
    kDecodeCombine.name(), [](Numbers numbers, Constexpr<Spec<DecodeProblem>> spec) {
      const auto &[problem, config] = spec.value();
      const int across = problem.head / kCombineElements;
      const Numeric number =
          block_idx().x.to(u32) * UInt32(kCombineThreads) + thread_idx().x.to(u32);
      const Numeric row = number / UInt32(across);
      const Int32 token = (row / UInt32(problem.q_heads)).to<Int32>(),
                  head = (row % UInt32(problem.q_heads)).to<Int32>(),
                  first = (number % UInt32(across)).to<Int32>() * kCombineElements;
      exit_if(token >= numbers[kDecodeTokens].to<Int32>());
      const DecodeRows rows(problem, numbers, Int32(0), Int32(0));
      const auto part = [&, splits = config.splits](const Int32 &split) {
        return rows.part(token, head, splits, split);
      };
      rows.store(token, head, first,
                 combineParts({.count = Int32(config.splits),
                               .lse = [&](const Int32 &i) { return rows.partLse(part(i)).load(); },
                               .values =
                                   [&](const Int32 &i) {
                                     return rows.partValues(part(i), first).load(kCombineElements);
                                   }},
                              kCombineElements));
    }};

} // namespace

void Family<DecodeProblem>::compile(const Compiler<DecodeProblem> &compiler) {
  compiler(kDecode, decode, compiler.config().block);
  if (compiler.config().splits > 1)
    compiler(kDecodeCombine, combine, kCombineThreads);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(DecodeProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
