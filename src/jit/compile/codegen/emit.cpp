// Code generation: LLVM IR to an object or to assembly, in memory. The list of passes is built here
// as LLVM's addPassesToEmitFile builds it (CodeGenTargetMachineImpl.cpp), so that a backend can
// choose among them for this module alone. Passes to objects are kept with their machine: making
// them takes an eighth of a small kernel's code generation. LLVM runs a list of passes again too
// (llc's --compile-twice).
#include "jit/compile/codegen/codegen.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace flydsl::jit {

namespace {

/// How many modules a list of passes serves. The printer's metadata grows with each.
constexpr unsigned kMostRuns = 64;

/// Passes from LLVM IR to code. They write to the stream that they were made with.
class CodeGenerator {
public:
  CodeGenerator() : stream_(code_) {}

  /// False if the target can't generate such code.
  bool make(llvm::TargetMachine &machine, const Backend &backend, const CompileOptions &options,
            llvm::CodeGenFileType kind);

  llvm::ArrayRef<char> run(llvm::Module &module) {
    code_.clear();
    passes_.run(module);
    ++runs_;
    return code_;
  }

  /// Whether it is as good as a new one. What metadata says of printf stays in AMD's printer.
  bool canServeAgain(const llvm::Module &last) const {
    return runs_ < kMostRuns && !last.getContext().getDiagHandlerPtr()->HasErrors &&
           !last.getNamedMetadata("llvm.printf.fmts");
  }

private:
  llvm::SmallVector<char, 0> code_;
  llvm::raw_svector_ostream stream_;
  llvm::legacy::PassManager passes_;
  unsigned runs_ = 0;
};

bool CodeGenerator::make(llvm::TargetMachine &machine, const Backend &backend,
                         const CompileOptions &options, llvm::CodeGenFileType kind) {
  // All of LLVM's targets that generate code are of this class.
  auto &generator = static_cast<llvm::CodeGenTargetMachineImpl &>(machine);
  passes_.add(new llvm::TargetLibraryInfoWrapperPass(machine.getTargetTriple()));
  llvm::TargetPassConfig *config = generator.createPassConfig(passes_);
  config->setDisableVerify(true);
  backend.choosePasses(*config, options);
  auto *info = new llvm::MachineModuleInfoWrapperPass(&generator);
  passes_.add(config);
  passes_.add(info);
  if (config->addISelPasses())
    return false;
  config->addMachinePasses();
  config->setInitialized();
  if (generator.addAsmPrinter(passes_, stream_, nullptr, kind, info->getMMI().getContext()))
    return false;
  passes_.add(llvm::createFreeMachineFunctionPass());
  return true;
}

} // namespace

bool emit(llvm::Module &module, TargetMachineLease &machine, const Backend &backend,
          const CompileOptions &options, bool assembly, llvm::SmallVectorImpl<char> &out) {
  const auto kind =
      assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  machine.finishWarming();
  std::shared_ptr<void> kept = assembly ? nullptr : std::move(machine.kept());
  auto generator = std::static_pointer_cast<CodeGenerator>(std::move(kept));
  if (!generator) {
    generator = std::make_shared<CodeGenerator>();
    if (!generator->make(*machine, backend, options, kind))
      return false;
  }
  llvm::ArrayRef<char> code = generator->run(module);
  out.assign(code.begin(), code.end());
  if (!assembly && generator->canServeAgain(module))
    machine.kept() = std::move(generator);
  return true;
}

} // namespace flydsl::jit
