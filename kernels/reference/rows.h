// Rows of inputs, and the errors of arithmetic over them. The bounds are those of docs/kernels: a
// sum of n numbers by t threads takes n / t + log2 n roundings.
#pragma once

#include "blocks/quant/quant_rules.h"
#include "reference/rounded.h"

#include <algorithm>
#include <cmath>
#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::reference {

/// A row of an input.
using Row = std::span<const double>;
/// One rounding in f32, the u of docs/kernels.
inline constexpr double kRounding = 0x1p-23;

/// The roundings of a sum over a row.
inline double steps(std::int64_t n, int threads) {
  return double(n) / threads + std::log2(double(n)) + 6;
}
inline Row rowOf(const Inputs &inputs, const char *name, std::int64_t row, std::int64_t n) {
  return Row(inputs.at(name))
      .subspan(static_cast<std::size_t>(row * n), static_cast<std::size_t>(n));
}
/// Adds a value that is quantised with a scale, and whose arithmetic may err.
inline void addQuantised(Expected &to, DType dtype, bool given, double value, double error,
                         double scale) {
  const double most = impl::largestOf(dtype), lowest = dtype == i8 && given ? -128 : -most;
  const double exact = value / scale, limited = std::min(std::max(exact, lowest), most);
  const double rounding =
      dtype == i8 ? 0.5 : std::max(std::fabs(limited) * host::unit(dtype), host::underflow(dtype));
  to.values.push_back(limited);
  to.bound.push_back(rounding + error / scale + std::fabs(exact) * (0x1p-22 + error));
}
/// The scale of values.
inline double scaleOf(Row values, DType dtype) {
  double largest = 0;
  for (double v : values)
    largest = std::max(largest, std::fabs(v));
  const double scale = largest / impl::largestOf(dtype);
  return scale < 0x1p-126 ? 1 : scale;
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
