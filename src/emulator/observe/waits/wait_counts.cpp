#include "emulator/observe/waits/wait_counts.h"

#include "emulator/isa/op.h"

namespace flyemu {

WaitCounts waitCounts(const Machine &machine, const Inst &inst) {
  WaitCounts left;
  const WaitFor waits = inst.op ? inst.op->waits : WaitFor();
  const auto value = static_cast<uint32_t>(inst.offset);
  switch (waits.form) {
  case WaitForm::None:
    break;
  case WaitForm::Idle:
    for (unsigned k = 0; k < kWaitCounters; ++k)
      left[static_cast<WaitCounter>(k)] = 0;
    break;
  case WaitForm::Packed: {
    // The fields of s_waitcnt (LLVM's AMDGPUUsage and AMDGPUBaseInfo, getVmcntBitShiftLo and its
    // kin). A field whose bits are all set waits as well: its counter stops at that number.
    const bool gfx9 = machine.encoding == Encoding::Gfx9;
    left[WaitCounter::Load] = gfx9 ? (value & 15) | (value >> 10 & 0x30) : value >> 10 & 63;
    left[WaitCounter::Ds] = left[WaitCounter::Km] = gfx9 ? value >> 8 & 15 : value >> 4 & 63;
    break;
  }
  case WaitForm::Number:
    // The number of loads or stores stands above that of LDS in gfx12's waits for two counters.
    // (s_waitcnt_lgkmcnt has one number, of the counter that LDS and scalar memory share.)
    if (waits.counters.size() == 2 && !waits.counters.has(WaitCounter::Km)) {
      left[waits.counters.first()] = value >> 8 & 63;
      left[WaitCounter::Ds] = value & 63;
      break;
    }
    for (WaitCounter counter : waits.counters)
      left[counter] = value & 63;
    break;
  }
  return left;
}

} // namespace flyemu
