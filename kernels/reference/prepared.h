// Where prepared weights lie, by the definition of WeightProblem.
#pragma once

#include <flydsl/kernels/gemm.h>

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

/// Scales of 32 elements of a matrix (rows, k), those that fill the last blocks of prepared ones included.
inline std::int64_t mxScales(OperandLayout layout, std::int64_t rows, std::int64_t k) {
  const auto [groups, blocks, bytes] = PreparedScales::shape(rows, k);
  return layout == OperandLayout::prepared ? groups * blocks * bytes : rows * (k / 32);
}
/// The place of the scale of 32 elements of a row among them.
inline std::int64_t placeOfMxScale(OperandLayout layout, std::int64_t row, std::int64_t number,
                                   std::int64_t k) {
  return layout == OperandLayout::prepared ? PreparedScales::place(row, number, k)
                                           : row * (k / 32) + number;
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
