// Products of groups of rows against a reference in double precision.
#pragma once

#include "support/product.h"

#include <flydsl/kernels/grouped_gemm.h>

#include <cmath>
#include <map>

namespace kernel_tests {

using fk::GatedPairs, fk::GroupedGemmProblem, fk::GroupedRows, fk::GroupLayout, fk::RoutedWeights;

/// The product of one expert, whose sums are those of tests of products.
inline GemmProblem productOf(const GroupedGemmProblem &problem) {
  return {.a = problem.a,
          .b = problem.b,
          .c = problem.c,
          .n = problem.columns(),
          .k = problem.k,
          .scale_a = problem.scale_a,
          .scale_b = problem.scale_b,
          .scale = problem.scale,
          .bias = problem.bias};
}

/// Where the rows of experts are.
struct Groups {
  std::int64_t places = 0, tokens = 0;
  std::vector<double> units, offsets, counts; // as GroupedGemmArgs has them
  std::vector<double> ids;                    // of places, those of padding included
  std::vector<std::int64_t> expert;           // of each place, -1 of padding

  /// `rows` of each expert. Tokens are dealt to places in another order than that of places; `spare`
  /// units, or places, follow the last one, but in the masked layout, which has no room for them.
  static Groups of(const GroupedGemmProblem &problem, const std::vector<std::int64_t> &rows,
                   std::int64_t spare = 0) {
    REQUIRE(std::ssize(rows) == problem.experts);
    Groups groups;
    std::int64_t slots = 0;
    for (std::int64_t count : rows)
      slots += count;
    groups.tokens = (slots + problem.topk - 1) / problem.topk;
    const bool isUnits = problem.groups == GroupLayout::units,
               isMasked = problem.groups == GroupLayout::masked;
    std::int64_t slot = 0;
    for (std::int64_t e = 0; e < problem.experts; ++e) {
      const std::int64_t count = rows[std::size_t(e)],
                         room = isMasked  ? problem.capacity
                                : isUnits ? (count + problem.unit - 1) / problem.unit * problem.unit
                                          : count;
      REQUIRE(count <= room);
      groups.offsets.push_back(double(groups.places));
      groups.counts.push_back(double(count));
      for (std::int64_t i = 0; i < room; ++i) {
        groups.expert.push_back(i < count ? e : -1);
        // 7 and the number of slots have no common factor that hurts: each slot is dealt once.
        const std::int64_t dealt = i < count ? slot++ : 0,
                           turned = slots % 7 ? dealt * 7 % slots : dealt;
        groups.ids.push_back(i < count ? double(turned % groups.tokens +
                                                (turned / groups.tokens) * (1 << 24))
                                       : double(problem.topk * (1 << 24) + groups.tokens));
      }
      for (std::int64_t i = 0; isUnits && i < room; i += problem.unit)
        groups.units.push_back(double(e));
      groups.places += room;
    }
    groups.offsets.push_back(double(groups.places));
    for (std::int64_t i = 0; i < (isMasked ? 0 : spare); ++i) {
      groups.units.push_back(-1);
      for (std::int64_t at = 0; at < (isUnits ? problem.unit : 1); ++at, ++groups.places) {
        groups.expert.push_back(-1);
        groups.ids.push_back(double(problem.topk * (1 << 24) + groups.tokens));
      }
    }
    return groups;
  }
  std::int64_t tokenOf(std::int64_t place) const {
    return std::int64_t(ids[std::size_t(place)]) & 0xffffff;
  }
  std::int64_t slotOf(std::int64_t place) const {
    return std::int64_t(ids[std::size_t(place)]) >> 24;
  }
};

/// The values of a call's operands, as the library takes them.
struct GroupValues {
  std::vector<double> a, b, scale_a, scale_b, bias, weights;

