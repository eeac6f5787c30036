// The reference for a product whose sums are exact.
#pragma once

#include <cstddef>
#include <vector>

namespace atoms_test {

/// How many elements of `c` (M, N) are not those of A (M, K) times B (N, K) transposed.
inline int wrongProducts(const std::vector<float> &a, const std::vector<float> &b,
                         const std::vector<float> &c, std::size_t M, std::size_t N, std::size_t K) {
  int wrong = 0;
  for (std::size_t m = 0; m < M; ++m)
    for (std::size_t n = 0; n < N; ++n) {
      float sum = 0;
      for (std::size_t k = 0; k < K; ++k)
        sum += a[m * K + k] * b[n * K + k];
      wrong += !(c[m * N + n] == sum);
    }
  return wrong;
}

} // namespace atoms_test
