// The choice of a token: the most likely one, or a random one of the most likely.
#pragma once

#include <flydsl/random.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace llama {

struct Sampling {
  double temperature = 0; ///< 0: the most likely token
  int topK = 40;          ///< tokens to choose from
  double topP = 0.95;     ///< the fewest of them that together are so likely
  std::uint64_t seed = 1; ///< equal seeds give equal texts
};

inline int likeliest(std::span<const float> logits) {
  return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// The token after `logits`; `draw` is different for each token of all sequences.
inline int choose(const Sampling &how, std::span<const float> logits, std::uint64_t draw) {
  if (how.temperature <= 0)
    return likeliest(logits);
  std::vector<int> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t kept = std::min(order.size(), static_cast<std::size_t>(std::max(how.topK, 1)));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [&](int a, int b) {
                      return logits[static_cast<std::size_t>(a)] >
                             logits[static_cast<std::size_t>(b)];
                    });
  std::vector<double> shares;
  for (std::size_t i = 0; i < kept; ++i)
    shares.push_back(std::exp(
        (logits[static_cast<std::size_t>(order[i])] - logits[static_cast<std::size_t>(order[0])]) /
        how.temperature));
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  double sum = 0;
  std::size_t count = 0;
  while (count < kept && sum < how.topP * all)
    sum += shares[count++];
  double left = static_cast<double>(flydsl::random::rand(how.seed, draw)) * sum;
  for (std::size_t i = 0; i < count; ++i)
    if ((left -= shares[i]) < 0)
      return order[i];
  return order[count ? count - 1 : 0];
}

} // namespace llama
