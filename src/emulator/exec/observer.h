// What watches a launch instruction by instruction: counters, checks, the trace.
#pragma once

#include "emulator/exec/dispatch.h"
#include "emulator/exec/group.h"
#include "emulator/exec/probe.h"

#include <memory>

namespace flyemu {

/// One for each thread of a launch.
struct Observer : Probe {
  virtual void beginGroup(Group &) {}
  virtual void before(Wave &, const Inst &) = 0;
  virtual void barrier(Group &) {}
  virtual void passedGridBarrier(Wave &) {}
  virtual void endGroup(Group &) {}
  /// Adds what it has to the launch's result; called under the launch's lock.
  virtual void finish(DispatchResult &) = 0;
};

struct CheckState;

/// One thread's observer, as the options ask for; null if they ask for none. `checks` is what the
/// threads of a checked launch share, null without checks.
std::unique_ptr<Observer> makeObserver(const Options &options, const Program &program,
                                       CheckState *checks);

} // namespace flyemu
