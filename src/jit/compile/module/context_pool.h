// MLIR contexts, made once and used again: registering and loading the dialects costs more than
// compiling a small kernel.
#pragma once

#include "jit/compile/guard/compiler_use.h"

#include <memory>

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace flydsl::jit {

/// Registers every dialect that a kernel may hold, with its conversions and translations to LLVM.
void registerDialects(mlir::DialectRegistry &registry);
/// Registers those of them that a backend's kernels are traced in.
void registerTracedDialects(mlir::DialectRegistry &registry);
/// Registers, once per process, every pass that the pipeline names, so that text pipelines parse.
void registerPasses();

/// Which dialects a context has when it is leased.
enum class Dialects {
  all,
  /// Those that a backend's kernels are traced in; a trace loads what else it needs, a compile all.
  ofBackends,
};

/// A context that no other thread uses while this is held; MLIR's own threading is off. Returned to
/// the pool at the end. Throws CompileError where the compiler can't be used any more (see
/// compiler_use.h).
class ContextLease {
public:
  explicit ContextLease(Dialects loaded = Dialects::all);
  ~ContextLease();
  ContextLease(const ContextLease &) = delete;
  ContextLease &operator=(const ContextLease &) = delete;

  mlir::MLIRContext &operator*() const { return *context_; }
  mlir::MLIRContext *operator->() const { return context_.get(); }
  mlir::MLIRContext *get() const { return context_.get(); }

private:
  ContextUse use_;
  std::unique_ptr<mlir::MLIRContext> context_;
  unsigned uses_ = 0;
};

/// A place for something that lives as long as this context of the pool; whoever holds the lease
/// may use it. Null for a context that is not the pool's.
std::shared_ptr<void> *keptWith(mlir::MLIRContext &context);

/// Marks the context as damaged (a crash happened in it): it is never used again nor destroyed.
void abandonContext(mlir::MLIRContext &context);

} // namespace flydsl::jit
