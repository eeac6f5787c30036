// Quantised values against what they stand for.
#pragma once

#include "support/operand.h"

#include <flydsl/host/device.h>
#include <flydsl/target.h>

namespace kernel_tests {

/// The float of 8 bits with 3 of a fraction that the device converts.
inline fx::DType hardwareFp8() {
  return fx::Device::current().target().has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN;
}

/// The largest magnitude of quantised values: 127, and the largest finite number of each format as
/// its own table of bits says it.
inline double largestQuantised(fx::DType dtype) {
  if (dtype == fx::i8)
    return 127;
  double largest = 0;
  std::vector<std::uint8_t> patterns(256);
  std::iota(patterns.begin(), patterns.end(), std::uint8_t(0));
  for (double value : decode(dtype, patterns))
    if (std::isfinite(value))
      largest = std::max(largest, value);
  return largest;
}

/// Requires that q times its scale is `expected`, whose own error may be `error`: q is the nearest
/// number of the type, limited to its largest. `perRow`: each row of n values has a scale, which is
/// its largest magnitude over the type's; otherwise there is one, which was given.
inline void expectQuantised(fx::DType dtype, std::span<const double> q,
                            std::span<const double> scales, std::int64_t n, bool perRow,
                            std::span<const double> expected, std::span<const double> error) {
  REQUIRE(q.size() == expected.size());
  const double most = largestQuantised(dtype);
  const std::size_t columns = static_cast<std::size_t>(n);
  for (std::size_t row = 0; row * columns < q.size(); ++row) {
    const auto values = expected.subspan(row * columns, columns),
               errors = error.subspan(row * columns, columns);
    const double scale = scales[perRow ? row : 0];
    INFO("row " << row << ", scale " << scale);
    if (perRow) {
      double largest = 0, slack = 0;
      bool finite = true;
      for (std::size_t i = 0; i < columns; ++i) {
        finite &= std::isfinite(values[i]);
        largest = std::max(largest, std::fabs(values[i]));
        slack = std::max(slack, errors[i]);
      }
      if (!finite) {
        if (std::isfinite(scale))
          FAIL("a row with a NaN has a scale that is none");
        continue;
      }
      if (largest / most < 0x1p-126) {
        if (scale != 1)
          FAIL("the scale of zeros and subnormal numbers is 1");
      } else if (std::fabs(scale * most - largest) > slack + largest * 0x1p-22) {
        FAIL("the scale is not " << largest / most);
      }
    }
    for (std::size_t i = 0; i < columns; ++i) {
      const double value = q[row * columns + i], exact = values[i] / scale;
      if (std::isnan(exact)) {
        if (dtype != fx::i8 && !std::isnan(value))
          FAIL("a NaN became " << value);
        continue;
      }
      const double lowest = dtype == fx::i8 && !perRow ? -128 : -most;
      const double wanted = std::min(std::max(exact, lowest), most);
      const double rounding =
          dtype == fx::i8 ? 0.5 : std::max(std::fabs(wanted) * unit(dtype), underflow(dtype));
      const double slack = errors[i] / scale + std::fabs(exact) * 0x1p-22;
      if (!(std::fabs(value - wanted) <= rounding + slack))
        FAIL("element " << i << ": " << exact << " became " << value);
    }
  }
  SUCCEED();
}

} // namespace kernel_tests