  static std::int64_t rowsOfA(const GroupedGemmProblem &problem, const Groups &groups) {
    return problem.a_rows == GroupedRows::tokens ? groups.tokens : groups.places;
  }
  static GroupValues random(const GroupedGemmProblem &problem, const Groups &groups,
                            std::uint64_t seed = 1) {
    const GemmProblem product = productOf(problem);
    GroupValues values;
    for (std::int64_t e = 0; e < problem.experts; ++e) {
      const Values own = Values::random(product, 0, seed + 100 * std::uint64_t(e));
      values.b.insert(values.b.end(), own.b.begin(), own.b.end());
      values.scale_b.insert(values.scale_b.end(), own.scale_b.begin(), own.scale_b.end());
      values.bias.insert(values.bias.end(), own.bias.begin(), own.bias.end());
    }
    const Values rows = Values::random(product, rowsOfA(problem, groups), seed + 7);
    values.a = rows.a;
    // What no place has may hold anything.
    if (problem.a_rows == GroupedRows::places && problem.a != fx::i8)
      for (std::int64_t place = 0; place < groups.places; ++place)
        if (groups.expert[std::size_t(place)] < 0)
          std::fill_n(values.a.begin() + place * problem.k, problem.k, std::nan(""));
    values.scale_a = rows.scale_a;
    values.weights = uniform(fx::f32, groups.places, seed + 9);
    return values;
  }
  /// The operands of a place: those of a product of its row with its expert's weights.
  Values ofPlace(const GroupedGemmProblem &problem, const Groups &groups,
                 std::int64_t place) const {
    const GemmProblem product = productOf(problem);
    const std::int64_t row =
                           problem.a_rows == GroupedRows::tokens ? groups.tokenOf(place) : place,
                       expert = groups.expert[std::size_t(place)];
    const auto part = [](const std::vector<double> &all, std::int64_t number, std::int64_t size) {
      return std::vector<double>(all.begin() + number * size, all.begin() + (number + 1) * size);
    };
    return {part(a, row, problem.k), part(b, expert, problem.columns() * problem.k),
            part(scale_a, row, Values::scalesA(product, 1)),
            part(scale_b, expert, Values::scalesB(product)), part(bias, expert, problem.columns())};
  }
};

/// A scaled sum as the pair or the activation takes it: times the weight of the place, if that is of
/// the input.
inline Bounded sumOfPlace(const GroupedGemmProblem &problem, const Values &values, double weight,
                          std::int64_t column) {
  GemmProblem product = productOf(problem);
  if (problem.weights != RoutedWeights::input)
    return scaledSum(product, values, 0, column);
  product.bias = false;
  const Bounded sum = scaledSum(product, values, 0, column);
  const double bias = problem.bias ? values.bias[std::size_t(column)] : 0,
               value = sum.value * weight + bias;
  return {value, std::fabs(weight) * (sum.bound + 0x1p-23 * std::fabs(sum.value)) +
                     0x1p-23 * std::fabs(value)};
}
/// An activation, as tests of products bound it; the square passes on twice its argument.
inline Bounded activeOf(const GroupedGemmProblem &problem, const Bounded &x) {
  const double alpha = double(problem.alpha);
  if (problem.activation == Activation::relu_squared) {
    const double y = activated(problem.activation, x.value);
    return {y, (2 * std::fabs(x.value) + x.bound) * x.bound + 0x1p-23 * y};
  }
  GemmProblem product = productOf(problem);
  product.activation = problem.activation;
  const Bounded y = activated(product, {x.value * alpha, x.bound * alpha});
  return {y.value / alpha, y.bound / alpha + 0x1p-22 * std::fabs(y.value / alpha)};
}
/// Element j of the row of c of a place.
inline Bounded elementOf(const GroupedGemmProblem &problem, const Values &values, double weight,
                         std::int64_t j) {
  const auto sum = [&](std::int64_t column) {
    return sumOfPlace(problem, values, weight, column);
  };
  const auto whole = [&]() -> Bounded {
    if (problem.gated == GatedPairs::none)
      return activeOf(problem, sum(j));
    const bool isInterleaved = problem.gated == GatedPairs::interleaved;
    Bounded gate = sum(isInterleaved ? 2 * j : j),
            up = sum(isInterleaved ? 2 * j + 1 : problem.n + j);
    const double limit = double(problem.limit);
    if (limit != 0) {
      gate.value = std::min(gate.value, limit);
      up.value = std::max(std::min(up.value, limit), -limit);
    }
    up = {up.value + double(problem.up_offset),
          up.bound + 0x1p-23 * (std::fabs(up.value) + std::fabs(double(problem.up_offset)))};
    const Bounded active = activeOf(problem, gate);
    const double value = active.value * up.value;
    return {value, (std::fabs(active.value) + active.bound) * (std::fabs(up.value) + up.bound) -
                       std::fabs(value) * (1 - 0x1p-24)};
  };
  const Bounded element = whole();
  if (problem.weights != RoutedWeights::output)
    return element;
  return {element.value * weight,
          std::fabs(weight) * (element.bound + 0x1p-24 * std::fabs(element.value))};
}

/// What must come out: NaN, as the memory was before, where no place has a row.
inline Reference reference(const GroupedGemmProblem &problem, const Groups &groups,
                           const GroupValues &values) {
  const bool isScattered = problem.c_rows == GroupedRows::slots;
  const std::int64_t rows = isScattered ? groups.tokens * problem.topk : groups.places;
  Reference result{std::vector<double>(std::size_t(rows * problem.n), std::nan("")),
                   std::vector<double>(std::size_t(rows * problem.n))};
  for (std::int64_t place = 0; place < groups.places; ++place) {
    if (groups.expert[std::size_t(place)] < 0)
      continue;
    const Values own = values.ofPlace(problem, groups, place);
    const std::int64_t row =
        isScattered ? groups.tokenOf(place) * problem.topk + groups.slotOf(place) : place;
    for (std::int64_t j = 0; j < problem.n; ++j) {
      const Bounded y = elementOf(problem, own, values.weights[std::size_t(place)], j);
      const std::size_t at = std::size_t(row * problem.n + j);
      result.c[at] = y.value;
      result.bound[at] = y.bound + unit(problem.c) * std::fabs(y.value) + underflow(problem.c);
    }
  }
  return result;
}

struct GroupGaps {
  std::int64_t a = 0, b = 0, c = 0; // elements between rows
};

/// The operands of a call in memory.
class GroupOperands {
public:
  GroupOperands(const GroupedGemmProblem &problem, const Groups &groups, const GroupValues &values,
                const GroupGaps &gaps = {})
      : problem_(problem), groups_(groups) {
    const std::int64_t e = problem.experts, k = problem.k, n = problem.n,
                       columns = problem.columns(), across = blocksOf(k);
    input("a", problem.a, GroupValues::rowsOfA(problem, groups), k, values.a, gaps.a);
    if (problem.b_layout == OperandLayout::prepared) {
      GemmProblem all = productOf(problem);
      all.n = e * columns;
      all_.emplace("b", prepared(all, values.b));
    } else {
      input("b", problem.b, e * columns, k, values.b, gaps.b);
    }
    const bool isScattered = problem.c_rows == GroupedRows::slots;
    all_.emplace("c", Operand::output(problem.c,
                                      isScattered ? groups.tokens * problem.topk : groups.places, n,
                                      gaps.c));
    fk::GroupedGemmArgs args{.a = at("a").tensor(), .b = weights(gaps), .c = c(gaps)};
    if (problem.groups == GroupLayout::units)
      args.unit_experts = numbers("unit_experts", groups.units);
    if (problem.groups != GroupLayout::masked)
      args.offsets = numbers("offsets", groups.offsets);
    if (problem.groups != GroupLayout::offsets)
      args.counts = numbers("counts", groups.counts);
    if (problem.has_ids())
      args.sorted_ids = numbers("sorted_ids", groups.ids);
    if (problem.weights != RoutedWeights::none)
      args.weights = numbers("weights", values.weights, fx::f32);
    if (problem.bias) {
      input("bias", problem.c, e, columns, values.bias);
      args.bias = at("bias").tensor();
    }
    const std::int64_t rows = GroupValues::rowsOfA(problem, groups);
    if (problem.scale_a == Scales::per_row) {
      args.scale_a = numbers("scale_a", values.scale_a, fx::f32);
    } else if (problem.scale_a == Scales::per_block) {
      input("scale_a", fx::f32, rows, across, values.scale_a);
      args.scale_a = at("scale_a").tensor();
    }
    if (problem.scale_b == Scales::per_row) {
      input("scale_b", fx::f32, e, columns, values.scale_b);
      args.scale_b = at("scale_b").tensor();
    } else if (problem.scale_b == Scales::per_block) {
      input("scale_b", fx::f32, e * blocksOf(columns), across, values.scale_b);
      args.scale_b =
          fx::tensor(at("scale_b").tensor().data(), fx::f32, {e, blocksOf(columns), across});
    }
    args_.emplace(args);
  }

