#include "emulator/observe/wait_counts.h"

#include "emulator/isa/op.h"

namespace flyemu {

WaitCounts waitCounts(const Machine &machine, const Inst &inst) {
  WaitCounts left;
  const unsigned counters = inst.op ? inst.op->waits : 0;
  const auto value = static_cast<uint32_t>(inst.offset);
  if (counters & kWaitIdle) {
    left.vector = left.lds = left.scalar = left.store = 0;
  } else if (counters & kWaitPacked) {
    // The fields of s_waitcnt (LLVM's AMDGPUUsage and AMDGPUBaseInfo, getVmcntBitShiftLo and its
    // kin). A field whose bits are all set waits as well: its counter stops at that number.
    const bool gfx9 = machine.encoding == Encoding::Gfx9;
    left.vector = gfx9 ? (value & 15) | (value >> 10 & 0x30) : value >> 10 & 63;
    left.lds = left.scalar = gfx9 ? value >> 8 & 15 : value >> 4 & 63;
  } else if (counters == (kWaitVector | kWaitLds) || counters == (kWaitStore | kWaitLds)) {
    // Two counters in one instruction of gfx12.
    (counters & kWaitVector ? left.vector : left.store) = value >> 8 & 63;
    left.lds = value & 63;
  } else {
    const unsigned number = value & 63;
    if (counters & kWaitVector)
      left.vector = number;
    if (counters & kWaitLds)
      left.lds = number;
    if (counters & kWaitScalar)
      left.scalar = number;
    if (counters & kWaitStore)
      left.store = number;
  }
  return left;
}

} // namespace flyemu
