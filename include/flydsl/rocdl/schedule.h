// Hints to the scheduler of instructions, priorities, barriers and waits.
#pragma once

#include <flydsl/kernel/gpu.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

/// Limits what the instruction scheduler may move past this point. `mask` is LLVM's mask of the
/// kinds of instructions that may; 0 allows none.
FLYDSL_API void sched_barrier(int mask, Loc loc = Loc::current());
/// Makes `size` instructions of the kinds in `mask` the next group; the groups follow one another
/// in the order of these calls.
FLYDSL_API void sched_group_barrier(int mask, int size, int group = 0, Loc loc = Loc::current());
inline void sched_mfma(int count, Loc loc = Loc::current()) {
  sched_group_barrier(0x008, count, 0, loc);
}
inline void sched_vmem(int count, Loc loc = Loc::current()) {
  sched_group_barrier(0x020, count, 0, loc);
}
inline void sched_dsrd(int count, Loc loc = Loc::current()) {
  sched_group_barrier(0x100, count, 0, loc);
}
inline void sched_dswr(int count, Loc loc = Loc::current()) {
  sched_group_barrier(0x200, count, 0, loc);
}
/// Sets the wave's priority, 0 to 3.
FLYDSL_API void s_setprio(int priority, Loc loc = Loc::current());
/// The barrier instruction alone; it does not wait for memory.
FLYDSL_API void s_barrier(Loc loc = Loc::current());
/// gfx12: the two halves of the barrier. A wave that signals goes on; `s_barrier_wait` holds it
/// until all waves of the block have signalled. Neither waits for memory. Signals and waits take
/// turns; the kernel's last one is a wait.
FLYDSL_API void s_barrier_signal(Loc loc = Loc::current());
FLYDSL_API void s_barrier_wait(Loc loc = Loc::current());
/// Does nothing for 1 to 16 cycles.
FLYDSL_API void s_nop(int cycles, Loc loc = Loc::current());
/// Sleeps for about 64 * `count` cycles.
FLYDSL_API void s_sleep(int count, Loc loc = Loc::current());

/// The numbers of operations that may still be under way; by default any number.
struct WaitCounts {
  std::optional<int> vmcnt = {}, lgkmcnt = {}, expcnt = {};
};
/// Waits until no more operations than `counts` are under way. For gfx9, gfx11 and gfx120x, each of
/// which has its own encoding.
FLYDSL_API void s_waitcnt(const WaitCounts &counts, Loc loc = Loc::current());
/// The same with the 16 bits of the instruction.
FLYDSL_API void s_waitcnt(int bitfield, Loc loc = Loc::current());
/// gfx12: waits until no more than `count` (0 to 63) loads from global memory, stores to it, or
/// operations of the LDS are under way.
FLYDSL_API void s_wait_loadcnt(int count, Loc loc = Loc::current());
FLYDSL_API void s_wait_storecnt(int count, Loc loc = Loc::current());
FLYDSL_API void s_wait_dscnt(int count, Loc loc = Loc::current());
/// gfx1250: waits until no more than `count` asynchronous LDS transfers (`asynccnt`) or tensor
/// transfers (`tensorcnt`) are under way.
FLYDSL_API void s_wait_asynccnt(int count, Loc loc = Loc::current());
FLYDSL_API void s_wait_tensorcnt(int count, Loc loc = Loc::current());
/// Applies one of the scheduler's own strategies to the block (LLVM's llvm.amdgcn.iglp.opt).
FLYDSL_API void iglp_opt(int strategy, Loc loc = Loc::current());

} // namespace rocdl
FLYDSL_NAMESPACE_END
