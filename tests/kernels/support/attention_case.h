// A call of attention, with what it must give by a reference in double precision.
#pragma once

#include "support/structure.h"

#include <flydsl/kernels/attention.h>

#include <cmath>
#include <limits>

namespace kernel_tests {

using fk::AttentionConfig;
using fk::AttentionProblem;
using fk::KvCache;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What must come out, and how far from it.
struct Attended {
  std::vector<double> o, oBound, lse, lseBound;
};

/// The operands of a call, and what they hold. Tokens have gaps between them. In a cache, the blocks
/// of the sequences lie in random order, and places that no sequence uses hold NaNs.
struct AttentionCase {
  static constexpr std::int64_t kGap = 8;

  AttentionCase(const AttentionProblem &problem, std::vector<std::int64_t> queries,
                std::vector<std::int64_t> keys, std::uint64_t seed = 1)
      : problem(problem), headV(problem.head_v ? problem.head_v : problem.head),
        queries(std::move(queries)), keys(std::move(keys)), tokens(sum(this->queries)),
        keyTokens(sum(this->keys)),
        q(uniform(problem.x, tokens * problem.q_heads * problem.head, seed)),
        k(uniform(problem.x, keyTokens * problem.kv_heads * problem.head, seed + 1)),
        v(uniform(problem.x, keyTokens * problem.kv_heads * headV, seed + 2)),
        bias(uniform(problem.bias_type, problem.bias ? problem.q_heads * tokens * columns() : 0,
                     seed + 3, 2)),
        slopes(uniform(fx::f32, problem.q_heads, seed + 4, 0.25)),
        sink(uniform(fx::f32, problem.q_heads, seed + 5, 3)) {}

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

  /// Runs the problem.
  Attended run(const AttentionConfig &config) const {
    const bool cached = problem.cache != KvCache::none, varlen = problem.varlen;
    const std::int64_t H = problem.q_heads, D = problem.head, kv = problem.kv_heads;
    const Operand Q = rows(tokens, H * D, q),
                  O = Operand::output(problem.x, tokens, H * headV, kGap),
                  K = rows(keyTokens, kv * D, k), V = rows(keyTokens, kv * headV, v);
    const Cache cacheK = cached ? cacheOf(k, D, true) : Cache(),
                cacheV = cached ? cacheOf(v, headV, false) : Cache();
    const Operand startsQ = Operand::input(fx::i32, 1, batch() + 1, starts(queries)),
                  startsK = Operand::input(fx::i32, 1, batch() + 1, starts(keys)),
                  lengths = Operand::input(fx::i32, 1, batch(),
                                           std::vector<double>(keys.begin(), keys.end())),
                  table = Operand::input(fx::i32, batch(), pages(), tableOf()),
                  biasOf = Operand::input(problem.bias_type, 1, std::int64_t(bias.size()), bias),
                  slopesOf = Operand::input(fx::f32, 1, H, slopes),
                  sinkOf = Operand::input(fx::f32, 1, H, sink),
                  lse = Operand::output(fx::f32, 1, H * tokens);
    const std::size_t bytes = fk::workspace_bytes(problem, config, tokens);
    const Operand workspace = Operand::output(fx::u8, 1, std::int64_t(bytes));
    const auto maybe = [](bool has, const fx::TensorArg &tensor) {
      return has ? std::optional<fx::TensorArg>(tensor) : std::nullopt;
    };
    const auto heads = [&](const Operand &operand, std::int64_t length, std::int64_t count,
                           std::int64_t elements) {
      const std::int64_t apart = count * elements + kGap;
      void *data = operand.tensor().data();
      return varlen ? fx::tensor(data, problem.x, {operandTokens(operand), count, elements},
                                 {apart, elements, 1})
                    : fx::tensor(data, problem.x, {batch(), length, count, elements},
                                 {length * apart, apart, elements, 1});
    };
    const std::int64_t Sq = most(queries), Sk = columns();
    fk::AttentionArgs args{
        .q = heads(Q, Sq, H, D),
        .k = cached ? cacheK.tensor : heads(K, most(keys), kv, D),
        .v = cached ? cacheV.tensor : heads(V, most(keys), kv, headV),
        .o = heads(O, Sq, H, headV),
        .cu_seqlens_q = maybe(varlen, startsQ.vector()),
        .cu_seqlens_kv = maybe(varlen && !cached, startsK.vector()),
        .max_seqlen_q = varlen ? Sq : 0,
        .seqlens_kv = maybe(cached, lengths.vector()),
        .block_table = maybe(cached, table.tensor()),
        .window_left = left,
        .window_right = right,
        .bias =
            maybe(problem.bias,
                  varlen ? fx::tensor(biasOf.vector().data(), problem.bias_type, {H, tokens, Sk})
                         : fx::tensor(biasOf.vector().data(), problem.bias_type,
                                      {batch(), H, Sq, Sk}, {Sq * Sk, tokens * Sk, Sk, 1})),
        .alibi_slopes = maybe(problem.alibi, slopesOf.vector()),
        .sink = maybe(problem.sink, sinkOf.vector()),
        .lse = maybe(problem.lse, varlen ? fx::tensor(lse.vector().data(), fx::f32, {H, tokens})
                                         : fx::tensor(lse.vector().data(), fx::f32,
                                                      {batch(), H, Sq}, {Sq, tokens, 1})),
        .workspace = maybe(bytes > 0, workspace.vector())};
    const fx::Stream stream;
    fk::AttentionPlan(problem, config)(args, stream);
    stream.synchronize();
    return {O.values(), {}, problem.lse ? lse.values() : std::vector<double>(), {}};
  }

