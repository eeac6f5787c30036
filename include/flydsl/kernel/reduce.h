// Operations across lanes: shuffles, reductions and scans of a wave and of a block.
#pragma once

#include <flydsl/kernel/gpu.h>
#include <flydsl/kernel/shared.h>

FLYDSL_NAMESPACE_BEGIN
namespace gpu {

/// The number of lanes per wave of the target that is traced for: 64 on CDNA, 32 on RDNA and
/// gfx1250.
FLYDSL_API int num_warp_threads(Loc loc = Loc::current());
/// The number of threads per block in x, y and z. Throws TraceError if the trace does not know it.
FLYDSL_API std::array<int, 3> known_block_size(Loc loc = Loc::current());

/// The value of another lane of the wave. Lane k reads lane k ^ offset (`xor`), k - offset (`up`),
/// k + offset (`down`) or lane `lane` (`idx`). All four count lanes in the wave: lane 3 of the
/// group of 8 that holds lane k is shuffle_idx(value, lane_id() / 8 * 8 + 3). `width` is a power of
/// two (0: the wave) and bounds what is read: a lane keeps its own value if it would read past
/// the last lane of its group of `width`. Lanes before the group are read; before the wave's first
/// lane there is none, and the result is unspecified. Where `xor` has a constant, or `idx` names one
/// lane of the wave by a constant, the move takes no address and no way through shared memory.
FLYDSL_API Numeric shuffle_xor(const Numeric &value, const IntTuple &offset, int width = 0,
                               Loc loc = Loc::current());
FLYDSL_API Numeric shuffle_up(const Numeric &value, const IntTuple &offset, int width = 0,
                              Loc loc = Loc::current());
FLYDSL_API Numeric shuffle_down(const Numeric &value, const IntTuple &offset, int width = 0,
                                Loc loc = Loc::current());
FLYDSL_API Numeric shuffle_idx(const Numeric &value, const IntTuple &lane, int width = 0,
                               Loc loc = Loc::current());

/// Combines the values of a group of `width` lanes (a power of two; 0: the wave); all lanes of the
/// group get the result. All of them must be active.
FLYDSL_API Numeric warp_reduce(const Numeric &value, Reduction op, int width = 0,
                               Loc loc = Loc::current());
/// Lane k gets the combination of the lanes 0 to k of its group.
FLYDSL_API Numeric warp_inclusive_scan(const Numeric &value, Reduction op, int width = 0,
                                       Loc loc = Loc::current());
/// Lane k gets the combination of the lanes before k of its group; lane 0 gets the identity of the
/// operation (0 for a sum, the type's largest value for a minimum).
FLYDSL_API Numeric warp_exclusive_scan(const Numeric &value, Reduction op, int width = 0,
                                       Loc loc = Loc::current());
/// Combines the values of all threads of the block; all of them get the result. The size of the
/// block must be known and a multiple of the wave size, and all threads must take part. One value
/// per wave of shared memory is allocated from `shared`.
FLYDSL_API Numeric block_reduce(const Numeric &value, Reduction op, SharedAllocator &shared,
                                Loc loc = Loc::current());

/// Thread k of the block (x is the fastest, then y, then z) gets the combination of the threads 0
/// to k (`inclusive`), or of the threads before k (`exclusive`). The requirements are those of
/// block_reduce.
FLYDSL_API Numeric block_inclusive_scan(const Numeric &value, Reduction op, SharedAllocator &shared,
                                        Loc loc = Loc::current());
FLYDSL_API Numeric block_exclusive_scan(const Numeric &value, Reduction op, SharedAllocator &shared,
                                        Loc loc = Loc::current());

} // namespace gpu
FLYDSL_NAMESPACE_END
