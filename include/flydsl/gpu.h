// The position of a thread, and the barrier.
#pragma once

#include <flydsl/numeric.h>

FLYDSL_NAMESPACE_BEGIN

/// An index or extent in x, y and z; components that are not used leave no operation behind.
struct Index3 {
  Int32 x, y, z;
};

/// The position of the thread in its block.
FLYDSL_API Index3 thread_idx(Loc loc = Loc::current());
/// The position of the block in the grid.
FLYDSL_API Index3 block_idx(Loc loc = Loc::current());
/// The number of threads per block.
FLYDSL_API Index3 block_dim(Loc loc = Loc::current());
/// The number of blocks per grid.
FLYDSL_API Index3 grid_dim(Loc loc = Loc::current());

namespace gpu {
/// Waits until all threads of the block have arrived and their writes to memory are visible to one
/// another.
FLYDSL_API void barrier(Loc loc = Loc::current());
/// The position of the thread in its wave.
FLYDSL_API Int32 lane_id(Loc loc = Loc::current());
} // namespace gpu

FLYDSL_NAMESPACE_END
