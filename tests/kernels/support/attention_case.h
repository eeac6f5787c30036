// A call of attention, with what it must give by a reference in double precision.
#pragma once

#include "reference/attention.h"
#include "support/paged_cache.h"
#include "support/structure.h"

#include <flydsl/kernels/attention.h>

#include <cmath>
#include <limits>
#include <memory>

namespace kernel_tests {

using fk::AttentionConfig;
using fk::AttentionProblem;
using fk::KvCache;
using fk::reference::Attended;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The same problem with keys and values in a cache.
inline AttentionProblem inCache(AttentionProblem problem, KvCache cache, int page, int pack,
                                int vPack) {
  problem.cache = cache;
  problem.page = page;
  problem.pack = pack;
  problem.v_pack = vPack;
  return problem;
}

/// The operands of a call, and what they hold. Tokens have gaps between them. In a cache, the
/// blocks of the sequences lie in random order, and places that no sequence uses hold NaNs.
struct AttentionCase {
  /// The elements between tokens: no more than have to be.
  std::int64_t gap() const { return problem.float8_products ? 16 : 8; }

  AttentionCase(const AttentionProblem &problem, std::vector<std::int64_t> queries,
                std::vector<std::int64_t> keys, std::uint64_t seed = 1)
      : problem(problem), headV(problem.head_v ? problem.head_v : problem.head),
        queries(std::move(queries)), keys(std::move(keys)), tokens(sum(this->queries)),
        keyTokens(sum(this->keys)),
        q(uniform(problem.q, tokens * problem.q_heads * problem.head, seed)),
        k(uniform(problem.kv, keyTokens * problem.kv_heads * problem.head, seed + 1)),
        v(uniform(problem.kv, keyTokens * problem.kv_heads * headV, seed + 2)),
        bias(uniform(problem.bias_type, problem.bias ? problem.q_heads * tokens * columns() : 0,
                     seed + 3, 2)),
        slopes(uniform(fx::f32, problem.q_heads, seed + 4, 0.25)),
        sink(uniform(fx::f32, problem.q_heads, seed + 5, 3)),
        mask(integers(problem.mask ? tokens * maskBytes() * 8 : 0, seed + 6, 0, 1)),
        ofKeys(tokenScales(seed + 7)), ofValues(tokenScales(seed + 8)) {
    if (problem.scales == fk::KvScales::none && (problem.q.bits() == 8 || problem.kv.bits() == 8))
      this->problem.scales = fk::KvScales::tensor;
  }

  /// The largest number of a sequence.
  static std::int64_t most(const std::vector<std::int64_t> &counts) {
    return *std::max_element(counts.begin(), counts.end());
  }
  static std::int64_t sum(const std::vector<std::int64_t> &counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t(0));
  }
  std::int64_t batch() const { return std::int64_t(queries.size()); }
  /// Columns of the bias.
  std::int64_t columns() const { return std::max<std::int64_t>(1, most(keys)); }
  /// Bytes of a query's mask.
  std::int64_t maskBytes() const { return (columns() + 7) / 8; }

