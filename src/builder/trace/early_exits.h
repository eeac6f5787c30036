// Ends of the kernel before its end: fx::exit_if.
#pragma once

#include "builder/trace/ir_builder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace flydsl::builder {

/// The branches that exit_if began. Each holds the rest of the kernel and ends with it.
class EarlyExits {
public:
  EarlyExits(IrBuilder &ir, mlir::Block *body) : ir_(ir), body_(body) {}

  /// If the condition holds, the kernel is over: what is traced from here on is in a branch.
  void exitIf(mlir::Value condition, Loc loc);
  /// A TraceError if an exit_if before may have taken a part of the block's threads.
  void expectAllThreads(const char *what, Loc loc) const;
  /// Ends the kernel's body.
  void finish(mlir::Location loc);

private:
  struct Exit {
    mlir::scf::IfOp rest;
    Loc loc;
    bool mayDiffer; ///< the condition comes from the thread's number
  };
  /// The block that is outside of loops and branches.
  mlir::Block *top() { return exits_.empty() ? body_ : exits_.back().rest.thenBlock(); }

  IrBuilder &ir_;
  mlir::Block *body_;
  std::vector<Exit> exits_;
};

} // namespace flydsl::builder
