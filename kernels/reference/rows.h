// Rows of inputs, and the errors of arithmetic over them. The bounds are those of docs/kernels: a
// sum of n numbers by t threads takes n / t + log2 n roundings.
#pragma once

#include "blocks/quant/group_rules.h"
#include "reference/rounded.h"

#include <algorithm>
#include <cmath>
#include <limits>
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
  to.bound.push_back(rounding + error / std::fabs(scale) + std::fabs(exact) * (0x1p-22 + error));
}
/// The scale of values.
inline double scaleOf(Row values, DType dtype) {
  double largest = 0;
  for (double v : values)
    largest = std::max(largest, std::fabs(v));
  const double scale = largest / impl::largestOf(dtype);
  return scale < 0x1p-126 ? 1 : scale;
}

/// The power of two from a magnitude on, as f8E8M0FNU has it.
inline double exponentFrom(double magnitude) {
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);
  return magnitude <= 0x1p-127 ? 0x1p-127
                               : std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}
/// The power of two up to a magnitude, which is limited as f8E8M0FNU is.
inline double exponentUpTo(double magnitude) {
  return magnitude < 0x1p-127 ? 0x1p-127 : std::ldexp(1.0, std::ilogb(magnitude));
}
/// Adds values over scales of their own, one for each group of neighbours, and the scales, in f32 or as
/// powers of two. Values err, and so does their largest magnitude, which gives a scale. Where that
/// leaves two powers of two, nothing is said of the group.
inline void addInGroups(Expected &to, Expected &scales, DType dtype,
                        const impl::QuantGroups &groups, Row values, Row errors) {
  const bool isInteger = dtype == i8;
  const double most = isInteger ? 127 : host::largest(dtype), powerOfMost = exponentUpTo(most);
  const auto size = static_cast<std::size_t>(groups.size);
  for (std::size_t first = 0; first < values.size(); first += size) {
    const Row own = values.subspan(first, size), off = errors.subspan(first, size);
    const double slack = *std::max_element(off.begin(), off.end());
    double scale = 0, relative = 0, ofScale = 0;
    if (groups.scale == f32) {
      scale = scaleOf(own, dtype);
      relative = slack / (scale * most) + 0x1p-22;
      ofScale = slack / most + scale * 0x1p-22;
    } else {
      double largest = 0;
      for (double value : own)
        largest = std::max(largest, std::fabs(value));
      const bool up = groups.block == BlockScale::ceil;
      // Rounding up, the kernel divides in f32 first.
      const double err = slack + (up ? largest * 0x1p-22 : 0);
      const auto scaleFor = [&](double magnitude) {
        return up ? exponentFrom(magnitude / most)
                  : std::max(exponentUpTo(magnitude) / powerOfMost, 0x1p-127);
      };
      scale = scaleFor(largest);
      const bool isSure = scaleFor(largest - err) == scale && scaleFor(largest + err) == scale;
      ofScale = relative = isSure ? 0 : std::numeric_limits<double>::infinity();
    }
    scales.values.push_back(scale);
    scales.bound.push_back(ofScale);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double exact = own[i] / scale, limited = std::min(std::max(exact, -most), most);
      const double rounding =
          isInteger ? 0.5 : std::fabs(limited) * host::unit(dtype) + host::underflow(dtype);
      to.values.push_back(limited);
      to.bound.push_back(rounding * (1 + relative) + off[i] / scale +
                         (std::isinf(relative) ? relative : std::fabs(exact) * relative));
    }
  }
}
/// The same of the blocks of 32 or 128 that products have on the way out.
inline void addInBlocks(Expected &to, Expected &scales, DType dtype, DType ofScales, Row values,
                        Row errors, std::int64_t block = 128) {
  addInGroups(to, scales, dtype, {static_cast<int>(block), ofScales, BlockScale::ceil}, values,
              errors);
}

} // namespace kernels::reference
FLYDSL_NAMESPACE_END