  const fk::GroupedGemmArgs &args() const { return *args_; }
  const Operand &at(const std::string &name) const { return all_.at(name); }
  std::vector<double> c() const { return at("c").values(); }

private:
  void input(const char *name, fx::DType type, std::int64_t rows, std::int64_t columns,
             const std::vector<double> &values, std::int64_t gap = 0) {
    all_.emplace(name, Operand::input(type, rows, columns, values, gap));
  }
  fx::TensorArg numbers(const char *name, const std::vector<double> &values,
                        fx::DType type = fx::i32) {
    input(name, type, 1, std::ssize(values), values);
    return at(name).vector();
  }
  fk::WeightArg weights(const GroupGaps &gaps) const {
    const Operand &b = at("b");
    if (problem_.b_layout == OperandLayout::prepared)
      return fk::PreparedWeight{.matrix = problem_.weight(), .memory = b.vector()};
    const std::int64_t row = problem_.k + gaps.b;
    return fx::tensor(b.tensor().data(), problem_.b,
                      {problem_.experts, problem_.columns(), problem_.k},
                      {row * problem_.columns(), row, 1});
  }
  fx::TensorArg c(const GroupGaps &gaps) const {
    const Operand &c = at("c");
    if (problem_.c_rows != GroupedRows::slots)
      return c.tensor();
    const std::int64_t row = problem_.n + gaps.c;
    return fx::tensor(c.tensor().data(), problem_.c, {groups_.tokens, problem_.topk, problem_.n},
                      {row * problem_.topk, row, 1});
  }

