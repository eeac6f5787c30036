// LLVM 22 moves a matrix instruction with scales (v_mfma_scale_*) to the block that uses its result, or
// what is computed of it, because its machine instruction is not marked as convergent, as others are. Where threads part in
// between, those that leave no longer load or compute what the instruction reads of their lanes, and
// the results of the others are wrong: `llc -mcpu=gfx950` shows it for a store below a branch of
// threads, and does not for v_mfma_f32_* and v_wmma_scale_*. So each result has a use in its own block
// that does not move.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

#include <vector>

namespace flydsl::jit {

static bool isScaledProduct(const llvm::Instruction &instruction) {
  const auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return intrinsic &&
         (intrinsic->getIntrinsicID() == llvm::Intrinsic::amdgcn_mfma_scale_f32_16x16x128_f8f6f4 ||
          intrinsic->getIntrinsicID() == llvm::Intrinsic::amdgcn_mfma_scale_f32_32x32x64_f8f6f4);
}

/// True if nothing holds the instruction in its block: another product there, which is held itself, or a
/// loop, around which the result goes at the end of each turn.
static bool mayMove(const llvm::Instruction &product, const llvm::DominatorTree &dominators) {
  const llvm::BasicBlock *own = product.getParent();
  const bool isHeld = llvm::any_of(product.users(), [&](const llvm::User *user) {
    const auto &instruction = *llvm::cast<llvm::Instruction>(user);
    if (instruction.getParent() == own && isScaledProduct(instruction))
      return true;
    const auto *phi = llvm::dyn_cast<llvm::PHINode>(&instruction);
    return phi && dominators.dominates(phi->getParent(), own);
  });
  return !isHeld;
}

void keepScaledProducts(llvm::Module &module) {
  for (llvm::Function &function : module) {
    std::vector<llvm::Instruction *> products;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isScaledProduct(instruction))
        products.push_back(&instruction);
    if (products.empty())
      continue;
    const llvm::DominatorTree dominators(function);
    for (llvm::Instruction *product : products) {
      if (!mayMove(*product, dominators))
        continue;
      // An empty text that may do anything but read and write memory: it costs no instruction.
      llvm::IRBuilder<> builder(product->getNextNode());
      llvm::Type *type = product->getType();
      llvm::CallInst *use = builder.CreateCall(
          llvm::InlineAsm::get(llvm::FunctionType::get(builder.getVoidTy(), {type}, false), "", "v",
                               /*hasSideEffects=*/true),
          {product});
      use->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
    }
  }
}

} // namespace flydsl::jit
