// Hints to the scheduler, and waits.
#include <flydsl/host/product.h>
#include <flydsl/rocdl/intrinsics.h>
#include <flydsl/rocdl/schedule.h>

#include "builder/rocdl/immediate.h"
#include "builder/trace/tracer.h"
#include "target/processors.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
namespace ROCDL = mlir::ROCDL;

namespace rocdl {

static std::uint32_t bits(int field) { return static_cast<std::uint32_t>(field); }

void sched_barrier(int mask, Loc loc) {
  Tracer::require("sched_barrier", loc).create<ROCDL::SchedBarrier>(loc, bits(mask));
}

void sched_group_barrier(int mask, int size, int group, Loc loc) {
  Tracer &t = Tracer::require("sched_group_barrier", loc);
  builder::immediate("the size of a sched_group_barrier", size, 0xffff, loc);
  builder::immediate("the group of a sched_group_barrier", group, 0xffff, loc);
  t.create<ROCDL::SchedGroupBarrier>(loc, bits(mask), bits(size), bits(group));
}

void s_setprio(int priority, Loc loc) {
  if (priority < 0 || priority > 3)
    throw TraceError("a wave's priority is 0 to 3, not " + std::to_string(priority), loc);
  Tracer::require("s_setprio", loc)
      .create<ROCDL::SetPrioOp>(loc, static_cast<std::uint16_t>(priority));
}
void s_sleep(int count, Loc loc) {
  builder::immediate("the time of s_sleep", count, 127, loc);
  Tracer::require("s_sleep", loc).create<ROCDL::SSleepOp>(loc, bits(count));
}
void s_barrier(Loc loc) {
  Tracer &t = Tracer::require("s_barrier", loc);
  t.arrivals.expectInstruction("a barrier", loc);
  t.create<ROCDL::SBarrierOp>(loc);
}

void s_nop(int cycles, Loc loc) {
  if (cycles < 1 || cycles > 16)
    throw TraceError("s_nop does nothing for 1 to 16 cycles, not " + std::to_string(cycles), loc);
  Tracer::require("s_nop", loc).create<ROCDL::SNopOp>(loc, static_cast<std::uint16_t>(cycles - 1));
}

/// The barrier of the whole block among those that the two instructions know.
static constexpr int kBlockBarrier = -1;

void s_barrier_signal(Loc loc) {
  Tracer &t = Tracer::require("s_barrier_signal", loc);
  t.kernel.targetWith(Feature::split_barriers, "s_barrier_signal", loc);
  t.arrivals.expectInstruction("a barrier", loc);
  t.barriers.signal(loc);
  t.create<ROCDL::BarrierSignalOp>(loc, bits(kBlockBarrier));
}
void s_barrier_wait(Loc loc) {
  Tracer &t = Tracer::require("s_barrier_wait", loc);
  t.kernel.targetWith(Feature::split_barriers, "s_barrier_wait", loc);
  t.arrivals.expectInstruction("a barrier", loc);
  t.barriers.wait(loc);
  t.create<ROCDL::BarrierWaitOp>(loc, static_cast<std::uint16_t>(kBlockBarrier));
}

static int count(const char *name, std::optional<int> value, int most, Loc loc) {
  return value ? builder::immediate(name, *value, most, loc) : most;
}

// Bits: gfx9 vmcnt [3:0] and [15:14], expcnt [6:4], lgkmcnt [11:8]; gfx11 and gfx120x expcnt [2:0],
// lgkmcnt [9:4], vmcnt [15:10] (AMD's ISA manuals, S_WAITCNT).
void s_waitcnt(const WaitCounts &counts, Loc loc) {
  Tracer &t = Tracer::require("s_waitcnt", loc);
  const Target &target = t.kernel.targetWith(Feature::s_waitcnt, "s_waitcnt", loc);
  const WaitLimits most = wait_limits(target);
  const int vm = count("vmcnt", counts.vmcnt, most.loads, loc),
            exp = count("expcnt", counts.expcnt, 7, loc),
            lgkm = count("lgkmcnt", counts.lgkmcnt, most.lds, loc);
  const int field = detail::isCdna(target.family())
                        ? (vm & 15) | (vm & 48) << 10 | exp << 4 | lgkm << 8
                        : vm << 10 | lgkm << 4 | exp;
  t.create<ROCDL::SWaitcntOp>(loc, bits(field));
}

void s_waitcnt(int bitfield, Loc loc) {
  Tracer &t = Tracer::require("s_waitcnt", loc);
  t.kernel.targetWith(Feature::s_waitcnt, "s_waitcnt", loc);
  builder::immediate("the field of s_waitcnt", bitfield, 0xffff, loc);
  t.create<ROCDL::SWaitcntOp>(loc, bits(bitfield));
}

/// A wait of gfx12 for one counter, which holds at most what `most` says of the target.
template <class Op>
static void waitFor(const char *name, int count, int WaitLimits::*most, Loc loc) {
  Tracer &t = Tracer::require(name, loc);
  const Target &target = t.kernel.targetWith(Feature::split_wait_counts, name, loc);
  builder::immediate(("the count of " + std::string(name)).c_str(), count,
                     wait_limits(target).*most, loc);
  t.create<Op>(loc, static_cast<std::uint16_t>(count));
}
void s_wait_loadcnt(int count, Loc loc) {
  waitFor<ROCDL::WaitLoadcntOp>("s_wait_loadcnt", count, &WaitLimits::loads, loc);
}
void s_wait_storecnt(int count, Loc loc) {
  waitFor<ROCDL::WaitStorecntOp>("s_wait_storecnt", count, &WaitLimits::stores, loc);
}
void s_wait_dscnt(int count, Loc loc) {
  waitFor<ROCDL::WaitDscntOp>("s_wait_dscnt", count, &WaitLimits::lds, loc);
}

void s_wait_asynccnt(int count, Loc loc) {
  Tracer::require("s_wait_asynccnt", loc)
      .kernel.targetWith(Feature::async_lds, "s_wait_asynccnt", loc);
  builder::immediate("the count of s_wait_asynccnt", count, 63, loc);
  impl::intrinsic("llvm.amdgcn.s.wait.asynccnt", {}, {IntrinsicArg::of(i16, count, loc)}, loc);
}

void s_wait_tensorcnt(int count, Loc loc) {
  Tracer::require("s_wait_tensorcnt", loc)
      .kernel.targetWith(Feature::tensor_mover, "s_wait_tensorcnt", loc);
  builder::immediate("the count of s_wait_tensorcnt", count, 63, loc);
  impl::intrinsic("llvm.amdgcn.s.wait.tensorcnt", {}, {IntrinsicArg::of(i16, count, loc)}, loc);
}

void iglp_opt(int strategy, Loc loc) {
  // LLVM's AMDGPUIGroupLP has these four, and no error for others.
  builder::immediate("the strategy of iglp_opt", strategy, 3, loc);
  impl::intrinsic("llvm.amdgcn.iglp.opt", {}, {IntrinsicArg(strategy, loc)}, loc);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