  /// Runs the problem and compares.
  void expect(std::optional<AttentionConfig> config = {}) const {
    const AttentionConfig chosen = config ? *config : fk::choose(problem, tokens);
    INFO(fx::to_config(problem).str() << " " << fx::to_config(chosen).str());
    INFO(text(queries) << " queries, " << text(keys) << " keys, window " << left << " " << right);
    const Attended got = run(chosen), expected = reference(chosen);
    expectWithin(got.o, expected.o, expected.oBound);
    if (problem.lse)
      expectWithin(got.lse, expected.lse, expected.lseBound);
  }

  /// The reference, of the rounded operands. An error d of a score is a relative error of its
  /// exponential, twice, because the sum has it too; rounding an exponential to x counts twice
  /// likewise. Each tile rounds the sums, and parts of the keys do once more.
  Attended reference(const AttentionConfig &config) const {
    const double scale = problem.scale != 0 ? problem.scale : 1 / std::sqrt(double(problem.head));
    const std::int64_t H = problem.q_heads, D = problem.head, group = H / problem.kv_heads;
    Attended result;
    result.o.resize(std::size_t(tokens * H * headV));
    result.oBound.resize(result.o.size());
    result.lse.resize(std::size_t(problem.lse ? H * tokens : 0));
    result.lseBound.resize(result.lse.size());
    std::int64_t token = 0, firstKey = 0;
    for (std::size_t s = 0; s < queries.size(); firstKey += keys[s], ++s)
      for (std::int64_t i = 0; i < queries[s]; ++i, ++token)
        for (std::int64_t h = 0; h < H; ++h) {
          const std::int64_t S = keys[s], at = i + S - queries[s], kvHead = h / group;
          std::vector<double> score(std::size_t(S), -kInfinity);
          double largest = problem.sink ? sink[std::size_t(h)] : -kInfinity, error = 0;
          for (std::int64_t j = 0; j < S; ++j) {
            if (!sees(at, j))
              continue;
            double dot = 0, size = 0;
            for (std::int64_t d = 0; d < D; ++d) {
              const double product =
                  q[std::size_t((token * H + h) * D + d)] *
                  k[std::size_t(((firstKey + j) * problem.kv_heads + kvHead) * D + d)];
              dot += product;
              size += std::fabs(product);
            }
            double x = dot * scale, magnitude = size * scale;
            if (problem.soft_cap > 0) {
              x = problem.soft_cap * std::tanh(x / problem.soft_cap);
              magnitude += 8 * problem.soft_cap;
            }
            if (problem.bias) {
              const double b = bias[std::size_t((h * tokens + token) * columns() + j)];
              x += b;
              magnitude += std::fabs(b);
            }
            if (problem.alibi) {
              const double b = slopes[std::size_t(h)] * double(std::llabs(at - j));
              x -= b;
              magnitude += std::fabs(b);
            }
            score[std::size_t(j)] = x;
            largest = std::max(largest, x);
            error = std::max(error, (double(D) / 16 + 8) * 0x1p-23 * magnitude + 0x1p-22);
          }
          double total = problem.sink ? std::exp(sink[std::size_t(h)] - largest) : 0;
          for (double x : score)
            total += std::isfinite(x) ? std::exp(x - largest) : 0;
          const double u = unit(problem.x), tiles = double(S) / config.tile_k + 8 + config.splits;
          const double relative = 2 * error + 2 * u + 2 * 0x1p-23 * tiles;
          // What is lost of small exponentials in f16, which are relative to one of at least 1.
          const double lost = problem.x == fx::f16 ? 0x1p-25 : 0x1p-126;
          for (std::int64_t d = 0; d < headV; ++d) {
            double value = 0, size = 0, all = 0;
            for (std::int64_t j = 0; j < S; ++j) {
              if (score[std::size_t(j)] == -kInfinity)
                continue;
              const double element =
                  v[std::size_t(((firstKey + j) * problem.kv_heads + kvHead) * headV + d)];
              const double term = std::exp(score[std::size_t(j)] - largest) / total * element;
              value += term;
              size += std::fabs(term);
              all += std::fabs(element);
            }
            const std::size_t to = std::size_t((token * H + h) * headV + d);
            result.o[to] = value;
            result.oBound[to] =
                relative * size + 2 * lost * all + u * std::fabs(value) + underflow(problem.x);
          }
          if (problem.lse) {
            const std::size_t to = std::size_t(h * tokens + token);
            const bool none = total == 0;
            result.lse[to] = none ? -kInfinity : largest + std::log(total);
            result.lseBound[to] = none ? 0
                                       : relative + lost * double(S) + 4 * 0x1p-23 +
                                             0x1p-22 * std::fabs(result.lse[to]);
          }
        }
    return result;
  }

