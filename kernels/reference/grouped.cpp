// What products of groups of rows must give: by the definition, place after place.
#include "reference/activation.h"
#include "reference/narrow.h"
#include "reference/prepared.h"
#include "reference/reference.h"
#include "reference/rows.h"

#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {
namespace {

constexpr std::int64_t kIdTokens = 0xffffff, kIdTokenBits = 24;

/// A number, and how far from it a kernel may be.
struct Bounded {
  double value, error;
};

/// The products of one call.
class Grouped {
public:
  Grouped(const GroupedGemmProblem &problem, const Inputs &inputs)
      : problem_(problem), inputs_(inputs),
        narrow_(problem.weight(), problem.b_groups, problem.columns(), inputs),
        places_(static_cast<std::int64_t>(
            problem.has_ids() ? inputs.at("sorted_ids").size()
                              : inputs.at("a").size() / static_cast<std::size_t>(problem.k))) {}

  Outputs outputs() const {
    if (problem_.c_rows == GroupedRows::tokens)
      return {{"c", added()}};
    const bool isScattered = problem_.c_rows == GroupedRows::slots;
    const std::int64_t rows = isScattered ? tokens() * problem_.topk : places_;
    const auto size = static_cast<std::size_t>(rows * problem_.n);
    // What no place has, is not looked at.
    const auto anything = [](std::size_t count) {
      return Expected{std::vector<double>(count),
                      std::vector<double>(count, std::numeric_limits<double>::infinity())};
    };
    const auto block = static_cast<std::size_t>(scaleBlock(problem_.scale_c)),
               n = static_cast<std::size_t>(problem_.n), ofBlocks = block ? n / block : 0;
    const bool isPrepared = problem_.scale_c_layout == OperandLayout::prepared;
    Expected c = anything(size),
             scales = anything(isPrepared ? static_cast<std::size_t>(
                                                mxScales(OperandLayout::prepared, rows, problem_.n))
                                          : static_cast<std::size_t>(rows) * ofBlocks);
    for (std::int64_t expert = 0; expert < problem_.experts; ++expert) {
      const auto [first, end] = placesOf(expert);
      for (std::int64_t place = first; place < end; ++place) {
        if (isScattered && slotOf(place) >= problem_.topk)
          continue;
        const std::int64_t row =
            isScattered ? tokenOf(place) * problem_.topk + slotOf(place) : place;
        std::vector<double> values, errors;
        for (std::int64_t j = 0; j < problem_.n; ++j) {
          const Bounded element = elementOf(expert, place, j);
          values.push_back(element.value);
          errors.push_back(element.error);
        }
        Expected own, ownScales;
        if (block)
          addInBlocks(own, ownScales, problem_.c, problem_.scale, values, errors,
                      static_cast<std::int64_t>(block));
        else
          for (std::size_t j = 0; j < n; ++j)
            addElement(own, values[j], errors[j]);
        put(c, own, static_cast<std::size_t>(row) * n);
        if (!isPrepared)
          put(scales, ownScales, static_cast<std::size_t>(row) * ofBlocks);
        for (std::size_t i = 0; isPrepared && i < ofBlocks; ++i) {
          const auto at = static_cast<std::size_t>(
              PreparedScales::place(row, static_cast<std::int64_t>(i), problem_.n));
          scales.values[at] = ownScales.values[i];
          scales.bound[at] = ownScales.bound[i];
        }
      }
    }
    if (block)
      return {{"c", c}, {"scale_c", scales}};
    return {{"c", c}};
  }

private:
  /// What c holds after all additions, in any order: each rounds to c's type, and so does what is added.
  Expected added() const {
    Expected c;
    c.values = inputs_.at("c");
    const auto n = static_cast<std::size_t>(problem_.n);
    std::vector<double> magnitudes, errors(c.values.size());
    std::vector<int> counts(c.values.size());
    for (double value : c.values)
      magnitudes.push_back(std::fabs(value));
    for (std::int64_t expert = 0; expert < problem_.experts; ++expert) {
      const auto [first, end] = placesOf(expert);
      for (std::int64_t place = first; place < end; ++place) {
        if (slotOf(place) >= problem_.topk)
          continue;
        for (std::size_t j = 0; j < n; ++j) {
          const Bounded element = elementOf(expert, place, static_cast<std::int64_t>(j));
          const std::size_t at = static_cast<std::size_t>(tokenOf(place)) * n + j;
          c.values[at] += element.value;
          magnitudes[at] += std::fabs(element.value) + element.error;
          errors[at] += element.error;
          ++counts[at];
        }
      }
    }
    for (std::size_t at = 0; at < c.values.size(); ++at)
      c.bound.push_back(
          errors[at] + (2 * counts[at] + 1) *
                           (magnitudes[at] * host::unit(problem_.c) + host::underflow(problem_.c)));
    return c;
  }
  /// Adds an element of c.
  void addElement(Expected &to, double value, double error) const {
    if (problem_.scale_c == Scales::per_tensor)
      return addQuantised(to, problem_.c, true, value, error, input("scale_c", 0));
    add(to, problem_.c, value, error);
  }
  /// Puts what is expected of a row to a place.
  static void put(Expected &to, const Expected &row, std::size_t at) {
    std::copy(row.values.begin(), row.values.end(),
              to.values.begin() + static_cast<std::ptrdiff_t>(at));
    std::copy(row.bound.begin(), row.bound.end(),
              to.bound.begin() + static_cast<std::ptrdiff_t>(at));
  }
  double input(const char *name, std::int64_t at) const {
    return inputs_.at(name)[static_cast<std::size_t>(at)];
  }
  std::int64_t number(const char *name, std::int64_t at) const {
    return static_cast<std::int64_t>(input(name, at));
  }
  std::int64_t tokenOf(std::int64_t place) const { return number("sorted_ids", place) & kIdTokens; }
  std::int64_t slotOf(std::int64_t place) const {
    return number("sorted_ids", place) >> kIdTokenBits;
  }
  std::int64_t tokens() const {
    std::int64_t tokens = 0;
    for (std::int64_t place = 0; place < places_; ++place)
      if (slotOf(place) < problem_.topk)
        tokens = std::max(tokens, tokenOf(place) + 1);
    return tokens;
  }
  std::pair<std::int64_t, std::int64_t> placesOf(std::int64_t expert) const {
    const std::int64_t first = problem_.groups == GroupLayout::masked ? expert * problem_.capacity
                                                                      : number("offsets", expert);
    return {first, problem_.groups == GroupLayout::offsets ? number("offsets", expert + 1)
                                                           : first + number("counts", expert)};
  }
  std::size_t placeOfB(std::int64_t expert, std::int64_t row, std::int64_t k) const {
    const std::int64_t all = expert * problem_.columns() + row;
    return problem_.b_layout == OperandLayout::prepared
               ? preparedPlace(problem_.weight(), all, k)
               : static_cast<std::size_t>(all * problem_.k + k);
  }

