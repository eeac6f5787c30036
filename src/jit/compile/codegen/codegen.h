// LLVM's part of a compile: LLVM dialect to LLVM IR to an AMDGPU object in memory.
#pragma once

#include "jit/compile/options/options.h"

#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm
namespace mlir {
class Operation;
} // namespace mlir

namespace flydsl::jit {

/// A TargetMachine for the options; made once, lent to one user at a time.
class TargetMachineLease {
public:
  /// Throws flydsl::CompileError if LLVM has no such target.
  explicit TargetMachineLease(const CompileOptions &options);
  ~TargetMachineLease();
  TargetMachineLease(TargetMachineLease &&) noexcept;
  TargetMachineLease &operator=(TargetMachineLease &&) = delete;

  llvm::TargetMachine &operator*() const { return *machine_; }

private:
  std::string key_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

/// Translates a gpu.module in the LLVM dialect, and gives kernels the attributes that the options
/// and the IR imply. Null on failure, after diagnostics through the MLIR context.
std::unique_ptr<llvm::Module> translate(mlir::Operation *gpuModule, llvm::LLVMContext &context,
                                        llvm::TargetMachine &machine,
                                        const CompileOptions &options);

/// Turns calls of the device library that ask for the size of block and grid into constants or
/// loads of implicit arguments.
void useImplicitSizes(llvm::Module &module);

/// Turns calls of `printf` into records in the launch's printf buffer, as HIP's runtime reads them.
void lowerPrintf(llvm::Module &module);

/// Target triple, data layout, linkage, and attributes of kernels.
void prepareModule(llvm::Module &module, llvm::TargetMachine &machine,
                   const CompileOptions &options);

/// LLVM's middle end at the options' level.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, const CompileOptions &options);

/// Generates code; `assembly` for text instead of an object. False if the target can't.
bool emit(llvm::Module &module, llvm::TargetMachine &machine, bool assembly,
          llvm::SmallVectorImpl<char> &out);

} // namespace flydsl::jit
