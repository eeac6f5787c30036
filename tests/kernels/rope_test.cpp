// Rotary position embedding of normed heads and the cache of k and v against a reference in double
// precision.
#include "support/quantised.h"
#include "support/structure.h"

#include <flydsl/kernels/rope.h>

#include <algorithm>
#include <limits>

using namespace kernel_tests;

namespace {

using fk::HeadNorm;
using fk::KvCache;
using fk::Quantisation;
using fk::RopeProblem;
using fk::RopeStyle;

/// What must come out, and how far from it.
struct Expected {
  std::vector<double> values,
      error; ///< the error of the f32 arithmetic, before rounding
};

/// The operands of a call, and what they hold. Tensors of heads have gaps between their tokens, and
/// the cache between its blocks.
struct Case {
  static constexpr std::int64_t kGap = 16;

  Case(const RopeProblem &problem, std::int64_t m, std::int64_t rows = 0, std::uint64_t seed = 1)
      : problem(problem), m(m), rows(rows ? rows : m + 2),
        rotary(problem.rotary < 0 ? problem.head : problem.rotary),
        blocks((m + problem.page - 1) / problem.page + 1),
        q(uniform(problem.x, m * problem.q_heads * problem.head, seed)),
        k(uniform(problem.x, m * problem.kv_heads * problem.head, seed + 1)),
        v(uniform(problem.x, m * problem.kv_heads * problem.head, seed + 2)),
        cos(uniform(problem.table, this->rows * rotary / 2, seed + 3)),
        sin(uniform(problem.table, this->rows * rotary / 2, seed + 4)),
        positions(integers(m, seed + 5, 0, static_cast<int>(this->rows) - 1)),
        slots(shuffled(blocks * problem.page, seed + 6)),
        qWeight(uniform(problem.weight, problem.head, seed + 7)),
        kWeight(uniform(problem.weight, problem.head, seed + 8)) {
    slots.resize(static_cast<std::size_t>(m));
  }

  /// Runs the problem and compares all results. `headsFirst`: each head's tokens of a block lie
  /// together in a cache of KvCache::pages.
  void expect(std::optional<fk::RopeConfig> config = {}, bool headsFirst = false) const {
    const fk::RopeConfig chosen = config ? *config : fk::choose(problem, m);
    INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(chosen).str());
    const bool cached = problem.cache != KvCache::none, hasV = cached && problem.v_cached,
               quantised = cached && problem.cached.bits() == 8;
    const std::int64_t head = problem.head, wideQ = problem.q_heads * head,
                       wideK = problem.kv_heads * head, block = problem.page * wideK;
    const auto in = [&](fx::DType dtype, std::int64_t n, const std::vector<double> &values) {
      return Operand::input(dtype, m, n, values, kGap);
    };
    const Operand inQ = in(problem.x, wideQ, q), inK = in(problem.x, wideK, k),
                  inV = in(problem.x, wideK, v), outQ = Operand::output(problem.y, m, wideQ, kGap),
                  outK = Operand::output(problem.y, m, wideK, kGap),
                  cosines = Operand::input(problem.table, rows, rotary / 2, cos, kGap),
                  sines = Operand::input(problem.table, rows, rotary / 2, sin, kGap),
                  positionsOf = Operand::input(problem.index, 1, m, positions),
                  slotsOf = Operand::input(problem.index, 1, m, slots),
                  cacheK = Operand::output(problem.cached, blocks, block, kGap),
                  cacheV = Operand::output(problem.cached, blocks, block, kGap),
                  weightQ = Operand::input(problem.weight, 1, head, qWeight),
                  weightK = Operand::input(problem.weight, 1, head, kWeight),
                  outScaleQ = scales(problem.q_heads), outScaleK = scales(problem.kv_heads),
                  scaleK = Operand::input(fx::f32, 1, 1, std::vector{kScaleK}),
                  scaleV = Operand::input(fx::f32, 1, 1, std::vector{kScaleV});
    const auto heads = [&](bool has, const Operand &operand,
                           std::int64_t count) -> std::optional<fx::TensorArg> {
      if (!has)
        return std::nullopt;
      return fx::tensor(operand.tensor().data(), operand.dtype(), {m, count, head},
                        {count * head + kGap, head, 1});
    };
    const auto maybe = [](bool has, const fx::TensorArg &tensor) {
      return has ? std::optional<fx::TensorArg>(tensor) : std::nullopt;
    };
    const fx::Stream stream;
    fk::RopePlan(problem, chosen)(
        {.q = heads(problem.q_heads, inQ, problem.q_heads),
         .k = heads(problem.kv_heads, inK, problem.kv_heads),
         .v = heads(hasV, inV, problem.kv_heads),
         .positions = maybe(rotary, positionsOf.vector()),
         .cos = maybe(rotary, cosines.tensor()),
         .sin = maybe(rotary, sines.tensor()),
         .slots = maybe(cached, slotsOf.vector()),
         .q_out = heads(problem.q_heads, outQ, problem.q_heads),
         .k_out = heads(problem.kv_heads && problem.k_out, outK, problem.kv_heads),
         .k_cache = maybe(cached, cacheTensor(cacheK, false, headsFirst)),
         .v_cache = maybe(hasV, cacheTensor(cacheV, true, headsFirst)),
         .q_weight = maybe(problem.q_norm == HeadNorm::weighted, weightQ.vector()),
         .k_weight = maybe(problem.k_norm == HeadNorm::weighted, weightK.vector()),
         .q_scale = scalesTensor(problem.q_heads, outScaleQ, problem.q_heads),
         .k_scale = scalesTensor(problem.kv_heads && problem.k_out, outScaleK, problem.kv_heads),
         .k_cache_scale = maybe(quantised, scaleK.vector()),
         .v_cache_scale = maybe(quantised && hasV, scaleV.vector())},
        stream);
    stream.synchronize();

