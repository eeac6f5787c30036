// A graph's operations in execution: each as soon as all that it depends on has ended.
#pragma once

#include "emulator/hip/stream/operation.h"

namespace flyemu::hip {

/// A graph in execution: operations in a topological order, each with those that depend on it.
struct GraphPlan {
  struct Step {
    Operation operation;
    uint32_t dependencies = 0;        ///< how many steps it waits for
    std::vector<uint32_t> dependents; ///< which steps wait for it
  };
  std::vector<Step> steps;

  /// Which steps come before which.
  std::shared_ptr<const StepOrder> order() const;

  /// Appends a step behind earlier ones and returns its number.
  uint32_t add(Operation operation, const std::vector<uint32_t> &dependencies);
};

/// Runs a plan to its end. Branches that do not depend on each other run at the same time, on
/// threads of their own, so that a kernel of one may wait for a flag that a kernel of another sets.
/// Begins no further step once the device is lost. Throws nothing.
/// \p launch is the launch's place in the order of all; null where streams are not checked.
void runGraph(const GraphPlan &plan, Device &device, const SubmissionRef &launch);

} // namespace flyemu::hip