  GroupedGemmProblem problem_;
  Groups groups_;
  std::map<std::string, Operand> all_;
  std::optional<fk::GroupedGemmArgs> args_;
};

inline std::vector<double> grouped(const GroupedGemmProblem &problem, const GemmConfig &config,
                                   const Groups &groups, const GroupValues &values,
                                   const GroupGaps &gaps = {}) {
  const GroupOperands operands(problem, groups, values, gaps);
  const fx::Stream stream;
  fk::GroupedGemmPlan(problem, config)(operands.args(), stream);
  stream.synchronize();
  return operands.c();
}

/// Runs a problem on random values and compares.
inline void expectGrouped(const GroupedGemmProblem &problem, const GemmConfig &config,
                          const std::vector<std::int64_t> &rows, std::int64_t spare = 0,
                          const GroupGaps &gaps = {}) {
  INFO(fx::to_config(problem).str() << " " << fx::to_config(config).str());
  const Groups groups = Groups::of(problem, rows, spare);
  const GroupValues values = GroupValues::random(problem, groups);
  const Reference expected = reference(problem, groups, values);
  expectWithin(grouped(problem, config, groups, values, gaps), expected.c, expected.bound);
}
inline void expectGrouped(const GroupedGemmProblem &problem, const std::vector<std::int64_t> &rows,
                          std::int64_t spare = 0, const GroupGaps &gaps = {}) {
  std::int64_t places = 0;
  for (std::int64_t count : rows)
    places += (count + 15) / 16 * 16;
  expectGrouped(problem, fk::choose(problem, places), rows, spare, gaps);
}

} // namespace kernel_tests
