// LLVM's instruction selection sees one block at a time. A factor of 64 bits whose upper half is 0, as
// the stride of a tensor is that is near enough, is made before a loop, and in the loop nothing tells
// that it is one: a product with it becomes five instructions of a lane instead of v_mad_u64_u32, which
// adds the product to the address as well. So such factors are extended again where they are
// multiplied.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/KnownBits.h"

namespace flydsl::jit {

void showNarrowFactors(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    // What a kernel assumes counts too.
    llvm::AssumptionCache assumptions(function);
    const llvm::DominatorTree dominators(function);
    const auto isHidden = [&](const llvm::Value *factor, const llvm::Instruction &product) {
      const auto *from = llvm::dyn_cast<llvm::Instruction>(factor);
      return from && from->getParent() != product.getParent() &&
             llvm::computeKnownBits(factor, product.getDataLayout(), &assumptions, &product,
                                    &dominators)
                     .countMinLeadingZeros() >= 32;
    };
    for (llvm::Instruction &product : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (product.getOpcode() != llvm::Instruction::Mul || !product.getType()->isIntegerTy(64))
        continue;
      for (llvm::Use &factor : product.operands())
        if (isHidden(factor, product)) {
          llvm::IRBuilder<> builder(&product);
          factor.set(builder.CreateZExt(builder.CreateTrunc(factor, builder.getInt32Ty()),
                                        builder.getInt64Ty()));
        }
    }
  }
}

} // namespace flydsl::jit
