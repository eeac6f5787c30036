// What the families of decoding must give.
#include "reference/rounded.h"

#include <algorithm>
#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {
namespace {

using host::underflow, host::unit;

const double *at(const Inputs &inputs, const std::string &name, std::int64_t element) {
  return inputs.at(name).data() + element;
}
struct Product {
  double sum = 0, magnitude = 0;
};
Product dot(const double *a, const double *b, std::int64_t n) {
  Product product;
  for (std::int64_t i = 0; i < n; ++i) {
    product.sum += a[i] * b[i];
    product.magnitude += std::fabs(a[i] * b[i]);
  }
  return product;
}
/// The largest magnitude, and the sum of all.
double largestOf(const double *a, std::int64_t n) {
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i)
    largest = std::max(largest, std::fabs(a[i]));
  return largest;
}
double sizeOf(const double *a, std::int64_t n) {
  double size = 0;
  for (std::int64_t i = 0; i < n; ++i)
    size += std::fabs(a[i]);
  return size;
}

} // namespace

Outputs expected(const DeltaRuleProblem &problem, const DeltaRuleConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  if (problem.prefill)
    return {};
  // A token reads its state once; sums are of `key` terms. Gates that are made of steps are off by
  // more: their exponents are of numbers up to 2, and a is -1.
  const bool isDelta = problem.update == StateUpdate::delta,
             makesSteps = problem.decay == DecayGate::softplus;
  const std::int64_t key = problem.key, value = problem.value, heads = problem.v_heads,
                     channels = problem.by_channel ? key : 1;
  const double steps = (double(key) + (makesSteps ? 48 : 24)) * 0x1p-23;
  // In chunks, what is multiplied is rounded to x first: k, q, the state, what is added to it, and the
  // products of q and k; k and q once more after they are decayed by channels.
  const double rounded = config.chunks ? (problem.by_channel ? 6 : 4) * unit(problem.x) : 0;
  const double scale = problem.scale ? problem.scale : isDelta ? 1 / std::sqrt(double(key)) : 1;
  const auto stepOf = [&](std::int64_t t, std::int64_t h, std::int64_t channel) {
    const double x = *at(inputs, "g", (t * heads + h) * channels + channel) +
                     *at(inputs, "dt_bias", h * channels + channel),
                 dt = std::max(std::log1p(std::exp(x)), problem.dt_min);
    return problem.dt_max > 0 ? std::min(dt, problem.dt_max) : dt;
  };
  const auto decayOf = [&](std::int64_t t, std::int64_t h, std::int64_t channel) {
    return std::exp(makesSteps ? *at(inputs, "a", h) * stepOf(t, h, channel)
                               : *at(inputs, "g", (t * heads + h) * channels + channel));
  };
  const auto strengthOf = [&](std::int64_t t, std::int64_t h) {
    if (problem.strength == UpdateStrength::step)
      return stepOf(t, h, 0);
    const double beta = *at(inputs, "beta", t * heads + h);
    return problem.strength == UpdateStrength::sigmoid ? 1 / (1 + std::exp(-beta)) : beta;
  };
  Expected y;
  Expected state{inputs.at("state"), std::vector<double>(inputs.at("state").size())};
  for (std::int64_t t = 0; t < m; ++t)
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t gate = t * heads + h,
                         row = (t * problem.heads + h / (heads / problem.heads)) * key;
      const double *q = at(inputs, "q", row), *k = at(inputs, "k", row);
      const double overQ = scale / (problem.normalise ? std::sqrt(dot(q, q, key).sum + 1e-6) : 1);
      const double overK = 1 / (problem.normalise ? std::sqrt(dot(k, k, key).sum + 1e-6) : 1);
      const double beta = strengthOf(t, h), skip = problem.skip ? *at(inputs, "skip", h) : 0;
      std::vector<double> decay;
      for (std::int64_t r = 0; r < channels; ++r)
        decay.push_back(decayOf(t, h, r));
      const auto ofRow = [&](std::int64_t r) {
        return decay[problem.by_channel ? static_cast<std::size_t>(r) : 0];
      };
      const auto slot = static_cast<std::int64_t>(*at(inputs, "state_slots", t));
      for (std::int64_t c = 0; c < value; ++c) {
        const auto element = [&](std::int64_t r) {
          return static_cast<std::size_t>(((slot * heads + h) * key + r) * value + c);
        };
        Product known;
        for (std::int64_t r = 0; isDelta && r < key; ++r) {
          const double term = state.values[element(r)] * ofRow(r) * k[r] * overK;
          known.sum += term;
          known.magnitude += std::fabs(term);
        }
        const double v = *at(inputs, "v", gate * value + c), delta = beta * (v - known.sum),
                     size = std::fabs(beta) * (std::fabs(v) + known.magnitude);
        double sum = skip * v, error = steps * std::fabs(sum);
        for (std::int64_t r = 0; r < key; ++r) {
          const std::size_t i = element(r);
          const double before = state.values[i] * ofRow(r), added = std::fabs(k[r] * overK) * size;
          state.values[i] = before + k[r] * overK * delta;
          state.bound[i] = steps * std::fabs(before) + (steps + rounded) * added + underflow(f32);
          sum += state.values[i] * q[r] * overQ;
          error += (state.bound[i] + steps * std::fabs(state.values[i]) +
                    rounded * (std::fabs(before) + added)) *
                   std::fabs(q[r] * overQ);
        }
        add(y, problem.y, sum, error);
      }
    }
  return {{"y", y}, {"state", state}};
}

