// LLVM 22 makes v_dot4_u32_u8 of sums of products of bytes, and of some that are none (see attributes.cpp).
// A module that asks for the instruction by its name keeps it, so the products of its other sums are
// hidden from LLVM's instruction selection.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/KnownBits.h"

#include <vector>

namespace flydsl::jit {

/// Whether a number is one of a byte, with a sign or without.
static bool isOfByte(const llvm::Value *value, const llvm::DataLayout &layout) {
  const unsigned bits = value->getType()->getIntegerBitWidth();
  return llvm::computeKnownBits(value, layout).countMinLeadingZeros() + 8 >= bits ||
         llvm::ComputeNumSignBits(value, layout) + 7 >= bits;
}

static std::vector<llvm::Instruction *> byteProductsOf(llvm::Function &function) {
  const llvm::DataLayout &layout = function.getDataLayout();
  std::vector<llvm::Instruction *> products;
  for (llvm::Instruction &product : llvm::instructions(function)) {
    const llvm::Type *type = product.getType();
    // A shift by a constant may be a product, too, but is none for the selection.
    if (product.getOpcode() == llvm::Instruction::Mul &&
        (type->isIntegerTy(16) || type->isIntegerTy(32) || type->isIntegerTy(64)) &&
        isOfByte(product.getOperand(0), layout) && isOfByte(product.getOperand(1), layout))
      products.push_back(&product);
  }
  return products;
}

void hideByteProducts(llvm::Module &module) {
  if (!namesUnsignedDots(module))
    return;
  for (llvm::Function &function : module)
    for (llvm::Instruction *product : byteProductsOf(function)) {
      llvm::IRBuilder<> builder(product->getNextNode());
      llvm::Type *type = product->getType();
      llvm::Value *hidden =
          builder.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "",
                                                  "=v,0", /*hasSideEffects=*/false),
                             {product});
      product->replaceUsesWithIf(hidden, [&](llvm::Use &use) { return use.getUser() != hidden; });
    }
}

} // namespace flydsl::jit
