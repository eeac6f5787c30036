// Values across lanes: shuffles, reductions and scans of a wave and of a block.
#pragma once

#include <flydsl/gpu.h>
#include <flydsl/shared.h>

FLYDSL_NAMESPACE_BEGIN
namespace gpu {

/// Lanes per wave of the target that is traced for: 64 on CDNA, 32 on RDNA and gfx1250.
FLYDSL_API int num_warp_threads(Loc loc = Loc::current());
/// Threads per block in x, y and z. TraceError where the trace does not know.
FLYDSL_API std::array<int, 3> known_block_size(Loc loc = Loc::current());

/// Another lane's value, within groups of `width` lanes (0: the wave): lane k reads lane k ^
/// offset, k - offset, k + offset, or lane `offset` itself. A lane whose source is outside of its
/// group gets any value.
FLYDSL_API Numeric shuffle_xor(const Numeric &value, const IntTuple &offset, int width = 0,
                               Loc loc = Loc::current());
FLYDSL_API Numeric shuffle_up(const Numeric &value, const IntTuple &offset, int width = 0,
                              Loc loc = Loc::current());
FLYDSL_API Numeric shuffle_down(const Numeric &value, const IntTuple &offset, int width = 0,
                                Loc loc = Loc::current());
FLYDSL_API Numeric shuffle_idx(const Numeric &value, const IntTuple &lane, int width = 0,
                               Loc loc = Loc::current());

/// All values of a group of `width` lanes (a power of two; 0: the wave) combined, in all its lanes.
/// All lanes of the group are active.
FLYDSL_API Numeric warp_reduce(const Numeric &value, Reduction op, int width = 0,
                               Loc loc = Loc::current());
/// Lane k gets the combination of the lanes 0 to k of its group.
FLYDSL_API Numeric warp_inclusive_scan(const Numeric &value, Reduction op, int width = 0,
                                       Loc loc = Loc::current());
/// Lane k gets the combination of the lanes before k of its group; the first, what changes no value
/// (0 for a sum, the type's largest for a minimum).
FLYDSL_API Numeric warp_exclusive_scan(const Numeric &value, Reduction op, int width = 0,
                                       Loc loc = Loc::current());
/// All values of the block combined, in all its threads. The block's size is known and a multiple
/// of the wave; all threads take part. One value per wave of shared memory comes from `shared`.
FLYDSL_API Numeric block_reduce(const Numeric &value, Reduction op, SharedAllocator &shared,
                                Loc loc = Loc::current());

/// Thread k of the block (x fastest, then y, z) gets the combination of the threads 0 to k, or of
/// those before k. As block_reduce.
FLYDSL_API Numeric block_inclusive_scan(const Numeric &value, Reduction op, SharedAllocator &shared,
                                        Loc loc = Loc::current());
FLYDSL_API Numeric block_exclusive_scan(const Numeric &value, Reduction op, SharedAllocator &shared,
                                        Loc loc = Loc::current());

} // namespace gpu
FLYDSL_NAMESPACE_END
