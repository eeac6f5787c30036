// Decode's calls against softmax in double precision, over a paged cache.
#pragma once

#include "paged_cache.h"
#include "structure.h"

#include <flydsl/kernels/decode.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace kernel_tests::decoding {

using fk::DecodeConfig, fk::DecodeProblem, fk::KvCache, fk::KvScales;

/// The inputs of a call.
struct Inputs {
  std::vector<int> contexts;
  int before = -1;
  std::vector<double> q = {};    ///< [token][q_heads][head]
  SequenceValues k = {}, v = {}; ///< as the cache holds them
  /// KvScales::token: of each sequence [token][kv_heads]. KvScales::tensor: one number, or
  /// [sequence][kv_heads].
  SequenceValues kScale, vScale;
  std::vector<double> qScale{1};   ///< one number, or [sequence][kv_heads]
  std::vector<int> queries = {};   ///< varlen: of each sequence
  std::vector<double> bias = {};   ///< [q_heads][token][columns]
  std::vector<double> slopes = {}; ///< [q_heads], or [sequence][q_heads]
  std::vector<double> sink = {};   ///< [q_heads]
  std::vector<double> mask = {};   ///< [token][words]

  /// The queries of a sequence, and the tokens before them.
  int queriesOf(const DecodeProblem &problem, std::size_t s) const {
    return problem.varlen ? queries[s] : problem.queries;
  }
  std::int64_t tokens(const DecodeProblem &problem, std::size_t sequences) const {
    std::int64_t count = 0;
    for (std::size_t s = 0; s < sequences; ++s)
      count += queriesOf(problem, s);
    return count;
  }
  std::int64_t tokens(const DecodeProblem &problem) const {
    return tokens(problem, contexts.size());
  }
  /// Columns of the bias, and words of a query's mask.
  std::int64_t columns() const {
    return std::max(1, *std::max_element(contexts.begin(), contexts.end()));
  }
  std::int64_t words(const DecodeProblem &problem) const {
    int most = 1;
    for (std::size_t s = 0; s < contexts.size(); ++s)
      most = std::max(most, queriesOf(problem, s));
    return (most + 31) / 32;
  }
};

/// Elements of a value.
inline std::int64_t valueOf(const DecodeProblem &problem) {
  return problem.latent ? problem.latent : problem.head_v ? problem.head_v : problem.head;
}

/// Inputs of random values, one sequence for each of `contexts`. `queries`: varlen, of each sequence.
inline Inputs random(const DecodeProblem &problem, std::vector<int> contexts, int before = -1,
                     std::vector<int> queries = {}) {
  Inputs inputs{
      .contexts = contexts, .before = before, .kScale = {}, .vScale = {}, .queries = queries};
  const std::int64_t m = inputs.tokens(problem), heads = problem.q_heads;
  inputs.q = uniform(problem.q, m * problem.q_heads * problem.head, 1, 2);
  if (problem.bias)
    inputs.bias = uniform(problem.bias_type, heads * m * inputs.columns(), 101, 2);
  if (problem.alibi)
    inputs.slopes = uniform(fx::f32, heads, 102, 0.25);
  if (problem.sink)
    inputs.sink = uniform(fx::f32, heads, 103, 3);
  if (problem.tree_mask)
    inputs.mask = integers(m * inputs.words(problem), 104, -(1ll << 31), (1ll << 31) - 1);
  std::uint64_t seed = 2;
  for (int context : contexts) {
    // Of latent attention, values are keys; the reference reads their first elements.
    const std::int64_t count = std::int64_t(context) * problem.kv_heads * problem.head;
    inputs.k.push_back(uniform(problem.kv, count, seed++, 2));
    inputs.v.push_back(
        problem.latent ? inputs.k.back()
                       : uniform(problem.kv, count / problem.head * valueOf(problem), seed++, 2));
    if (problem.scales == KvScales::token) {
      inputs.kScale.push_back(uniform(fx::f32, context * problem.kv_heads, seed++));
      inputs.vScale.push_back(uniform(fx::f32, context * problem.kv_heads, seed++));
    }
  }
  if (problem.scales == KvScales::head) {
    const std::int64_t count = std::ssize(contexts) * problem.kv_heads;
    inputs.kScale.push_back(uniform(fx::f32, count, seed++));
    inputs.vScale.push_back(problem.latent ? inputs.kScale[0] : uniform(fx::f32, count, seed++));
  }
  if (problem.scales == KvScales::tensor) {
    inputs.kScale.push_back({0.75});
    inputs.vScale.push_back({problem.latent ? 0.75 : -1.5});
  }
  if (problem.scales != KvScales::none && problem.q.bits() == 8)
    inputs.qScale = {1.25};
  return inputs;
}

