// The checks of a launch: memory, race, race-same, init, sync (Options::checks).
#pragma once

#include "emulator/core/observer.h"
#include "emulator/observe/findings.h"
#include "emulator/observe/global_races.h"

namespace flyemu {

/// What the threads of a checked launch share.
struct CheckState {
  CheckState(unsigned c, const KernelCode &kernel, const MemoryMap &m)
      : checks(c), memory(m), findings(kernel, m) {}

  const unsigned checks;
  const MemoryMap &memory;
  MemoryRange exchange; ///< Options::exchange
  Findings findings;
  GlobalRaces races;
};

/// The checks of one thread.
std::unique_ptr<Observer> makeChecks(CheckState &state);

} // namespace flyemu
