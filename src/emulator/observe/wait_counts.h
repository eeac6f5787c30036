// How many operations may still be under way behind a wait instruction.
#pragma once

#include "emulator/isa/inst.h"
#include "emulator/isa/machine.h"

namespace flyemu {

/// For each counter, how many of its operations may be outstanding when a wait is over. Targets
/// whose LDS and scalar memory share a counter (lgkmcnt) have its number in both.
struct WaitCounts {
  static constexpr unsigned kAny = ~0u; ///< the wait does not look at this counter
  unsigned vector = kAny, lds = kAny, scalar = kAny, store = kAny;
};

/// What an instruction waits for; all kAny for those that are no waits.
WaitCounts waitCounts(const Machine &machine, const Inst &inst);

} // namespace flyemu