/// The type of the products' operands.
inline fx::DType operandOf(const DecodeProblem &problem) {
  return problem.float8_products ? problem.kv : problem.q;
}
/// The heads of q as the kernel rounds them: over the least power of 2 that brings all of a head to
/// the type's largest number at most. Below 2^-126, that power is 0.
inline std::vector<double> roundedQueries(const DecodeProblem &problem, std::vector<double> q) {
  const fx::DType type = operandOf(problem);
  const std::size_t head = std::size_t(problem.head);
  for (std::size_t first = 0; type != problem.q && first < q.size(); first += head) {
    const std::vector<double> row(q.begin() + std::ptrdiff_t(first),
                                  q.begin() + std::ptrdiff_t(first + head));
    double largest = 0;
    bool ordered = true;
    for (double x : row) {
      largest = std::max(largest, std::fabs(x));
      ordered = ordered && !std::isnan(x);
    }
    const double scale = std::exp2(std::ceil(std::log2(largest / fk::host::largest(type))));
    std::vector<double> scaled;
    for (double x : row)
      scaled.push_back(scale < 0x1p-126 ? 0 : x / scale);
    scaled = decode(type, encode(type, scaled));
    for (std::size_t e = 0; e < head; ++e)
      q[first + e] = !ordered ? std::nan("") : scale < 0x1p-126 ? 0 : scaled[e] * scale;
  }
  return q;
}