  AttentionProblem problem;
  std::int64_t headV;
  std::vector<std::int64_t> queries, keys; ///< of each sequence
  std::int64_t tokens, keyTokens;          ///< of all sequences
  std::int64_t left = -1, right = -1;      ///< of the window
  std::vector<double> q, k, v; ///< (token, head, element), the sequences one behind another
  std::vector<double> bias;    ///< (head, token, key)
  std::vector<double> slopes, sink;

private:
  bool sees(std::int64_t at, std::int64_t j) const {
    if (problem.causal && j > at)
      return false;
    return !problem.window || ((left < 0 || j >= at - left) && (right < 0 || j <= at + right));
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
  Operand rows(std::int64_t m, std::int64_t n, const std::vector<double> &values) const {
    return Operand::input(problem.x, m, n, values, kGap);
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
    Cache cache{std::make_shared<Operand>(Operand::input(problem.x, blocks, size, all, kGap))};
    const std::int64_t apart = size + kGap, ofHead = page * elements;
    void *data = cache.memory->tensor().data();
    cache.tensor = problem.cache == KvCache::pages
                       ? fx::tensor(data, problem.x, {blocks, page, kv, elements},
                                    {apart, kv * elements, elements, 1})
                   : ofKeys ? fx::tensor(data, problem.x, {blocks, kv, elements / x, page, x},
                                         {apart, ofHead, page * x, x, 1})
                            : fx::tensor(data, problem.x, {blocks, kv, page / y, elements, y},
                                         {apart, ofHead, elements * y, y, 1});
    return cache;
  }
};

} // namespace kernel_tests
