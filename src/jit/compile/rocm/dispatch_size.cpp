// MLIR asks ROCm's device library for the size of a block and of the grid. The device library is
// not there where no ROCm is, and both are at hand: the block's size is most often known, and the
// loader writes both into the implicit arguments of code object version 5 (AMDGPUUsage:
// hidden_block_count_x at byte 0 with 4 bytes a dimension, hidden_group_size_x at byte 12 with 2
// bytes a dimension).
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"

namespace flydsl::jit {

/// The block's size in one dimension where the kernel that `call` stands in requires one, else
/// null.
static llvm::Constant *requiredBlock(const llvm::CallInst &call, uint64_t dimension) {
  const llvm::MDNode *sizes = call.getFunction()->getMetadata("reqd_work_group_size");
  if (!sizes || dimension >= sizes->getNumOperands())
    return nullptr;
  const auto *size = llvm::mdconst::dyn_extract<llvm::ConstantInt>(sizes->getOperand(dimension));
  return size ? llvm::ConstantInt::get(call.getType(), size->getZExtValue()) : nullptr;
}

/// An unsigned number of the implicit arguments, which nothing changes while the kernel runs.
static llvm::Value *implicitArgument(llvm::IRBuilder<> &builder, uint64_t offset, unsigned bits,
                                     llvm::Type *type) {
  llvm::Value *base = builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_implicitarg_ptr, {});
  llvm::LoadInst *load = builder.CreateAlignedLoad(
      builder.getIntNTy(bits),
      builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset), llvm::Align(bits / 8));
  llvm::MDNode *none = llvm::MDNode::get(builder.getContext(), {});
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, none);
  load->setMetadata(llvm::LLVMContext::MD_noundef, none);
  return builder.CreateZExtOrTrunc(load, type);
}

static void replaceCalls(llvm::Module &module, llvm::StringRef name, uint64_t offset, unsigned bits,
                         bool isBlock) {
  llvm::Function *declaration = module.getFunction(name);
  if (!declaration || !declaration->isDeclaration())
    return;
  for (llvm::User *user : llvm::make_early_inc_range(declaration->users())) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || call->getCalledFunction() != declaration || call->arg_size() != 1)
      continue;
    const auto *dimension = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0));
    if (!dimension || dimension->getZExtValue() > 2)
      continue;
    const uint64_t d = dimension->getZExtValue();
    llvm::Value *size = isBlock ? requiredBlock(*call, d) : nullptr;
    if (!size) {
      llvm::IRBuilder<> builder(call);
      size = implicitArgument(builder, offset + d * (bits / 8), bits, call->getType());
    }
    call->replaceAllUsesWith(size);
    call->eraseFromParent();
  }
  if (declaration->use_empty())
    declaration->eraseFromParent();
}

void useImplicitSizes(llvm::Module &module) {
  replaceCalls(module, "__ockl_get_num_groups", 0, 32, /*isBlock=*/false);
  replaceCalls(module, "__ockl_get_local_size", 12, 16, /*isBlock=*/true);
}

} // namespace flydsl::jit
