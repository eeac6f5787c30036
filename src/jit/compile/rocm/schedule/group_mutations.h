// `sched_group_barrier` in LLVM's schedulers, by the quick choice of group_order.h.
#pragma once

#include "llvm/ADT/SmallVector.h"

namespace llvm {
class MachineFunction;
class MachineInstr;
class ScheduleDAGMI;
} // namespace llvm

namespace flydsl::jit {

/// While it lives, a scheduler of the function orders groups by edgesOfGroups, and LLVM's own step
/// for them does not run. A function with something that only LLVM's step understands is left to
/// it: inline assembly, `sched_barrier` with a mask, `iglp_opt`.
class QuickGroups {
public:
  /// `forGood`: regions after the first one with groups do without the target's steps as well,
  /// which LLVM's scheduler behind the allocation of registers brings back at its end alone.
  QuickGroups(llvm::MachineFunction &function, llvm::ScheduleDAGMI &scheduler, bool forGood);
  ~QuickGroups();
  QuickGroups(const QuickGroups &) = delete;
  QuickGroups &operator=(const QuickGroups &) = delete;

private:
  llvm::SmallVector<llvm::MachineInstr *> barriers_;
};

} // namespace flydsl::jit
