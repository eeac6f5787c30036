// Ends of the kernel before its end: fx::exit_if.
#pragma once

#include "builder/trace/ir_builder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

namespace flydsl::builder {

/// The branches that exit_if began. Each holds the rest of the kernel and ends with it.
class EarlyExits {
public:
  EarlyExits(IrBuilder &ir, mlir::Block *body) : ir_(ir), body_(body) {}

  /// If the condition holds, the kernel is over: what is traced from here on is in a branch.
  void exitIf(mlir::Value condition, Loc loc);
  /// Whether a branch is one of them.
  bool has(mlir::scf::IfOp branch) const { return llvm::is_contained(exits_, branch); }
  /// Ends the kernel's body.
  void finish(mlir::Location loc);

private:
  /// The block that is outside of loops and branches.
  mlir::Block *top() { return exits_.empty() ? body_ : exits_.back().thenBlock(); }

  IrBuilder &ir_;
  mlir::Block *body_;
  llvm::SmallVector<mlir::scf::IfOp, 2> exits_;
};

} // namespace flydsl::builder
