// What s_waitcnt can name.
#pragma once

#include <flydsl/export.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The most loads that may be under way where a wave waits (gfx9: 6 bits of vmcnt). More are not
/// waited for.
inline constexpr int kMostLoads = 63;

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
