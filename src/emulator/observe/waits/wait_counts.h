// How many operations may still be under way after a wait instruction.
#pragma once

#include "emulator/isa/inst.h"
#include "emulator/isa/machine.h"
#include "emulator/isa/traits.h"

#include <array>

namespace flyemu {

/// For each counter, how many of its operations may be outstanding when a wait is over. Targets
/// whose LDS and scalar memory share a counter (lgkmcnt) have its number in both.
class WaitCounts {
public:
  static constexpr unsigned kAny = ~0u; ///< the wait does not look at this counter

  WaitCounts() { left_.fill(kAny); }
  unsigned &operator[](WaitCounter counter) { return left_[static_cast<unsigned>(counter)]; }
  unsigned operator[](WaitCounter counter) const { return left_[static_cast<unsigned>(counter)]; }

private:
  std::array<unsigned, kWaitCounters> left_;
};

/// What an instruction waits for; all kAny for those that are no waits.
WaitCounts waitCounts(const Machine &machine, const Inst &inst);

} // namespace flyemu
