#include "emulator/observe/timing.h"

#include "emulator/isa/op.h"
#include "emulator/matrix/execute.h"
#include "emulator/matrix/passes.h"

#include <algorithm>

namespace flyemu {

TimingFigures timingFigures(const Machine &target, unsigned lanes) {
  // Issue: CDNA's SIMDs are 16 lanes wide and have double precision at full rate; RDNA's are 32
  // wide and have it at 1/32 (ISA manuals; AMD's published peak rates). Which other classes are
  // slower, and by how much, is from LLVM's scheduling models: from gfx90a on CDNA has integer
  // products at full rate, and conversions of f32 at a quarter, RDNA the other way round; the
  // double-precision functions of CDNA are those of quarter rate, of RDNA little slower than its
  // sums. Latencies are of the order that published measurements give for an access that the L2
  // cache serves.
  if (target.encoding == Encoding::Gfx9)
    return {4, 16, 4, 16, 4, 16, 4, 500, 200, 64, 2};
  const unsigned passes = lanes == 64 ? 2 : 1;
  return {passes, 4 * passes, 4 * passes, passes, 32 * passes, 34 * passes, 1, 400, 160, 32, 2};
}

namespace {
enum WaitFor : uint8_t { kVector = 1, kLds = 2, kStore = 4, kPacked = 8 };

bool startsWith(std::string_view s, std::string_view head) {
  return s.substr(0, head.size()) == head;
}

bool isTranscendental(std::string_view name) {
  for (std::string_view head :
       {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_", "v_tanh_"})
    if (startsWith(name, head))
      return true;
  return false;
}

/// The conversions that LLVM's models have a class for: f32 from or to 32-bit integers, f16, fp8.
bool isConversion(std::string_view name) {
  for (std::string_view head :
       {"v_cvt_f32_i32", "v_cvt_f32_u32", "v_cvt_i32_f32", "v_cvt_u32_f32", "v_cvt_rpi_i32_f32",
        "v_cvt_flr_i32_f32", "v_cvt_off_f32_i4", "v_cvt_f32_f16", "v_cvt_f16_f32", "v_cvt_f32_fp8",
        "v_cvt_f32_bf8", "v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8", "v_cvt_pk_fp8_f32",
        "v_cvt_pk_bf8_f32", "v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32"})
    if (name == head)
      return true;
  return false;
}

unsigned vectorCycles(const OpDef &op, const TimingFigures &f) {
  const bool wide = op.name.find("_f64") != std::string_view::npos;
  if (isTranscendental(op.name))
    return wide ? f.wideQuarter : f.quarter;
  if (wide)
    return f.wide;
  if (startsWith(op.name, "v_mul_lo_u32") || startsWith(op.name, "v_mul_hi_") ||
      startsWith(op.name, "v_mad_u64_u32") || startsWith(op.name, "v_mad_i64_i32"))
    return f.product;
  if (isConversion(op.name))
    return f.conversion;
  return f.vector;
}

/// The counters that a wait instruction names; 0 if it is none.
unsigned waitsFor(std::string_view name) {
  if (name == "s_waitcnt")
    return kPacked;
  if (name == "s_wait_loadcnt_dscnt")
    return kVector | kLds;
  if (name == "s_wait_storecnt_dscnt")
    return kStore | kLds;
  if (name == "s_wait_loadcnt" || name == "s_waitcnt_vmcnt")
    return kVector;
  if (name == "s_wait_dscnt" || name == "s_wait_kmcnt" || name == "s_waitcnt_lgkmcnt")
    return kLds;
  if (name == "s_wait_storecnt" || name == "s_waitcnt_vscnt")
    return kStore;
  return 0;
}
} // namespace

void GroupClock::beginGroup(Group &group) {
  if (group.waves.empty())
    return;
  figures_ = timingFigures(*group.waves[0].target, group.waves[0].lanes);
  clocks_.assign(group.waves.size(), {});
}

const GroupClock::Cost &GroupClock::costOf(const Wave &wave, const Inst &inst) {
  Cost &c = costs_[static_cast<size_t>(&inst - program_.insts.data())];
  if (c.pace != Pace::Unknown)
    return c;
  c.pace = Pace::Scalar;
  c.cycles = static_cast<uint16_t>(figures_.scalar);
  if (!inst.op)
    return c;
  switch (inst.op->cls) {
  case Class::Valu:
    c.pace = Pace::Vector;
    c.cycles = static_cast<uint16_t>(vectorCycles(*inst.op, figures_));
    break;
  case Class::Mfma:
    c.pace = Pace::Matrix;
    if (inst.plan)
      c.cycles = static_cast<uint16_t>(matrix::cyclesOf(
          static_cast<const matrix::MatrixPlan *>(inst.plan)->op(), *wave.target->processor));
    break;
  case Class::VmemRead:
    c.pace = Pace::Load;
    break;
  case Class::VmemWrite:
    c.pace = Pace::Store;
    break;
  case Class::Lds:
    c.pace = Pace::Lds;
    break;
  case Class::Smem:
    c.pace = Pace::ScalarLoad;
    break;
  default:
    if (unsigned counter = waitsFor(inst.op->name)) {
      c.pace = Pace::Wait;
      c.counter = static_cast<uint8_t>(counter);
    }
    break;
  }
  return c;
}

void GroupClock::issue(const Wave &wave, const Inst &inst) {
  const Cost &cost = costOf(wave, inst);
  Clock &clock = clocks_[wave.index];
  clock.now += cost.cycles;
  clock.last = nullptr;
  auto start = [&](Outstanding &queue, unsigned latency) {
    // The hardware's counters have a limit too, and an operation beyond it waits to issue.
    if (queue.size() >= 63) {
      clock.now = std::max(clock.now, queue.front());
      queue.pop_front();
    }
    queue.push_back(clock.now + latency);
    clock.last = &queue;
  };
  (cost.pace == Pace::Vector   ? timing_.valuCycles
   : cost.pace == Pace::Matrix ? timing_.matrixCycles
                               : timing_.scalarCycles) += cost.cycles;
  switch (cost.pace) {
  case Pace::Load:
    start(clock.vector, figures_.memoryLatency);
    break;
  case Pace::Store:
    start(wave.target->encoding == Encoding::Gfx9 ? clock.vector : clock.store,
          figures_.memoryLatency);
    break;
  case Pace::Lds:
    start(clock.lds, figures_.ldsLatency);
    break;
  case Pace::ScalarLoad:
    start(clock.lds, figures_.scalarLatency);
    break;
  case Pace::Wait:
    wait(clock, inst, cost.counter);
    break;
  default:
    break;
  }
}

void GroupClock::wait(Clock &clock, const Inst &inst, unsigned counter) {
  // All but the youngest `left` operations must have ended. Those of one counter end in order, but
  // for scalar loads, which code waits for with 0.
  auto until = [&](Outstanding &queue, unsigned left) {
    while (queue.size() > left) {
      clock.now = std::max(clock.now, queue.front());
      queue.pop_front();
    }
  };
  const auto value = static_cast<uint32_t>(inst.offset);
  if (counter & kPacked) {
    // The fields of s_waitcnt (LLVM AMDGPUUsage).
    const bool gfx9 = program_.target->encoding == Encoding::Gfx9;
    until(clock.vector, gfx9 ? (value & 15) | (value >> 10 & 0x30) : value >> 10 & 63);
    until(clock.lds, gfx9 ? value >> 8 & 15 : value >> 4 & 63);
  } else if (counter == (kVector | kLds) || counter == (kStore | kLds)) {
    until(counter & kVector ? clock.vector : clock.store, value >> 8 & 63);
    until(clock.lds, value & 63);
  } else {
    until(counter == kVector  ? clock.vector
          : counter == kStore ? clock.store
                              : clock.lds,
          value & 63);
  }
}

void GroupClock::touched(const Wave &wave, uint64_t lines, uint64_t ldsCycles) {
  Clock &clock = clocks_[wave.index];
  if (clock.last && !clock.last->empty())
    clock.last->back() += lines * figures_.lineCycles + ldsCycles;
}

void GroupClock::barrier() {
  uint64_t latest = 0;
  for (const Clock &c : clocks_)
    latest = std::max(latest, c.now);
  for (Clock &c : clocks_)
    c.now = latest;
}

void GroupClock::endGroup() {
  barrier();
  timing_.groupCycles += clocks_.empty() ? 0 : clocks_[0].now;
  ++timing_.groups;
}

} // namespace flyemu
