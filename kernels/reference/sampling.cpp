// The tokens that must be drawn, by sorted rows in double precision.
//
// A kernel's probabilities are off by some roundings. Where these may change what a row's cuts leave,
// or which token has the place that was drawn, any token is right for it.
#include "reference/reference.h"
#include "reference/rows.h"

#include <flydsl/kernel/random.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {
namespace {

constexpr double kLn2 = 0.693147180559945309, kRoundingOfFloat = 0x1p-24;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A number that is known within `off`.
struct Near {
  double value = 0, off = 0;
  bool surelyBelow(const Near &other) const { return value + off < other.value - other.off; }
};

/// A row of the call.
class SampledRow {
public:
  SampledRow(const SamplingProblem &problem, const Inputs &inputs, std::int64_t row)
      : problem_(problem), inputs_(inputs), row_(static_cast<std::size_t>(row)) {
    for (std::int64_t i = 0; i < problem.vocabulary; ++i)
      values_.push_back(valueOf(i));
    largest_ = *std::max_element(values_.begin(), values_.end(),
                                 [](const Near &a, const Near &b) { return orders(a, b); });
    temperature_ = problem.temperature ? own("temperature") : 0;
    isDrawn_ = std::isfinite(largest_.value) && temperature_ >= 1e-5;
    if (!isDrawn_)
      temperature_ = 1;
    for (const Near &value : values_)
      shares_.push_back(shareOf(value));
  }

  /// The token; nothing if roundings decide.
  std::optional<std::int64_t> token() const {
    if (!isDrawn_)
      return greedy();
    std::vector<std::size_t> left(values_.size());
    std::iota(left.begin(), left.end(), std::size_t(0));
    std::stable_sort(left.begin(), left.end(), [&](std::size_t a, std::size_t b) {
      return values_[a].value > values_[b].value;
    });
    for (const auto cut : {&SampledRow::minP, &SampledRow::topK, &SampledRow::topP})
      if (!(this->*cut)(left))
        return std::nullopt;
    std::sort(left.begin(), left.end());
    return tokenAmong(left);
  }
  /// Of a token.
  Near logProbability(std::int64_t token) const {
    if (!std::isfinite(largest_.value))
      return {std::nan(""), 0};
    const Near all = sumOf(shares_);
    const Near &value = values_[static_cast<std::size_t>(token)];
    const double exponent = (value.value - largest_.value) / temperature_;
    return {exponent - std::log(all.value),
            std::fabs(exponent) * 4 * kRoundingOfFloat + value.off / temperature_ +
                (all.off / all.value + 0x1p-21) + 0x1p-21 * std::fabs(std::log(all.value))};
  }

private:
  double own(const char *name) const { return inputs_.at(name)[row_]; }
  double at(const char *name, std::int64_t i) const {
    return inputs_.at(
        name)[row_ * static_cast<std::size_t>(problem_.vocabulary) + static_cast<std::size_t>(i)];
  }
  bool bit(const char *name, std::int64_t i) const {
    const auto words = static_cast<std::size_t>((problem_.vocabulary + 31) / 32);
    const double word = inputs_.at(name)[row_ * words + static_cast<std::size_t>(i / 32)];
    return static_cast<std::int64_t>(word) >> (i % 32) & 1;
  }
  /// The order of values: a NaN is larger than all numbers.
  static bool orders(const Near &a, const Near &b) {
    return std::isnan(b.value) ? !std::isnan(a.value) : a.value < b.value;
  }

  Near valueOf(std::int64_t i) const {
    double value = at("logits", i), parts = 0;
    if (problem_.bias) {
      value = double(float(value) + float(at("bias", i)));
    }
    if (problem_.penalties) {
      const double count = at("counts", i);
      if (count > 0 || bit("prompt", i))
        value = value > 0 ? value / own("repetition") : value * own("repetition");
      parts = std::fabs(value) + std::fabs(own("frequency") * count) + std::fabs(own("presence"));
      value -= own("frequency") * count + (count > 0 ? own("presence") : 0);
    }
    if (problem_.mask && !bit("mask", i))
      return {-kInfinity, 0};
    return {value, std::isfinite(parts) ? 4 * parts * kRoundingOfFloat : 0};
  }
  Near shareOf(const Near &value) const {
    if (!std::isfinite(largest_.value) || value.value == -kInfinity)
      return {};
    const double exponent = (value.value - largest_.value) / temperature_,
                 share = std::exp(exponent);
    const double off = std::fabs(exponent) * 4 * kRoundingOfFloat +
                       (value.off + largest_.off) / temperature_ + 0x1p-22;
    return {share, share * off + 0x1p-40};
  }
  static Near sumOf(const std::vector<Near> &numbers) {
    Near sum;
    for (const Near &number : numbers) {
      sum.value += number.value;
      sum.off += number.off;
    }
    return sum;
  }
  Near sumOf(const std::vector<std::size_t> &tokens) const {
    std::vector<Near> own;
    for (const std::size_t token : tokens)
      own.push_back(shares_[token]);
    return sumOf(own);
  }

