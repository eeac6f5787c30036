// The sum of the rows of a token's slots, in the order of slots.
#pragma once

#include <flydsl/flydsl.h>

#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// An access of each row, summed up in f32; with weights, each row is multiplied by its own.
inline Vector sumOfSlots(const std::vector<Vector> &rows, const std::vector<Numeric> &weights) {
  std::vector<Vector> sums;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Vector wide = rows[i].to(f32);
    const Vector term = weights.empty() ? wide : wide * weights[i];
    sums.push_back(sums.empty() ? term : sums.back() + term);
  }
  return sums.back();
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
