// What the causal convolution must give, and its state after the call.
#include "reference/activation.h"
#include "reference/rounded.h"

#include <algorithm>
#include <cmath>
#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {
namespace {

using host::underflow, host::unit;

/// One channel of one sequence: the numbers that its filter goes over, the oldest first.
struct Line {
  std::vector<double> before, tokens;
  double operator[](std::int64_t t) const {
    return t < 0 ? before[before.size() - std::size_t(-t)] : tokens[std::size_t(t)];
  }
};

} // namespace

// A sum of width products and the bias takes width + 1 roundings of f32, each at most 2^-24 of what
// the terms are together.
Outputs expected(const CausalConvProblem &problem, const CausalConvConfig &, std::int64_t m,
                 const Inputs &inputs) {
  const std::int64_t channels = problem.channels, width = problem.width, before = width - 1,
                     columns = before + problem.drafts;
  const std::vector<double> &x = inputs.at("x"), &weight = inputs.at("weight"),
                            &starts = inputs.at("starts");
  const auto elements = static_cast<std::size_t>(m * channels);
  const double nothing = std::numeric_limits<double>::quiet_NaN(),
               anything = std::numeric_limits<double>::infinity();
  Expected y{std::vector<double>(elements, nothing), std::vector<double>(elements, anything)};
  Expected state;
  if (!problem.stateless)
    state = {inputs.at("state"), std::vector<double>(inputs.at("state").size())};
  const std::vector<double> old = state.values;
  const auto slots = static_cast<std::int64_t>(old.size()) / (columns * channels);
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const auto begin = static_cast<std::int64_t>(starts[i]),
               count = static_cast<std::int64_t>(starts[i + 1]) - begin;
    const auto slot =
        problem.stateless ? 0 : static_cast<std::int64_t>(inputs.at("state_slots")[i]);
    if (count == 0 || (!problem.stateless && (slot < 0 || slot >= slots)))
      continue;
    const bool fresh = problem.stateless || (problem.fresh && inputs.at("fresh")[i] != 0);
    const std::int64_t skipped =
        problem.drafts ? std::clamp(static_cast<std::int64_t>(inputs.at("accepted")[i]) - 1,
                                    std::int64_t(0), std::int64_t(problem.drafts))
                       : 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto place = [&](std::int64_t column) {
        return static_cast<std::size_t>(problem.order == ConvStateOrder::channels_last
                                            ? (slot * columns + column) * channels + c
                                            : (slot * channels + c) * columns + column);
      };
      Line line;
      for (std::int64_t j = 0; j < before; ++j)
        line.before.push_back(fresh ? 0 : old[place(skipped + j)]);
      for (std::int64_t t = 0; t < count; ++t)
        line.tokens.push_back(x[static_cast<std::size_t>((begin + t) * channels + c)]);
      for (std::int64_t t = 0; t < count; ++t) {
        double sum = problem.bias ? inputs.at("bias")[static_cast<std::size_t>(c)] : 0,
               magnitude = std::fabs(sum);
        for (std::int64_t j = 0; j < width; ++j) {
          const double term =
              weight[static_cast<std::size_t>(c * width + j)] * line[t - before + j];
          sum += term;
          magnitude += std::fabs(term);
        }
        const double value = activated(problem.activation, sum),
                     error = passedOn(problem.activation, sum,
                                      double(width + 1) * 0x1p-24 * magnitude) +
                             (problem.activation == Activation::none ? 0 : 8 * 0x1p-23) *
                                 std::fabs(value);
        const auto at = static_cast<std::size_t>((begin + t) * channels + c);
        y.values[at] = value;
        y.bound[at] = error + std::fabs(value) * unit(problem.y) + underflow(problem.y);
      }
      if (problem.stateless)
        continue;
      const auto put = [&](std::int64_t column, double value) {
        state.values[place(column)] = value;
        state.bound[place(column)] =
            std::fabs(value) * unit(problem.state) + underflow(problem.state);
      };
      if (!problem.drafts)
        for (std::int64_t j = 0; j < before; ++j)
          put(j, line[count - before + j]);
      else
        for (std::int64_t j = 0; j < columns; ++j)
          if (j < before - 1 + count)
            put(j, line[j + 1 - before]);
          else if (fresh)
            put(j, 0);
    }
  }
  Outputs outputs{{"y", y}};
  if (!problem.stateless)
    outputs.emplace("state", state);
  return outputs;
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