    const Expected ofQ = rotated(normed(q, problem.q_norm, qWeight, chosen.lanes), problem.q_heads),
                   ofK =
                       rotated(normed(k, problem.k_norm, kWeight, chosen.lanes), problem.kv_heads);
    if (problem.q_heads)
      expectOutput(outQ, ofQ, outScaleQ);
    if (problem.kv_heads && problem.k_out)
      expectOutput(outK, ofK, outScaleK);
    else
      CHECK(outK.bytes() == std::vector<std::uint8_t>(outK.bytes().size(), 0xff));
    if (cached)
      expectCache(cacheK, ofK, kScaleK, false, headsFirst);
    if (hasV)
      expectCache(cacheV, {v, std::vector<double>(v.size())}, kScaleV, true, headsFirst);
  }

  /// The heads of all tokens over their root mean squares. A sum of squares, which are positive,
  /// errs by as many roundings as a lane has numbers, and one for each step among the lanes; the
  /// root, the quotient and the products by six more.
  Expected normed(const std::vector<double> &x, HeadNorm norm, const std::vector<double> &weight,
                  int lanes) const {
    Expected result{x, std::vector<double>(x.size())};
    if (norm == HeadNorm::none)
      return result;
    const auto head = static_cast<std::size_t>(problem.head);
    const double steps = double(head) / lanes + std::log2(double(head)) + 6;
    for (std::size_t at = 0; at < x.size(); at += head) {
      double squares = 0;
      for (std::size_t e = 0; e < head; ++e)
        squares += x[at + e] * x[at + e] / double(head);
      const double rstd = 1 / std::sqrt(squares + double(float(problem.eps)));
      for (std::size_t e = 0; e < head; ++e) {
        result.values[at + e] *= rstd * (norm == HeadNorm::weighted ? weight[e] : 1);
        result.error[at + e] = steps * 0x1p-23 * std::fabs(result.values[at + e]);
      }
    }
    return result;
  }

  /// The same, rotated. Two products and their difference err by four roundings at most; what does
  /// not rotate stays as it is.
  Expected rotated(const Expected &x, int heads) const {
    Expected result = x;
    const std::int64_t half = rotary / 2, start = problem.tail ? problem.head - rotary : 0;
    for (std::int64_t t = 0; t < m; ++t)
      for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t i = 0; i < half; ++i) {
          const bool neox = problem.style == RopeStyle::neox;
          const std::int64_t first = (t * heads + h) * problem.head + start;
          const auto at = static_cast<std::size_t>(first + (neox ? i : 2 * i)),
                     other = static_cast<std::size_t>(first + (neox ? i + half : 2 * i + 1));
          const double position = positions[static_cast<std::size_t>(t)];
          const bool known = position >= 0 && position < double(rows);
          const auto angle =
              static_cast<std::size_t>(known ? std::int64_t(position) * half + i : 0);
          const double a = x.values[at], b = x.values[other], none = std::nan(""),
                       c = known ? cos[angle] : none, s = known ? sin[angle] : none,
                       ea = x.error[at], eb = x.error[other];
          result.values[at] = a * c - b * s;
          result.values[other] = b * c + a * s;
          result.error[at] = 0x1p-22 * (std::fabs(a * c) + std::fabs(b * s)) + ea * std::fabs(c) +
                             eb * std::fabs(s);
          result.error[other] = 0x1p-22 * (std::fabs(b * c) + std::fabs(a * s)) +
                                eb * std::fabs(c) + ea * std::fabs(s);
        }
    return result;
  }

  RopeProblem problem;
  std::int64_t m, rows, rotary, blocks;
  std::vector<double> q, k, v, cos, sin, positions, slots, qWeight, kWeight;

