// What prepared weights, products, and rows in ggml's formats must give.
#include "reference/activation.h"
#include "reference/ggml.h"
#include "reference/narrow.h"
#include "reference/prepared.h"
#include "reference/reference.h"
#include "reference/rows.h"

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {
namespace {

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
  // Rows and columns that fill a block up are bytes of 0, and the least power of two in a type without a zero.
  Expected out{std::vector<double>(size, problem.dtype == f8E8M0FNU ? 0x1p-127 : 0),
               std::vector<double>(size)};
  for (std::int64_t n = 0; n < problem.n; ++n)
    for (std::int64_t k = 0; k < problem.k; ++k)
      out.values[preparedPlace(problem, n, k)] =
          inputs.at("raw")[static_cast<std::size_t>(n * problem.k + k)];
  return {{"out", out}};
}

namespace {

/// Each matrix of a batch is a product of its own.
Outputs expectedOfBatch(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
                        const Inputs &inputs) {
  GemmProblem one = problem;
  one.batch = 0;
  Outputs all;
  for (std::int64_t number = 0; number < problem.batch; ++number) {
    Inputs own;
    for (const auto &[name, values] : inputs) {
      const auto size = static_cast<std::ptrdiff_t>(values.size()) / problem.batch;
      own[name].assign(values.begin() + number * size, values.begin() + (number + 1) * size);
    }
    for (const auto &[name, of] : expected(one, config, m, own)) {
      Expected &to = all[name];
      to.values.insert(to.values.end(), of.values.begin(), of.values.end());
      to.bound.insert(to.bound.end(), of.bound.begin(), of.bound.end());
    }
  }
  return all;
}

} // namespace

Outputs expected(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  if (problem.batch)
    return expectedOfBatch(problem, config, m, inputs);
  const std::int64_t n = problem.n, k = problem.k, across = (k + 127) / 128;
  const bool blocks = problem.scale_a == Scales::per_block, isMx = problem.scale_a == Scales::mx;
  // A sum of f32, in parts of at least 16 products and over the parts of K; integers are exact.
  const double groups = problem.b_groups.size ? double(k) / problem.b_groups.size : 0;
  // Products of f32 are rounded themselves, and instructions add at least 4 of them.
  const double inSum = problem.a == f32 ? 4 : 16;
  const double roundings =
      problem.a == i8
          ? 4
          : 2 * (double(k) / inSum + 4 + config.split_k + across + 2 * groups + (problem.a == f32));
  const NarrowWeights narrow(problem.weight(), problem.b_groups, problem.columns(), inputs);
  struct Sum {
    double value, error;
  };
  const auto weight = [&](std::int64_t row, std::int64_t i) {
    const std::vector<double> &b = inputs.at("b");
    if (problem.narrow())
      return narrow(row, i);
    if (problem.b_layout != OperandLayout::prepared || problem.b.memory_bits() >= 8)
      return b[operandPlace(problem.b_layout, problem.weight(), problem.columns(), row, i)];
    return preparedNumberOfFour(problem.weight(), b, row, i);
  };
  const auto powerOf = [&](const char *name, OperandLayout layout, std::int64_t row,
                           std::int64_t block) {
    return inputs.at(name)[static_cast<std::size_t>(placeOfMxScale(layout, row, block, k))];
  };
  const auto sumOf = [&](std::int64_t row, std::int64_t column) {
    const Row a = inputs.at("a");
    double value = 0, magnitude = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      double product =
          a[operandPlace(problem.a_layout, problem.weight(), m, row, i)] * weight(column, i);
      if (isMx)
        product *= powerOf("scale_a", problem.scale_a_layout, row, i / 32) *
                   powerOf("scale_b", problem.scale_b_layout, column, i / 32);
      if (blocks)
        product *=
            rowOf(inputs, "scale_a", row, across)[static_cast<std::size_t>(i / 128)] *
            rowOf(inputs, "scale_b", column / 128, across)[static_cast<std::size_t>(i / 128)];
      value += product;
      magnitude += std::fabs(product);
    }
    const auto factor = [&](Scales scales, const char *name, std::int64_t at) {
      return scales == Scales::per_row      ? inputs.at(name)[static_cast<std::size_t>(at)]
             : scales == Scales::per_tensor ? inputs.at(name)[0]
                                            : 1.0;
    };
    const double scale =
        factor(problem.scale_a, "scale_a", row) * factor(problem.scale_b, "scale_b", column);
    const double bias = problem.bias ? inputs.at("bias")[static_cast<std::size_t>(column)] : 0.0;
    const double added =
        problem.residual
            ? problem.beta * inputs.at("residual")[static_cast<std::size_t>(row * n + column)]
            : 0.0;
    return Sum{value * scale + bias + added,
               kRounding * (roundings * magnitude * std::fabs(scale) +
                            (4 + 2 * problem.residual) * std::fabs(value * scale) +
                            (1 + 2 * problem.residual) * std::fabs(bias) + 2 * std::fabs(added))};
  };
  const auto block = static_cast<std::size_t>(scaleBlock(problem.scale_c));
  Expected c, scales;
  std::vector<double> ofRow, errorsOfRow;
  for (std::int64_t row = 0; row < m; ++row) {
    ofRow.clear();
    errorsOfRow.clear();
    for (std::int64_t column = 0; column < n; ++column) {
      const auto put = [&](double value, double error) {
        if (problem.scale_c == Scales::per_tensor)
          return addQuantised(c, problem.c, true, value, error, inputs.at("scale_c")[0]);
        if (block) {
          ofRow.push_back(value);
          errorsOfRow.push_back(error);
          return;
        }
        // Stochastic rounding takes either neighbour.
        if (problem.rounding == Rounding::stochastic)
          error += std::fabs(value) * host::unit(problem.c) + host::underflow(problem.c);
        add(c, problem.c, value, error);
      };
      const Sum gate = sumOf(row, column);
      const double value = activated(problem.activation, gate.value),
                   error = problem.activation == Activation::none
                               ? gate.error
                               : passedOn(problem.activation, gate.value, gate.error) +
                                     8 * kRounding * std::fabs(value);
      if (!problem.gated) {
        put(value, error);
        continue;
      }
      const Sum up = sumOf(row, n + column);
      put(value * up.value, error * std::fabs(up.value) + up.error * std::fabs(value) +
                                kRounding * std::fabs(value * up.value));
    }
    if (block)
      addInBlocks(c, scales, problem.c, problem.scale, ofRow, errorsOfRow,
                  static_cast<std::int64_t>(block));
  }
  if (block)
    return {{"c", c}, {"scale_c", scales}};
  return {{"c", c}};
}

