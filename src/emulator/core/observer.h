// What a launch tells whoever watches it, instruction by instruction. The watchers themselves
// (counters, checks, the trace) are in emulator/observe.
#pragma once

#include "emulator/core/dispatch.h"
#include "emulator/core/group.h"
#include "emulator/core/probe.h"

#include <memory>

namespace flyemu {

/// Watches one workgroup at a time.
struct Observer : Probe {
  virtual void beginGroup(Group &) {}
  virtual void before(Wave &, const Inst &) = 0;
  /// The wave's last instruction has been executed, and another wave may be next.
  virtual void paused(Wave &) {}
  virtual void barrier(Group &) {}
  virtual void passedGridBarrier(Wave &) {}
  /// A wave of the workgroup goes on after a named barrier.
  virtual void passedNamedBarrier(Group &) {}
  virtual void endGroup(Group &) {}
  /// Adds what it has collected to the launch's result. It is called under the launch's lock.
  virtual void finish(DispatchResult &) = 0;
};

/// Who watches a launch.
class Watch {
public:
  virtual ~Watch() = default;
  /// A new observer, for a workgroup in execution and those that take its place. Called by all
  /// threads of the launch at once.
  virtual std::unique_ptr<Observer> observer() = 0;
};

} // namespace flyemu
