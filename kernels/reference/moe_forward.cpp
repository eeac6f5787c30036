// What a mixture of experts must give: the references of its parts, one after another, with the
// errors of each passed on to the next.
#include "reference/narrow.h"
#include "reference/prepared.h"
#include "reference/reference.h"
#include "reference/rows.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {
namespace {

constexpr std::int64_t kIdTokenBits = 24;

/// What scales w1 and w2 have besides those of groups.
Scales scalesOfWeights(const MoeForwardProblem &problem) {
  return problem.narrow() ? problem.w_scales : problem.scales;
}

/// The slots of each expert that is here.
std::vector<std::vector<std::int64_t>> slotsOfExperts(const MoeForwardProblem &problem,
                                                      const std::vector<double> &ids,
                                                      std::int64_t tokens, const Inputs &inputs) {
  std::vector<std::vector<std::int64_t>> all(static_cast<std::size_t>(problem.experts_here()));
  for (std::int64_t slot = 0; slot < tokens * problem.topk(); ++slot) {
    double expert = ids[static_cast<std::size_t>(slot)];
    if (problem.local && expert >= 0)
      expert = inputs.at("expert_map")[static_cast<std::size_t>(expert)];
    if (expert >= 0)
      all[static_cast<std::size_t>(expert)].push_back(slot);
  }
  return all;
}

/// Values of h in 8 bits, as what they stand for: each is off by half a step of the type more.
void quantiseInside(const MoeForwardProblem &problem, const Inputs &inputs, Expected &h) {
  const double most = problem.x == f4E2M1FN ? host::largest(problem.x) : impl::largestOf(problem.x),
               least = problem.x == i8 ? -128 : -most;
  const auto n = static_cast<std::size_t>(problem.inner);
  for (std::size_t i = 0; i < h.values.size(); ++i) {
    double scale = 0;
    if (problem.scales == Scales::per_tensor) {
      scale = inputs.at("scale_h")[0];
      h.values[i] = std::clamp(h.values[i], least * scale, most * scale);
    } else {
      const std::size_t size = problem.scales == Scales::per_row
                                   ? n
                                   : static_cast<std::size_t>(scaleBlock(problem.scales));
      const std::size_t block = i - i % n % size;
      double largest = 0; // of the block, in what is computed
      for (std::size_t at = block; at < block + size; ++at)
        largest = std::max(largest, std::fabs(h.values[at]) + h.bound[at]);
      // A power of two may be twice as large.
      scale = largest / most * (problem.scale == f32 ? 1 : 2);
    }
    const double half =
        problem.x == i8 ? scale / 2
                        : std::max((std::fabs(h.values[i]) + h.bound[i]) * host::unit(problem.x),
                                   host::underflow(problem.x) * scale);
    h.bound[i] += half + 0x1p-21 * std::fabs(h.values[i]);
  }
}

/// The first product, by its reference: places follow one another without padding.
Expected insideOf(const MoeForwardProblem &problem, const Inputs &inputs,
                  const std::vector<std::vector<std::int64_t>> &slots,
                  const std::vector<double> &weights) {
  const bool ofInput = problem.weights == RoutedWeights::input;
  const GroupedGemmProblem product{.a = problem.x,
                                   .b = problem.weight_type(),
                                   .c = problem.quantised() ? DType(f32) : problem.x,
                                   .experts = problem.experts_here(),
                                   .n = problem.inner,
                                   .k = problem.hidden,
                                   .groups = GroupLayout::offsets,
                                   .topk = problem.topk(),
                                   .a_rows = GroupedRows::tokens,
                                   .weights = ofInput ? RoutedWeights::input : RoutedWeights::none,
                                   .scale_a = problem.scales,
                                   .scale_b = scalesOfWeights(problem),
                                   .scale_b_layout = problem.w_scale_layout,
                                   .b_groups = problem.w_groups,
                                   .bias = problem.bias,
                                   .activation = problem.activation,
                                   .gated = problem.gated,
                                   .alpha = problem.alpha,
                                   .limit = problem.limit,
                                   .up_offset = problem.up_offset};
  Inputs given{{"a", inputs.at("x")}, {"b", inputs.at("w1")}};
  if (problem.bias)
    given["bias"] = inputs.at("bias1");
  const auto pass = [&](bool has, const char *name, const char *from) {
    if (has)
      given[name] = inputs.at(from);
  };
  pass(problem.scales != Scales::none, "scale_a", "scale_x");
  pass(scalesOfWeights(problem) != Scales::none, "scale_b", "scale1");
  pass(problem.w_groups.size != 0, "group_scales", "group_scales1");
  pass(problem.w_groups.zeros, "group_zeros", "group_zeros1");
  std::vector<double> &offsets = given["offsets"], &ids = given["sorted_ids"],
                      &ofPlaces = given["weights"];
  offsets.push_back(0);
  for (const auto &own : slots) {
    for (std::int64_t slot : own) {
      ids.push_back(
          static_cast<double>(slot / problem.topk() | slot % problem.topk() << kIdTokenBits));
      ofPlaces.push_back(weights[static_cast<std::size_t>(slot)]);
    }
    offsets.push_back(static_cast<double>(ids.size()));
  }
  Expected h =
      expected(product, GemmConfig(), static_cast<std::int64_t>(ids.size()), given).at("c");
  if (problem.scales == Scales::per_row) // it comes in 16 bits, and is quantised then
    for (std::size_t i = 0; i < h.values.size(); ++i)
      h.bound[i] += (std::fabs(h.values[i]) + h.bound[i]) * host::unit(problem.expert_type()) +
                    host::underflow(problem.expert_type());
  if (problem.quantised())
    quantiseInside(problem, inputs, h);
  return h;
}

/// The threads that choose the experts of a token, with the sorting or before it.
RowConfig routerOf(const MoeForwardConfig &config) {
  return config.routes ? RowConfig{.threads = config.sort.threads, .block = config.sort.block}
                       : config.router;
}

} // namespace

