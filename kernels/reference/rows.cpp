// What softmax, norms and quantisation must give, forward and backward.
#include "reference/rows.h"
#include "hadamard/hadamard_family.h"
#include "norm/norm_family.h"
#include "quantise/quantise_family.h"
#include "reference/reference.h"

#include <flydsl/kernels/weight.h>

#include <limits>
#include <tuple>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

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
      add(y, problem.y, value,
          value * kRounding * (largest - v + steps(problem.n, config.threads)));
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
          kRounding * steps(problem.n, config.threads) * std::fabs(y[i]) *
              (std::fabs(dy[i]) + magnitude));
  }
  return {{"dx", dx}};
}

namespace {

/// What a norm's gates multiply by, and how far that is off relative to itself: the exponential of g
/// takes a rounded g, and is itself approximate.
struct Gates {
  std::vector<double> factor, error;
  double worst = 0;

  Gates(const NormProblem &problem, const Inputs &inputs, std::int64_t row) {
    if (problem.gate == NormGate::none)
      return;
    for (double g : rowOf(inputs, "gate", row, problem.n)) {
      const double sigmoid = 1 / (1 + std::exp(-g));
      factor.push_back(problem.gate == NormGate::silu ? g * sigmoid : sigmoid);
      error.push_back((std::fabs(g) + 8) * kRounding);
      worst = std::max(worst, error.back());
    }
  }
};

} // namespace

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
    const Gates gates(problem, inputs, t);
    if (problem.gate_first)
      for (std::size_t i = 0; i < v.size(); ++i)
        v[i] *= gates.factor[i];
    const double early = problem.gate_first ? gates.worst : 0; // the relative error of v
    double mean = 0, magnitude = 0, squares = 0;
    for (double value : v) {
      mean += centred ? value / double(n) : 0;
      magnitude += centred ? std::fabs(value) / double(n) : 0;
    }
    for (double value : v)
      squares += (value - mean) * (value - mean) / double(n);
    const double rstd = 1 / std::sqrt(squares + double(float(problem.eps)));
    add(rstds, f32, rstd, rstd * (sums * kRounding + early * (1 + magnitude * rstd)));
    add(means, f32, mean, magnitude * (sums * kRounding + early));
    std::vector<double> values, errors;
    for (std::size_t i = 0; i < v.size(); ++i) {
      const double factor = problem.smooth ? inputs.at("smooth")[i] : 1;
      const double shift = problem.bias ? inputs.at("bias")[i] * factor : 0;
      const double xhat = (v[i] - mean) * rstd, scaled = xhat * weight[i] * factor;
      values.push_back(scaled + shift);
      errors.push_back(std::fabs(scaled) * (sums + 2) * kRounding +
                       (std::fabs(scaled) + 2 * std::fabs(shift)) * kRounding +
                       std::fabs(weight[i] * factor) * sums * kRounding *
                           (magnitude + std::fabs(mean)) * rstd +
                       std::fabs(weight[i] * factor) * early * rstd *
                           (std::fabs(v[i]) + magnitude + std::fabs(v[i] - mean)));
      if (problem.modulation) {
        const std::int64_t batches =
            static_cast<std::int64_t>(inputs.at("gain").size()) / problem.n;
        const Row gain = rowOf(inputs, "gain", t / (m / batches), n),
                  shifts = rowOf(inputs, "shift", t / (m / batches), n);
        const double factor = 1 + gain[i], product = values.back() * factor;
        values.back() = product + shifts[i];
        errors.back() = errors.back() * std::fabs(factor) +
                        (3 * std::fabs(product) + std::fabs(shifts[i])) * kRounding;
      }
      if (problem.gate == NormGate::none || problem.gate_first)
        continue;
      values.back() *= gates.factor[i];
      errors.back() *= std::fabs(gates.factor[i]);
      errors.back() += std::fabs(values.back()) * gates.error[i];
    }
    const bool given = problem.quantise == Quantisation::fixed;
    if (problem.quantise == Quantisation::none) {
      for (std::size_t i = 0; i < values.size(); ++i)
        add(y, problem.y, values[i], errors[i]);
      continue;
    }
    if (problem.group) {
      addInGroups(y, scales, problem.y, impl::Family<NormProblem>::groups(problem), values, errors);
      continue;
    }
    const double scale = given ? inputs.at("scale")[0] : scaleOf(values, problem.y);
    const double worst = *std::max_element(errors.begin(), errors.end());
    scales.values.push_back(scale);
    scales.bound.push_back(worst / impl::largestOf(problem.y) + scale * kRounding);
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
          steps(n, config.threads) * kRounding *
              (std::fabs(rstd) *
                   (std::fabs(g) + shiftMagnitude +
                    (std::fabs(x[i]) + std::fabs(mean)) * std::fabs(rstd) * alongMagnitude) +
               std::fabs(more)));
    }
  }
  Expected weights, biases;
  for (std::size_t i = 0; i < columns; ++i) {
    add(weights, problem.weight, dweight[i], magnitudeW[i] * (double(m) + 4) * kRounding);
    add(biases, problem.weight, dbias[i], magnitudeB[i] * (double(m) + 4) * kRounding);
  }
  Outputs outputs{{"dx", dx}, {"dweight", weights}};
  if (problem.bias)
    outputs["dbias"] = biases;
  return outputs;
}

