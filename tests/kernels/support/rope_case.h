// A call of rotary position embedding, with what it must give by a reference in double precision.
#pragma once

#include "reference/heads.h"
#include "support/quantised.h"
#include "support/structure.h"

#include <flydsl/kernels/rope.h>

#include <cmath>

namespace kernel_tests {

using fk::HeadNorm;
using fk::KvCache;
using fk::Quantisation;
using fk::RopeProblem;
using fk::RopeStyle;

using RotatedHeads = fk::reference::Heads;

/// The operands of a call, and what they hold. Tensors of heads have gaps between their tokens, and
/// the cache between its blocks.
struct RopeCase {
  static constexpr std::int64_t kGap = 16;

  RopeCase(const RopeProblem &problem, std::int64_t m, std::int64_t rows = 0,
           std::uint64_t seed = 1)
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
        qWeight(uniform(problem.weight, problem.normed ? problem.normed : problem.head, seed + 7)),
        kWeight(uniform(problem.weight, std::int64_t(qWeight.size()), seed + 8)) {
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
                  weightQ = weights(qWeight), weightK = weights(kWeight),
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

    const RotatedHeads ofQ = rotated(normed(q, problem.q_norm, qWeight, chosen.lanes),
                                     problem.q_heads),
                       ofK = rotated(normed(k, problem.k_norm, kWeight, chosen.lanes),
                                     problem.kv_heads);
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

  Operand weights(const std::vector<double> &of) const {
    return Operand::input(problem.weight, 1, std::int64_t(of.size()), of);
  }
  RotatedHeads normed(const std::vector<double> &x, HeadNorm norm,
                      const std::vector<double> &weight, int lanes) const {
    return fk::reference::normed(problem, x, norm, weight, lanes);
  }
  RotatedHeads rotated(const RotatedHeads &x, int heads) const {
    return fk::reference::rotated(problem, x, heads, positions, cos, sin);
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

  void expectOutput(const Operand &out, const RotatedHeads &expected, const Operand &scale) const {
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
  std::size_t placeOf(std::int64_t slot, std::int64_t h, std::int64_t e, bool isV,
                      bool headsFirst) const {
    const std::int64_t page = problem.page;
    if (problem.cache == KvCache::pages && headsFirst)
      return std::size_t(
          ((slot / page * problem.kv_heads + h) * page + slot % page) * problem.head + e);
    return fk::reference::cachePlace(problem, slot, h, e, isV);
  }

  static void expectRounded(const std::vector<double> &got, const RotatedHeads &expected,
                            fx::DType type) {
    std::vector<double> bound = expected.error;
    const std::vector<double> rounded = decode(type, encode(type, expected.values));
    for (std::size_t i = 0; i < bound.size(); ++i)
      bound[i] = bound[i] == 0
                     ? std::fabs(rounded[i] - expected.values[i])
                     : bound[i] + std::fabs(expected.values[i]) * unit(type) + underflow(type);
    expectWithin(got, expected.values, bound);
  }

  void expectCache(const Operand &cache, const RotatedHeads &expected, double scale, bool isV,
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

/// A layer of a small model.
inline RopeProblem small() {
  return {.q_heads = 4, .kv_heads = 2, .head = 64, .cache = KvCache::pages};
}
/// FlyDSL's shape of heads that are normed, rotated and quantised at a time: 512 elements; of these,
/// the last 64 rotate.
inline RopeProblem fused() {
  return {.x = fx::bf16,
          .y = hardwareFp8(),
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
}

} // namespace kernel_tests
