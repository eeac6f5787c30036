#include "jit/compile/codegen/codegen.h"
#include "jit/compile/link/llvm_target.h"

#include "jit/compile/link/bitcode.h"

#include "mlir/IR/Operation.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/CallingConv.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Target/TargetMachine.h"

namespace flydsl::jit {

/// That of the largest vector that an instruction takes, in bytes.
static constexpr uint64_t maxPrivateAlignment = 128;

/// Code object version 5: the oldest that carries all that these kernels use, so that older loaders
/// take it too.
static constexpr unsigned codeObjectVersion = 500;

std::unique_ptr<llvm::Module> translate(mlir::Operation *gpuModule, llvm::LLVMContext &context,
                                        llvm::TargetMachine &machine,
                                        const CompileOptions &options) {
  std::unique_ptr<llvm::Module> module =
      mlir::translateModuleToLLVMIR(gpuModule, context, "flydsl", /*disableVerification=*/true);
  if (!module)
    return nullptr;
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  useImplicitSizes(*module);
  lowerPrintf(*module);
  if (!linkBitcode(*module, options))
    return nullptr;
  prepareModule(*module, machine, options);
  return module;
}

/// What the kernel never asks for needs no hidden arguments: the loader's implicit block and its
/// queue, heap and dispatch pointers. A call of what is not known here may need all of them.
static bool callsKnown(const llvm::Function &function,
                       llvm::SmallPtrSetImpl<const llvm::Function *> &seen) {
  if (!seen.insert(&function).second)
    return true;
  for (const llvm::BasicBlock &block : function)
    for (const llvm::Instruction &instruction : block)
      if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        const llvm::Function *called = call->getCalledFunction();
        if (call->isInlineAsm() || (called && called->isIntrinsic()))
          continue;
        if (!called || called->isDeclaration() || !callsKnown(*called, seen))
          return false;
      }
  return true;
}

static bool usesIntrinsic(const llvm::Module &module, llvm::StringRef name) {
  const llvm::Function *function = module.getFunction(name);
  return function && !function->use_empty();
}

static void prepareKernel(llvm::Function &kernel, const CompileOptions &options) {
  kernel.addFnAttr("uniform-work-group-size", "true"); // HIP's grids are whole workgroups
  kernel.addFnAttr(llvm::Attribute::NoUnwind);
  kernel.addFnAttr(llvm::Attribute::MustProgress);
  if (options.wavesPerEu && !kernel.hasFnAttribute("amdgpu-waves-per-eu"))
    kernel.addFnAttr("amdgpu-waves-per-eu", std::to_string(options.wavesPerEu));
  if (options.maxVgprs)
    kernel.addFnAttr("amdgpu-num-vgpr", std::to_string(options.maxVgprs));
  for (llvm::Argument &argument : kernel.args())
    if (argument.getType()->isPointerTy())
      argument.addAttr(llvm::Attribute::NoUndef);

  const llvm::Module &module = *kernel.getParent();
  llvm::SmallPtrSet<const llvm::Function *, 8> seen;
  if (!callsKnown(kernel, seen) || usesIntrinsic(module, "llvm.amdgcn.implicitarg.ptr"))
    return;
  for (const char *unused :
       {"amdgpu-no-implicitarg-ptr", "amdgpu-no-hostcall-ptr", "amdgpu-no-heap-ptr",
        "amdgpu-no-multigrid-sync-arg", "amdgpu-no-default-queue", "amdgpu-no-completion-action"})
    kernel.addFnAttr(unused);
}

/// Fragments in register memory that stayed memory are loaded as whole vectors, with the alignment
/// that vectors of their size have.
static void alignPrivateMemory(llvm::Function &function) {
  const llvm::DataLayout &layout = function.getParent()->getDataLayout();
  for (llvm::Instruction &instruction : function.getEntryBlock()) {
    auto *alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    std::optional<llvm::TypeSize> size = alloca ? alloca->getAllocationSize(layout) : std::nullopt;
    if (size && !size->isScalable() && size->getFixedValue() > 0)
      alloca->setAlignment(
          std::max(alloca->getAlign(), llvm::Align(llvm::PowerOf2Ceil(std::min<uint64_t>(
                                           size->getFixedValue(), maxPrivateAlignment)))));
  }
}

void prepareModule(llvm::Module &module, llvm::TargetMachine &machine,
                   const CompileOptions &options) {
  module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", codeObjectVersion);

  std::string features = llvmFeatures(options.target);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    alignPrivateMemory(function);
    function.addFnAttr("target-cpu", options.target.name());
    if (!features.empty())
      function.addFnAttr("target-features", features);
    if (function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL) {
      prepareKernel(function, options);
    } else {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.setVisibility(llvm::GlobalValue::DefaultVisibility);
    }
  }
}

} // namespace flydsl::jit
