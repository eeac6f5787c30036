// The blocks of attention, each on its own: which keys are seen, the two products of a wave, the
// softmax over tiles, and the mean of parts.
#include "blocks/attention/attention_products.h"
#include "blocks/attention/combine.h"
#include "blocks/attention/kv_source.h"
#include "blocks/attention/online_softmax.h"
#include "support/operand.h"

#include <flydsl/flydsl.h>

using namespace kernel_tests;
using fx::_;
using namespace fx::kernels::impl;
namespace fk = fx::kernels;

namespace {

/// Whether query i sees key j, by the definition.
bool sees(const Visibility<std::int64_t> &visibility, std::int64_t i, std::int64_t j) {
  const std::int64_t at = i + visibility.keys - visibility.queries;
  if (visibility.causal && j > at)
    return false;
  if (!visibility.window)
    return true;
  return (visibility.left < 0 || j >= at - visibility.left) &&
         (visibility.right < 0 || j <= at + visibility.right);
}

/// Checks the tiles of one tile of queries. Returns whether all is as it must be.
bool tilesAreRight(const Visibility<std::int64_t> &visibility, std::int64_t first,
                   std::int64_t last, int size) {
  const TileSpan<std::int64_t> tiles = visibility.tiles(first, last, size);
  bool right = tiles.end >= tiles.first;
  for (std::int64_t tile = 0; tile * size < visibility.keys; ++tile) {
    int seen = 0, pairs = 0;
    for (std::int64_t i = first; i <= last; ++i) {
      const Span<std::int64_t> keys = visibility.ofQuery(i);
      for (std::int64_t j = tile * size; j < (tile + 1) * size; ++j) {
        const bool is = j < visibility.keys && sees(visibility, i, j);
        right &= is == (j >= keys.first && j < keys.end);
        seen += is;
        ++pairs;
      }
    }
    // No tile is looked at in vain, but of windows that lie apart from
    // one another for some queries.
    const bool looked = tile >= tiles.first && tile < tiles.end;
    right &= seen ? looked : !looked || visibility.window;
    right &= (tile >= tiles.whole && tile < tiles.wholeEnd) == (seen == pairs);
  }
  return right && tiles.end * size < visibility.keys + size;
}

constexpr std::int64_t kKeys = 64, kQueries = 16, kHead = 64;

struct WaveSpec {
  fx::DType type = fx::f16;
  bool softmax = false; ///< otherwise the scores themselves are the weights
  ScoreRules rules = {};
};

/// One wave: O (16, 64) of Q (16, 64), K (128, 64) and V^T (64, 128), in two tiles of keys.
const fx::Kernel wave{
    "attention_wave", [](fx::Tensor gQ, fx::Tensor gK, fx::Tensor gV, fx::Tensor gO,
                         fx::Tensor gLse, fx::Constexpr<WaveSpec> spec) {
      const MatrixForm form = *matrixForm(fx::target(), spec->type, spec->type, kKeys, kHead);
      const fx::Layout alone = fx::make_layout({1, 1, 1});
      const fx::TiledMma scores = keysByQueries(form, alone), values = valuesByQueries(form, alone);
      auto tid = fx::thread_idx().x;
      const RunsOfEight runs = RunsOfEight::of(form);
      const fx::Int32 query = tid % 16;
      auto one = fx::make_copy_atom(fx::UniversalCopy(spec->type.bits()), spec->type);
      auto read = [&](const fx::TiledCopy &copy, const fx::Tensor &from, const fx::Tensor &to) {
        auto slice = copy.get_slice(tid);
        fx::copy(one, slice.partition_S(from), slice.retile(to));
      };
      auto rQ = scores.make_fragment_B({kQueries, kHead}),
           rK = scores.make_fragment_A({kKeys, kHead}),
           rS = scores.make_fragment_C({kKeys, kQueries}),
           rV = values.make_fragment_A({kHead, kKeys}),
           rP = values.make_fragment_B({kQueries, kKeys}),
           rO = values.make_fragment_C({kHead, kQueries});
      read(fx::make_tiled_copy_B(one, scores), gQ, rQ);
      rO.fill(0);
      OnlineSoftmax softmax(1, spec->rules.factor(), spec->type, overLanes(16));
      const Visibility<fx::Int32> visibility{spec->rules.causal, false, kQueries,
                                             2 * kKeys - 5,      0,     0};
      for (int tile = 0; tile < 2; ++tile) {
        const auto tileOf = [&](const fx::Pointer &first, int rows, int columns, int apart) {
          return fx::make_view(first, tileInRuns(form, rows, columns, apart, 8 * apart));
        };
        read(fx::make_tiled_copy_A(one, scores),
             tileOf(gK.iter() + tile * kKeys * kHead, kKeys, kHead, kHead), rK);
        rS.fill(0);
        fx::gemm(scores, rS, rK, rQ, rS);
        const fx::Tensor row = rS(_, _, 0);
        const auto give = [&](const fx::Vector &weights) {
          giveProbabilities(form, weights, rP(_, 0, _));
        };
        if (spec->softmax) {
          const ScoreKeys keys{fx::Int32(tile * int(kKeys) + runs.first()),
                               [&](int i) { return runs.offset(i); }};
          finishScores(spec->rules, row, keys,
                       {.bias = [](const fx::Int32 &key) { return key.to(fx::f32) * 0.125f; },
                        .slope = fx::Numeric(fx::Float32(0.25f)),
                        .at = query + int(2 * kKeys - 5 - kQueries)});
          maskScores(row, keys, visibility.ofQuery(query));
          give(
              softmax
                  .add({row}, [&](int, const fx::Numeric &factor) { rO.store(rO.load() * factor); })
                  .front());
        } else {
          give(row.load().to(spec->type));
        }
        read(fx::make_tiled_copy_A(one, values),
             tileOf(gV.iter() + tile * kKeys, kHead, kKeys, 2 * kKeys), rV);
        fx::gemm(values, rO, rV, rP, rO);
      }
      const SoftmaxEnd end = spec->softmax ? softmax.finish(0, fx::Numeric(fx::Float32(1.5f)))
                                           : SoftmaxEnd{fx::Float32(1.0f), fx::Float32(0.0f)};
      for (int i = 0; i < fx::size(rO).value(); ++i)
        gO(query, runs.first() + runs.offset(i)) = rO(i) * end.inverse;
      gLse(query) = end.lse;
    }};

struct WaveResult {
  std::vector<double> o, lse;
};
WaveResult runWave(const WaveSpec &spec, const std::vector<double> &q, const std::vector<double> &k,
                   const std::vector<double> &v) {
  const Operand Q = Operand::input(spec.type, kQueries, kHead, q),
                K = Operand::input(spec.type, 2 * kKeys, kHead, k),
                V = Operand::input(spec.type, kHead, 2 * kKeys, v),
                O = Operand::output(fx::f32, kQueries, kHead),
                lse = Operand::output(fx::f32, 1, kQueries);
  const auto fixed = [](fx::TensorArg tensor) { return tensor.mark_layout_static(); };
  const fx::Stream stream;
  wave(fixed(Q.tensor()), fixed(K.tensor()), fixed(V.tensor()), fixed(O.tensor()),
       fixed(lse.vector()), spec)
      .launch({.block = fx::Device::current().target().wave_size(), .stream = stream});
  stream.synchronize();
  return {O.values(), lse.values()};
}

} // namespace

