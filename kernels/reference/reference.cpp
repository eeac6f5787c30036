// The bounds are those of docs/kernels: u is one rounding in f32, and a sum of n numbers by t
// threads takes n / t + log2 n of them.
#include "reference/reference.h"

#include "blocks/quant_rules.h"
#include "reference/activation.h"
#include "reference/attention.h"
#include "reference/ggml.h"
#include "reference/heads.h"
#include "reference/rounded.h"

#include <algorithm>
#include <cmath>
#include <numeric>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {
namespace {

using Row = std::span<const double>;
constexpr double u = 0x1p-23;

/// The roundings of a sum over a row.
double steps(std::int64_t n, int threads) { return double(n) / threads + std::log2(double(n)) + 6; }
Row rowOf(const Inputs &inputs, const char *name, std::int64_t row, std::int64_t n) {
  return Row(inputs.at(name))
      .subspan(static_cast<std::size_t>(row * n), static_cast<std::size_t>(n));
}
/// Adds a value that is quantised with a scale, and whose arithmetic may err.
void addQuantised(Expected &to, DType dtype, bool given, double value, double error, double scale) {
  const double most = impl::largestOf(dtype), lowest = dtype == i8 && given ? -128 : -most;
  const double exact = value / scale, limited = std::min(std::max(exact, lowest), most);
  const double rounding =
      dtype == i8 ? 0.5 : std::max(std::fabs(limited) * host::unit(dtype), host::underflow(dtype));
  to.values.push_back(limited);
  to.bound.push_back(rounding + error / scale + std::fabs(exact) * (0x1p-22 + error));
}
/// The scale of values.
double scaleOf(Row values, DType dtype) {
  double largest = 0;
  for (double v : values)
    largest = std::max(largest, std::fabs(v));
  const double scale = largest / impl::largestOf(dtype);
  return scale < 0x1p-126 ? 1 : scale;
}

} // namespace

Outputs expected(const AttentionProblem &problem, const AttentionConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  if (problem.varlen || problem.cache != KvCache::none)
    return {};
  const std::vector<std::int64_t> length{m};
  const auto values = [&](const char *name) -> std::vector<double> {
    const auto found = inputs.find(name);
    return found == inputs.end() ? std::vector<double>() : found->second;
  };
  const std::vector<double> bias = values("bias"), slopes = values("alibi_slopes"),
                            sink = values("sink");
  const Attended result = attended(
      problem, config,
      {length, length, -1, -1, inputs.at("q"), inputs.at("k"), inputs.at("v"), bias, slopes, sink});
  Outputs outputs{{"o", result.o}};
  if (problem.lse)
    outputs.emplace("lse", result.lse);
  return outputs;
}

Outputs expected(const SoftmaxProblem &problem, const RowConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  Expected y;
  for (std::int64_t t = 0; t < m; ++t) {
    const Row x = rowOf(inputs, "x", t, problem.n);
    const double largest = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (double v : x)
      sum += std::exp(v - largest);
    for (double v : x) {
      const double value = std::exp(v - largest) / sum;
      add(y, problem.y, value, value * u * (largest - v + steps(problem.n, config.threads)));
    }
  }
  return {{"y", y}};
}

Outputs expected(const SoftmaxBackwardProblem &problem, const SoftmaxBackwardConfig &config,
                 std::int64_t m, const Inputs &inputs) {
  Expected dx;
  for (std::int64_t t = 0; t < m; ++t) {
    const Row y = rowOf(inputs, "y", t, problem.n), dy = rowOf(inputs, "dy", t, problem.n);
    double sum = 0, magnitude = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      sum += y[i] * dy[i];
      magnitude += std::fabs(y[i] * dy[i]);
    }
    for (std::size_t i = 0; i < y.size(); ++i)
      add(dx, problem.dx, y[i] * (dy[i] - sum),
          u * steps(problem.n, config.threads) * std::fabs(y[i]) * (std::fabs(dy[i]) + magnitude));
  }
  return {{"dx", dx}};
}

