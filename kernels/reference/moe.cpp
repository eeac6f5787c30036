// What the gating, the sorting and the sum of a mixture of experts must give.
#include "reference/reference.h"
#include "reference/rows.h"

#include <cmath>
#include <limits>
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
        if (problem.experts) {
          const double id = inputs.at("ids")[row];
          if (id < 0 || id >= double(problem.experts) ||
              inputs.at("expert_mask")[static_cast<std::size_t>(id)] == 0)
            continue;
        }
        const double place = problem.places ? inputs.at("slot_places")[row] : double(row);
        if (place < 0)
          continue;
        const double scale = problem.group
                                 ? inputs.at("x_scale")[static_cast<std::size_t>(
                                       (static_cast<std::int64_t>(place) * n + j) / problem.group)]
                                 : 1;
        const double term =
            inputs.at("x")[static_cast<std::size_t>(place) * static_cast<std::size_t>(n) +
                           static_cast<std::size_t>(j)] *
            scale * (problem.weights ? inputs.at("weights")[row] : 1);
        sum += term;
        magnitude += std::fabs(term);
      }
      add(y, problem.y, sum, magnitude * double(k) * kRounding);
    }
  return {{"y", y}};
}

namespace {

/// The scales of places with these ids, in the order of PreparedScales. Groups without a slot are not looked at.
Expected sortedScales(const MoeSortProblem &problem, const Inputs &inputs,
                      const std::vector<double> &ids) {
  const std::int64_t places = std::ssize(ids), elements = problem.scales * 32;
  const auto [groups, blocks, bytes] = PreparedScales::shape(places, elements);
  const double padding = std::ldexp(1.0, -127);
  Expected all{std::vector<double>(static_cast<std::size_t>(groups * blocks * bytes), padding),
               std::vector<double>(static_cast<std::size_t>(groups * blocks * bytes),
                                   std::numeric_limits<double>::infinity())};
  const auto idOf = [&](std::int64_t place) {
    return static_cast<std::int64_t>(ids[static_cast<std::size_t>(place)]);
  };
  const auto isTaken = [&](std::int64_t place) {
    return place < places && idOf(place) >> 24 < problem.topk;
  };
  for (std::int64_t group = 0; group < groups; ++group) {
    bool isWritten = false;
    for (std::int64_t place = group * 32; place < group * 32 + 32; ++place)
      isWritten = isWritten || isTaken(place);
    const std::int64_t first = group * blocks * bytes;
    if (isWritten)
      std::fill_n(all.bound.begin() + first, blocks * bytes, 0.0);
    for (std::int64_t place = group * 32; place < group * 32 + 32; ++place)
      for (std::int64_t scale = 0; isTaken(place) && scale < problem.scales; ++scale)
        all.values[static_cast<std::size_t>(PreparedScales::place(place, scale, elements))] =
            inputs.at("scales")[static_cast<std::size_t>((idOf(place) & 0xffffff) * problem.scales +
                                                         scale)];
  }
  return all;
}

} // namespace

Outputs expected(const MoeSortProblem &problem, const MoeSortConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  const std::int64_t k = problem.topk, places = moe_sort_places(problem, m),
                     experts = problem.local ? problem.local : problem.experts,
                     tokens =
                         problem.tokens ? static_cast<std::int64_t>(inputs.at("tokens")[0]) : m;
  Outputs routed;
  if (problem.routes()) {
    Inputs ofRouter = inputs;
    if (problem.router.bias)
      ofRouter["bias"] = inputs.at("router_bias");
    routed =
        expected(problem.router, {.threads = config.threads, .block = config.block}, m, ofRouter);
  }
  const std::vector<double> &numbers =
      routed.contains("ids") ? routed.at("ids").values : inputs.at("ids");
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
  Expected weights = exact(filled(places, 0));
  std::vector<double> ids = filled(places, static_cast<double>((k << 24) + tokens)),
                      units = filled(places / problem.unit, -1), slotPlaces = filled(m * k, -1),
                      counts, offsets;
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
      const auto from = static_cast<std::size_t>(slot), to = static_cast<std::size_t>(place);
      if (problem.routes()) {
        weights.values[to] = routed.at("weights").values[from];
        weights.bound[to] = routed.at("weights").bound[from];
      } else if (problem.weights) {
        weights.values[to] = inputs.at("weights")[from];
      }
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
    outputs["sorted_weights"] = weights;
  if (!problem.capacity) {
    outputs["unit_experts"] = exact(units);
    outputs["offsets"] = exact(offsets);
  }
  if (problem.places)
    outputs["slot_places"] = exact(slotPlaces);
  if (problem.scales)
    outputs["sorted_scales"] = sortedScales(problem, inputs, ids);
  if (problem.zeros)
    outputs["zeros"] = exact(filled(m * problem.zeros, 0));
  outputs.merge(routed);
  return outputs;
}

