// LLVM's part of a compile, the same for every backend: LLVM dialect to LLVM IR to code in memory.
#pragma once

#include "jit/compile/codegen/backend.h"

#include <exception>
#include <latch>
#include <memory>
#include <string>

namespace llvm {
class Function;
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm
namespace mlir {
class Operation;
} // namespace mlir

namespace flydsl::jit {

/// A TargetMachine and what is kept with it, which goes before the machine does.
struct MadeMachine {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::shared_ptr<void> kept;
  struct Warming {
    std::latch over{1};
    std::exception_ptr failed; ///< written before `over`
  };
  std::shared_ptr<Warming> warming; ///< the backend's warmUp, if a thread runs it
};

/// A TargetMachine for the options; made once, lent to one user at a time.
class TargetMachineLease {
public:
  /// Throws flydsl::CompileError if LLVM has no such target.
  TargetMachineLease(const Backend &backend, const CompileOptions &options);
  ~TargetMachineLease();
  TargetMachineLease(TargetMachineLease &&) noexcept;
  TargetMachineLease &operator=(TargetMachineLease &&) = delete;

  llvm::TargetMachine &operator*() const { return *made_.machine; }

  /// Waits until the machine may generate code. Throws what its warming threw: the machine has half
  /// of what it keeps then, and nobody gets it again.
  void finishWarming();

  /// A place for something that lives as long as the machine; whoever holds the lease may use it.
  std::shared_ptr<void> &kept() { return made_.kept; }

private:
  std::string key_;
  MadeMachine made_;
  int exceptions_ = std::uncaught_exceptions();
};

/// Translates a gpu.module in the LLVM dialect, and has the backend prepare it. Null on failure,
/// after diagnostics through the MLIR context.
std::unique_ptr<llvm::Module> translate(mlir::Operation *gpuModule, llvm::LLVMContext &context,
                                        llvm::TargetMachine &machine, const Backend &backend,
                                        const CompileOptions &options);

/// Gives fragments in register memory that stayed memory the alignment that vectors of their size
/// have, up to that of the largest vector that an instruction takes: they are loaded whole.
void alignPrivateMemory(llvm::Function &function, std::uint64_t maxAlignment);

/// LLVM's middle end at the options' level.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, const CompileOptions &options);

/// Generates code; `assembly` for text instead of an object. False if the target can't. The passes
/// to objects are kept with the machine.
bool emit(llvm::Module &module, TargetMachineLease &machine, const Backend &backend,
          const CompileOptions &options, bool assembly, llvm::SmallVectorImpl<char> &out);

} // namespace flydsl::jit
