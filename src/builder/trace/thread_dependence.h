// Whether threads of a group may differ in a value, as far as its operations tell before they run.
#pragma once

#include "builder/trace/kernel_facts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <utility>

namespace flydsl::builder {

/// A thread of a block.
struct Thread {
  std::array<unsigned, 3> at; ///< its numbers along x, y and z
  unsigned lane;              ///< its number in its wave
};

/// A value is followed to the thread's number through operations that touch no memory. What comes
/// out of memory, of a branch, or around a loop counts as the same for all, because nothing is
/// known of it.
class ThreadDependence {
public:
  explicit ThreadDependence(const KernelFacts &kernel) : kernel_(kernel) {}

  /// Whether neighbouring threads, `group` at a time, may have different values. 0: all of a block.
  /// Values of nothing but the thread's number are computed for each thread; others may differ
  /// where one of their operands does.
  bool mayDiffer(mlir::Value value, unsigned group);
  /// Whether they may take a loop's body a different number of times.
  bool stepsMayDiffer(mlir::scf::ForOp loop, unsigned group);

private:
  bool find(mlir::Value value, unsigned group);
  /// Whether what `make` computes for each thread differs in a group; if it is null for one, true.
  bool isDifferent(llvm::function_ref<mlir::Attribute(const Thread &)> make, unsigned group) const;
  /// Threads of a block along x, y and z: two waves where the launch is not known.
  std::array<unsigned, 3> block() const;
  unsigned waveSize() const { return kernel_.target ? kernel_.target->wave_size() : 64; }

  const KernelFacts &kernel_;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, bool> known_;
};

} // namespace flydsl::builder
