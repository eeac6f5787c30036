// The numbers that narrow weights stand for, by the definitions of WeightProblem and GemmProblem.
#pragma once

#include "host/values.h"
#include "reference/reference.h"

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

/// The weight (row, k) of narrow weights: a number, less the zero point of its group, times its scale.
/// `groups` are the inputs of a call of `columns` rows for each of its experts.
class NarrowWeights {
public:
  NarrowWeights(const WeightProblem &weight, const ScaleGroups &groups, std::int64_t columns,
                const Inputs &inputs)
      : weight_(weight), groups_(groups), columns_(columns), inputs_(inputs) {}

  double operator()(std::int64_t row, std::int64_t k) const {
    double value = narrowNumber(weight_.dtype, bitsOf(row, k));
    if (!groups_.size)
      return value;
    const auto at = static_cast<std::size_t>(
        (row / columns_ * (weight_.k / groups_.size) + k / groups_.size) * columns_ +
        row % columns_);
    if (groups_.zeros)
      value -= inputs_.at("group_zeros")[at];
    return value * inputs_.at("group_scales")[at];
  }

private:
  unsigned bitsOf(std::int64_t row, std::int64_t k) const {
    const std::int64_t bits = weight_.dtype.memory_bits(), ofBlock = 512 / bits,
                       across = (weight_.k + ofBlock - 1) / ofBlock, run = k % ofBlock / 8,
                       piece = ((row / 16 * across + k / ofBlock) * 4 + run % 4) * 16 + row % 16,
                       bit = (run / 4 * 8 + k % 8) * bits;
    const auto byte =
        static_cast<unsigned>(inputs_.at("b")[static_cast<std::size_t>(piece * 16 + bit / 8)]);
    return bits == 8 ? byte : byte >> (bit % 8) & 15u;
  }

  WeightProblem weight_;
  ScaleGroups groups_;
  std::int64_t columns_;
  const Inputs &inputs_;
};

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
