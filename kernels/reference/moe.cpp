// What the gating and the sum of a mixture of experts must give.
#include "reference/reference.h"
#include "reference/rows.h"

#include <numeric>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

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
      add(y, problem.y, sum, magnitude * double(k) * kRounding);
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
          2 * weight * kRounding * (largest - v + steps(problem.experts, config.threads)));
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

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
