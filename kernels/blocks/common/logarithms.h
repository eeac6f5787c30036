// Logarithms that turn exponentials, which are computed as powers of 2, into those of e, and back.
#pragma once

#include <flydsl/export.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// log2(e), by which the host scales.
inline constexpr double kLog2E = 1.4426950408889634;
/// What makes a natural logarithm one of base 2, and back.
inline constexpr float kToBase2 = static_cast<float>(kLog2E),
                       kToNatural = static_cast<float>(0.6931471805599453);

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