private:
  static constexpr double kScaleK = 0x1p-6, kScaleV = 0x1.8p-7, kScaleOut = 0x1p-5;

  std::int64_t group() const { return problem.group ? problem.group : problem.head; }

  /// The scales of the heads of q_out or k_out.
  Operand scales(int heads) const {
    if (problem.quantise == Quantisation::fixed)
      return Operand::input(fx::f32, 1, 1, std::vector{kScaleOut});
    return Operand::output(problem.scale == fx::f32 ? fx::f32 : fx::DType(fx::u8), 1,
                           m * heads * problem.head / group());
  }
  std::optional<fx::TensorArg> scalesTensor(bool has, const Operand &scale, int heads) const {
    if (!has || problem.quantise == Quantisation::none)
      return std::nullopt;
    if (problem.quantise == Quantisation::fixed)
      return scale.vector();
    return fx::tensor(scale.tensor().data(), problem.scale, {m, heads, problem.head / group()});
  }

  void expectOutput(const Operand &out, const Expected &expected, const Operand &scale) const {
    const std::vector<double> got = out.values();
    if (problem.quantise == Quantisation::none)
      return expectRounded(got, expected, problem.y);
    const bool perGroup = problem.quantise == Quantisation::row;
    std::vector<double> scales = scale.values();
    if (problem.scale == fx::f32 || !perGroup)
      return expectQuantised(problem.y, got, scales, perGroup ? group() : std::int64_t(got.size()),
                             perGroup, expected.values, expected.error);
    // The smallest power of two that limits no value.
    const double most = largestQuantised(problem.y);
    const auto size = static_cast<std::size_t>(group());
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const auto values = std::span(expected.values).subspan(i * size, size),
                 error = std::span(expected.error).subspan(i * size, size);
      const double power = std::ldexp(1, static_cast<int>(scales[i]) - 127);
      double largest = 0, slack = 0;
      for (std::size_t e = 0; e < size; ++e) {
        largest = std::max(largest, std::fabs(values[e]));
        slack = std::max(slack, error[e] + std::fabs(values[e]) * 0x1p-22);
      }
      INFO("group " << i << ", largest magnitude " << largest << ", scale " << power);
      CHECK(power * most >= largest - slack);
      CHECK((power / 2 * most < largest + slack || scales[i] == 0));
      expectQuantised(problem.y, std::span(got).subspan(i * size, size), std::vector{power},
                      group(), false, values, error);
    }
  }

  std::int64_t vPack() const { return problem.v_pack ? problem.v_pack : problem.page; }

  fx::TensorArg cacheTensor(const Operand &cache, bool isV, bool headsFirst) const {
    const std::int64_t kv = problem.kv_heads, head = problem.head, page = problem.page,
                       apart = page * kv * head + kGap, x = problem.pack, y = vPack();
    void *data = cache.tensor().data();
    if (problem.cache != KvCache::packed && headsFirst)
      return fx::tensor(data, problem.cached, {blocks, page, kv, head},
                        {apart, head, page * head, 1});
    if (problem.cache != KvCache::packed)
      return fx::tensor(data, problem.cached, {blocks, page, kv, head},
                        {apart, kv * head, head, 1});
    if (isV)
      return fx::tensor(data, problem.cached, {blocks, kv, page / y, head, y},
                        {apart, page * head, head * y, y, 1});
    return fx::tensor(data, problem.cached, {blocks, kv, head / x, page, x},
                      {apart, page * head, page * x, x, 1});
  }
  /// Where an element is in a cache without gaps: the definition of the layouts.
  std::size_t placeOf(std::int64_t slot, std::int64_t h, std::int64_t e, bool isV,
                      bool headsFirst) const {
    const std::int64_t kv = problem.kv_heads, head = problem.head, page = problem.page,
                       b = slot / page, p = slot % page, x = problem.pack, y = vPack();
    if (problem.cache == KvCache::pages && headsFirst)
      return std::size_t(((b * kv + h) * page + p) * head + e);
    if (problem.cache == KvCache::pages)
      return std::size_t(((b * page + p) * kv + h) * head + e);
    if (isV)
      return std::size_t((((b * kv + h) * (page / y) + p / y) * head + e) * y + p % y);
    return std::size_t((((b * kv + h) * (head / x) + e / x) * page + p) * x + e % x);
  }

  static void expectRounded(const std::vector<double> &got, const Expected &expected,
                            fx::DType type) {
    std::vector<double> bound = expected.error;
    const std::vector<double> rounded = decode(type, encode(type, expected.values));
    for (std::size_t i = 0; i < bound.size(); ++i)
      bound[i] = bound[i] == 0
                     ? std::fabs(rounded[i] - expected.values[i])
                     : bound[i] + std::fabs(expected.values[i]) * unit(type) + underflow(type);
    expectWithin(got, expected.values, bound);
  }

  void expectCache(const Operand &cache, const Expected &expected, double scale, bool isV,
                   bool headsFirst) const {
    cache.expectUntouched();
    const std::vector<std::uint8_t> bytes = cache.bytes();
    const std::vector<double> all = decode(problem.cached, bytes);
    std::vector<bool> written(all.size());
    std::vector<double> got, values, error;
    const std::int64_t kv = problem.kv_heads, head = problem.head;
    for (std::int64_t t = 0; t < m; ++t) {
      const auto slot = static_cast<std::int64_t>(slots[static_cast<std::size_t>(t)]);
      if (slot < 0 || slot >= blocks * problem.page)
        continue;
      for (std::int64_t h = 0; h < kv; ++h)
        for (std::int64_t e = 0; e < head; ++e) {
          const std::size_t place = placeOf(slot, h, e, isV, headsFirst),
                            from = static_cast<std::size_t>((t * kv + h) * head + e);
          REQUIRE(!written[place]);
          written[place] = true;
          got.push_back(all[place]);
          values.push_back(expected.values[from]);
          error.push_back(expected.error[from]);
        }
    }
    if (problem.cached.bits() == 8)
      expectQuantised(problem.cached, got, std::vector{scale},
                      static_cast<std::int64_t>(got.size()), false, values, error);
    else
      expectRounded(got, {values, error}, problem.cached);
    const std::size_t size = static_cast<std::size_t>(problem.cached.bytes());
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (!written[i / size] && bytes[i] != 0xff)
        FAIL("byte " << i << " of the cache was written, and no slot names it");
  }
};

