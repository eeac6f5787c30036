// The check of a product of halves that is summed in float.
#pragma once

#include "report.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace samples {

/// A (M, K) and B (N, K), whose rows start every `pitch` elements, and their product C (M, N).
template <class Half> struct Product {
  std::span<const Half> a, b;
  std::span<const float> c;
  std::int64_t m, n, k, pitch;
};

/// How far C is from the sums in double precision, as a part of what `roundings` may make of the terms'
/// magnitudes. Each changes a sum by at most 2^-23 of what it rounds.
template <class Half> Worst errorOfProduct(const Product<Half> &of, double roundings) {
  Worst worst;
  for (std::int64_t m = 0; m < of.m; ++m)
    for (std::int64_t n = 0; n < of.n; ++n) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < of.k; ++k) {
        const double product = double(of.a[std::size_t(m * of.pitch + k)]) *
                               double(of.b[std::size_t(n * of.pitch + k)]);
        sum += product;
        magnitude += std::fabs(product);
      }
      worst.add((double(of.c[std::size_t(m * of.n + n)]) - sum) /
                (roundings * 0x1p-23 * magnitude));
    }
  return worst;
}

} // namespace samples