TEST_CASE("the keys that queries see are those of the definition") {
  for (std::int64_t queries : {1, 2, 5, 17, 33})
    for (std::int64_t keys : {0, 1, 4, 16, 17, 40})
      for (bool causal : {false, true})
        for (std::int64_t before : {-2, -1, 0, 1, 7, 16})
          for (std::int64_t behind : {-1, 0, 3}) {
            const bool window = before != -2;
            const Visibility<std::int64_t> visibility{causal, window, queries,
                                                      keys,   before, behind};
            for (int size : {4, 16})
              for (std::int64_t first = 0; first < queries; first += 8)
                if (!tilesAreRight(visibility, first, std::min(first + 7, queries - 1), size)) {
                  INFO(queries << " queries from " << first << ", " << keys << " keys, causal "
                               << causal << ", window " << window << " " << before << " " << behind
                               << ", tiles of " << size);
                  FAIL("wrong keys or tiles");
                }
          }
  SUCCEED();
}

TEST_CASE("the result of one product is the operand of the next, exactly", "[run]") {
  const std::vector<double> q = integers(kQueries * kHead, 1, -1, 1),
                            k = integers(2 * kKeys * kHead, 2, -1, 1),
                            v = integers(kHead * 2 * kKeys, 3, -2, 2);
  for (fx::DType type : {fx::DType(fx::f16), fx::DType(fx::bf16)}) {
    const std::vector<double> o = runWave({.type = type}, q, k, v).o;
    std::vector<double> expected;
    for (std::int64_t i = 0; i < kQueries; ++i)
      for (std::int64_t d = 0; d < kHead; ++d) {
        double sum = 0;
        for (std::int64_t j = 0; j < 2 * kKeys; ++j) {
          double score = 0;
          for (std::int64_t e = 0; e < kHead; ++e)
            score += q[std::size_t(i * kHead + e)] * k[std::size_t(j * kHead + e)];
          sum += score * v[std::size_t(d * 2 * kKeys + j)];
        }
        expected.push_back(sum);
      }
    CHECK(o == expected);
  }
}

