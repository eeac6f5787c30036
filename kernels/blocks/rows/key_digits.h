// What the host knows of a search by the digits of keys (key_search.h).
#pragma once

#include <flydsl/export.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Bits of a digit. A thread looks at one value of a digit when a search looks for its place.
inline constexpr int kKeyDigitBits = 8, kLeastThreadsOfSearch = 1 << kKeyDigitBits;

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
