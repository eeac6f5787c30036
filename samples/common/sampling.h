// The choice of a token: the most likely one, or a random one of the most likely.
#pragma once

#include <flydsl/kernel/random.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

namespace samples {

struct Sampling {
  double temperature = 0; ///< 0: the most likely token
  int topK = 40;          ///< tokens to choose from
  double topP = 0.95;     ///< the fewest of them that together are so likely
  std::uint64_t seed = 1; ///< equal seeds give equal texts
};

/// The token after `logits`; `draw` is different for each token of all sequences.
inline int choose(const Sampling &how, std::span<const float> logits, std::uint64_t draw) {
  if (how.temperature <= 0)
    return int(std::max_element(logits.begin(), logits.end()) - logits.begin());
  std::vector<std::pair<float, int>> likely; // the most likely first
  for (float logit : logits)
    likely.emplace_back(-logit, int(likely.size()));
  const auto kept = std::min(likely.size(), std::size_t(std::max(how.topK, 1)));
  std::partial_sort(likely.begin(), likely.begin() + std::ptrdiff_t(kept), likely.end());
  std::vector<double> shares;
  for (std::size_t i = 0; i < kept; ++i)
    shares.push_back(std::exp(double(likely[0].first - likely[i].first) / how.temperature));
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::size_t count = 0;
  double sum = 0;
  while (count < kept && sum < how.topP * all)
    sum += shares[count++];
  double left = double(flydsl::random::rand(how.seed, draw)) * sum;
  for (std::size_t i = 0; i < count; ++i)
    if ((left -= shares[i]) < 0)
      return likely[i].second;
  return likely[count ? count - 1 : 0].second;
}

} // namespace samples