/// What must come out, and how far a kernel may be from it. The score of a key, in f32, is off by
///
///   e = (head + 6) 2^-23 sum |q k| scale,      each product of K and its scaling rounds,
///
/// so that its power is off by e^e - 1 + 2^-22 of itself. It is rounded to the operands' type, by u
/// of itself; the sum is that of the rounded ones. Weights thus are off by e^(2 e) - 1 + 2^-21 + 2
/// u, or 3 u where values have scales of their own. A power below the type's smallest number is
/// lost, relative to the largest, which is 1 at least. Sums over n keys and their parts round by (n
/// + 32) 2^-23 of the magnitudes. The logarithm is off by e + u + 2^-20.
///
/// Where the kernel rounds q, these are the errors to the rounded q. To the exact one, e has more:
/// an element of q is off by u of itself, and by half of the type's smallest number times the power
/// of 2, which is at most twice the largest element of its head over the type's largest number;
/// that is
///
///   e += scale sum (u |q| + 2 max|q| underflow / largest) |k|.
struct Expected {
  std::vector<double> y, yBound, lse, lseBound;
};
inline Expected reference(const DecodeProblem &problem, const Inputs &inputs,
                          bool toExact = false) {
  Expected expected;
  const std::vector<double> queries = toExact ? inputs.q : roundedQueries(problem, inputs.q);
  const fx::DType operand = operandOf(problem);
  const double ofElement = toExact ? unit(operand) : 0,
               ofLargest = toExact ? 2 * underflow(operand) / fk::host::largest(operand) : 0;
  const std::int64_t value = valueOf(problem), valueRow = problem.latent ? problem.head : value;
  const double scale = problem.scale ? problem.scale : 1 / std::sqrt(double(problem.head));
  const std::int64_t head = problem.head, kv = problem.kv_heads,
                     group = problem.q_heads / problem.kv_heads;
  const auto factor = [&](const SequenceValues &scales, std::size_t sequence, std::int64_t j,
                          std::int64_t h) {
    return scales.empty()                      ? 1
           : problem.scales == KvScales::token ? scales[sequence][std::size_t(j * kv + h)]
           : scales[0].size() == 1             ? scales[0][0]
                                   : scales[0][sequence * std::size_t(kv) + std::size_t(h)];
  };
  const std::int64_t m = inputs.tokens(problem), words = inputs.words(problem);
  for (std::size_t s = 0; s < inputs.contexts.size(); ++s)
    for (int i = 0; i < inputs.queriesOf(problem, s); ++i)
      for (std::int64_t h = 0; h < problem.q_heads; ++h) {
        const std::int64_t token = inputs.tokens(problem, s) + i,
                           start = inputs.contexts[s] - inputs.queriesOf(problem, s),
                           at = start + i, kvHead = h / group,
                           first = inputs.before < 0
                                       ? 0
                                       : std::max<std::int64_t>(0, at - inputs.before);
        const double *q = &queries[std::size_t((token * problem.q_heads + h) * head)];
        const auto hides = [&](std::int64_t j) {
          if (!problem.tree_mask || j < start)
            return false;
          const auto word = static_cast<std::uint32_t>(
              std::int64_t(inputs.mask[std::size_t(token * words + (j - start) / 32)]));
          return (word >> (j - start) % 32 & 1) == 0;
        };
        const double sink =
            problem.sink ? inputs.sink[std::size_t(h)] : -std::numeric_limits<double>::infinity();
        std::vector<double> scores;
        double error = 0, largest = sink, mostQ = 0;
        for (std::int64_t e = 0; e < head; ++e)
          mostQ = std::max(mostQ, std::fabs(q[e]));
        for (std::int64_t j = first; j <= at; ++j) {
          double sum = 0, size = 0, rounding = 0;
          for (std::int64_t e = 0; e < head; ++e) {
            const double k = inputs.k[s][std::size_t((j * kv + kvHead) * head + e)],
                         term = q[e] * k;
            sum += term;
            size += std::fabs(term);
            rounding += ofElement * std::fabs(term) + ofLargest * mostQ * std::fabs(k);
          }
          const double ofQuery = inputs.qScale[inputs.qScale.size() == 1
                                                   ? 0
                                                   : s * std::size_t(kv) + std::size_t(kvHead)],
                       by = scale * ofQuery * factor(inputs.kScale, s, j, kvHead);
          double score = sum * by, terms = 0;
          if (problem.soft_cap > 0) {
            score = problem.soft_cap * std::tanh(score / problem.soft_cap);
            terms += 8 * problem.soft_cap;
          }
          const auto plus = [&](double term) {
            score += term;
            terms += std::isfinite(term) ? std::fabs(term) : 0;
          };
          if (problem.bias)
            plus(inputs.bias[std::size_t((h * m + token) * inputs.columns() + j)]);
          if (problem.alibi)
            plus(-inputs.slopes[(std::ssize(inputs.slopes) == problem.q_heads
                                     ? 0
                                     : s * std::size_t(problem.q_heads)) +
                                std::size_t(h)] *
                 double(at - j));
          scores.push_back(hides(j) ? -std::numeric_limits<double>::infinity() : score);
          error = std::max(error, (size * (double(head) + 6) * 0x1p-23 + rounding) * std::fabs(by) +
                                      (terms > 0 ? 14 * 0x1p-23 * terms + 0x1p-22 : 0));
          largest = std::max(largest, scores.back());
        }
        const auto power = [&](double score) {
          return score == -std::numeric_limits<double>::infinity() ? 0 : std::exp(score - largest);
        };
        double total = power(sink);
        for (double score : scores)
          total += power(score);
        const double u = unit(operand), n = double(scores.size());
        const bool none = total == 0;
        expected.lse.push_back(none ? -std::numeric_limits<double>::infinity()
                                    : largest + std::log(total));
        expected.lseBound.push_back(none ? 0 : error + u + 0x1p-20 + 0x1p-22 * std::fabs(largest));
        for (std::int64_t e = 0; e < value; ++e) {
          double sum = 0, size = 0, most = 0, mostRaw = 0, mostWeight = 0;
          for (std::size_t j = 0; j < scores.size(); ++j) {
            const std::int64_t token = first + std::int64_t(j);
            const double by = factor(inputs.vScale, s, token, kvHead),
                         raw = inputs.v[s][std::size_t((token * kv + kvHead) * valueRow + e)],
                         term = power(scores[j]) == 0 ? 0 : power(scores[j]) / total * raw * by;
            sum += term;
            size += std::fabs(term);
            most = std::max(most, std::fabs(raw) * std::max(1.0, std::fabs(by)));
            mostRaw = std::max(mostRaw, std::fabs(raw));
            mostWeight = std::max(mostWeight, power(scores[j]) / total * std::fabs(by));
          }
          if (operand.bits() == 8 && problem.scales == KvScales::token)
            most =
                mostRaw * mostWeight; // what is lost is so beside the largest weight with its scale
          const double relative = std::expm1(2 * error) + 0x1p-21 + 3 * u + (n + 32) * 0x1p-23;
          expected.y.push_back(sum);
          expected.yBound.push_back(relative * size + 2 * n * underflow(operand) * most +
                                    unit(problem.y) * std::fabs(sum) + underflow(problem.y));
        }
      }
  return expected;
}