Outputs expected(const MoeForwardProblem &problem, const MoeForwardConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  const std::int64_t hidden = problem.hidden, inner = problem.inner, topk = problem.topk(),
                     tokens =
                         problem.tokens ? static_cast<std::int64_t>(inputs.at("tokens")[0]) : m;
  Inputs routing{{"logits", inputs.at("logits")}};
  if (problem.router.bias)
    routing["bias"] = inputs.at("router_bias");
  if (problem.router.given)
    routing["ids"] = inputs.at("ids");
  const Outputs routed = expected(problem.router, routerOf(config), m, routing);
  const Expected &weights = routed.at("weights");
  const std::vector<double> &ids =
      problem.router.given ? inputs.at("ids") : routed.at("ids").values;
  const auto slots = slotsOfExperts(problem, ids, tokens, inputs);
  const Expected inside = insideOf(problem, inputs, slots, weights.values);
  Inputs second{{"b", inputs.at("w2")}};
  if (problem.w_groups.size)
    second["group_scales"] = inputs.at("group_scales2");
  if (problem.w_groups.zeros)
    second["group_zeros"] = inputs.at("group_zeros2");
  const NarrowWeights narrow(problem.weight2(), problem.w_groups, hidden, second);
  // Of element (row, k) of w2, by its number among those of all experts.
  const auto weight2 = [&](std::int64_t row, std::int64_t k) {
    if (!problem.narrow()) {
      const double plain = problem.weight_type() == f4E2M1FN
                               ? preparedNumberOfFour(problem.weight2(), inputs.at("w2"), row, k)
                               : inputs.at("w2")[preparedPlace(problem.weight2(), row, k)];
      const std::int64_t expert = row / hidden, ofRows = (hidden + 127) / 128,
                         across = (inner + 127) / 128;
      switch (problem.scales) {
      case Scales::per_tensor:
        return plain * inputs.at("scale2")[static_cast<std::size_t>(expert)];
      case Scales::per_block:
        return plain * inputs.at("scale2")[static_cast<std::size_t>(
                           (expert * ofRows + row % hidden / 128) * across + k / 128)];
      case Scales::mx:
        return plain * inputs.at("scale2")[static_cast<std::size_t>(
                           expert * mxScales(problem.w_scale_layout, hidden, inner) +
                           placeOfMxScale(problem.w_scale_layout, row % hidden, k / 32, inner))];
      case Scales::per_row:
        return plain * inputs.at("scale2")[static_cast<std::size_t>(row)];
      default:
        return plain;
      }
    }
    const double scale =
        problem.w_scales == Scales::none ? 1.0 : inputs.at("scale2")[static_cast<std::size_t>(row)];
    return narrow(row, k) * scale;
  };

  // Each scale inside of the sum is two roundings.
  const double groups = problem.w_groups.size ? 2 * double(inner) / problem.w_groups.size
                        : scaleBlock(problem.scales)
                            ? 2 * double(inner) / double(scaleBlock(problem.scales))
                            : 0;
  const auto size = static_cast<std::size_t>(m * hidden);
  std::vector<double> values(size), errors(size), magnitudes(size);
  std::int64_t place = 0;
  for (std::size_t expert = 0; expert < slots.size(); ++expert)
    for (std::int64_t slot : slots[expert]) {
      const auto at = static_cast<std::size_t>(slot);
      const bool ofOutput = problem.weights == RoutedWeights::output;
      // A weight of the input is off by its own error, and all that follows in proportion.
      const double weight = ofOutput ? weights.values[at] : 1,
                   off = ofOutput ? weights.bound[at]
                         : weights.values[at] == 0
                             ? 0
                             : 3 * weights.bound[at] / std::fabs(weights.values[at]);
      for (std::int64_t j = 0; j < hidden; ++j) {
        double sum = 0, magnitude = 0, error = 0;
        for (std::int64_t i = 0; i < inner; ++i) {
          const auto in = static_cast<std::size_t>(place * inner + i);
          const double b = weight2(static_cast<std::int64_t>(expert) * hidden + j, i);
          sum += inside.values[in] * b;
          magnitude += std::fabs(inside.values[in] * b);
          error += inside.bound[in] * std::fabs(b);
        }
        const double bias = problem.bias
                                ? inputs.at("bias2")[expert * static_cast<std::size_t>(hidden) +
                                                     static_cast<std::size_t>(j)]
                                : 0;
        error += kRounding *
                 (2 * (double(inner) / 16 + 12 + groups) * magnitude + 6 * std::fabs(sum + bias));
        const double result = (sum + bias) * weight;
        const auto to = static_cast<std::size_t>(slot / topk * hidden + j);
        values[to] += result;
        magnitudes[to] += std::fabs(result);
        errors[to] += error * std::fabs(weight) +
                      off * (ofOutput ? std::fabs(sum + bias) : magnitude) +
                      std::fabs(result) * (host::unit(problem.expert_type()) + kRounding) +
                      host::underflow(problem.expert_type());
      }
      ++place;
    }
  // Each sum that is stored is rounded to y's type, and so is what is added.
  const double additions = config.adds ? double(topk) + 1 : 0,
               rounding = kRounding * double(topk) + host::unit(problem.y) * additions,
               least = host::underflow(problem.y) * additions;
  Expected y;
  for (std::size_t i = 0; i < size; ++i)
    add(y, problem.y, values[i], errors[i] + rounding * magnitudes[i] + least);
  return {{"y", y}};
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
