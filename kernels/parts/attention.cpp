// Attention of users' kernels: their operands are checked, and become those of the library's own loops.
#include <flydsl/kernels/parts/attention.h>

#include "attention/attend.h"
#include "parts/checks.h"

#include <algorithm>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {

//===-- The spec and its tiles ----------------------------------------------===//

Support supported(const AttentionSpec &spec, const Target &target) {
  const AttentionProblem &problem = spec.problem;
  for (const auto &[given, name] :
       {std::pair(problem.bias, "bias"), std::pair(problem.alibi, "alibi"),
        std::pair(problem.mask, "mask"), std::pair(problem.sink, "sink"),
        std::pair(problem.lse, "lse"), std::pair(problem.varlen, "varlen"),
        std::pair(problem.csr, "csr")})
    if (given)
      return Support::no(
          std::string(name) +
          " is AttentionPlan's; a kernel of parts has it by score(), sees(), sink(), "
          "store() and by the tensors that it gives");
  if (problem.scales == KvScales::token)
    return Support::no("scales of tokens are AttentionPlan's; descale() has one for all tokens");
  if (problem.cache == KvCache::packed)
    return Support::no(
        "KvCache::packed is AttentionPlan's; the parts take keys and values as rows, "
        "or in KvCache::pages");
  if (spec.config.splits != 1)
    return Support::no(
        "splits is " + to_string(spec.config.splits) +
        ": a second kernel that combines parts of the keys is AttentionPlan's; it is 1 here");
  const int last = static_cast<int>(std::size(impl::kKeeps)) - 1;
  if (spec.recompute < 0 || spec.recompute > last)
    return Support::no("recompute is " + to_string(spec.recompute) + "; it is from 0 to " +
                       to_string(last));
  if (const Support answer = kernels::supported(problem, target); !answer)
    return answer;
  return kernels::supported(problem, spec.config, target);
}

namespace {

void expectFit(const AttentionSpec &spec, Loc loc) {
  const Support answer = supported(spec, target());
  if (!answer)
    throw TraceError("parts of attention on " + target().name() + ": " + answer.why, loc);
}
std::int64_t tilesOfQueries(const AttentionSpec &spec, std::int64_t queries) {
  return (queries + spec.config.tile_q - 1) / spec.config.tile_q;
}
/// What the code keeps in registers. Shapes that begin with a later row end with the same one.
impl::Keep keepOf(const AttentionSpec &spec) {
  const auto rows = impl::AttentionShape::of(spec.problem, spec.config, target())->keeps();
  return rows[std::min(static_cast<std::size_t>(spec.recompute), rows.size() - 1)];
}

} // namespace

std::int64_t tiles(const AttentionSpec &spec, std::int64_t sequences, std::int64_t queries) {
  return sequences * spec.problem.q_heads * impl::valueParts(spec.problem) *
         tilesOfQueries(spec, queries);
}

QueryScheduler::QueryScheduler(const AttentionSpec &spec, const Int32 &sequences,
                               const Int32 &queries, Loc loc)
    : spec_(spec), sequences_(sequences), queries_(queries) {
  expectFit(spec, loc);
}
QueryTile QueryScheduler::at(const Int32 &block) const {
  const auto &[problem, config, recompute] = spec_;
  const auto tile = impl::HeadTile::of(problem, config, block, ceildiv(queries_, config.tile_q),
                                       sequences_, false, impl::valueParts(problem));
  const Int32 head = tile.head();
  return {tile.sequence, head, head / (problem.q_heads / problem.kv_heads), tile.first(),
          tile.valuePart()};
}

//===-- Operands ------------------------------------------------------------===//

namespace {

/// Memory at the strides of the leading modes of a tensor.
Strided<OnDevice, 1> rowsIn(const Tensor &tensor) {
  return {.address = tensor.iter().address(), .stride = {Int64(tensor.stride()[0])}};
}
Strided<OnDevice, 2> pagesIn(const Tensor &tensor) {
  const IntTuple stride = tensor.stride();
  return {.address = tensor.iter().address(), .stride = {Int64(stride[0]), Int64(stride[1])}};
}
IntTuple extentOf(const Tensor &tensor, int mode) {
  const IntTuple shape = tensor.shape();
  return shape.is_leaf() ? shape : shape[mode];
}

/// Stops the kernel unless `count` neighbouring tokens span less than what the loops count with, and
/// tells the compiler so.
void expectNear(const Checks &checks, const IntTuple &stride, DType type, int count) {
  const std::int64_t most = impl::kNearBytes / (count * type.bytes());
  if (stride.is_static()) {
    if (stride.value() < 0 || stride.value() > most)
      checks.fail(": tokens have a stride of " + to_string(stride.value()) +
                  " elements; it is from 0 to " + to_string(most));
    return;
  }
  const Int64 tokens(stride);
  trapIf((tokens < 0) | (tokens > most));
  assume(Boolean((tokens >= 0) & (tokens <= most)));
}

} // namespace