  /// Runs the problem.
  Attended run(const AttentionConfig &config) const {
    const bool cached = problem.cache != KvCache::none, varlen = problem.varlen;
    const std::int64_t H = problem.q_heads, D = problem.head, kv = problem.kv_heads;
    const Operand Q = rows(problem.q, tokens, H * D, q),
                  O = Operand::output(problem.y, tokens, H * headV, gap()),
                  K = rows(problem.kv, keyTokens, kv * D, k),
                  V = rows(problem.kv, keyTokens, kv * headV, v);
    const Cache cacheK = cached ? cacheOf(k, D, true) : Cache(),
                cacheV = cached ? cacheOf(v, headV, false) : Cache();
    const Operand startsQ = Operand::input(fx::i32, 1, batch() + 1, starts(queries)),
                  startsK = Operand::input(fx::i32, 1, batch() + 1, starts(keys)),
                  lengths = Operand::input(fx::i32, 1, batch(),
                                           std::vector<double>(keys.begin(), keys.end())),
                  table = Operand::input(fx::i32, batch(), pages(), tableOf()),
                  biasOf = Operand::input(problem.bias_type, 1, std::int64_t(bias.size()), bias),
                  slopesOf = Operand::input(fx::f32, std::ssize(slopes) / H, H, slopes, 5),
                  maskOf = Operand::input(fx::u8, tokens, maskBytes(), packedMask(), 3),
                  sinkOf = Operand::input(fx::f32, 1, H, sink),
                  lse = Operand::output(fx::f32, 1, H * tokens),
                  factors = Operand::input(fx::f32, 1, std::int64_t(descales.size()), descales);
    std::vector<std::vector<double>> blocks;
    for (std::int64_t s = 0; s < batch(); ++s) {
      const std::vector<double> all = tableOf();
      blocks.emplace_back(all.begin() + s * pages(), all.begin() + (s + 1) * pages());
    }
    const CsrOperands csr(blocks, {keys.begin(), keys.end()}, problem.page);
    const std::size_t bytes = fk::workspace_bytes(problem, config, tokens);
    const Operand workspace = Operand::output(fx::u8, 1, std::int64_t(bytes));
    const auto maybe = [](bool has, const fx::TensorArg &tensor) {
      return has ? std::optional<fx::TensorArg>(tensor) : std::nullopt;
    };
    const auto heads = [&](const Operand &operand, std::int64_t length, std::int64_t count,
                           std::int64_t elements) {
      const std::int64_t apart = count * elements + gap();
      void *data = operand.tensor().data();
      return varlen ? fx::tensor(data, operand.dtype(), {operandTokens(operand), count, elements},
                                 {apart, elements, 1})
                    : fx::tensor(data, operand.dtype(), {batch(), length, count, elements},
                                 {length * apart, apart, elements, 1});
    };
    const auto factor = [&](std::int64_t i) {
      float *data = static_cast<float *>(factors.tensor().data()) + i * factorsOfEach();
      return descales.size() == 3 ? fx::tensor(data, {1})
                                  : fx::tensor(data, {batch(), problem.kv_heads});
    };
    const std::int64_t Sq = most(queries), Sk = columns();
    const TokenScales keyScales = scalesOf(ofKeys), valueScales = scalesOf(ofValues);
    fk::AttentionArgs args{
        .q = heads(Q, Sq, H, D),
        .k = cached ? cacheK.tensor : heads(K, most(keys), kv, D),
        .v = cached ? cacheV.tensor : heads(V, most(keys), kv, headV),
        .o = heads(O, Sq, H, headV),
        .q_scale = maybe(problem.q.bits() == 8 && problem.scales != fk::KvScales::none, factor(0)),
        .k_scale = ofTokens() ? keyScales.tensor : maybe(isScaled(), factor(1)),
        .v_scale = ofTokens() ? valueScales.tensor : maybe(isScaled(), factor(2)),
        .cu_seqlens_q = maybe(varlen, startsQ.vector()),
        .cu_seqlens_kv = maybe(varlen && !cached, startsK.vector()),
        .max_seqlen_q = varlen ? longest.value_or(Sq) : 0,
        .seq_lens = maybe(cached && !problem.csr, lengths.vector()),
        .block_table = maybe(cached && !problem.csr, table.tensor()),
        .kv_indptr = maybe(problem.csr, csr.indptr.vector()),
        .kv_indices = maybe(problem.csr, csr.indices.vector()),
        .kv_last_page_len = maybe(problem.csr, csr.lastLengths.vector()),
        .window_left = left,
        .window_right = right,
        .bias =
            maybe(problem.bias,
                  varlen ? fx::tensor(biasOf.vector().data(), problem.bias_type, {H, tokens, Sk})
                         : fx::tensor(biasOf.vector().data(), problem.bias_type,
                                      {batch(), H, Sq, Sk}, {Sq * Sk, tokens * Sk, Sk, 1})),
        .alibi_slopes =
            maybe(problem.alibi, std::ssize(slopes) > H ? slopesOf.tensor() : slopesOf.vector()),
        .sink = maybe(problem.sink, sinkOf.vector()),
        .mask =
            maybe(problem.mask,
                  varlen ? maskOf.tensor()
                         : fx::tensor(maskOf.tensor().data(), fx::u8, {batch(), Sq, maskBytes()},
                                      {Sq * (maskBytes() + 3), maskBytes() + 3, 1})),
        .lse =
            maybe(problem.lse, varlen ? fx::tensor(lse.vector().data(), fx::f32, {tokens, H})
                                      : fx::tensor(lse.vector().data(), fx::f32, {batch(), Sq, H})),
        .workspace = maybe(bytes > 0, workspace.vector())};
    const fx::Stream stream;
    fk::AttentionPlan(problem, config)(args, stream);
    stream.synchronize();
    return {{O.values(), {}}, {problem.lse ? lse.values() : std::vector<double>(), {}}};
  }

  /// Runs the problem and compares.
  void expect(std::optional<AttentionConfig> config = {}) const {
    const AttentionConfig chosen = config ? *config : fk::choose(problem, tokens);
    INFO(fx::to_config(problem).str() << " " << fx::to_config(chosen).str());
    INFO(text(queries) << " queries, " << text(keys) << " keys, window " << left << " " << right);
    const Attended got = run(chosen), expected = reference(chosen);
    expectWithin(got.o.values, expected.o.values, expected.o.bound);
    if (problem.lse)
      expectWithin(got.lse.values, expected.lse.values, expected.lse.bound);
  }

