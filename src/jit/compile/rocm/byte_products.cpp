// LLVM 22 makes v_dot4_u32_u8 of sums of products of bytes, and of some that are none (see attributes.cpp).
// A module that asks for the instruction by its name keeps it, so the products of its other sums are
// hidden from LLVM's instruction selection.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DerivedTypes.h"
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

/// Makes a product of vectors the products of their elements, which it is to the selection. Those of
/// 16 bits are instructions of two elements there, and no part of a sum of bytes.
static void splitProduct(llvm::Instruction &product) {
  const auto *type = llvm::cast<llvm::FixedVectorType>(product.getType());
  llvm::IRBuilder<> builder(&product);
  llvm::Value *whole = llvm::PoisonValue::get(product.getType());
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    llvm::Value *of[] = {builder.CreateExtractElement(product.getOperand(0), i),
                         builder.CreateExtractElement(product.getOperand(1), i)};
    whole = builder.CreateInsertElement(whole, builder.CreateMul(of[0], of[1]), i);
  }
  product.replaceAllUsesWith(whole);
  product.eraseFromParent();
}

static void splitProducts(llvm::Function &function) {
  for (llvm::Instruction &product : llvm::make_early_inc_range(llvm::instructions(function)))
    if (product.getOpcode() == llvm::Instruction::Mul)
      if (const auto *type = llvm::dyn_cast<llvm::FixedVectorType>(product.getType());
          type &&
          (type->getElementType()->isIntegerTy(32) || type->getElementType()->isIntegerTy(64)))
        splitProduct(product);
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
  for (llvm::Function &function : module) {
    splitProducts(function);
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
}

} // namespace flydsl::jit
