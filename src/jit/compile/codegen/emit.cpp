// Code generation: LLVM IR to an object or to assembly, in memory. The list of passes is built here
// as LLVM's addPassesToEmitFile builds it (CodeGenTargetMachineImpl.cpp), so that a backend can choose
// among them for this module alone.
#include "jit/compile/codegen/codegen.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace flydsl::jit {

bool emit(llvm::Module &module, llvm::TargetMachine &machine, const Backend &backend,
          const CompileOptions &options, bool assembly, llvm::SmallVectorImpl<char> &out) {
  // All of LLVM's targets that generate code are of this class.
  auto &generator = static_cast<llvm::CodeGenTargetMachineImpl &>(machine);
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  passes.add(new llvm::TargetLibraryInfoWrapperPass(machine.getTargetTriple()));
  llvm::TargetPassConfig *config = generator.createPassConfig(passes);
  config->setDisableVerify(true);
  if (options.llvmOptions.empty())
    backend.choosePasses(*config);
  auto *info = new llvm::MachineModuleInfoWrapperPass(&generator);
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses())
    return false;
  config->addMachinePasses();
  config->setInitialized();
  const auto kind =
      assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (generator.addAsmPrinter(passes, stream, nullptr, kind, info->getMMI().getContext()))
    return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return true;
}

} // namespace flydsl::jit