  std::optional<std::int64_t> greedy() const {
    if (largest_.value == -kInfinity)
      return -1;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const bool isLargest = std::isnan(largest_.value) ? std::isnan(values_[i].value)
                                                        : values_[i].value == largest_.value;
      if (isLargest)
        return std::ptrdiff_t(i);
      if (largest_.off && !values_[i].surelyBelow(largest_))
        return std::nullopt;
    }
    return std::nullopt;
  }

  // Each cut takes tokens from the end of a falling order. It returns false where roundings decide.
  bool minP(std::vector<std::size_t> &left) const {
    if (!problem_.min_p || std::isnan(own("min_p")))
      return true;
    const Near least{std::min(own("min_p"), 1.0), 0};
    while (left.size() > 1 && shares_[left.back()].surelyBelow(least))
      left.pop_back();
    const Near &last = shares_[left.back()];
    // Equal shares stay, without an error where the exponent is 0.
    return values_[left.back()].value == largest_.value || least.surelyBelow(last);
  }
  /// Cuts after the first `count` tokens and those that are equal to the last one.
  bool cutAfter(std::vector<std::size_t> &left, std::size_t count) const {
    const auto value = [&](std::size_t i) { return values_[left[i]]; };
    while (count < left.size() && value(count).value == value(count - 1).value)
      ++count;
    if (count < left.size() && !value(count).surelyBelow(value(count - 1)))
      return false;
    left.resize(count);
    return true;
  }
  bool topK(std::vector<std::size_t> &left) const {
    if (!problem_.top_k || own("top_k") < 1 || own("top_k") >= double(left.size()))
      return true;
    return cutAfter(left, static_cast<std::size_t>(own("top_k")));
  }
  bool topP(std::vector<std::size_t> &left) const {
    if (!problem_.top_p || !(own("top_p") < 1))
      return true;
    const double p = std::max(own("top_p"), 0.0);
    const Near all = sumOf(left), target{p * all.value, p * all.off + 0x1p-40};
    Near sum;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const Near &share = shares_[left[i]];
      sum = {sum.value + share.value, sum.off + share.off};
      if (i + 1 < left.size() && values_[left[i]].value == values_[left[i + 1]].value)
        continue; // equal ones go together
      if (target.surelyBelow(sum))
        return cutAfter(left, i + 1);
      if (!sum.surelyBelow(target))
        return false;
    }
    return true;
  }

  std::optional<std::int64_t> tokenAmong(const std::vector<std::size_t> &left) const {
    const auto words = random::randint4x(static_cast<std::int64_t>(own("seeds")),
                                         static_cast<std::int64_t>(own("offsets")));
    const double drawn = double(std::uint64_t(words[0]) << 21 | words[1] >> 11) * 0x1p-53;
    const Near all = sumOf(left), place{drawn * all.value, drawn * all.off + 0x1p-40};
    Near end;
    for (const std::size_t token : left) {
      const Near begin = end;
      end = {end.value + shares_[token].value, end.off + shares_[token].off};
      if (place.surelyBelow(end))
        return begin.value == 0 || begin.surelyBelow(place)
                   ? std::optional<std::int64_t>(std::ptrdiff_t(token))
                   : std::nullopt;
    }
    return std::nullopt;
  }

  SamplingProblem problem_;
  const Inputs &inputs_;
  std::size_t row_;
  std::vector<Near> values_, shares_;
  Near largest_;
  double temperature_ = 1;
  bool isDrawn_ = false;
};

} // namespace

Outputs expected(const SamplingProblem &problem, const SamplingConfig &, std::int64_t m,
                 const Inputs &inputs) {
  Expected tokens, logs, offsets;
  for (std::int64_t t = 0; t < m; ++t) {
    const SampledRow row(problem, inputs, t);
    const std::optional<std::int64_t> token = row.token();
    tokens.values.push_back(double(token.value_or(0)));
    tokens.bound.push_back(token ? 0 : kInfinity);
    const Near log = row.logProbability(std::max<std::int64_t>(token.value_or(0), 0));
    logs.values.push_back(log.value);
    logs.bound.push_back(token ? log.off : kInfinity);
    if (problem.advance) {
      offsets.values.push_back(inputs.at("offsets")[static_cast<std::size_t>(t)] + 1);
      offsets.bound.push_back(0);
    }
  }
  Outputs outputs{{"tokens", tokens}};
  if (problem.log_probabilities)
    outputs["log_probabilities"] = logs;
  if (problem.advance)
    outputs["offsets"] = offsets;
  return outputs;
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
