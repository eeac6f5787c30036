// What the caches of all targets have together.
#pragma once

#include <flydsl/export.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Bytes of a line.
inline constexpr int kCacheLine = 128;

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