Outputs expected(const MqaLogitsProblem &problem, const MqaLogitsConfig &, std::int64_t m,
                 const Inputs &inputs) {
  Expected logits;
  const std::int64_t heads = problem.heads, head = problem.head;
  const auto place = [&](std::int64_t j) { // of a key
    return problem.paged
               ? std::int64_t(*at(inputs, "block_table", j / problem.page)) * problem.page +
                     j % problem.page
               : j;
  };
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < m; ++j) {
      if (problem.paged && j > i) { // one sequence, all of whose tokens are in the call
        logits.values.push_back(-std::numeric_limits<double>::infinity());
        logits.bound.push_back(0);
        continue;
      }
      Product sum;
      for (std::int64_t h = 0; h < heads; ++h) {
        const Product score =
            dot(at(inputs, "q", (i * heads + h) * head), at(inputs, "k", place(j) * head), head);
        const double weight = *at(inputs, "weights", i * heads + h);
        sum.sum += weight * std::max(0.0, score.sum);
        sum.magnitude += std::fabs(weight) * score.magnitude;
      }
      const double scale = problem.k_scale ? *at(inputs, "k_scale", place(j)) : 1,
                   bias = problem.bias ? *at(inputs, "bias", i * m + j) : 0;
      add(logits, f32, sum.sum * scale + bias,
          double(head + heads + 4) * 0x1p-23 * sum.magnitude * std::fabs(scale));
    }
  return {{"logits", logits}};
}

