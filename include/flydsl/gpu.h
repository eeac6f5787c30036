// Where a thread stands, and how threads wait for one another.
#pragma once

#include <flydsl/numeric.h>

FLYDSL_NAMESPACE_BEGIN

/// x, y and z of an index or extent; unused components leave no operation behind.
struct Index3 {
  Int32 x, y, z;
};

/// The thread's position in its block.
FLYDSL_API Index3 thread_idx(Loc loc = Loc::current());
/// The block's position in the grid.
FLYDSL_API Index3 block_idx(Loc loc = Loc::current());
/// Threads per block.
FLYDSL_API Index3 block_dim(Loc loc = Loc::current());
/// Blocks per grid.
FLYDSL_API Index3 grid_dim(Loc loc = Loc::current());

namespace gpu {
/// All threads of the block arrive, and their writes to memory are seen by one another, before any
/// goes on.
FLYDSL_API void barrier(Loc loc = Loc::current());
/// The thread's position in its wave.
FLYDSL_API Int32 lane_id(Loc loc = Loc::current());
} // namespace gpu

FLYDSL_NAMESPACE_END