  /// What must come out.
  Attended reference(const AttentionConfig &config) const {
    const std::vector<double> ofQ = descaled(q, problem.q, 0, queries, problem.q_heads),
                              ofK = descaled(k, problem.kv, 1, keys, problem.kv_heads),
                              ofV = descaled(v, problem.kv, 2, keys, problem.kv_heads);
    return fk::reference::attended(
        problem, config,
        {queries, keys, left, right, ofQ, ofK, ofV, bias, slopes, sink, mask, maskBytes() * 8});
  }

  AttentionProblem problem;
  std::int64_t headV;
  std::vector<std::int64_t> queries, keys; ///< of each sequence
  std::int64_t tokens, keyTokens;          ///< of all sequences
  std::int64_t left = -1, right = -1;      ///< of the window
  std::optional<std::int64_t> longest;     ///< max_seqlen_q; none: the right one
  std::vector<double> q, k, v; ///< (token, head, element), the sequences one behind another
  std::vector<double> bias;    ///< (head, token, key)
  std::vector<double> slopes, sink;
  std::vector<double> mask;             ///< (token, key) with a column for each bit
  std::vector<double> ofKeys, ofValues; ///< KvScales::token: (token, kv_heads)
  /// Gives each sequence slopes of its own.
  void slopeSequences() { slopes = uniform(fx::f32, batch() * problem.q_heads, 77, 0.25); }
  /// Of q, k and v, for those of 8 bits: one each, or one each for each sequence and head of k.
  std::vector<double> descales{0.75, 1.5, 0.375};
  /// Gives each sequence and head of k its own descales.
  void descaleHeads() {
    problem.scales = fk::KvScales::head;
    descales.clear();
    for (std::int64_t i = 0; i < 3 * batch() * problem.kv_heads; ++i)
      descales.push_back(double(i % 7 + 1) / 4);
  }

private:
  /// The mask as the kernel takes it; without one a byte, for an operand.
  std::vector<double> packedMask() const {
    std::vector<double> bytes(std::size_t(tokens * maskBytes()));
    for (std::size_t i = 0; i < mask.size(); ++i)
      bytes[i / 8] += std::ldexp(mask[i], int(i % 8));
    return bytes;
  }
  bool ofTokens() const { return problem.scales == fk::KvScales::token; }
  bool isScaled() const {
    return problem.kv.bits() == 8 && problem.scales != fk::KvScales::none && !ofTokens();
  }
  /// Powers of 2, some of them far from the others, and numbers between them.
  std::vector<double> tokenScales(std::uint64_t seed) const {
    if (!ofTokens())
      return {};
    std::vector<double> all = uniform(fx::f32, keyTokens * problem.kv_heads, seed, 1);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = i % 11 == 5 ? 0 : std::ldexp(1 + std::fabs(all[i]), int(i % 4) - 2);
    return fk::host::decode(fx::f32, fk::host::encode(fx::f32, all));
  }
  struct TokenScales {
    std::shared_ptr<Operand> memory;
    std::optional<fx::TensorArg> tensor = {};
  };
  /// As the kernel takes them, at strides that are not compact. In a cache NaN where no token is.
  TokenScales scalesOf(const std::vector<double> &values) const {
    if (!ofTokens())
      return {};
    const std::int64_t kv = problem.kv_heads, page = problem.page, row = kv + 1;
    const auto operand = [&](std::int64_t rows, const std::vector<double> &all) {
      return std::make_shared<Operand>(Operand::input(fx::f32, rows, kv, all, 1));
    };
    if (problem.cache == KvCache::none) {
      const auto memory = operand(keyTokens, values);
      void *data = memory->tensor().data();
      const std::int64_t each = most(keys);
      return {memory, problem.varlen
                          ? fx::tensor(data, fx::f32, {keyTokens, kv}, {row, 1})
                          : fx::tensor(data, fx::f32, {batch(), each, kv}, {each * row, row, 1})};
    }
    std::vector<double> all(std::size_t(batch() * pages() * page * kv), std::nan(""));
    const std::vector<double> table = tableOf();
    std::int64_t token = 0;
    for (std::int64_t s = 0; s < batch(); ++s)
      for (std::int64_t j = 0; j < keys[std::size_t(s)]; ++j, ++token)
        for (std::int64_t h = 0; h < kv; ++h) {
          const std::int64_t block = std::int64_t(table[std::size_t(s * pages() + j / page)]);
          all[std::size_t((block * page + j % page) * kv + h)] =
              values[std::size_t(token * kv + h)];
        }
    const auto memory = operand(batch() * pages() * page, all);
    return {memory, fx::tensor(memory->tensor().data(), fx::f32, {batch() * pages(), page, kv},
                               {page * row, row, 1})};
  }
  std::int64_t factorsOfEach() const { return std::int64_t(descales.size()) / 3; }
  /// The values of an operand, times its descales if it has some.
  std::vector<double> descaled(const std::vector<double> &values, fx::DType type,
                               std::int64_t operand, const std::vector<std::int64_t> &counts,
                               std::int64_t heads) const {
    std::vector<double> all = values;
    if (type.bits() != 8 || problem.scales == fk::KvScales::none)
      return all;
    if (ofTokens() && operand > 0) {
      const std::vector<double> &scales = operand == 1 ? ofKeys : ofValues;
      const std::size_t row = values.size() / std::max<std::size_t>(1, scales.size());
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i] *= scales[i / row];
      return all;
    }
    const std::size_t row =
        values.size() / std::size_t(std::max<std::int64_t>(1, sum(counts) * heads));
    std::size_t at = 0;
    for (std::int64_t s = 0; s < batch(); ++s)
      for (std::int64_t i = 0; i < counts[std::size_t(s)] * heads; ++i) {
        const std::int64_t head = i % heads / (heads / problem.kv_heads);
        const std::int64_t which = factorsOfEach() == 1 ? 0 : s * problem.kv_heads + head;
        for (std::size_t e = 0; e < row; ++e)
          all[at++] *= descales[std::size_t(operand * factorsOfEach() + which)];
      }
    return all;
  }
  static std::string text(const std::vector<std::int64_t> &numbers) {
    std::string all;
    for (std::int64_t number : numbers)
      all += (all.empty() ? "" : ",") + std::to_string(number);
    return all;
  }
  static std::vector<double> starts(const std::vector<std::int64_t> &counts) {
    std::vector<double> all{0};
    for (std::int64_t count : counts)
      all.push_back(all.back() + double(count));
    return all;
  }
  Operand rows(fx::DType type, std::int64_t m, std::int64_t n,
               const std::vector<double> &values) const {
    return Operand::input(type, m, n, values, gap());
  }
  std::int64_t operandTokens(const Operand &operand) const { return operand.tensor().shape()[0]; }

  // A cache: each sequence has its own blocks.
  std::int64_t pages() const { return (most(keys) + problem.page - 1) / problem.page; }
  std::vector<double> tableOf() const { return shuffled(batch() * pages(), 77); }
  struct Cache {
    std::shared_ptr<Operand> memory;
    fx::TensorArg tensor = fx::tensor(static_cast<void *>(nullptr), fx::f16, {0});
  };
  Cache cacheOf(const std::vector<double> &values, std::int64_t elements, bool ofKeys) const {
    const std::int64_t page = problem.page, kv = problem.kv_heads, blocks = batch() * pages(),
                       size = page * kv * elements,
                       y = problem.v_pack ? problem.v_pack : problem.page, x = problem.pack;
    std::vector<double> all(std::size_t(blocks * size), std::nan(""));
    const std::vector<double> table = tableOf();
    std::int64_t token = 0;
    for (std::int64_t s = 0; s < batch(); ++s)
      for (std::int64_t j = 0; j < keys[std::size_t(s)]; ++j, ++token)
        for (std::int64_t h = 0; h < kv; ++h)
          for (std::int64_t d = 0; d < elements; ++d) {
            const std::int64_t block = std::int64_t(table[std::size_t(s * pages() + j / page)]),
                               t = j % page;
            const std::int64_t inside =
                problem.cache == KvCache::pages ? (t * kv + h) * elements + d
                : ofKeys ? h * page * elements + d / x * page * x + t * x + d % x
                         : h * page * elements + t / y * y * elements + d * y + t % y;
            all[std::size_t(block * size + inside)] =
                values[std::size_t((token * kv + h) * elements + d)];
          }
    Cache cache{std::make_shared<Operand>(Operand::input(problem.kv, blocks, size, all, gap()))};
    const std::int64_t apart = size + gap(), ofHead = page * elements;
    void *data = cache.memory->tensor().data();
    cache.tensor = problem.cache == KvCache::pages
                       ? fx::tensor(data, problem.kv, {blocks, page, kv, elements},
                                    {apart, kv * elements, elements, 1})
                   : ofKeys ? fx::tensor(data, problem.kv, {blocks, kv, elements / x, page, x},
                                         {apart, ofHead, page * x, x, 1})
                            : fx::tensor(data, problem.kv, {blocks, kv, page / y, elements, y},
                                         {apart, ofHead, elements * y, y, 1});
    return cache;
  }
};

} // namespace kernel_tests
