// How many neighbours of a row of a product are stored together.
#pragma once

#include <flydsl/export.h>

#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Of rows of n elements.
constexpr int storedTogether(std::int64_t n) { return n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1; }

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