fx::DType hardwareFp8() {
  return fx::Device::current().target().has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN;
}

/// A layer of a small model.
RopeProblem small() { return {.q_heads = 4, .kv_heads = 2, .head = 64, .cache = KvCache::pages}; }

} // namespace

TEST_CASE("rotation of heads of any size", "[run]") {
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj}) {
    RopeProblem problem{.q_heads = 3, .kv_heads = 1, .head = 64, .style = style};
    Case(problem, 5).expect();
    problem.head = 96;
    Case(problem, 2).expect();
    problem.x = problem.y = problem.table = fx::bf16;
    problem.index = fx::i64;
    problem.head = 128;
    Case(problem, 3).expect();
    problem.x = problem.y = fx::f32;
    problem.head = 256;
    problem.kv_heads = 0;
    Case(problem, 1).expect();
    problem.head = 10; // nothing but pairs is aligned
    problem.kv_heads = 4;
    Case(problem, 2).expect();
  }
}

TEST_CASE("rotation of a part of a head", "[run]") {
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj})
    for (bool tail : {false, true}) {
      RopeProblem problem{
          .q_heads = 2, .kv_heads = 1, .head = 80, .rotary = 32, .style = style, .tail = tail};
      Case(problem, 3).expect();
      Case(problem, 3).expect(fk::RopeConfig{.lanes = 4, .heads = 3, .block = 64});
      problem.head = 192;
      problem.rotary = 64;
      problem.y = fx::f32;
      Case(problem, 2).expect();
      problem.rotary = 0;
      Case(problem, 1).expect();
    }
}

TEST_CASE("heads shared in every way", "[run]") {
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj}) {
    RopeProblem problem = small();
    problem.style = style;
    for (int lanes : {1, 2, 16, 32})
      Case(problem, 3).expect(fk::RopeConfig{.lanes = lanes, .heads = 1, .block = 64});
    // 8 heads in rounds that are all of one kind, of two kinds, and with nothing in the last.
    for (int heads : {2, 3, 4, 8})
      Case(problem, 7).expect(fk::RopeConfig{.lanes = 4, .heads = heads, .block = 64});
  }
}

TEST_CASE("a cache of pages", "[run]") {
  RopeProblem problem = small();
  for (int page : {1, 16, 24}) {
    problem.page = page;
    Case(problem, 19).expect();
  }
  Case(problem, 19).expect({}, true);
  problem.x = problem.y = fx::f32;
  problem.cached = fx::bf16;
  problem.k_out = false;
  problem.index = fx::i64;
  Case(problem, 3).expect();
  problem.q_heads = 0;
  problem.v_cached = false;
  problem.rotary = 32;
  problem.tail = true;
  Case(problem, 3).expect();
}

TEST_CASE("a packed cache", "[run]") {
  RopeProblem problem = small();
  problem.cache = KvCache::packed;
  Case(problem, 17).expect();
  problem.pack = 8;
  problem.v_pack = 8;
  problem.x = problem.y = problem.cached = fx::bf16;
  problem.style = RopeStyle::gptj;
  Case(problem, 17).expect();
  problem.pack = 4;
  problem.page = 5;
  problem.v_pack = 1;
  problem.head = 96;
  Case(problem, 6).expect();
}

TEST_CASE("a cache of 8 bits", "[run]") {
  for (fx::DType type : {hardwareFp8(), fx::DType(fx::i8)})
    for (KvCache cache : {KvCache::pages, KvCache::packed}) {
      RopeProblem problem = small();
      problem.cache = cache;
      problem.cached = type;
      problem.page = 4;
      Case test(problem, 6);
      test.v[3] = 100; // limited to the largest number
      test.expect();
    }
}

TEST_CASE("slots that are none, and positions far out", "[run]") {
  RopeProblem problem = small();
  problem.index = fx::i64;
  Case test(problem, 6);
  test.slots[0] = -1;
  test.slots[2] = double(test.blocks * problem.page); // past the cache
  test.slots[3] = -0x1p40;
  test.slots[4] = 0x1p32 + 1; // a place of the cache if 32 bits are looked at
  test.expect();
  // All slots are none: the cache is untouched.
  std::fill(test.slots.begin(), test.slots.end(), -1);
  test.expect();
  // Outside of the tables: NaNs, and nothing is read there.
  test.positions[1] = -1;
  test.positions[2] = double(test.rows);
  test.positions[5] = 0x1p33;
  test.expect();
  problem.style = RopeStyle::gptj;
  problem.rotary = 16;
  Case pairs(problem, 4);
  pairs.positions[0] = -5;
  pairs.expect();
  // A row past 65,535.
  RopeProblem narrow{.q_heads = 1, .head = 8};
  Case far(narrow, 3, 70000);
  far.positions = {69999, 65536, 0};
  far.expect();
}