/// Runs a call, and compares what it gives with the reference. `given`: the configuration, or the
/// chosen one. `exact`: nothing is off.
inline void expectDecode(const DecodeProblem &problem, const Inputs &inputs,
                         std::optional<DecodeConfig> given = {}, bool exact = false) {
  const std::int64_t n = std::ssize(inputs.contexts), m = inputs.tokens(problem),
                     heads = problem.q_heads;
  const DecodeConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " n=" << n << " " << fx::to_config(config).str());
  const std::int64_t value = valueOf(problem);
  const BlockTables tables(inputs.contexts, problem.page);
  const CacheShape shape{.layout = problem.cache,
                         .dtype = problem.kv,
                         .page = problem.page,
                         .heads = problem.kv_heads,
                         .head = problem.head,
                         .pack = problem.pack,
                         .vPack = problem.v_pack ? problem.v_pack : problem.page};
  CacheShape shapeV = shape;
  shapeV.head = problem.latent ? problem.head : value;
  const PagedCache k(shape, tables, inputs.k, true), v(shapeV, tables, inputs.v, false);
  CacheShape ofScales{.dtype = fx::f32, .page = problem.page, .heads = problem.kv_heads, .head = 1};
  const bool perToken = problem.scales == KvScales::token,
             scaled = problem.scales != KvScales::none;
  const SequenceValues none;
  const PagedCache kScales(ofScales, tables, perToken ? inputs.kScale : none, true),
      vScales(ofScales, tables, perToken ? inputs.vScale : none, true);
  const std::vector<double> one{0};
  const auto numbers = [](fx::DType type, const std::vector<double> &all) {
    return Operand::input(type, 1, std::max<std::int64_t>(1, std::ssize(all)),
                          all.empty() ? std::vector<double>{0} : all);
  };
  const Operand kScale = numbers(fx::f32, scaled && !perToken ? inputs.kScale[0] : one),
                vScale = numbers(fx::f32, scaled && !perToken ? inputs.vScale[0] : one),
                qScale = numbers(fx::f32, inputs.qScale),
                bias = numbers(problem.bias_type, inputs.bias),
                slopes = numbers(fx::f32, inputs.slopes), sink = numbers(fx::f32, inputs.sink),
                mask = numbers(fx::i32, inputs.mask);
  // One number, or one of each sequence and head.
  const auto ofHeads = [&](const Operand &operand, const std::vector<double> &all,
                           std::int64_t each) {
    return std::ssize(all) == n * each && n * each > 1
               ? fx::tensor(operand.tensor().data(), fx::f32, {n, each})
               : operand.vector();
  };
  std::vector<double> starts{0};
  for (std::size_t s = 0; s < inputs.contexts.size(); ++s)
    starts.push_back(double(inputs.tokens(problem, s + 1)));
  const Operand places = numbers(fx::i32, starts);
  const auto three = [](const fx::TensorArg &scales) { // without the mode of elements
    const auto extents = scales.shape(), strides = scales.strides();
    return fx::tensor(scales.data(), fx::f32, {extents[0], extents[1], extents[2]},
                      {strides[0], strides[1], strides[2]});
  };
  const std::int64_t qPad = 16 / problem.q.bytes(); // rows stay at multiples of 16 bytes
  const Operand table = tables.operand(),
                contexts = Operand::input(
                    fx::i32, 1, n,
                    std::vector<double>(inputs.contexts.begin(), inputs.contexts.end())),
                q = Operand::input(problem.q, m * heads, problem.head, inputs.q, qPad),
                y = Operand::output(problem.y, m * heads, value, 8),
                lse = Operand::output(fx::f32, m, heads),
                workspace = Operand::output(fx::u8, 1,
                                            std::int64_t(fk::workspace_bytes(problem, config, m)));
  const auto headed = [&](const Operand &operand, std::int64_t size, std::int64_t pad) {
    const std::int64_t row = size + pad;
    return fx::tensor(operand.tensor().data(), operand.dtype(), {m, heads, size},
                      {heads * row, row, 1});
  };
  fk::DecodeArgs args{.q = headed(q, problem.head, qPad),
                      .k = k.tensor(true),
                      .o = headed(y, value, 8),
                      .window_left = inputs.before};
  std::vector<std::vector<double>> blocks;
  for (const std::vector<int> &own : tables.ofSequence)
    blocks.emplace_back(own.begin(), own.end());
  const CsrOperands csr(blocks, {inputs.contexts.begin(), inputs.contexts.end()}, problem.page);
  if (problem.csr) {
    args.kv_indptr = csr.indptr.vector();
    args.kv_indices = csr.indices.vector();
    args.kv_last_page_len = csr.lastLengths.vector();
  } else {
    args.block_table = table.tensor();
    args.seq_lens = contexts.vector();
  }
  if (!problem.latent)
    args.v = v.tensor(false);
  if (scaled) {
    const std::int64_t kv = problem.kv_heads;
    args.k_scale = perToken ? three(kScales.tensor(true)) : ofHeads(kScale, inputs.kScale[0], kv);
    if (!problem.latent)
      args.v_scale = perToken ? three(vScales.tensor(true)) : ofHeads(vScale, inputs.vScale[0], kv);
  }
  if (problem.q.bits() == 8 && scaled)
    args.q_scale = ofHeads(qScale, inputs.qScale, problem.kv_heads);
  if (problem.varlen)
    args.cu_seqlens_q = places.vector();
  if (problem.bias)
    args.bias = fx::tensor(bias.tensor().data(), problem.bias_type, {heads, m, inputs.columns()});
  if (problem.alibi)
    args.alibi_slopes = std::ssize(inputs.slopes) == heads
                            ? slopes.vector()
                            : fx::tensor(slopes.tensor().data(), fx::f32, {n, heads});
  if (problem.sink)
    args.sink = sink.vector();
  if (problem.tree_mask)
    args.tree_mask = fx::tensor(mask.tensor().data(), fx::i32, {m, inputs.words(problem)});
  if (config.splits > 1 || config.workers)
    args.workspace = workspace.vector();
  // Of workers, the plan makes the worklist for even numbers, and of pages in CSR form; others get the
  // host's.
  std::vector<double> units;
  const bool listed = config.workers && !problem.csr && (config.workers % 2 || problem.varlen);
  if (listed) {
    const std::vector<std::int32_t> ofQueries(starts.begin(), starts.end());
    const auto list =
        fk::make_worklist(fk::worklist_of(problem, config), inputs.contexts, inputs.before,
                          problem.varlen ? std::span(ofQueries) : std::span<const std::int32_t>());
    units.assign(list.begin(), list.end());
  }
  const Operand list = numbers(fx::i32, units);
  if (listed)
    args.worklist = list.vector();
  if (problem.lse)
    args.lse = lse.tensor();
  const fx::Stream stream;
  fk::DecodePlan(problem, config)(args, stream);
  stream.synchronize();
  workspace.expectUntouched();

  Expected expected = reference(problem, inputs);
  if (exact)
    std::fill(expected.yBound.begin(), expected.yBound.end(), 0);
  const std::vector<double> got = y.values();
  expectWithin(got, expected.y, expected.yBound);
  if (problem.float8_products) {
    const Expected toExact = reference(problem, inputs, true);
    expectWithin(got, toExact.y, toExact.yBound);
    if (problem.lse)
      expectWithin(lse.values(), toExact.lse, toExact.lseBound);
  }
  // Errors have no sign: their mean, of the bound, is small.
  double mean = 0;
  for (std::size_t i = 0; i < got.size() && !exact; ++i)
    mean += std::isnan(expected.y[i])
                ? 0
                : (got[i] - expected.y[i]) / expected.yBound[i] / double(got.size());
  CHECK(std::fabs(mean) < 0.02 + 1 / std::sqrt(double(got.size())));
  if (problem.lse)
    expectWithin(lse.values(), expected.lse, expected.lseBound);
}

/// The lanes of a wave.
inline int wave() { return fx::Device::current().target().wave_size(); }

} // namespace kernel_tests::decoding