Outputs expected(const NormProblem &problem, const RowConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  const bool centred = problem.kind == NormKind::layer;
  const double sums = steps(problem.n, config.threads);
  const std::int64_t n = problem.n;
  Outputs outputs;
  Expected y, rstds, means, scales, residualOut;
  for (std::int64_t t = 0; t < m; ++t) {
    const Row x = rowOf(inputs, "x", t, n), weight = inputs.at("weight");
    std::vector<double> v(x.begin(), x.end());
    if (problem.residual) {
      const Row residual = rowOf(inputs, "residual", t, n);
      for (std::size_t i = 0; i < v.size(); ++i)
        v[i] = double(float(v[i]) + float(residual[i]));
      v = host::decode(problem.x, host::encode(problem.x, v));
      for (double value : v) {
        residualOut.values.push_back(value);
        residualOut.bound.push_back(0);
      }
    }
    double mean = 0, magnitude = 0, squares = 0;
    for (double value : v) {
      mean += centred ? value / double(n) : 0;
      magnitude += centred ? std::fabs(value) / double(n) : 0;
    }
    for (double value : v)
      squares += (value - mean) * (value - mean) / double(n);
    const double rstd = 1 / std::sqrt(squares + double(float(problem.eps)));
    add(rstds, f32, rstd, rstd * sums * u);
    add(means, f32, mean, magnitude * sums * u);
    std::vector<double> values, errors;
    for (std::size_t i = 0; i < v.size(); ++i) {
      const double factor = problem.smooth ? inputs.at("smooth")[i] : 1;
      const double shift = problem.bias ? inputs.at("bias")[i] * factor : 0;
      const double xhat = (v[i] - mean) * rstd, scaled = xhat * weight[i] * factor;
      values.push_back(scaled + shift);
      errors.push_back(
          std::fabs(scaled) * (sums + 2) * u + (std::fabs(scaled) + 2 * std::fabs(shift)) * u +
          std::fabs(weight[i] * factor) * sums * u * (magnitude + std::fabs(mean)) * rstd);
    }
    const bool given = problem.quantise == Quantisation::fixed;
    if (problem.quantise == Quantisation::none) {
      for (std::size_t i = 0; i < values.size(); ++i)
        add(y, problem.y, values[i], errors[i]);
      continue;
    }
    const double scale = given ? inputs.at("scale")[0] : scaleOf(values, problem.y);
    const double worst = *std::max_element(errors.begin(), errors.end());
    scales.values.push_back(scale);
    scales.bound.push_back(worst / impl::largestOf(problem.y) + scale * u);
    for (std::size_t i = 0; i < values.size(); ++i)
      addQuantised(
          y, problem.y, given, values[i],
          errors[i] +
              (given ? 0 : std::fabs(values[i]) * worst / (scale * impl::largestOf(problem.y))),
          scale);
  }
  outputs["y"] = y;
  if (problem.residual)
    outputs["residual_out"] = residualOut;
  if (problem.statistics)
    outputs["rstd"] = rstds;
  if (problem.statistics && centred)
    outputs["mean"] = means;
  if (problem.quantise == Quantisation::row)
    outputs["scale"] = scales;
  return outputs;
}

Outputs expected(const NormBackwardProblem &problem, const NormBackwardConfig &config,
                 std::int64_t m, const Inputs &inputs) {
  const bool centred = problem.kind == NormKind::layer;
  const std::int64_t n = problem.n;
  const std::size_t columns = static_cast<std::size_t>(n);
  Expected dx;
  std::vector<double> dweight(columns), magnitudeW(columns), dbias(columns), magnitudeB(columns);
  for (std::int64_t t = 0; t < m; ++t) {
    const Row x = rowOf(inputs, "x", t, n), dy = rowOf(inputs, "dy", t, n),
              weight = inputs.at("weight");
    const double rstd = inputs.at("rstd")[static_cast<std::size_t>(t)],
                 mean = centred ? inputs.at("mean")[static_cast<std::size_t>(t)] : 0;
    double along = 0, shift = 0, alongMagnitude = 0, shiftMagnitude = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      const double xhat = (x[i] - mean) * rstd, g = dy[i] * weight[i];
      along += g * xhat / double(n);
      alongMagnitude += std::fabs(g * xhat) / double(n);
      shift += centred ? g / double(n) : 0;
      shiftMagnitude += centred ? std::fabs(g) / double(n) : 0;
      dweight[i] += dy[i] * xhat;
      magnitudeW[i] += std::fabs(dy[i]) * (std::fabs(x[i]) + std::fabs(mean)) * std::fabs(rstd);
      dbias[i] += dy[i];
      magnitudeB[i] += std::fabs(dy[i]);
    }
    for (std::size_t i = 0; i < columns; ++i) {
      const double xhat = (x[i] - mean) * rstd, g = dy[i] * weight[i];
      const double more = problem.residual ? rowOf(inputs, "dresidual", t, n)[i] : 0;
      add(dx, problem.dy, rstd * (g - shift - xhat * along) + more,
          steps(n, config.threads) * u *
              (std::fabs(rstd) *
                   (std::fabs(g) + shiftMagnitude +
                    (std::fabs(x[i]) + std::fabs(mean)) * std::fabs(rstd) * alongMagnitude) +
               std::fabs(more)));
    }
  }
  Expected weights, biases;
  for (std::size_t i = 0; i < columns; ++i) {
    add(weights, problem.weight, dweight[i], magnitudeW[i] * (double(m) + 4) * u);
    add(biases, problem.weight, dbias[i], magnitudeB[i] * (double(m) + 4) * u);
  }
  Outputs outputs{{"dx", dx}, {"dweight", weights}};
  if (problem.bias)
    outputs["dbias"] = biases;
  return outputs;
}