Outputs expected(const QuantiseProblem &problem, const RowConfig &, std::int64_t m,
                 const Inputs &inputs) {
  Expected q, scales;
  const bool given = problem.scale == ScaleOf::given;
  // Values times factors of columns are rounded once.
  std::vector<double> all(inputs.at("x")), errors(all.size());
  if (problem.smooth)
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] *= inputs.at("smooth")[i % static_cast<std::size_t>(problem.n)];
      errors[i] = std::fabs(all[i]) * kRounding;
    }
  for (std::int64_t t = 0; t < m; ++t) {
    const auto first = static_cast<std::size_t>(t * problem.n),
               count = static_cast<std::size_t>(problem.n);
    const Row x = Row(all).subspan(first, count), off = Row(errors).subspan(first, count);
    if (const impl::QuantGroups groups = impl::Family<QuantiseProblem>::groups(problem)) {
      addInGroups(q, scales, problem.q, groups, x, off);
      continue;
    }
    const double scale = given ? inputs.at("scale")[0]
                               : scaleOf(problem.scale == ScaleOf::row ? x : Row(all), problem.q);
    if (problem.scale == ScaleOf::row || t == 0)
      add(scales, f32, scale, problem.smooth ? scale * kRounding : 0);
    for (std::size_t i = 0; i < x.size(); ++i)
      addQuantised(q, problem.q, given, x[i],
                   off[i] + (problem.smooth && !given ? std::fabs(x[i]) * kRounding : 0), scale);
  }
  if (given)
    return {{"q", q}};
  if (problem.prepared_scales) { // Bytes past the last row are not looked at.
    const auto [groups, blocks, bytes] = PreparedScales::shape(m, problem.n);
    const auto size = static_cast<std::size_t>(groups * blocks * bytes);
    Expected prepared{std::vector<double>(size),
                      std::vector<double>(size, std::numeric_limits<double>::infinity())};
    for (std::int64_t t = 0; t < m; ++t)
      for (std::int64_t s = 0; s < problem.n / 32; ++s) {
        const auto from = static_cast<std::size_t>(t * (problem.n / 32) + s),
                   to = static_cast<std::size_t>(PreparedScales::place(t, s, problem.n));
        prepared.values[to] = scales.values[from];
        prepared.bound[to] = scales.bound[from];
      }
    scales = std::move(prepared);
  }
  return {{"q", q}, {"scale", scales}};
}

