// Which threads of a block have the same value, as far as its operations tell before they run.
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
  unsigned wave;              ///< the number of its wave in the block
};

/// What the threads of a group have of a value. The later of two counts for what is made of both.
enum class Agreement : std::uint8_t {
  same,      ///< all have the same
  unknown,   ///< nothing is known of it: it comes out of memory, of a branch, or around a loop
  different, ///< it comes from the thread's number, and some may have another one
};

/// A value is followed to the thread's number through operations that touch no memory.
class ThreadDependence {
public:
  explicit ThreadDependence(const KernelFacts &kernel) : kernel_(kernel) {}

  /// What neighbouring threads, `group` at a time, have of a value. 0: all of a block. Values of
  /// nothing but the thread's number are computed for each thread; others may differ where one of
  /// their operands does.
  Agreement of(mlir::Value value, unsigned group);
  /// Whether they take a loop's body with the same numbers. Unknown too where the numbers differ, and
  /// each thread has as many of them.
  Agreement ofSteps(mlir::scf::ForOp loop, unsigned group);

private:
  Agreement find(mlir::Value value, unsigned group);
  Agreement findOperation(mlir::Operation *op, mlir::Value value, unsigned group);
  Agreement worst(mlir::ValueRange values, unsigned group);
  /// `different` if what `make` computes for each thread differs in a group, or is null for one.
  Agreement computed(llvm::function_ref<mlir::Attribute(const Thread &)> make, unsigned group);
  /// What a value is in a thread; null where it is made of more than the thread's number.
  mlir::Attribute valueIn(mlir::Value value, const Thread &thread);
  /// Threads of a block along x, y and z: two waves where the launch is not known.
  std::array<unsigned, 3> block() const;
  unsigned waveSize() const { return kernel_.target ? kernel_.target->wave_size() : 64; }

  const KernelFacts &kernel_;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Agreement> known_;
};

} // namespace flydsl::builder