KeysAndValues KeysAndValues::rows(const Tensor &k, const Tensor &v, Loc loc) {
  Checks("k of a head", loc).rank(k, 2, "(keys, head)");
  Checks("v of a head", loc).rank(v, 2, "(keys, head_v)");
  return {k, v, std::nullopt, Int32(extentOf(k, 0)), loc};
}
KeysAndValues KeysAndValues::pages(const Tensor &k, const Tensor &v, const Tensor &blocks,
                                   const Int32 &keys, Loc loc) {
  Checks("k of a head", loc).rank(k, 3, "(blocks, page, head)");
  Checks("v of a head", loc).rank(v, 3, "(blocks, page, head_v)");
  const Checks ofBlocks("the vector of blocks", loc);
  ofBlocks.rank(blocks, 1, "a vector, one for each page");
  ofBlocks.neighbours(blocks, 0, "their numbers");
  if (blocks.dtype(loc) != i32)
    ofBlocks.fail(" is of type " + std::string(blocks.dtype(loc).name()) + "; its numbers are i32");
  return {k, v, blocks, keys, loc};
}

Int32 ScoreAt::key_inside() const { return min(key, keys - 1); }

//===-- Attention -----------------------------------------------------------===//

struct Attention::Inside {
  AttentionSpec spec;
  QueryTile tile;
  Tensor q;
  KeysAndValues keys;
  std::vector<std::pair<ScoreStage, Loc>> scores = {};
  std::vector<Sees> sees = {};
  std::optional<impl::WindowOfKeys> window = {};
  std::optional<Numeric> sink = {}, ofScores = {}, ofValues = {};
  std::vector<std::pair<ResultStage, Loc>> results = {};
  bool stored = false;

  const AttentionProblem &problem() const { return spec.problem; }
  int headV() const { return impl::headV(problem()); }
  /// Whether functions of the kernel's own change scores.
  bool staged() const { return !scores.empty() || !sees.empty(); }
  int alignOf(DType type) const { return impl::elementsTogether(problem(), type) * type.bytes(); }
  Int32 queries() const { return Int32(extentOf(q, 0)); }

  void checkQueries(Loc loc) const {
    const Checks ofQ("q of attention", loc);
    ofQ.rank(q, 2, "(queries, head), those of a head");
    ofQ.type(q, problem().q);
    ofQ.extent(q, 1, problem().head, "head");
    ofQ.neighbours(q, 1, "the elements of a row");
    ofQ.together(q, impl::elementsTogether(problem(), problem().q));
  }
  void checkKeys() const {
    const Checks ofK("k of a head", keys.loc_), ofV("v of a head", keys.loc_);
    const bool pages = problem().cache == KvCache::pages;
    if (pages != keys.blocks_.has_value())
      throw TraceError(pages ? "the spec's problem has KvCache::pages: KeysAndValues::pages(k, v, "
                               "blocks, keys)"
                             : "keys and values are given in pages, and the spec's problem has "
                               "KvCache::none",
                       keys.loc_);
    const int last = pages ? 2 : 1, count = pages ? problem().page : spec.config.tile_k;
    for (const auto &[checks, tensor, elements, name] :
         {std::tuple(ofK, keys.k_, problem().head, "head"),
          std::tuple(ofV, keys.v_, headV(), "head_v")}) {
      checks.type(tensor, problem().kv);
      checks.extent(tensor, last, elements, name);
      checks.neighbours(tensor, last, "the elements of a row");
      checks.together(tensor, impl::elementsTogether(problem(), problem().kv));
      expectNear(checks, tensor.stride()[last - 1], problem().kv, count);
      if (pages)
        checks.extent(tensor, 1, problem().page, "page");
    }
    ofV.same(keys.v_, 0, extentOf(keys.k_, 0), pages ? "that of the keys" : "the number of keys");
    if (keys.blocks_) {
      const Int32 most = Int32(extentOf(*keys.blocks_, 0)) * problem().page;
      trapIf((keys.keys_ < 0) | (keys.keys_ > most));
    }
  }
  void checkResults(const Tensor &o, const std::optional<Tensor> &lse, Loc loc) const {
    const Checks ofO("o of attention", loc), ofLse("lse of attention", loc);
    ofO.rank(o, 2, "(queries, head_v), those of a head");
    ofO.type(o, problem().y, "o of the spec's problem is");
    ofO.same(o, 0, extentOf(q, 0), "the number of queries");
    ofO.extent(o, 1, headV(), "head_v");
    ofO.neighbours(o, 1, "the elements of a row");
    ofO.together(o, impl::elementsTogether(problem(), problem().y));
    if (!lse)
      return;
    ofLse.rank(*lse, 1, "a vector, one for each query");
    ofLse.type(*lse, f32, "logarithms are");
    ofLse.same(*lse, 0, extentOf(q, 0), "the number of queries");
  }

