// The checks of a launch: memory, race, race-same, init, sync, wait (Options::checks).
#pragma once

#include "emulator/core/observer.h"
#include "emulator/core/program.h"
#include "emulator/observe/findings.h"
#include "emulator/observe/races/global_races.h"

namespace flyemu {

/// What the threads of a checked launch share.
struct CheckState {
  CheckState(const Options &o, const KernelCode &kernel, const MemoryMap &m)
      : checks(o.checks), landLate(o.landLate), memory(m), exchange(o.exchange),
        touched(o.checks & kCheckStreams ? o.touched : nullptr), findings(kernel, m),
        races(releaseBy(*kernel.program->target)) {}

  const unsigned checks;
  const bool landLate;
  const MemoryMap &memory;
  const MemoryRange exchange;  ///< Options::exchange
  TouchedBytes *const touched; ///< Options::touched, if it is asked for
  Findings findings;
  GlobalRaces races;
};

/// The checks of one thread.
std::unique_ptr<Observer> makeChecks(CheckState &state);

} // namespace flyemu