namespace {

/// The slots of tokens that moe_sort has sorted.
std::vector<GgmlSlot> sortedSlots(const GgmlGemmProblem &problem, std::int64_t m,
                                  const std::vector<double> &ids,
                                  const std::vector<double> &experts) {
  std::vector<GgmlSlot> slots(static_cast<std::size_t>(m * problem.topk), {0, -1});
  for (std::size_t place = 0; place < ids.size(); ++place) {
    const auto id = static_cast<std::int64_t>(ids[place]), token = id & 0xffffff, slot = id >> 24;
    if (token < m && slot < problem.topk)
      slots[static_cast<std::size_t>(token * problem.topk + slot)] = {
          token,
          static_cast<std::int64_t>(experts[place / static_cast<std::size_t>(problem.unit)])};
  }
  return slots;
}
/// The product of slots, or of m rows if there are none.
Expected ggmlExpected(const GgmlGemmProblem &problem, bool matrix, std::int64_t m,
                      const std::optional<std::vector<GgmlSlot>> &slots, const Inputs &inputs) {
  const GgmlValues b = ggmlValues(problem.weight(), inputs.at("b"));
  std::optional<GgmlValues> up;
  if (problem.gated)
    up = ggmlValues(problem.weight(), inputs.at("up"));
  const std::vector<double> &a = inputs.at("a");
  return slots ? ggmlProduct(problem, matrix, *slots, a, b, up ? &*up : nullptr)
               : ggmlProduct(problem, matrix, m, a, b, up ? &*up : nullptr,
                             problem.residual ? &inputs.at("residual") : nullptr);
}

} // namespace

Outputs expected(const GgmlGemmProblem &problem, const GgmlGemmConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  std::optional<std::vector<GgmlSlot>> slots;
  if (problem.experts)
    slots = problem.unit
                ? sortedSlots(problem, m, inputs.at("sorted_ids"), inputs.at("unit_experts"))
                : ggmlSlots(problem.topk, inputs.at("ids"));
  return {{"c", ggmlExpected(problem, config.matrix, m, slots, inputs)}};
}

Outputs expected(const GgmlExpertsProblem &problem, const GgmlExpertsConfig &config, std::int64_t m,
                 const Inputs &inputs) {
  return {{"c", ggmlExpected(problem.multiplied(config.unit), config.product.matrix, m,
                             ggmlSlots(problem.topk, inputs.at("ids")), inputs)}};
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
