// What the collectives share.
#pragma once

#include <flydsl/kernel/reduce.h>

#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace gpu::impl {

/// The lanes of a group: `width`, checked, or the wave's.
int groupWidth(int width, Loc loc);
/// Lanes read each other's values: where the block's size is known, all of each group are there. A
/// TraceError that names `what` otherwise.
void expectFullGroups(const char *what, int lanes, Loc loc);
detail::Handle combine(Reduction op, const detail::Handle &a, const detail::Handle &b, Loc loc);
/// What combines with any value to that value.
detail::Handle neutral(Reduction op, DType type, Loc loc);
/// The thread's number in a block of this size, x fastest, then y, z.
detail::Handle threadNumber(const std::array<int, 3> &block, Loc loc);

} // namespace gpu::impl
FLYDSL_NAMESPACE_END
