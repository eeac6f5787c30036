#include "check.h"

#include "reference.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace llama {
namespace {

double rootMeanSquare(std::span<const double> x) {
  double sum = 0;
  for (double value : x)
    sum += value * value;
  return std::sqrt(sum / double(x.size()));
}

} // namespace

void Checker::layers(std::vector<int> tokens, int most) {
  tokens.resize(std::min(tokens.size(), std::size_t(most)));
  const Reference expected = reference(model_, tokens, 1);
  double worst = 0;
  engine_.afterLayer = [&](std::int64_t layer, std::span<const float> rows) {
    const std::vector<double> &wanted = expected.layers[std::size_t(layer)];
    std::vector<double> off;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      off.push_back(double(rows[i]) - wanted[i]);
    const double part = rootMeanSquare(off) / rootMeanSquare(wanted) / toleranceAfter(layer + 1);
    worst = std::max(worst, part);
    if (!(part <= 1)) {
      std::printf("layer %d is off by %.3g of what rounding allows\n", int(layer), part);
      right_ = false;
    }
  };
  engine_.end(engine_.begin(tokens));
  engine_.afterLayer = nullptr;
  std::printf("layers: %.3g of what rounding allows\n", worst);
}

bool Checker::text(Text &text, std::size_t from) {
  const std::size_t added = text.tokens.size() - from, columns = std::size_t(model_.vocabulary);
  const Reference expected =
      reference(model_, std::span(text.tokens).first(text.tokens.size() - 1), added);
  for (std::size_t i = 0; i < added; ++i) {
    const auto row = std::span(expected.logits).subspan(i * columns, columns);
    const int best = int(std::max_element(row.begin(), row.end()) - row.begin());
    int &token = text.tokens[from + i];
    if (token == best) {
      ++equal_;
      continue;
    }
    // Both logits may be off, by five deviations each.
    const double gap = row[std::size_t(best)] - row[std::size_t(token)];
    const bool close = gap <= 2 * 5 * toleranceAfter(model_.layers) * rootMeanSquare(row);
    right_ &= close;
    std::printf("token %zu: %d has a logit %.3g below that of %d, %s\n", from + i, token, gap, best,
                close ? "as close as rounding: the reference's is taken" : "which is WRONG");
    token = best;
    ++near_;
    text.tokens.resize(from + i + 1);
    return true;
  }
  return false;
}

bool Checker::report() const {
  std::printf("%zu tokens are those of double precision, %zu are others\n%s\n", equal_, near_,
              right_ ? "PASS" : "FAIL");
  return right_;
}

} // namespace llama
