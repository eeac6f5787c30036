// Meetings of the waves of a block that are two groups, which take turns at the matrix units: one
// group multiplies while the other reads. The scheduler moves nothing across a meeting.
#pragma once

#include <flydsl/flydsl.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Lets the waves of a block go on together.
inline void meetGroups() {
  gpu::schedule_fence();
  gpu::meet();
  gpu::schedule_fence();
}

/// Lets the waves of a block go on together when all loads of the wave but the last `loads` have ended, and all
/// reads of LDS but the last `reads`.
inline void meetGroups(int loads, int reads = 0) {
  gpu::schedule_fence();
  gpu::wait_for({.loads = loads, .reads = reads});
  meetGroups();
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
