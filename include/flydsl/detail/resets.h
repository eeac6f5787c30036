// Whether what was made on a device is still there.
#pragma once

#include <flydsl/export.h>

#include <atomic>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// How often devices of this process were reset, all together. What was made at the same count is
/// there; at another one, the count of its own device decides.
FLYDSL_API extern std::atomic<unsigned> allResets;

} // namespace detail
FLYDSL_NAMESPACE_END
