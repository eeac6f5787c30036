// The position of a thread, the barrier, and what a wave tells the hardware and the compiler: waits,
// priorities, the order of instructions. Each vendor has an implementation of its own.
#pragma once

#include <flydsl/kernel/vector.h>

#include <cstdint>
#include <optional>

FLYDSL_NAMESPACE_BEGIN

/// An index or extent in x, y and z; components that are not used make no operation.
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

/// A number that the active lanes of the wave have in common, as one number of the wave: the
/// compiler keeps it in scalar registers, and what is computed from it alone, too. If the lanes
/// differ, all get the first active lane's.
FLYDSL_API Numeric uniform(const Numeric &value, Loc loc = Loc::current());
/// Whether the condition holds in any active lane of the wave; all of them get the answer.
FLYDSL_API Boolean any_of_wave(const Boolean &condition, Loc loc = Loc::current());

/// How many of the wave's memory operations may still be under way; by default any number.
struct UnderWay {
  std::optional<int> loads = {}; ///< from global memory, into registers or into LDS
  std::optional<int> reads = {}; ///< of LDS, and of scalars
};
/// Waits until no more than that many operations of the wave are under way. Operations of a kind end
/// in their order, so that those are the last ones. A number that the hardware can't count to becomes
/// the largest that it can, which waits longer and is right, too. The compiler waits for what a wave
/// uses itself; this is for what it brings into LDS for other waves, before a barrier. TraceError for
/// a number below 0, and if neither kind is named.
FLYDSL_API void wait_for(const UnderWay &left, Loc loc = Loc::current());
/// The meeting of a block's waves alone: it waits for no memory. See `wait_for`.
FLYDSL_API void meet(Loc loc = Loc::current());

/// The compiler moves no instruction across this point. It orders nothing in the hardware.
FLYDSL_API void schedule_fence(Loc loc = Loc::current());
/// The kinds of instructions that `schedule_next` orders.
enum class Scheduled {
  products,   ///< of matrices
  loads,      ///< from global memory
  lds_reads,  ///< of shared memory
  lds_writes, ///< to shared memory
};
/// Makes `count` instructions of a kind the next ones in the compiler's order of the kernel's
/// straight code; these groups follow one another as they are called for.
FLYDSL_API void schedule_next(Scheduled kind, int count, Loc loc = Loc::current());
/// The wave's priority over the other waves of its SIMD, 0 to 3, where a new wave has 0.
FLYDSL_API void wave_priority(int priority, Loc loc = Loc::current());
/// Ends the launch with an error, which the host's next call of the driver reports.
FLYDSL_API void trap(Loc loc = Loc::current());
} // namespace gpu

/// The same number as one that the compiler knows nothing of: what is computed or loaded by it is
/// computed or loaded again, and not kept in registers from where the same was done before. A kernel
/// that runs out of registers says so where an address or an index is cheaper to make again than to
/// keep. Numbers of 32 bits.
FLYDSL_API Numeric rematerialised(const Numeric &value, Loc loc = Loc::current());
/// The same of a number that the lanes of a wave have in common (gpu::uniform), which stays one.
FLYDSL_API Numeric rematerialised_uniform(const Numeric &value, Loc loc = Loc::current());
/// Values that are computed here, and not where they are used. The compiler would otherwise compute
/// what a later branch alone uses in that branch, and keep all operands until then.
FLYDSL_API Vector materialised(const Vector &values, Loc loc = Loc::current());

/// Bytes of two words: byte k of the result is the byte whose number stands in byte k of `selector`, 0
/// to 3 for those of `low`, 4 to 7 for those of `high`, lowest first. One instruction where the target
/// has one. TraceError for a number above 7.
FLYDSL_API Int32 permute_bytes(const Int32 &high, const Int32 &low, std::uint32_t selector,
                               Loc loc = Loc::current());
/// The same with numbers that the thread computes: it looks bytes up in a table of 8. Each is 0 to 7;
/// for others a byte of the result is any.
FLYDSL_API Int32 permute_bytes(const Int32 &high, const Int32 &low, const Int32 &selector,
                               Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