  impl::KvSource source() const {
    const impl::KvLayout layout = impl::kvLayout(problem());
    const auto &[k, v, blocks, count, loc] = keys;
    const DType type = problem().kv;
    if (!blocks)
      return {layout,
              impl::tokensTwice(rowsIn(k).view(type, {count, problem().head},
                                               layout.align)), // (tokens, tokens, head)
              impl::tokensTwice(rowsIn(v).view(type, {count, headV()},
                                               layout.align))}; // (tokens, tokens, head_v)
    const int page = problem().page;
    return {layout,
            pagesIn(k).view(type, {impl::kAnyPages, page, problem().head},
                            layout.align), // (pages, page, head)
            pagesIn(v).view(type, {impl::kAnyPages, page, headV()},
                            layout.align), // (pages, page, head_v)
            *blocks};
  }
  /// What the stages make of a score.
  Numeric staged(const Numeric &score, const ScoreAt &at) const {
    std::vector<Numeric> now{score};
    for (const auto &[stage, loc] : scores) {
      now.push_back(stage(now.back(), at));
      if (now.back().dtype() != f32)
        throw TraceError("a stage of scores gives a number of type " +
                             std::string(now.back().dtype().name()) + "; a score is of type f32",
                         loc);
    }
    for (const Sees &see : sees)
      now.push_back(select(see(at), now.back(), -std::numeric_limits<float>::infinity()));
    return now.back();
  }
  Vector resultOf(const Vector &values, const Int32 &query, const Int32 &element) const {
    std::vector<Vector> now{values};
    for (const auto &[stage, loc] : results) {
      now.push_back(stage(now.back(), query, element));
      if (now.back().dtype() != f32 || now.back().size() != values.size())
        throw TraceError("a stage of results gives a vector of " + to_string(now.back().size()) +
                             " elements of type " + std::string(now.back().dtype().name()) +
                             "; it is one of " + to_string(values.size()) + " of type f32",
                         loc);
    }
    return now.back();
  }
};

namespace {

/// What the loops ask of the kernel. What the spec's problem does not have they do not ask for.
template <class Inside> class PartRows final : public impl::HeadRows {
public:
  PartRows(const Inside &inside, const impl::BlockPlace &place, const Tensor &o,
           const std::optional<Tensor> &lse)
      : inside_(inside), place_(place), q_(rowsIn(inside.q)), o_(rowsIn(o)), lse_(lse) {}

  Tensor q(const Int32 &query) const override {
    const AttentionProblem &problem = inside_.problem();
    return q_.view(problem.q, {place_.queries, problem.head},
                   inside_.alignOf(problem.q))(query, _); // (head)
  }
  impl::RowResult result(const Int32 &query) const override {
    const DType type = inside_.problem().y;
    impl::RowResult result{.values = o_.view(type, {place_.queries, inside_.headV()},
                                             inside_.alignOf(type))(query, _), // (head_v)
                           .natural = true};
    if (lse_)
      result.lse.emplace(impl::tileFrom(*lse_, query, 1)); // (1)
    if (!inside_.results.empty())
      result.stage = [this, query](const Vector &run, const Int32 &element) {
        return inside_.resultOf(run, query, element);
      };
    return result;
  }
  impl::RowResult resultOfPart(const Int32 &, const Int32 &) const override { none(); }
  std::optional<Numeric> sink() const override {
    if (!inside_.sink)
      return std::nullopt;
    return Numeric(*inside_.sink * impl::kToBase2);
  }
  std::optional<Numeric> scoreDescale() const override { return inside_.ofScores; }
  std::optional<Numeric> valueDescale() const override { return inside_.ofValues; }
  Numeric slope() const override { none(); }
  std::function<Numeric(const Int32 &)> mask(const Int32 &) const override { none(); }
  std::function<Numeric(const Int32 &)> bias(const Int32 &) const override { none(); }
  std::function<Numeric(const Numeric &, const Int32 &)> stage(const Int32 &query) const override {
    return [this, query](const Numeric &score, const Int32 &key) {
      return inside_.staged(score, {query, key, place_.keys, place_.keys - place_.queries});
    };
  }

private:
  [[noreturn]] static void none() {
    throw Error("the loops of attention ask for what a spec of parts does not have");
  }
  const Inside &inside_;
  const impl::BlockPlace &place_;
  Strided<OnDevice, 1> q_, o_;
  std::optional<Tensor> lse_;
};

} // namespace