TEST_CASE("rotation of what does not round", "[run]") {
  // Quarter turns of small integers, and values that are none where nothing rotates.
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj}) {
    RopeProblem problem = small();
    problem.style = style;
    problem.rotary = 32;
    Case test(problem, 4);
    test.q = integers(std::int64_t(test.q.size()), 7, -1000, 1000);
    test.k = integers(std::int64_t(test.k.size()), 8, -1000, 1000);
    for (std::size_t i = 0; i < test.cos.size(); ++i) {
      const int quarter = int(i * 7 % 4);
      test.cos[i] = quarter == 0 ? 1 : quarter == 2 ? -1 : 0;
      test.sin[i] = quarter == 1 ? 1 : quarter == 3 ? -1 : 0;
    }
    test.q[33] = test.v[2] = std::numeric_limits<double>::infinity();
    test.q[40] = test.v[5] = std::nan("");
    test.expect();
  }
}

TEST_CASE("heads over their root mean squares, rotated", "[run]") {
  for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj}) {
    RopeProblem problem = small();
    problem.style = style;
    problem.q_norm = HeadNorm::weighted;
    problem.k_norm = HeadNorm::plain;
    problem.weight = fx::f32;
    Case(problem, 3).expect();
    Case(problem, 3).expect(fk::RopeConfig{.lanes = 2, .heads = 3, .block = 64});
    problem.x = problem.y = problem.cached = problem.weight = fx::bf16;
    problem.q_norm = HeadNorm::none;
    problem.k_norm = HeadNorm::weighted;
    problem.head = 96;
    problem.rotary = 64;
    problem.tail = true;
    problem.eps = 1e-5;
    Case test(problem, 3);
    std::fill(test.k.begin(), test.k.begin() + 96, 0); // zeros stay zeros
    test.expect();
    // One lane a head, which no other helps.
    Case(problem, 1).expect(fk::RopeConfig{.lanes = 1, .heads = 1, .block = 64});
  }
}

TEST_CASE("heads quantised by groups", "[run]") {
  const fx::DType fp8 = hardwareFp8();
  // FlyDSL's shape, in both styles: 512 elements, of which the last 64 rotate.
  RopeProblem problem{.x = fx::bf16,
                      .y = fp8,
                      .table = fx::bf16,
                      .index = fx::i64,
                      .q_heads = 2,
                      .kv_heads = 1,
                      .head = 512,
                      .rotary = 64,
                      .style = RopeStyle::gptj,
                      .tail = true,
                      .q_norm = HeadNorm::plain,
                      .k_norm = HeadNorm::weighted,
                      .weight = fx::bf16,
                      .quantise = Quantisation::row};
  for (int group : {0, 32, 64, 128}) {
    problem.group = group;
    problem.style = group == 64 ? RopeStyle::neox : RopeStyle::gptj;
    Case test(problem, 2);
    std::fill(test.q.begin(), test.q.begin() + 512, 0); // scales of zeros
    test.q[512 + 100] = 30;                             // one far above the others
    test.expect();
  }
  problem.style = RopeStyle::neox;
  Case(problem, 1).expect();
  problem.style = RopeStyle::gptj;
  // Scales that are powers of two.
  problem.y = fx::f8E4M3FN;
  problem.scale = fx::f8E8M0FNU;
  problem.group = 32;
  Case(problem, 2).expect();
  // Integers, a scale for each head, and a cache of another type.
  RopeProblem integer = small();
  integer.y = fx::i8;
  integer.quantise = Quantisation::row;
  integer.head = 96;
  integer.cached = fp8;
  Case(integer, 3).expect();
  // A given scale.
  integer.y = fp8;
  integer.quantise = Quantisation::fixed;
  integer.q_norm = HeadNorm::plain;
  Case(integer, 3).expect();
}

