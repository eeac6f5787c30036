// Which threads of a block come to the operation that is traced next.
#pragma once

#include "builder/trace/early_exits.h"
#include "builder/trace/thread_dependence.h"

namespace flydsl::builder {

/// Refuses barriers and collectives at places that a part of the threads does not come to: behind
/// an exit_if, in a branch, or in a loop, whose condition or number of steps comes from the
/// thread's number.
class Arrivals {
public:
  Arrivals(IrBuilder &ir, const KernelFacts &kernel, const EarlyExits &exits)
      : ir_(ir), dependence_(kernel), exits_(exits) {}

  /// Throws TraceError if `what`, which the operation that is traced next is, lacks threads of the
  /// block.
  void expectBlock(const char *what, Loc loc) { expect(what, 0, true, loc); }
  /// The same for each group of `lanes` neighbouring threads.
  void expectGroups(const char *what, unsigned lanes, Loc loc) { expect(what, lanes, true, loc); }
  /// The same for a bare instruction, which waves in different branches may meet at: only an exit
  /// keeps threads away for ever.
  void expectInstruction(const char *what, Loc loc) { expect(what, 0, false, loc); }

  /// Whether all threads of the block, or none, come here equally often and with the same numbers of
  /// loops. False where that is not known.
  bool isForWholeBlock();
  /// Whether some threads of the block may be left out: a branch around it is not known to be taken
  /// by all, or a loop around it ends earlier for some.
  bool mayLackThreads();

private:
  /// What stands around the operation that is traced next.
  enum class Around : std::uint8_t { exit, branch, range, condition };
  /// Calls `visit` for each of these from the inside out, with what the threads of a group have of its
  /// condition or of its steps, until it returns true. Returns whether it did.
  bool anyAround(unsigned group,
                 llvm::function_ref<bool(Around, Agreement, mlir::Operation *)> visit);
  void expect(const char *what, unsigned group, bool inBranches, Loc loc);

  IrBuilder &ir_;
  ThreadDependence dependence_;
  const EarlyExits &exits_;
};

} // namespace flydsl::builder
