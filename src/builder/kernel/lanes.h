// Pieces of reductions and scans.
#pragma once

#include <flydsl/reduce.h>

#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace gpu::impl {

/// The lanes of a group: `width`, checked, or the wave's.
int groupWidth(int width, Loc loc);
detail::Handle combine(Reduction op, const detail::Handle &a, const detail::Handle &b, Loc loc);
/// What combines with any value to that value.
detail::Handle neutral(Reduction op, DType type, Loc loc);
detail::Handle number(int n, Loc loc);
/// Waves of the block; a TraceError that names `what` where they are not whole.
int wholeWaves(const char *what, Loc loc);
/// A thread's wave in its block, and its lane there.
detail::Handle waveOfThread(Loc loc);
detail::Handle laneOfThread(Loc loc);
/// Room for one value per wave.
Tensor perWave(DType type, int waves, SharedAllocator &shared, Loc loc);

} // namespace gpu::impl
FLYDSL_NAMESPACE_END