TEST_CASE("rotation in place, of parts of one tensor, and of no tokens") {
  const RopeProblem problem{.q_heads = 2, .kv_heads = 1, .head = 32};
  const fk::RopePlan plan(problem, fk::choose(problem, 4));
  const std::int64_t m = 4, wide = 4 * 32; // q, k and v of a token
  Case test(problem, m);
  std::vector<double> qkv(std::size_t(m * wide));
  for (std::int64_t t = 0; t < m; ++t) {
    std::copy_n(test.q.begin() + t * 64, 64, qkv.begin() + t * wide);
    std::copy_n(test.k.begin() + t * 32, 32, qkv.begin() + t * wide + 64);
  }
  const Operand all = Operand::both(fx::f16, m, wide, qkv),
                // Both tables in one.
      positions = Operand::input(fx::i32, 1, m, test.positions);
  std::vector<double> both;
  for (std::int64_t row = 0; row < test.rows; ++row) {
    both.insert(both.end(), test.cos.begin() + row * 16, test.cos.begin() + row * 16 + 16);
    both.insert(both.end(), test.sin.begin() + row * 16, test.sin.begin() + row * 16 + 16);
  }
  const Operand table = Operand::input(fx::f32, test.rows, 32, both);
  auto *data = static_cast<fx::half_t *>(all.tensor().data());
  auto *angles = static_cast<float *>(table.tensor().data());
  const fx::TensorArg q = fx::tensor(data, {m, 2, 32}, {wide, 32, 1}),
                      k = fx::tensor(data + 64, {m, 1, 32}, {wide, 32, 1});
  const fx::Stream stream;
  plan({.q = q,
        .k = k,
        .positions = positions.vector(),
        .cos = fx::tensor(angles, {test.rows, 16}, {32, 1}),
        .sin = fx::tensor(angles + 16, {test.rows, 16}, {32, 1}),
        .q_out = q,
        .k_out = k},
       stream);
  stream.synchronize();
  const std::vector<double> exact(test.q.size());
  const Expected ofQ = test.rotated({test.q, exact}, 2), ofK = test.rotated({test.k, exact}, 1);
  std::vector<double> expected = qkv, bound(qkv.size());
  for (std::int64_t t = 0; t < m; ++t)
    for (std::int64_t e = 0; e < 96; ++e) {
      const std::size_t at = std::size_t(t * wide + e),
                        from = std::size_t(e < 64 ? t * 64 + e : t * 32 + e - 64);
      const Expected &of = e < 64 ? ofQ : ofK;
      expected[at] = of.values[from];
      bound[at] = of.error[from] + std::fabs(expected[at]) * 0x1p-11 + 0x1p-25;
    }
  expectWithin(all.values(), expected, bound);

  const fx::TensorArg none(nullptr, fx::f16, fx::Extents{0, 2, 32}),
      noK(nullptr, fx::f16, fx::Extents{0, 1, 32}), no(nullptr, fx::i32, fx::Extents{0});
  CHECK(fx::Device::current()
            .count_launches([&] {
              plan({.q = none,
                    .k = noK,
                    .positions = no,
                    .cos = fx::tensor(angles, {test.rows, 16}, {32, 1}),
                    .sin = fx::tensor(angles + 16, {test.rows, 16}, {32, 1}),
                    .q_out = none,
                    .k_out = noK},
                   stream);
            })
            .empty());
}

TEST_CASE("rope: another run, a graph, a file", "[run]") {
  RopeProblem problem = small();
  problem.cache = KvCache::packed;
  problem.page = 4;
  problem.cached = hardwareFp8();
  expectStructure<RopeProblem>(problem, {.lanes = 4, .heads = 2, .block = 64}, 5);
  // The fused form.
  problem.q_norm = problem.k_norm = HeadNorm::weighted;
  problem.y = fx::f8E5M2;
  problem.quantise = Quantisation::row;
  problem.scale = fx::f8E8M0FNU;
  problem.group = 32;
  expectStructure<RopeProblem>(problem, {.lanes = 4, .heads = 1, .block = 64}, 3);
}

TEST_CASE("rope reads q, k and v once and writes them once", "[run]") {
  // All heads of a token are one group's, so that its row of the tables is read once too. Positions
  // and slots are read by each lane of the group, from one cache line.
  for (KvCache cache : {KvCache::none, KvCache::pages, KvCache::packed}) {
    RopeProblem problem = small();
    problem.cache = cache;
    const fk::RopeConfig config{.lanes = 4, .heads = cache == KvCache::none ? 6 : 8, .block = 64};
    expectTraffic(problem, config, 64, config.lanes);
  }
  // The fused form: FlyDSL's shape, of which a wave or two take a token.
  const RopeProblem fused{.x = fx::bf16,
                          .y = hardwareFp8(),
                          .table = fx::bf16,
                          .index = fx::i64,
                          .q_heads = 1,
                          .kv_heads = 1,
                          .head = 512,
                          .rotary = 64,
                          .style = RopeStyle::gptj,
                          .tail = true,
                          .q_norm = HeadNorm::plain,
                          .k_norm = HeadNorm::plain,
                          .quantise = Quantisation::row,
                          .group = 64};
  expectTraffic(fused, {.lanes = 32, .heads = 2, .block = 64}, 64, 32);
}

TEST_CASE("rope has a configuration for every problem that it supports") {
  std::vector<RopeProblem> problems;
  for (int head : {2, 10, 64, 80, 96, 128, 192, 256, 512, 576, 4096})
    for (int rotary : {-1, 0, 2, 32, 64})
      for (RopeStyle style : {RopeStyle::neox, RopeStyle::gptj})
        for (int q : {0, 1, 7, 32, 128})
          if (rotary <= head)
            problems.push_back({.x = head % 3 ? fx::bf16 : fx::f32,
                                .q_heads = q,
                                .kv_heads = q == 1 ? 0 : 8,
                                .head = head,
                                .rotary = rotary,
                                .style = style,
                                .tail = head == 512,
                                .cache = q == 32 ? KvCache::pages : KvCache::none});
  expectTotal(problems);
}

