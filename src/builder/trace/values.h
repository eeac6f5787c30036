// Handles of the eDSL as values of the IR.
#pragma once

#include "builder/trace/ir_builder.h"
#include "builder/trace/kernel_facts.h"
#include "builder/trace/node.h"

#include "llvm/ADT/DenseSet.h"

namespace flydsl::builder {

using detail::Handle;
using detail::Node;

/// Finds the IR values of handles, and makes handles to IR values, of one trace.
class Values {
public:
  Values(IrBuilder &ir, Diagnostics &diagnostics, const KernelFacts &kernel, std::uint64_t trace)
      : ir_(ir), diagnostics_(diagnostics), kernel_(kernel), trace_(trace) {}

  /// The IR value of a handle: a traced value after a check that it may be used here, a static one
  /// as a constant, a tuple with run-time leaves as a fly.make_int_tuple.
  mlir::Value use(const Handle &handle, Loc loc);
  /// The IR type that `use` would have; no operation is made.
  mlir::Type typeOf(const Handle &handle, Loc loc);
  /// A handle to a value of this trace.
  Handle wrap(mlir::Value value, DType dtype, Loc loc) const;
  /// A handle to memory of a Var.
  Handle wrapVariable(mlir::Value memory, DType dtype, bool isVector, Loc loc) const;
  /// A handle to a parameter of the kernel.
  Handle wrapParameter(mlir::BlockArgument argument, DType dtype, bool isLarge) const;
  /// Notes a branch into which the right side of && or || was moved.
  void noteShortCircuit(mlir::Operation *branch) { shortCircuits_.insert(branch); }
  /// True if the handle refers to a value of this trace.
  bool isOwn(const detail::TracedContent &traced) const { return traced.trace == trace_; }

private:
  /// Checks that a traced value belongs to this trace and is visible at the insertion point.
  void expectVisible(const Node &node, Loc loc);
  mlir::Value useNumber(const detail::HostNumber &number, DType type, Loc loc);
  mlir::Value useLazy(const detail::LazyIndex &lazy, Loc loc);
  mlir::Value useTuple(const layout::IntTuple &tuple, llvm::ArrayRef<detail::DynamicLeaf> leaves,
                       Loc loc);
  /// The one value of a static type.
  mlir::Value useStatic(mlir::Type type, Loc loc);
  mlir::Value makeStatic(mlir::Type type, Loc loc);
  mlir::Value leafValue(const detail::DynamicLeaf &leaf, Loc loc);

  IrBuilder &ir_;
  Diagnostics &diagnostics_;
  const KernelFacts &kernel_;
  std::uint64_t trace_;
  bool isVisible(mlir::Value value);
  llvm::DenseSet<mlir::Operation *> shortCircuits_;
  llvm::DenseMap<mlir::Type, mlir::Value> statics_;
  llvm::DenseMap<std::pair<unsigned, unsigned>, mlir::Value> lazies_;
};

} // namespace flydsl::builder