Outputs expected(const QuantiseProblem &problem, const RowConfig &, std::int64_t m,
                 const Inputs &inputs) {
  if (problem.scale == ScaleOf::block)
    return {};
  Expected q, scales;
  const bool given = problem.scale == ScaleOf::given;
  for (std::int64_t t = 0; t < m; ++t) {
    const Row x = rowOf(inputs, "x", t, problem.n),
              whole = problem.scale == ScaleOf::row ? x : Row(inputs.at("x"));
    const double scale = given ? inputs.at("scale")[0] : scaleOf(whole, problem.q);
    if (problem.scale == ScaleOf::row || t == 0)
      add(scales, f32, scale, 0);
    for (double v : x)
      addQuantised(q, problem.q, given, v, 0, scale);
  }
  if (given)
    return {{"q", q}};
  return {{"q", q}, {"scale", scales}};
}

namespace {

/// q_out or k_out, and its scales if the kernel writes them.
void addHeads(Outputs &outputs, const RopeProblem &problem, const Inputs &inputs, const char *name,
              const char *scaleName, const Heads &heads) {
  const bool given = problem.quantise == Quantisation::fixed;
  Expected out, scales;
  if (problem.quantise == Quantisation::row && problem.scale != f32)
    return;
  const auto group = static_cast<std::size_t>(problem.group ? problem.group : problem.head);
  for (std::size_t at = 0; at < heads.values.size(); at += group) {
    const Row values = Row(heads.values).subspan(at, group),
              error = Row(heads.error).subspan(at, group);
    if (problem.quantise == Quantisation::none) {
      for (std::size_t e = 0; e < group; ++e)
        add(out, problem.y, values[e], error[e]);
      continue;
    }
    const double scale = given ? inputs.at(scaleName)[0] : scaleOf(values, problem.y),
                 worst = *std::max_element(error.begin(), error.end()),
                 most = impl::largestOf(problem.y);
    scales.values.push_back(scale);
    scales.bound.push_back(worst / most + scale * u);
    for (std::size_t e = 0; e < group; ++e)
      addQuantised(out, problem.y, given, values[e],
                   error[e] + (given ? 0 : std::fabs(values[e]) * worst / (scale * most)), scale);
  }
  outputs[name] = out;
  if (problem.quantise == Quantisation::row)
    outputs[scaleName] = scales;
}

/// k_cache or v_cache: the heads of each token where its slot is.
Expected cacheOf(const RopeProblem &problem, std::int64_t m, const Inputs &inputs,
                 const char *scaleName, const Heads &heads, bool isV) {
  const std::int64_t kv = problem.kv_heads, head = problem.head,
                     blocks = (m + problem.page - 1) / problem.page;
  const auto size = static_cast<std::size_t>(blocks * problem.page * kv * head);
  Expected cache{std::vector<double>(size), std::vector<double>(size, HUGE_VAL)};
  const bool quantised = impl::largestOf(problem.cached) != 0;
  for (std::int64_t t = 0; t < m; ++t)
    for (std::int64_t h = 0; h < kv; ++h)
      for (std::int64_t e = 0; e < head; ++e) {
        const auto from = static_cast<std::size_t>((t * kv + h) * head + e);
        const auto slot =
            static_cast<std::int64_t>(inputs.at("slots")[static_cast<std::size_t>(t)]);
        const std::size_t place = cachePlace(problem, slot, h, e, isV);
        Expected one;
        if (quantised)
          addQuantised(one, problem.cached, true, heads.values[from], heads.error[from],
                       inputs.at(scaleName)[0]);
        else
          add(one, problem.cached, heads.values[from], heads.error[from]);
        cache.values[place] = one.values[0];
        cache.bound[place] = one.bound[0];
      }
  return cache;
}

} // namespace