TEST_CASE("rope says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const RopeProblem &problem) { return fk::supported(problem, target).why; };
  const RopeProblem good{.q_heads = 32, .kv_heads = 8, .head = 128, .cache = KvCache::packed};
  CHECK(why(good).empty());
  const auto with = [&](auto change) {
    RopeProblem problem = good;
    change(problem);
    return why(problem);
  };
  CHECK(with([](RopeProblem &p) { p.x = fx::i8; }) ==
        "x is of type i8; f32, f16 and bf16 are supported");
  CHECK(with([](RopeProblem &p) { p.index = fx::u8; }) ==
        "index is of type u8; i32 and i64 are supported");
  CHECK(with([](RopeProblem &p) { p.row_align = 3; }) ==
        "row_align is 3; it is a power of two up to 16, or 0 for what n gives");
  CHECK(with([](RopeProblem &p) {
          p.q_heads = p.kv_heads = 0;
          p.cache = KvCache::none;
        }) == "q_heads is 0 and kv_heads is 0; each is at most 65535, and "
              "there is one of either "
              "at least");
  CHECK(with([](RopeProblem &p) { p.kv_heads = 0; }) == "a cache holds k, and kv_heads is 0");
  CHECK(with([](RopeProblem &p) {
          p.head = 65;
          p.cache = KvCache::pages;
        }) == "head is 65; it is an even number from 2 to 4096");
  CHECK(with([](RopeProblem &p) { p.rotary = 129; }) ==
        "rotary is 129; it is an even number from 0 to head = 128, or -1 for "
        "all of it");
  CHECK(with([](RopeProblem &p) { p.rotary = 31; }) ==
        "rotary is 31; it is an even number from 0 to head = 128, or -1 for "
        "all of it");
  CHECK(with([](RopeProblem &p) {
          p.style = RopeStyle::gptj;
          p.row_align = 1;
        }) == "row_align is 1, pack is 16 and group is 0; the pairs of "
              "RopeStyle::gptj are "
              "neighbours, which takes at least 2");
  CHECK(with([](RopeProblem &p) {
          p.k_out = false;
          p.cache = KvCache::none;
        }) == "k goes nowhere; set k_out or a cache, or kv_heads = 0");
  CHECK(with([](RopeProblem &p) { p.cached = fx::i32; }) ==
        "cached is of type i32; f32, f16, bf16, i8 and floats of 8 bits are "
        "supported");
  CHECK(with([](RopeProblem &p) { p.page = 0; }) ==
        "page is 0; a block of the cache has 1 to 65536 tokens");
  CHECK(with([](RopeProblem &p) { p.pack = 3; }) ==
        "pack is 3; it is a power of two that divides head = 128");
  CHECK(with([](RopeProblem &p) { p.v_pack = 5; }) ==
        "v_pack is 5; it divides page = 16, or is 0 for all of it");

  CHECK(with([](RopeProblem &p) { p.y = fx::i8; }) ==
        "y is of type i8; f32, f16 and bf16 are supported");
  CHECK(with([](RopeProblem &p) { p.eps = -1; }) ==
        "eps is -1.000000; it is a finite number of at least 0");
  CHECK(with([](RopeProblem &p) { p.weight = fx::i8; }) ==
        "weight is of type i8; f32, f16 and bf16 are supported");
  CHECK(with([](RopeProblem &p) {
          p.q_heads = 0;
          p.q_norm = HeadNorm::plain;
        }) == "q_norm is for the heads of q, and q_heads is 0");
  const auto quantised = [&](auto change) {
    return with([&](RopeProblem &p) {
      p.quantise = Quantisation::row;
      p.y = fx::f8E4M3FN;
      change(p);
    });
  };
  CHECK(quantised([](RopeProblem &) {}).empty());
  CHECK(quantised([](RopeProblem &p) { p.y = fx::f16; }) ==
        "y is quantised and of type f16; i8 and floats of 8 bits are supported");
  CHECK(quantised([](RopeProblem &p) { p.group = 48; }) ==
        "group is 48; it is a power of two that divides head = 128, or 0 for "
        "all of it");
  CHECK(quantised([](RopeProblem &p) { p.scale = fx::f16; }) ==
        "scale is of type f16; f32 and f8E8M0FNU are supported");
  CHECK(quantised([](RopeProblem &p) {
          p.scale = fx::f8E8M0FNU;
          p.y = fx::i8;
        }) == "y is of type i8; with scales of f8E8M0FNU, f8E4M3FN and f8E5M2 "
              "are supported");
  CHECK(quantised([](RopeProblem &p) {
          p.head = 4096;
          p.rotary = 2;
          p.group = 32;
        }) == "rotary is 2 of a head of 4096 and group is 32; groups that the "
              "parts of a head cut "
              "take few lanes, whose registers do not hold such a head");

  const auto whyConfig = [&](const fk::RopeConfig &config) {
    return fk::supported(good, config, target).why;
  };
  CHECK(whyConfig({}).empty());
  CHECK(whyConfig({.lanes = 128}) ==
        "lanes is 128 and block is 256; both are powers of two, lanes at most "
        "a wave of 64, and a "
        "block a number of waves, at most 1024 threads");
  CHECK(whyConfig({.block = 32}) ==
        "lanes is 8 and block is 32; both are powers of two, lanes at most a "
        "wave of 64, and a "
        "block a number of waves, at most 1024 threads");
  RopeProblem cut = good;
  cut.y = fx::i8;
  cut.quantise = Quantisation::row;
  cut.group = 64;
  cut.rotary = 32;
  CHECK(fk::supported(cut, {.lanes = 16}, target).why ==
        "lanes is 16 and group is 64; a group's elements would be those of "
        "lanes that have other "
        "groups too; take fewer lanes");
  CHECK(whyConfig({.heads = 49}) == "heads is 49; a token has 48");
  CHECK(whyConfig({.lanes = 2, .heads = 8}) ==
        "lanes is 2 and heads is 8; each lane would hold 1024 bytes, and its "
        "registers hold 256; "
        "take more lanes or fewer heads");
}

