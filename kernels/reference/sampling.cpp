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

constexpr double kRoundingOfFloat = 0x1p-24;
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

  /// A token, and whether it is the draft's.
  struct Token {
    std::int64_t number = 0;
    bool accepted = false;
  };
  /// The token; nothing if roundings decide.
  std::optional<Token> token() const {
    if (!isDrawn_) {
      const std::optional<std::int64_t> largest = greedy();
      if (!largest)
        return std::nullopt;
      return Token{*largest, draft() == largest};
    }
    std::vector<std::size_t> left(values_.size());
    std::iota(left.begin(), left.end(), std::size_t(0));
    std::sort(left.begin(), left.end(), [&](std::size_t a, std::size_t b) {
      const double x = values_[a].value, y = values_[b].value;
      return x != y ? x > y : a < b;
    });
    for (const auto cut : {&SampledRow::minP, &SampledRow::topK, &SampledRow::topP})
      if (!(this->*cut)(left))
        return std::nullopt;
    std::sort(left.begin(), left.end());
    return draft() ? orDraft(left, *draft()) : tokenAmong(left, shares_);
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

  /// A row's draft, if it has one.
  std::optional<std::int64_t> draft() const {
    if (problem_.draft == Draft::none)
      return std::nullopt;
    const auto token = static_cast<std::int64_t>(own("drafts"));
    return token >= 0 && token < problem_.vocabulary ? std::optional(token) : std::nullopt;
  }
  /// One of the row's numbers from 0 to below 1: the place, or that of the acceptance.
  double drawn(std::size_t number) const {
    const auto words = random::randint4x(static_cast<std::int64_t>(own("seeds")),
                                         static_cast<std::int64_t>(own("offsets")));
    return double(std::uint64_t(words[2 * number]) << 21 | words[2 * number + 1] >> 11) * 0x1p-53;
  }
  /// The draft, or another token by what its probabilities have beyond those of the draft.
  std::optional<Token> orDraft(const std::vector<std::size_t> &left, std::int64_t draft) const {
    const Near all = sumOf(left);
    const auto q = [&](std::int64_t token) {
      const double given = problem_.draft == Draft::distribution
                               ? at("draft_probabilities", token)
                               : double(token == draft);
      return Near{given * all.value, std::fabs(given) * (all.off + all.value * 0x1p-22)};
    };
    const bool isLeft =
        std::find(left.begin(), left.end(), static_cast<std::size_t>(draft)) != left.end();
    const Near p = isLeft ? shares_[static_cast<std::size_t>(draft)] : Near{},
               tried{drawn(1) * q(draft).value, q(draft).off};
    if (tried.surelyBelow(p))
      return Token{draft, true};
    if (!p.surelyBelow(tried) && !(p.value == 0 && p.off == 0 && tried.value >= 0))
      return std::nullopt;
    std::vector<Near> rest(shares_.size());
    for (const std::size_t token : left) {
      const Near of = q(std::ptrdiff_t(token));
      rest[token] = {std::max(shares_[token].value - std::max(of.value, 0.0), 0.0),
                     shares_[token].off + of.off + 0x1p-40};
    }
    return tokenAmong(left, rest);
  }
  std::optional<Token> tokenAmong(const std::vector<std::size_t> &left,
                                  const std::vector<Near> &weights) const {
    Near all;
    for (const std::size_t token : left)
      all = {all.value + weights[token].value, all.off + weights[token].off};
    const Near place{drawn(0) * all.value, drawn(0) * all.off + 0x1p-40};
    Near end;
    for (const std::size_t token : left) {
      const Near begin = end;
      end = {end.value + weights[token].value, end.off + weights[token].off};
      if (!place.surelyBelow(end))
        continue;
      if (begin.value == 0 || begin.surelyBelow(place))
        return Token{std::ptrdiff_t(token), false};
      return std::nullopt;
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
  Expected tokens, logs, offsets, accepted, lengths;
  for (std::int64_t t = 0; t < m; ++t) {
    const SampledRow row(problem, inputs, t);
    const std::optional<SampledRow::Token> token = row.token();
    const std::int64_t number = token ? token->number : 0;
    tokens.values.push_back(double(number));
    tokens.bound.push_back(token ? 0 : kInfinity);
    const Near log = row.logProbability(std::max<std::int64_t>(number, 0));
    logs.values.push_back(log.value);
    logs.bound.push_back(token ? log.off : kInfinity);
    accepted.values.push_back(token && token->accepted ? 1 : 0);
    accepted.bound.push_back(token ? 0 : kInfinity);
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
  if (problem.draft != Draft::none) {
    outputs["accepted"] = accepted;
    // Each row is a sequence of its own.
    outputs["lengths"] = {std::vector<double>(static_cast<std::size_t>(m), 1),
                          std::vector<double>(static_cast<std::size_t>(m))};
  }
  return outputs;
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
