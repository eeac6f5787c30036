// Code generation: LLVM IR to an object or to assembly, in memory.
#include "jit/compile/codegen/codegen.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace flydsl::jit {

bool emit(llvm::Module &module, llvm::TargetMachine &machine, bool assembly,
          llvm::SmallVectorImpl<char> &out) {
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  passes.add(new llvm::TargetLibraryInfoWrapperPass(machine.getTargetTriple()));
  auto kind = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, kind, /*DisableVerify=*/true))
    return false;
  passes.run(module);
  return true;
}

} // namespace flydsl::jit
