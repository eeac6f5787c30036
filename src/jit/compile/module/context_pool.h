// MLIR contexts, made once and used again: registering and loading the dialects costs more than
// compiling a small kernel.
#pragma once

#include "jit/compile/guard/compiler_use.h"

#include <memory>

#include <cstddef>

namespace mlir {
class DialectRegistry;
class MLIRContext;
class ModuleOp;
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
/// compiler_use.h), and where there is not enough memory: a context is made under the guard.
class ContextLease {
public:
  /// `also` loads what else the caller uses, under the guard, once for each context.
  explicit ContextLease(Dialects wanted = Dialects::all,
                        void (*also)(mlir::MLIRContext &) = nullptr);
  ~ContextLease();
  ContextLease(const ContextLease &) = delete;
  ContextLease &operator=(const ContextLease &) = delete;

  mlir::MLIRContext &operator*() const { return *context_; }
  mlir::MLIRContext *operator->() const { return context_.get(); }
  mlir::MLIRContext *get() const { return context_.get(); }

  /// For std::bad_alloc that came through MLIR on this thread, which was not made for it: the context
  /// is abandoned, and so is the compiler if a lock was held.
  void ranOutOfMemory();

private:
  ContextUse use_;
  std::unique_ptr<mlir::MLIRContext> context_;
  int locksBefore_; ///< that the thread held when it got the context
};

/// Counts the module's operations as work of its context. A context keeps every type, attribute and
/// location that it ever made, so the pool replaces it after kMostOperations; one that is not the
/// pool's is left alone.
void noteWork(mlir::ModuleOp module);

/// The operations of all modules of a context, before and after the passes, until it is replaced.
/// Kernels without a type in common leave 20 MB or less in that many (bench_memory), and making a
/// context takes less than a hundredth of compiling them.
inline constexpr std::size_t kMostOperations = 200'000;

/// A place for something that lives as long as this context of the pool; whoever holds the lease
/// may use it. Null for a context that is not the pool's.
std::shared_ptr<void> *keptWith(mlir::MLIRContext &context);

/// Marks the context as damaged (a crash happened in it): it is never used again nor destroyed.
void abandonContext(mlir::MLIRContext &context);

} // namespace flydsl::jit
