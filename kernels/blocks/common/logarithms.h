// Logarithms that turn exponentials, which are computed as powers of 2, into those of e, and back.
#pragma once

#include <flydsl/export.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// log2(e)
inline constexpr double kLog2E = 1.4426950408889634;
/// log(2)
inline constexpr double kLn2 = 0.6931471805599453;

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
