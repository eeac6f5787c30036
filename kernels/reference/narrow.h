// The numbers that narrow weights stand for, by the definitions of WeightProblem and GemmProblem.
#pragma once

#include "host/values.h"
#include "reference/prepared.h"
#include "reference/reference.h"

#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

/// The number of an element's bits, without scale and zero point.
inline double narrowNumber(DType dtype, unsigned bits) {
  // Source: OCP's Microscaling Formats (MX) 1.0, 5.3.3.
  static constexpr double kFp4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  if (dtype == f4E2M1FN)
    return bits & 8 ? -kFp4[bits & 7] : kFp4[bits & 7];
  if (dtype == i4)
    return static_cast<double>(bits & 15) - (bits & 8 ? 16 : 0);
  if (dtype == i8)
    return static_cast<double>(static_cast<std::int8_t>(bits));
  if (dtype == u4 || dtype == u8)
    return bits;
  return host::floatFormat(dtype).toFloat(bits);
}

/// Element (row, k) of prepared weights of f4E2M1FN that are not narrow, of their bytes.
inline double preparedNumberOfFour(const WeightProblem &problem, const std::vector<double> &bytes,
                                   std::int64_t row, std::int64_t k) {
  const auto pair = static_cast<unsigned>(bytes[preparedPairPlace(problem, row, k)]);
  return narrowNumber(problem.dtype, pair >> k % 2 * 4 & 15u);
}

/// The weights of narrow weights: each a number, less the zero point of its group, times its scale.
/// `groups` are the inputs of a call of `columns` rows for each of its experts. Other weights are
/// none of these, and are not looked at.
class NarrowWeights {
public:
  NarrowWeights(const WeightProblem &weight, const ScaleGroups &groups, std::int64_t columns,
                const Inputs &inputs)
      : k_(weight.k) {
    if (!weight.narrow)
      return;
    const std::vector<double> &bytes = inputs.at("b"), none,
                              &scales = groups.size ? inputs.at("group_scales") : none,
                              &zeros = groups.zeros ? inputs.at("group_zeros") : none;
    for (std::int64_t row = 0; row < weight.n; ++row)
      for (std::int64_t k = 0; k < k_; ++k) {
        double value = narrowNumber(weight.dtype, bitsOf(weight, bytes, row, k));
        if (groups.size) {
          const auto at = static_cast<std::size_t>(
              (row / columns * (k_ / groups.size) + k / groups.size) * columns + row % columns);
          value = (groups.zeros ? value - zeros[at] : value) * scales[at];
        }
        values_.push_back(value);
      }
  }

  double operator()(std::int64_t row, std::int64_t k) const {
    return values_[static_cast<std::size_t>(row * k_ + k)];
  }

private:
  static unsigned bitsOf(const WeightProblem &weight, const std::vector<double> &bytes,
                         std::int64_t row, std::int64_t k) {
    const std::int64_t bits = weight.dtype.memory_bits(), ofBlock = 512 / bits,
                       across = (weight.k + ofBlock - 1) / ofBlock,
                       ofRun = weight.under == 8 ? 16 : 8, run = k % ofBlock / ofRun,
                       inRun = weight.under == 8 ? k % 16 / 8 * 8 + k % 4 * 2 + k % 8 / 4 : k % 8,
                       piece = ((row / 16 * across + k / ofBlock) * 4 + run % 4) * 16 + row % 16,
                       bit = (run / 4 * ofRun + inRun) * bits;
    const auto byte = static_cast<unsigned>(bytes[static_cast<std::size_t>(piece * 16 + bit / 8)]);
    return bits == 8 ? byte : byte >> (bit % 8) & 15u;
  }

  std::int64_t k_;
  std::vector<double> values_; // (rows, k)
};

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