Attention::Attention(const AttentionSpec &spec, const QueryTile &tile, const Tensor &q,
                     const KeysAndValues &keys, Loc loc)
    : inside_(std::make_shared<Inside>(Inside{spec, tile, q, keys})) {
  expectFit(spec, loc);
  inside_->checkQueries(loc);
  inside_->checkKeys();
}

Attention &Attention::score(ScoreStage stage, Loc loc) {
  inside_->scores.emplace_back(std::move(stage), loc);
  return *this;
}
Attention &Attention::sees(Sees sees) {
  inside_->sees.push_back(std::move(sees));
  return *this;
}
Attention &Attention::window(const Int32 &left, const Int32 &right, Loc loc) {
  if (!inside_->problem().window)
    throw TraceError("a window is given, and the spec's problem has none: its `window` is false",
                     loc);
  inside_->window.emplace(impl::WindowOfKeys{left, right});
  return *this;
}

namespace {

void expectFloat(const Numeric &number, const char *what, Loc loc) {
  if (number.dtype() != f32)
    throw TraceError(std::string(what) + " is of type " + std::string(number.dtype().name()) +
                         "; it is of type f32",
                     loc);
}

} // namespace

Attention &Attention::sink(const Numeric &score, Loc loc) {
  expectFloat(score, "the score of a sink", loc);
  inside_->sink.emplace(score);
  return *this;
}
Attention &Attention::descale(const Numeric &scores, const Numeric &values, Loc loc) {
  expectFloat(scores, "the factor of scores", loc);
  expectFloat(values, "the factor of values", loc);
  inside_->ofScores.emplace(scores);
  inside_->ofValues.emplace(values);
  return *this;
}
Attention &Attention::then(ResultStage stage, Loc loc) {
  inside_->results.emplace_back(std::move(stage), loc);
  return *this;
}

void Attention::store(const Tensor &o, Loc loc) const { stored(o, std::nullopt, loc); }
void Attention::store(const Tensor &o, const Tensor &lse, Loc loc) const { stored(o, lse, loc); }

void Attention::stored(const Tensor &o, const std::optional<Tensor> &lse, Loc loc) const {
  Inside &inside = *inside_;
  const auto &[problem, config, recompute] = inside.spec;
  if (std::exchange(inside.stored, true))
    throw TraceError("the attention of a tile is stored once; make another one for another tile",
                     loc);
  if (problem.window && !inside.window)
    throw TraceError("the spec's problem has a window, and none is given: window(left, right)",
                     loc);
  inside.checkResults(o, lse, loc);
  expectThreads(config.threads, loc);
  impl::AttentionShape shape =
      *impl::AttentionShape::of(problem, config, target(), keepOf(inside.spec));
  shape.changesScores |= inside.staged();
  const QueryTile &tile = inside.tile;
  const impl::BlockPlace whole{.sequence = tile.sequence,
                               .head = tile.head,
                               .first = tile.first,
                               .part = Int32(0),
                               .valuePart = tile.value_part,
                               .queries = inside.queries(),
                               .keys = inside.keys.keys_,
                               .startQ = Int32(0),
                               .startK = Int32(0),
                               .across = Int32(1)};
  const impl::WindowOfKeys window =
      inside.window.value_or(impl::WindowOfKeys{Int32(-1), Int32(-1)});
  if_(tile.first < whole.queries, [&] {
    const impl::BlockPlace place =
        shape.keep.acrossTiles ? whole : whole.recomputed(shape.valueParts() > 1);
    const PartRows<Inside> rows(inside, place, o, lse);
    impl::WaveQueries queries(problem, config, shape, place, rows, window, inside.staged());
    impl::attendTile(shape, inside.source(), place, queries, false);
  });
}

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
