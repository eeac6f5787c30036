// What offsets of 32 bits reach.
#pragma once

#include <flydsl/export.h>

#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A tile of keys or values, a block of a cache, and the scales of a row span less than so many bytes:
/// offsets in them have 32 bits.
inline constexpr std::int64_t kNearBytes = std::int64_t(1) << 31;

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