TEST_CASE("softmax over tiles is that of all scores", "[run]") {
  const std::vector<double> k = uniform(fx::f16, 2 * kKeys * kHead, 2),
                            v = uniform(fx::f16, kHead * 2 * kKeys, 3);
  std::vector<double> q = uniform(fx::f16, kQueries * kHead, 1, 2);
  const ScoreRules plain{.scale = 0.5}, causal{.scale = 0.5, .causal = true},
      all{.scale = 0.25, .soft_cap = 2, .bias = true, .alibi = true, .causal = true};
  for (const ScoreRules &rules : {plain, causal, all}) {
    const WaveResult result = runWave({.softmax = true, .rules = rules}, q, k, v);
    const std::int64_t keys = 2 * kKeys - 5;
    std::vector<double> o, bound, lse, lseBound;
    for (std::int64_t i = 0; i < kQueries; ++i) {
      std::vector<double> score(std::size_t(keys), 0);
      double largest = 1.5 / kLog2E;
      const std::int64_t at = i + keys - kQueries;
      for (std::int64_t j = 0; j < keys; ++j) {
        double &s = score[std::size_t(j)];
        for (std::int64_t e = 0; e < kHead; ++e)
          s += rules.scale * q[std::size_t(i * kHead + e)] * k[std::size_t(j * kHead + e)];
        if (rules.soft_cap > 0)
          s = rules.soft_cap * std::tanh(s / rules.soft_cap);
        if (rules.bias)
          s += 0.125 * double(j) - 0.25 * double(std::abs(at - j));
        if (rules.causal && j > at)
          s = -std::numeric_limits<double>::infinity();
        largest = std::max(largest, s);
      }
      double sum = std::exp(1.5 / kLog2E - largest);
      for (double s : score)
        sum += std::exp(s - largest);
      lse.push_back((largest + std::log(sum)) * kLog2E);
      // The sum is of probabilities that are rounded by up to 2^-11.
      lseBound.push_back(1.5 * 0x1p-11 + 1e-4);
      for (std::int64_t d = 0; d < kHead; ++d) {
        double value = 0, size = 0;
        for (std::int64_t j = 0; j < keys; ++j) {
          const double term =
              std::exp(score[std::size_t(j)] - largest) / sum * v[std::size_t(d * 2 * kKeys + j)];
          value += term;
          size += std::fabs(term);
        }
        o.push_back(value);
        bound.push_back(size * (0x1p-11 + 1e-4) + 1e-7);
      }
    }
    INFO("causal " << rules.causal << ", capped " << rules.soft_cap);
    expectWithin(result.o, o, bound);
    expectWithin(result.lse, lse, lseBound);
  }
}