  double weightOf(std::int64_t expert, std::int64_t row, std::int64_t k) const {
    if (problem_.narrow())
      return narrow_(expert * problem_.columns() + row, k);
    if (problem_.b == f4E2M1FN && problem_.b_layout == OperandLayout::prepared)
      return preparedNumberOfFour(problem_.weight(), inputs_.at("b"),
                                  expert * problem_.columns() + row, k);
    return inputs_.at("b")[placeOfB(expert, row, k)];
  }

  /// The scaled sum of a row of a and a row of an expert's weights, with the bias.
  Bounded sumOf(std::int64_t expert, std::int64_t place, std::int64_t column) const {
    const std::int64_t k = problem_.k, across = (k + 127) / 128, columns = problem_.columns(),
                       row = problem_.a_rows == GroupedRows::tokens ? tokenOf(place) : place,
                       rowOfMxScales =
                           problem_.scale_a_layout == OperandLayout::prepared ? place : row;
    const bool isBlocks = problem_.scale_a == Scales::per_block,
               isMx = problem_.scale_a == Scales::mx;
    const std::int64_t scalesOfB = isMx ? mxScales(problem_.scale_b_layout, columns, k) : 0;
    double value = 0, magnitude = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      double product = input("a", row * k + i) * weightOf(expert, column, i);
      if (isBlocks)
        product *=
            input("scale_a", row * across + i / 128) *
            input("scale_b", (expert * ((columns + 127) / 128) + column / 128) * across + i / 128);
      if (isMx)
        product *=
            input("scale_a", placeOfMxScale(problem_.scale_a_layout, rowOfMxScales, i / 32, k)) *
            input("scale_b",
                  expert * scalesOfB + placeOfMxScale(problem_.scale_b_layout, column, i / 32, k));
      value += product;
      magnitude += std::fabs(product);
    }
    double scale = 1;
    if (problem_.scale_a == Scales::per_row)
      scale *= input("scale_a", row);
    if (problem_.scale_a == Scales::per_tensor)
      scale *= input("scale_a", 0);
    if (problem_.scale_b == Scales::per_row)
      scale *= input("scale_b", expert * columns + column);
    if (problem_.scale_b == Scales::per_tensor)
      scale *= input("scale_b", expert);
    if (problem_.weights == RoutedWeights::input)
      scale *= input("weights", place);
    const double bias = problem_.bias ? input("bias", expert * columns + column) : 0;
    // As GemmProblem's: a sum of f32 in parts of at least 16 products; integers are exact.
    const double roundings =
        problem_.a == i8
            ? 4
            : 2 * (static_cast<double>(k) / 16 + 12 + static_cast<double>(across) +
                   (problem_.b_groups.size ? 2.0 * static_cast<double>(k) / problem_.b_groups.size
                                           : 0));
    return {value * scale + bias, kRounding * (roundings * magnitude * std::fabs(scale) +
                                               6 * std::fabs(value * scale) + std::fabs(bias))};
  }
  /// The activation of a gate. An alpha other than 1 belongs to silu: x * sigmoid(alpha * x).
  Bounded active(const Bounded &x) const {
    const double alpha = problem_.alpha, value = alpha == 1
                                                     ? activated(problem_.activation, x.value)
                                                     : x.value / (1 + std::exp(-alpha * x.value));
    if (problem_.activation == Activation::none)
      return x;
    return {value, passedOn(problem_.activation, x.value, x.error) +
                       (8 + 4 * std::fabs(alpha * x.value)) * kRounding * std::fabs(value)};
  }
  Bounded elementOf(std::int64_t expert, std::int64_t place, std::int64_t j) const {
    Bounded element = unweighted(expert, place, j);
    if (problem_.weights != RoutedWeights::output)
      return element;
    const double weight = input("weights", place);
    return {element.value * weight,
            std::fabs(weight) * (element.error + kRounding * std::fabs(element.value))};
  }
  Bounded unweighted(std::int64_t expert, std::int64_t place, std::int64_t j) const {
    if (problem_.gated == GatedPairs::none)
      return active(sumOf(expert, place, j));
    const bool isInterleaved = problem_.gated == GatedPairs::interleaved;
    Bounded gate = sumOf(expert, place, isInterleaved ? 2 * j : j),
            up = sumOf(expert, place, isInterleaved ? 2 * j + 1 : problem_.n + j);
    if (problem_.limit != 0) {
      const double limit = problem_.limit;
      gate.value = std::min(gate.value, limit);
      up.value = std::clamp(up.value, -limit, limit);
    }
    up.value += problem_.up_offset;
    up.error += kRounding * std::fabs(up.value);
    const Bounded g = active(gate);
    return {g.value * up.value, g.error * (std::fabs(up.value) + up.error) +
                                    up.error * std::fabs(g.value) +
                                    kRounding * std::fabs(g.value * up.value)};
  }

  const GroupedGemmProblem &problem_;
  const Inputs &inputs_;
  NarrowWeights narrow_;
  std::int64_t places_;
};

} // namespace

Outputs expected(const GroupedGemmProblem &problem, const GemmConfig &, std::int64_t,
                 const Inputs &inputs) {
  return Grouped(problem, inputs).outputs();
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
