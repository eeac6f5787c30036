// Where prepared weights lie, by the definition of WeightProblem.
#pragma once

#include <flydsl/kernels/weight.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

/// The place of the weight (n, k) among prepared ones.
inline std::size_t preparedPlace(const WeightProblem &problem, std::int64_t n, std::int64_t k) {
  const std::int64_t bytes = problem.dtype.memory_bits() / 8, at = k * bytes,
                     across = (problem.k * bytes + 63) / 64;
  return std::size_t((((n / 16 * across + at / 64) * 4 + at % 64 / 16) * 16 + n % 16) *
                         (16 / bytes) +
                     at % 16 / bytes);
}

/// The place of the byte of elements 2k and 2k + 1 of row n among prepared weights of 4 bits.
inline std::size_t preparedPairPlace(const WeightProblem &problem, std::int64_t n, std::int64_t k) {
  return preparedPlace({u8, problem.n, problem.k / 2}, n, k / 2);
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