Outputs expected(const RopeProblem &problem, const RopeConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  Outputs outputs;
  const auto valuesOf = [&](const char *name) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? Row() : Row(found->second);
  };
  const auto heads = [&](const char *name, HeadNorm norm, const char *weight, int count) {
    return rotated(problem, normed(problem, valuesOf(name), norm, valuesOf(weight), config.lanes),
                   count, valuesOf("positions"), valuesOf("cos"), valuesOf("sin"));
  };
  if (problem.q_heads)
    addHeads(outputs, problem, inputs, "q_out", "q_scale",
             heads("q", problem.q_norm, "q_weight", problem.q_heads));
  if (problem.kv_heads == 0)
    return outputs;
  const Heads k = heads("k", problem.k_norm, "k_weight", problem.kv_heads);
  if (problem.k_out)
    addHeads(outputs, problem, inputs, "k_out", "k_scale", k);
  if (problem.cache == KvCache::none)
    return outputs;
  outputs["k_cache"] = cacheOf(problem, m, inputs, "k_cache_scale", k, false);
  if (problem.v_cached) {
    const Row v = valuesOf("v");
    outputs["v_cache"] = cacheOf(problem, m, inputs, "v_cache_scale",
                                 {{v.begin(), v.end()}, std::vector<double>(v.size())}, true);
  }
  return outputs;
}

Outputs expected(const MoeReduceProblem &problem, const RowConfig &, std::int64_t m,
                 const Inputs &inputs) {
  Expected y;
  const std::int64_t n = problem.n, k = problem.topk;
  for (std::int64_t t = 0; t < m; ++t)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const std::size_t row = static_cast<std::size_t>(t * k + i);
        if (problem.mask && inputs.at("mask")[row] == 0)
          continue;
        const double term =
            inputs.at("x")[row * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)] *
            (problem.weights ? inputs.at("weights")[row] : 1);
        sum += term;
        magnitude += std::fabs(term);
      }
      add(y, problem.y, sum, magnitude * double(k) * u);
    }
  return {{"y", y}};
}

Outputs expected(const TopkGatingProblem &problem, const RowConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  Expected weights, ids, rows;
  for (std::int64_t t = 0; t < m; ++t) {
    const Row x = rowOf(inputs, "logits", t, problem.experts);
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return x[a] > x[b] || (x[a] == x[b] && a < b); });
    order.resize(static_cast<std::size_t>(problem.topk));
    const double largest = x[order[0]];
    double sum = 0, chosen = 0;
    for (double v : x)
      sum += std::exp(v - largest);
    for (std::size_t id : order)
      chosen += std::exp(x[id] - largest);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const double v = x[order[i]];
      const double weight = std::exp(v - largest) / (problem.renormalise ? chosen : sum);
      add(weights, f32, weight,
          2 * weight * u * (largest - v + steps(problem.experts, config.threads)));
      ids.values.push_back(double(order[i]));
      rows.values.push_back(double(static_cast<std::int64_t>(i) * m + t));
    }
  }
  ids.bound.resize(ids.values.size());
  rows.bound.resize(rows.values.size());
  Outputs outputs{{"weights", weights}, {"ids", ids}};
  if (problem.source_rows)
    outputs["source_rows"] = rows;
  return outputs;
}

namespace {

/// Where a weight lies among prepared ones, by the definition of WeightProblem.
std::size_t preparedPlace(const WeightProblem &problem, std::int64_t n, std::int64_t k) {
  const std::int64_t bytes = problem.dtype.memory_bits() / 8, at = k * bytes,
                     across = (problem.k * bytes + 63) / 64;
  return std::size_t((((n / 16 * across + at / 64) * 4 + at % 64 / 16) * 16 + n % 16) *
                         (16 / bytes) +
                     at % 16 / bytes);
}

/// Where element (row, k) of one of `rows` rows of an operand lies.
std::size_t operandPlace(OperandLayout layout, const WeightProblem &prepared, std::int64_t rows,
                         std::int64_t row, std::int64_t k) {
  switch (layout) {
  case OperandLayout::prepared:
    return preparedPlace(prepared, row, k);
  case OperandLayout::rows:
    return std::size_t(row * prepared.k + k);
  case OperandLayout::columns:
    return std::size_t(k * rows + row);
  }
  throw Error("a layout of no kind");
}

} // namespace

