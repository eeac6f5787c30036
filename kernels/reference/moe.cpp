// What the gating, the sorting and the sum of a mixture of experts must give.
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

Outputs expected(const MoeSortProblem &problem, const MoeSortConfig &, std::int64_t m,
                 const Inputs &inputs) {
  const std::int64_t k = problem.topk, places = moe_sort_places(problem, m),
                     experts = problem.local ? problem.local : problem.experts,
                     tokens =
                         problem.tokens ? static_cast<std::int64_t>(inputs.at("tokens")[0]) : m;
  const std::vector<double> &numbers = inputs.at("ids");
  const auto numberOf = [&](std::int64_t slot) {
    const double id = numbers[static_cast<std::size_t>(slot)];
    return problem.local && id >= 0 ? inputs.at("expert_map")[static_cast<std::size_t>(id)] : id;
  };
  const auto exact = [](std::vector<double> values) {
    std::vector<double> bound(values.size());
    return Expected{std::move(values), std::move(bound)};
  };
  const auto filled = [](std::int64_t count, double value) {
    return std::vector<double>(static_cast<std::size_t>(count), value);
  };
  std::vector<double> ids = filled(places, static_cast<double>((k << 24) + tokens)),
                      weights = filled(places, 0), units = filled(places / problem.unit, -1),
                      slotPlaces = filled(m * k, -1), counts, offsets;
  std::int64_t start = 0, dropped = 0;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    if (problem.capacity)
      start = expert * problem.capacity;
    std::int64_t place = start, taken = 0;
    for (std::int64_t slot = 0; slot < tokens * k; ++slot) {
      if (numberOf(slot) != double(expert))
        continue;
      if (problem.capacity && taken == problem.capacity) {
        ++dropped;
        continue;
      }
      ids[static_cast<std::size_t>(place)] = double(slot / k + (slot % k << 24));
      if (problem.weights)
        weights[static_cast<std::size_t>(place)] =
            inputs.at("weights")[static_cast<std::size_t>(slot)];
      slotPlaces[static_cast<std::size_t>(slot)] = double(place);
      ++place;
      ++taken;
    }
    counts.push_back(double(taken));
    offsets.push_back(double(start));
    for (; start < place; start += problem.unit)
      if (!problem.capacity)
        units[static_cast<std::size_t>(start / problem.unit)] = double(expert);
  }
  offsets.push_back(double(start));
  Outputs outputs{{"sorted_ids", exact(ids)},
                  {"counts", exact(counts)},
                  {"totals", exact({double(problem.capacity ? places : start), double(tokens),
                                    double(dropped)})}};
  if (problem.weights)
    outputs["sorted_weights"] = exact(weights);
  if (!problem.capacity) {
    outputs["unit_experts"] = exact(units);
    outputs["offsets"] = exact(offsets);
  }
  if (problem.places)
    outputs["slot_places"] = exact(slotPlaces);
  return outputs;
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