TEST_CASE("rope refuses arguments that do not fit its problem") {
  RopeProblem problem = small();
  problem.cached = fx::f8E4M3FN;
  const fk::RopePlan plan(problem, fk::choose(problem, 2));
  const Operand memory = Operand::output(fx::u8, 1, 1 << 16);
  void *data = memory.tensor().data();
  const auto of = [&](fx::DType dtype, const fx::Extents &shape, const fx::Extents &strides = {}) {
    return fx::tensor(data, dtype, shape, strides);
  };
  const fk::RopeArgs good{.q = of(fx::f16, {2, 4, 64}),
                          .k = of(fx::f16, {2, 2, 64}),
                          .v = of(fx::f16, {2, 2, 64}),
                          .positions = of(fx::i32, {2}),
                          .cos = of(fx::f32, {9, 32}),
                          .sin = of(fx::f32, {9, 32}),
                          .slots = of(fx::i32, {2}),
                          .q_out = of(fx::f16, {2, 4, 64}),
                          .k_out = of(fx::f16, {2, 2, 64}),
                          .k_cache = of(fx::f8E4M3FN, {3, 16, 2, 64}),
                          .v_cache = of(fx::f8E4M3FN, {3, 16, 2, 64}),
                          .k_cache_scale = of(fx::f32, {1}),
                          .v_cache_scale = of(fx::f32, {1})};
  const auto refused = [&](auto change, const char *part) {
    fk::RopeArgs args = good;
    change(args);
    const std::string text = messageOf([&] { plan(args); });
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    CHECK(text.find("rope_test.cpp") != std::string::npos);
  };
  using Args = fk::RopeArgs;
  refused([](Args &a) { a.q.reset(); }, "rope: q is missing; the problem has it");
  refused([&](Args &a) { a.k = of(fx::f16, {3, 2, 64}); },
          "rope: k has the shape (3, 2, 64); (2, 2, 64) is expected");
  refused([&](Args &a) { a.v = of(fx::f16, {2, 2, 64}, {256, 128, 2}); },
          "rope: v has the shape (2, 2, 64) and the strides (256, 128, 2); its "
          "last mode is "
          "contiguous");
  refused([&](Args &a) { a.v = of(fx::f16, {2, 2, 64}, {132, 64, 1}); },
          "rope: v has rows 132 elements apart, which is no multiple of 8");
  refused([&](Args &a) { a.q = of(fx::f16, {1 << 30, 4, 64}); },
          "rope: m is 1073741824; 268435455 tokens are the most that one launch takes");
  refused([&](Args &a) { a.positions = of(fx::i64, {2}); },
          "rope: positions is of type i64; the problem says i32");
  refused([&](Args &a) { a.cos = of(fx::f32, {0, 32}); },
          "rope: cos has no rows; it has one for each position");
  refused([&](Args &a) { a.sin = of(fx::f32, {8, 32}); },
          "rope: sin has the shape (8, 32); (9, 32) is expected");
  refused([&](Args &a) { a.slots.reset(); }, "rope: slots is missing; the problem has it");
  refused([&](Args &a) { a.v_cache = of(fx::f8E4M3FN, {2, 16, 2, 64}); },
          "rope: v_cache has the shape (2, 16, 2, 64); (3, 16, 2, 64) is expected");
  refused([&](Args &a) { a.k_cache = of(fx::f8E4M3FN, {std::int64_t(1) << 27, 16, 2, 64}); },
          "rope: k_cache has 134217728 blocks of 16 tokens; a cache has at most "
          "2147483647 tokens");
  refused([&](Args &a) { a.q_weight = of(fx::f16, {64}); },
          "rope: q_weight is given, and the problem does not have it");
  refused([&](Args &a) { a.q_scale = of(fx::f32, {1}); },
          "rope: q_scale is given, and the problem does not have it");
  refused([&](Args &a) { a.v_cache_scale.reset(); },
          "rope: v_cache_scale is missing; the problem has it");

  RopeProblem packed = problem;
  packed.cache = KvCache::packed;
  const fk::RopePlan packedPlan(packed, fk::choose(packed, 2));
  fk::RopeArgs args = good;
  args.k_cache = of(fx::f8E4M3FN, {3, 2, 4, 16, 16});
  args.v_cache = of(fx::f8E4M3FN, {3, 2, 1, 64, 16}, {2048, 1024, 1024, 1, 64});
  CHECK(messageOf([&] { packedPlan(args); })
            .find("rope: v_cache has the shape (3, 2, 1, 64, 16) and the "
                  "strides (2048, 1024, "
                  "1024, 1, 64); its last 3 modes are compact") != std::string::npos);
}
