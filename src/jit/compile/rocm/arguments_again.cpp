// Arguments that a kernel reads again (flydsl/kernel/argument.h): a load from the kernel's arguments
// where the mark stands. An assembly statement that gives their address keeps LLVM from
// taking the load out of loops and from joining it with those at the kernel's beginning.
#include "jit/compile/rocm/rocm_codegen.h"
#include "support/argument_mark.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

#include <map>
#include <vector>

namespace flydsl::jit {

static std::vector<llvm::CallInst *> marksOf(llvm::Function &function) {
  std::vector<llvm::CallInst *> marks;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
      if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
          assembly && assembly->getAsmString() == support::kArgumentMark)
        marks.push_back(call);
  return marks;
}

/// The places of a kernel's arguments in bytes, as LLVM's AMDGPULowerKernelArguments lays them out.
static std::vector<std::uint64_t> offsetsOf(const llvm::Function &kernel) {
  const llvm::DataLayout &layout = kernel.getDataLayout();
  std::vector<std::uint64_t> offsets;
  std::uint64_t end = 0;
  for (const llvm::Argument &argument : kernel.args()) {
    const bool isInPlace = argument.hasByRefAttr();
    llvm::Type *type = isInPlace ? argument.getParamByRefType() : argument.getType();
    offsets.push_back(
        llvm::alignTo(end, layout.getValueOrABITypeAlignment(
                               isInPlace ? argument.getParamAlign() : llvm::MaybeAlign(), type)));
    end = offsets.back() + layout.getTypeAllocSize(type);
  }
  return offsets;
}

/// The address of the kernel's arguments. LLVM knows nothing else of it.
static llvm::Value *addressOfArguments(llvm::IRBuilder<> &builder) {
  llvm::Value *known = builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_kernarg_segment_ptr,
                                               llvm::ArrayRef<llvm::Type *>(), {});
  llvm::Type *type = known->getType();
  return builder.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "",
                                                 "=s,0", /*hasSideEffects=*/true),
                            {known});
}

void readArgumentsAgain(llvm::Module &module) {
  const llvm::Align kOfAll(16); // "Kernarg Segment" in LLVM's AMDGPU guide
  for (llvm::Function &function : module) {
    std::vector<std::uint64_t> offsets;
    std::map<llvm::BasicBlock *, llvm::Value *> addresses; // where the block's first mark stands
    for (llvm::CallInst *mark : marksOf(function)) {
      llvm::Value *value = mark->getArgOperand(0);
      const auto *argument = llvm::dyn_cast<llvm::Argument>(value);
      if (argument && !mark->use_empty() &&
          function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL) {
        llvm::IRBuilder<> builder(mark);
        llvm::Value *&address = addresses[mark->getParent()];
        if (!address)
          address = addressOfArguments(builder);
        if (offsets.empty())
          offsets = offsetsOf(function);
        const std::uint64_t offset = offsets[argument->getArgNo()];
        auto *load = builder.CreateAlignedLoad(
            mark->getType(),
            builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), address, offset),
            llvm::commonAlignment(kOfAll, offset));
        load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                          llvm::MDNode::get(module.getContext(), {}));
        value = load;
      }
      mark->replaceAllUsesWith(value);
      mark->eraseFromParent();
    }
  }
}

} // namespace flydsl::jit