Outputs expected(const TopKProblem &problem, const TopKConfig &, std::int64_t m,
                 const Inputs &inputs) {
  Expected indices, slots, counts;
  const std::int64_t n = problem.n, blocks = (n + problem.page - 1) / problem.page;
  const auto put = [](Expected &to, double value) {
    to.values.push_back(value);
    to.bound.push_back(0);
  };
  for (std::int64_t i = 0; i < m; ++i) {
    const Row x = rowOf(inputs, "x", i, n);
    const std::int64_t length =
        problem.lengths ? std::int64_t(inputs.at("lengths")[std::size_t(i)]) : n;
    std::vector<std::size_t> order;
    for (std::int64_t j = 0; j < length; ++j)
      if (!(x[std::size_t(j)] == -std::numeric_limits<double>::infinity()))
        order.push_back(std::size_t(j));
    // NaN first, then the largest, and of equal ones the first.
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      const auto rank = [&](std::size_t i) {
        return std::tuple(!std::isnan(x[i]), std::isnan(x[i]) ? 0 : -x[i], i);
      };
      return rank(a) < rank(b);
    });
    order.resize(std::min(order.size(), std::size_t(problem.k)));
    std::ranges::sort(order);
    put(counts, double(order.size()));
    const std::int64_t row =
        problem.sequences ? std::int64_t(inputs.at("sequences")[std::size_t(i)]) : i;
    for (std::size_t j = 0; j < std::size_t(problem.k); ++j) {
      const bool has = j < order.size();
      const auto element = std::int64_t(has ? order[j] : 0);
      put(indices, has ? double(element) : -1);
      if (problem.slots)
        put(slots,
            has ? inputs.at("block_table")[std::size_t(row * blocks + element / problem.page)] *
                          problem.page +
                      double(element % problem.page)
                : -1);
    }
  }
  Outputs outputs{{"counts", counts}};
  if (problem.indices)
    outputs["indices"] = indices;
  if (problem.slots)
    outputs["slots"] = slots;
  return outputs;
}

Outputs expected(const HadamardProblem &problem, const RowConfig &, std::int64_t m,
                 const Inputs &inputs) {
  Expected y, scales;
  const double factor = double(float(problem.scale));
  for (std::int64_t t = 0; t < m; ++t) {
    const Row x = rowOf(inputs, "x", t, problem.n);
    std::vector<double> values(x.begin(), x.end());
    double magnitude = 0;
    for (double v : values)
      magnitude += std::fabs(v);
    for (std::size_t bit = 1; bit < values.size(); bit *= 2)
      for (std::size_t i = 0; i < values.size(); ++i)
        if (!(i & bit)) {
          const double a = values[i], b = values[i | bit];
          values[i] = a + b;
          values[i | bit] = a - b;
        }
    // Each step rounds once, and so does the factor; no sum is larger than all magnitudes together.
    const double error =
        (std::log2(double(problem.n)) + 2) * kRounding / 2 * magnitude * std::fabs(factor);
    for (double &v : values)
      v *= factor;
    const std::vector<double> errors(values.size(), error);
    if (problem.group) {
      addInGroups(y, scales, problem.y, impl::Family<HadamardProblem>::groups(problem), values,
                  errors);
      continue;
    }
    if (problem.quantise == Quantisation::none) {
      for (double v : values)
        add(y, problem.y, v, error);
      continue;
    }
    const bool given = problem.quantise == Quantisation::fixed;
    const double scale = given ? inputs.at("scale")[0] : scaleOf(values, problem.y),
                 most = impl::largestOf(problem.y);
    scales.values.push_back(scale);
    scales.bound.push_back(error / most + scale * kRounding);
    for (double v : values)
      addQuantised(y, problem.y, given, v,
                   error + (given ? 0 : std::fabs(v) * error / (scale * most)), scale);
  }
  if (problem.quantise == Quantisation::row)
    return {{"y", y}, {"scale", scales}};
  return {{"y", y}};
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