Outputs expected(const DecodeProblem &problem, const DecodeConfig &, std::int64_t m,
                 const Inputs &inputs) {
  if (problem.cache == KvCache::packed)
    return {};
  // All sequences have as many pages, so that both kinds of tables have the same numbers.
  const char *pages = problem.csr ? "kv_indices" : "block_table";
  const std::int64_t n = std::max<std::int64_t>(1, m / problem.queries), head = problem.head,
                     value = problem.latent   ? problem.latent
                             : problem.head_v ? problem.head_v
                                              : head,
                     kv = problem.kv_heads, rowV = problem.latent ? head : value,
                     group = problem.q_heads / kv,
                     columns = std::int64_t(inputs.at(pages).size()) / n;
  const double scale = problem.scale ? problem.scale : 1 / std::sqrt(double(head));
  const bool narrow = problem.q.bits() == 8 && problem.scales != KvScales::none;
  // What rounding q in the kernel adds to its elements: of themselves, and of the largest of their
  // head.
  const DType operand = problem.float8_products ? problem.kv : problem.q;
  const bool rounds = operand != problem.q;
  const double ofElement = rounds ? unit(operand) : 0,
               ofLargest = rounds ? 2 * underflow(operand) / host::largest(operand) : 0;
  const double ofQueries = narrow ? *at(inputs, "q_scale", 0) : 1;
  Expected y, lse;
  for (std::int64_t s = 0; s < n; ++s)
    for (int i = 0; i < problem.queries; ++i)
      for (std::int64_t h = 0; h < problem.q_heads; ++h) {
        const std::int64_t last = problem.context - problem.queries + i;
        const double *q = at(inputs, "q", ((s * problem.queries + i) * problem.q_heads + h) * head);
        /// The number of a token's row of the cache.
        const auto place = [&](std::int64_t j) {
          const auto block =
              static_cast<std::int64_t>(*at(inputs, pages, s * columns + j / problem.page));
          return (block * problem.page + j % problem.page) * kv + h / group;
        };
        const auto factor = [&](const char *name, std::int64_t j) {
          return problem.scales == KvScales::none     ? 1
                 : problem.scales == KvScales::tensor ? *at(inputs, name, 0)
                 : problem.scales == KvScales::head   ? *at(inputs, name, s * kv + h / group)
                                                      : *at(inputs, name, place(j));
        };
        const std::int64_t token = s * problem.queries + i,
                           first = problem.context - problem.queries; // of the queries
        const auto hidden = [&](std::int64_t j) {
          if (!problem.tree_mask || j < first)
            return false;
          const auto word = static_cast<std::uint32_t>(static_cast<std::int64_t>(
              *at(inputs, "tree_mask", token * ((problem.queries + 31) / 32) + (j - first) / 32)));
          return (word >> (j - first) % 32 & 1) == 0;
        };
        std::vector<double> weights;
        double largest = problem.sink ? *at(inputs, "sink", h) : -HUGE_VAL, error = 0, total = 0;
        const double spread = ofLargest * largestOf(q, head);
        for (std::int64_t j = 0; j <= last; ++j) {
          const double *key = at(inputs, "k", place(j) * head);
          const Product score = dot(q, key, head);
          const double by = scale * ofQueries * factor("k_scale", j);
          if (hidden(j)) {
            weights.push_back(-HUGE_VAL);
            continue;
          }
          double terms = 0; // what the score has besides, and what it is rounded from
          double sum = score.sum * by;
          if (problem.soft_cap > 0) {
            sum = problem.soft_cap * std::tanh(sum / problem.soft_cap);
            terms += 8 * problem.soft_cap;
          }
          const auto plus = [&](double term) {
            sum += term;
            terms += std::fabs(term);
          };
          if (problem.bias)
            plus(*at(inputs, "bias", (h * n * problem.queries + token) * problem.context + j));
          if (problem.alibi)
            plus(-*at(inputs, "alibi_slopes", h) * double(last - j));
          weights.push_back(sum);
          largest = std::max(largest, weights.back());
          const double rounding = ofElement * score.magnitude + spread * sizeOf(key, head);
          error = std::max(error, ((double(head) + 6) * 0x1p-23 * score.magnitude + rounding) *
                                          std::fabs(by) +
                                      (terms > 0 ? 14 * 0x1p-23 * terms + 0x1p-22 : 0));
        }
        if (problem.sink)
          total = std::exp(*at(inputs, "sink", h) - largest);
        const bool seesNone = largest == -HUGE_VAL; // a tree mask may hide all of its keys
        for (double &weight : weights)
          total += weight = seesNone ? 0 : std::exp(weight - largest);
        const char *values = problem.latent ? "k" : "v";
        const double relative =
            std::expm1(2 * error) + 3 * unit(operand) + (double(last) + 40) * 0x1p-23 + 0x1p-21;
        for (std::int64_t e = 0; e < value; ++e) {
          Product sum;
          for (std::int64_t j = 0; j <= last; ++j) {
            const double share = seesNone ? 0 : weights[static_cast<std::size_t>(j)] / total;
            const double term = share * *at(inputs, values, place(j) * rowV + e) *
                                factor(problem.latent ? "k_scale" : "v_scale", j);
            sum.sum += term;
            sum.magnitude += std::fabs(term);
          }
          add(y, problem.y, sum.sum,
              relative * sum.magnitude + 2 * double(last + 1) * underflow(operand));
        }
        add(lse, f32, largest + std::log(total), error + unit(operand) + 0x1p-20);
      }
  Outputs outputs{{"o", y}};
  if (problem.lse)
    outputs["lse"] = lse;
  return outputs;
}

Outputs expected(const WorklistProblem &problem, const WorklistConfig &, std::int64_t,
                 const Inputs &inputs) {
  const std::vector<double> &lengths = inputs.at("seq_lens");
  std::vector<std::int32_t> starts;
  if (problem.varlen)
    starts.assign(inputs.at("cu_seqlens_q").begin(), inputs.at("cu_seqlens_q").end());
  const std::vector<std::int32_t> list =
      make_worklist(problem, std::vector<std::int32_t>(lengths.begin(), lengths.end()), -1, starts);
  return {{"worklist", {{list.begin(), list.end()}, std::vector<double>(list.size())}}};
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