Outputs expected(const WeightProblem &problem, const WeightConfig &, std::int64_t,
                 const Inputs &inputs) {
  const auto size = static_cast<std::size_t>(prepared_size(problem));
  Expected out{std::vector<double>(size), std::vector<double>(size)};
  for (std::int64_t n = 0; n < problem.n; ++n)
    for (std::int64_t k = 0; k < problem.k; ++k)
      out.values[preparedPlace(problem, n, k)] =
          inputs.at("raw")[static_cast<std::size_t>(n * problem.k + k)];
  return {{"out", out}};
}

Outputs expected(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  const std::int64_t n = problem.n, k = problem.k, across = (k + 127) / 128;
  const bool blocks = problem.scale_a == Scales::per_block;
  // A sum of f32, in parts of at least 16 products and over the parts of K; integers are exact.
  const double roundings = problem.a == i8 ? 4 : 2 * (double(k) / 16 + 4 + config.split_k + across);
  struct Sum {
    double value, error;
  };
  const auto sumOf = [&](std::int64_t row, std::int64_t column) {
    const Row a = inputs.at("a"), b = inputs.at("b");
    double value = 0, magnitude = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      double product =
          a[operandPlace(problem.a_layout, problem.weight(), m, row, i)] *
          b[operandPlace(problem.b_layout, problem.weight(), problem.columns(), column, i)];
      if (blocks)
        product *=
            rowOf(inputs, "scale_a", row, across)[static_cast<std::size_t>(i / 128)] *
            rowOf(inputs, "scale_b", column / 128, across)[static_cast<std::size_t>(i / 128)];
      value += product;
      magnitude += std::fabs(product);
    }
    const auto factor = [&](Scales scales, const char *name, std::int64_t at) {
      return scales == Scales::per_row ? inputs.at(name)[static_cast<std::size_t>(at)] : 1.0;
    };
    const double scale =
        factor(problem.scale_a, "scale_a", row) * factor(problem.scale_b, "scale_b", column);
    const double bias = problem.bias ? inputs.at("bias")[static_cast<std::size_t>(column)] : 0.0;
    return Sum{value * scale + bias, u * (roundings * magnitude * std::fabs(scale) +
                                          4 * std::fabs(value * scale) + std::fabs(bias))};
  };
  Expected c;
  for (std::int64_t row = 0; row < m; ++row)
    for (std::int64_t column = 0; column < n; ++column) {
      const auto put = [&](double value, double error) {
        // Stochastic rounding takes either neighbour.
        if (problem.rounding == Rounding::stochastic)
          error += std::fabs(value) * host::unit(problem.c) + host::underflow(problem.c);
        add(c, problem.c, value, error);
      };
      const Sum gate = sumOf(row, column);
      // The slopes of the activations are at most 1.13.
      const double value = activated(problem.activation, gate.value),
                   error = problem.activation == Activation::none
                               ? gate.error
                               : 1.13 * gate.error + 8 * u * std::fabs(value);
      if (!problem.gated) {
        put(value, error);
        continue;
      }
      const Sum up = sumOf(row, n + column);
      put(value * up.value, error * std::fabs(up.value) + up.error * std::fabs(value) +
                                u * std::fabs(value * up.value));
    }
  return {{"c", c}};
}

Outputs expected(const GgmlGemmProblem &problem, const GgmlGemmConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  const GgmlValues b = ggmlValues(problem.weight(), inputs.at("b"));
  std::optional<GgmlValues> up;
  if (problem.gated)
    up = ggmlValues(problem.weight(), inputs.at("up"));
  return {{"c", ggmlProduct(problem, config.matrix, m, inputs.at("a"), b, up ? &*up : nullptr)}};
}

Outputs expected(const GgmlRowsProblem &problem, const GgmlRowsConfig &, std::int64_t m,
                 const Inputs &inputs) {
  const GgmlValues b = ggmlValues(problem.weight(), inputs.at("b"));
  Expected y;
  for (std::int64_t i = 0; i < m; ++i) {
    const auto id = static_cast<std::int64_t>(inputs.at("ids")[static_cast<std::size_t>(i)]);
    for (std::int64_t j = 0; j < problem.k; ++j)
      add(y, problem.y,
          id < problem.n ? b.values[static_cast<std::size_t>(id * problem.k + j)] : 0.0, 0);
  }
  return {{"y", y}};
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