TEST_CASE("parts of a row combine to the row, whatever is in them", "[run]") {
  // Parts of one element each: the result is sum(2^lse * value) / sum(2^lse).
  const fx::Kernel combine{
      "combine_parts", [](fx::Tensor lse, fx::Tensor values, fx::Tensor out, fx::Int32 count,
                          fx::Constexpr<bool> sink) {
        const auto row = fx::thread_idx().x;
        const std::optional<fx::Numeric> extra =
            sink.value() ? std::optional<fx::Numeric>(fx::Float32(1.0f)) : std::nullopt;
        const CombinedRow all = combineParts(
            {count, [&](const fx::Int32 &part) { return lse(row, part); },
             [&](const fx::Int32 &part) { return fx::Vector::of({values(row, part)}); }},
            1, extra);
        out(row, 0) = all.values.at(0);
        out(row, 1) = all.lse;
      }};
  constexpr double none = -std::numeric_limits<double>::infinity();
  const std::vector<double> lse{none, none, none, 3, none, 3, 200, 0, -150, -3, none, 120},
      values{0, 0, 0, 4, 0, 8, 1, 7, 5, 2, 0, 6};
  for (bool sink : {false, true}) {
    const Operand L = Operand::input(fx::f32, 4, 3, lse), V = Operand::input(fx::f32, 4, 3, values),
                  out = Operand::output(fx::f32, 4, 2);
    const fx::Stream stream;
    combine(L.tensor(), V.tensor(), out.tensor(), 3, sink).launch({.block = 4, .stream = stream});
    stream.synchronize();
    const std::vector<double> got = out.values();
    CHECK(got[0] == 0);
    CHECK(got[1] == (sink ? 1 : none));
    CHECK(std::fabs(got[2] - (sink ? 96.0 / 18 : 6)) < 1e-6);
    CHECK(std::fabs(got[3] - (sink ? std::log2(18) : 4)) < 1e-6);
    CHECK(got[4] == 1);
    CHECK(got[5] == 200);
    CHECK(got[6] == 6);
    CHECK(got[7] == 120);
  }
}

TEST_CASE("tokens of a cache are where its layout says", "[run]") {
  // Each element of a cache holds its own number; keys and values are looked up token by token.
  const fx::Kernel look{"look_up", [](fx::Tensor cache, fx::Tensor table, fx::Tensor out,
                                      fx::Constexpr<KvLayout> layout) {
                          const KvLayout &lies = layout.value();
                          const int page = lies.tokensOfPage, head = lies.head;
                          // Two heads; the second is looked at.
                          const bool rows = lies.valuesInRows();
                          const fx::Strided<fx::OnDevice, 3> strides{
                              .address = fx::Int64(cache.iter().address()),
                              .stride = {fx::Int64(2 * page * head), fx::Int64(rows ? 2 * head : 0),
                                         fx::Int64(rows ? head : page * head)}};
                          const KvSource source(lies, keysOfHead(lies, strides, 1),
                                                valuesOfHead(lies, strides, 1), table);
                          const auto token = fx::thread_idx().x;
                          const KvPlace place = source.place(token);
                          for (int d = 0; d < head; ++d) {
                            out(token, 2 * d) = source.key(place)(d);
                            out(token, 2 * d + 1) = source.value(place)(d);
                          }
                        }};
  constexpr int kPage = 4, kSize = 8, kTokens = 10;
  const std::vector<double> table{2, 0, 1};
  std::vector<double> numbers(3 * 2 * kPage * kSize);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  for (const KvLayout &layout :
       {KvLayout{fk::KvCache::pages, kPage, 0, 0, 2, kSize, kSize, fx::i32},
        KvLayout{fk::KvCache::packed, kPage, 4, 2, 2, kSize, kSize, fx::i32},
        KvLayout{fk::KvCache::packed, kPage, 2, kPage, 2, kSize, kSize, fx::i32}}) {
    const Operand cache = Operand::input(fx::i32, 1, std::int64_t(numbers.size()), numbers),
                  pages = Operand::input(fx::i32, 1, 3, table),
                  out = Operand::output(fx::i32, kTokens, 2 * kSize);
    const fx::Stream stream;
    look(cache.vector(), pages.vector(), out.tensor(), layout)
        .launch({.block = kTokens, .stream = stream});
    stream.synchronize();
    std::vector<double> expected;
    for (int token = 0; token < kTokens; ++token)
      for (int d = 0; d < kSize; ++d) {
        const int block = int(table[std::size_t(token / kPage)]) * 2 * kPage * kSize,
                  t = token % kPage, x = layout.pack, y = layout.v_pack;
        if (layout.valuesInRows()) {
          expected.insert(expected.end(), 2, block + (t * 2 + 1) * kSize + d);
        } else {
          const int head = block + kPage * kSize;
          expected.push_back(head + d / x * kPage * x + t * x + d % x);
          expected.push_back(head + t / y * y * kSize + d * y + t % y);
        }
      }
    CHECK(out.values() == expected);
  }
}