namespace {

/// The scores of a row of logits, and how far a kernel's may be from them, in roundings.
struct Scores {
  std::vector<double> values, steps;
};
Scores scoresOf(const TopkGatingProblem &problem, const Row &logits, int threads) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double x : logits)
    sum += std::exp(x - largest);
  Scores scores;
  for (double x : logits)
    switch (problem.score) {
    case GatingScore::softmax:
      scores.values.push_back(std::exp(x - largest) / sum);
      scores.steps.push_back(largest - x + steps(problem.experts, threads));
      break;
    case GatingScore::sigmoid:
      scores.values.push_back(1 / (1 + std::exp(-x)));
      scores.steps.push_back(std::fabs(x) + 4);
      break;
    case GatingScore::sqrt_softplus:
      scores.values.push_back(std::sqrt(std::log1p(std::exp(x))));
      scores.steps.push_back(std::fabs(x) + 8);
      break;
    }
  return scores;
}

/// The experts of the groups that are chosen.
std::vector<std::size_t> ofBestGroups(const TopkGatingProblem &problem,
                                      const std::vector<double> &values) {
  const std::size_t groups = static_cast<std::size_t>(problem.groups),
                    size = values.size() / groups;
  std::vector<std::pair<double, std::size_t>> found; // a higher score comes first
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<double> own(values.begin() + std::ptrdiff_t(group * size),
                            values.begin() + std::ptrdiff_t((group + 1) * size));
    std::sort(own.rbegin(), own.rend());
    const bool isSum = problem.group_score == GroupScore::two_largest && size > 1;
    found.emplace_back(-(isSum ? own[0] + own[1] : own[0]), group);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::size_t> experts;
  for (std::size_t i = 0; i < static_cast<std::size_t>(problem.topk_groups); ++i)
    for (std::size_t e = 0; e < size; ++e)
      experts.push_back(found[i].second * size + e);
  return experts;
}

} // namespace

Outputs expected(const TopkGatingProblem &problem, const RowConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  constexpr double kLeastSum = 1e-20; // which DeepSeek adds to the sum of scores
  Expected weights, ids, rows;
  for (std::int64_t t = 0; t < m; ++t) {
    const Row logits = rowOf(inputs, "logits", t, problem.experts);
    const Scores scores = scoresOf(problem, logits, config.threads);
    std::vector<double> values(logits.begin(), logits.end());
    if (problem.bias)
      for (std::size_t e = 0; e < values.size(); ++e)
        values[e] = scores.values[e] + inputs.at("bias")[e];
    std::vector<std::size_t> order = ofBestGroups(problem, values);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return values[a] > values[b] || (values[a] == values[b] && a < b);
    });
    order.resize(static_cast<std::size_t>(problem.topk));
    if (problem.given)
      for (std::size_t k = 0; k < order.size(); ++k)
        order[k] = static_cast<std::size_t>(
            inputs.at("ids")[static_cast<std::size_t>(t) * order.size() + k]);
    double sum = problem.score == GatingScore::softmax ? 0 : kLeastSum;
    for (std::size_t id : order)
      sum += scores.values[id];
    const auto slot = [&](std::size_t id, double weight, double off) {
      add(weights, f32, weight, off);
      const auto k = static_cast<std::int64_t>(ids.values.size()) % (problem.topk + problem.shared);
      ids.values.push_back(double(id));
      rows.values.push_back(double(k * m + t));
    };
    double most = 0;
    for (std::size_t id : order)
      most = std::max(most, scores.steps[id]);
    for (std::size_t id : order) {
      const double weight = scores.values[id] / (problem.renormalise ? sum : 1) * problem.scale,
                   off = problem.renormalise ? most : scores.steps[id];
      slot(id, weight, 2 * std::fabs(weight) * kRounding * (off + 2));
    }
    for (int i = 0; i < problem.shared; ++i)
      slot(static_cast<std::size_t>(problem.experts + i), problem.shared_weight, 0);
  }
  ids.bound.resize(ids.values.size());
  rows.bound.resize(rows.values.size());
  Outputs outputs{{"weights", weights}};
  if (!problem.given)
    outputs["ids"] = ids;
  if (problem.source_rows)
    outputs["source_rows"] = rows;
  return outputs;
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
