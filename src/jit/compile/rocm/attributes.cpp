// The attributes by which LLVM's AMDGPU target knows kernels and what they need.
#include "jit/compile/codegen/codegen.h"
#include "jit/compile/rocm/llvm_target.h"
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/CallingConv.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace flydsl::jit {

/// The alignment of the largest vector that an instruction takes, in bytes.
static constexpr std::uint64_t kMaxPrivateAlignment = 128;

/// Whether all functions that this one may call are defined in the module. If so, the kernel is
/// known not to ask for hidden arguments (the loader's implicit block, and its queue, heap and
/// dispatch pointers); any other function may need all of them.
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
  if (options.maxRegisters)
    kernel.addFnAttr("amdgpu-num-vgpr", std::to_string(options.maxRegisters));
  for (const auto &[name, value] : options.attributes)
    kernel.addFnAttr(name, value);
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

bool namesUnsignedDots(const llvm::Module &module) {
  if (usesIntrinsic(module, "llvm.amdgcn.udot4") || usesIntrinsic(module, "llvm.amdgcn.udot8"))
    return true;
  for (const llvm::Function &function : module)
    for (const llvm::Instruction &instruction : llvm::instructions(function))
      if (const auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (const auto *text = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
          if (text->getAsmString().contains("v_dot"))
            return true;
  return false;
}

/// LLVM 22 makes v_dot4 of products of bytes and of what it takes for their sum: of a shift or an `and` of
/// products, too, and of sums in 64 bits, whose upper half is lost (llvm/llvm-project #198412,
/// #216015). It does not where the target is said to lack v_dot4_u32_u8. dot4 is another instruction. A
/// module that names v_dot4_u32_u8 needs it: see hideByteProducts.
static std::string featuresFor(const llvm::Module &module, const Target &target) {
  std::string features = llvmFeatures(target);
  if (!namesUnsignedDots(module))
    features += std::string(features.empty() ? "" : ",") + "-dot7-insts";
  return features;
}

void setAttributes(llvm::Module &module, const CompileOptions &options) {
  const std::string features = featuresFor(module, options.target);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    alignPrivateMemory(function, kMaxPrivateAlignment);
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
