// LLVM converts integers to bf16 by way of f32, and so rounds those of more than 24 bits twice: 1057408257
// lies just above the middle of two numbers of bf16, f32 has the middle, and the even one is below it. By
// way of f64 they are rounded once, because LLVM rounds f64 to bf16 in one step. Of integers of more
// than 53 bits the lower ones are put together to one bit before, which is far below the last place of bf16.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/KnownBits.h"

#include <cstdint>
#include <vector>

namespace flydsl::jit {

namespace {

constexpr unsigned kBitsOfSingle = 24, kBitsOfDouble = 53;

/// The integer if f64 can hold it, else one that rounds to the same number of bf16 and that f64 can hold: the
/// bits below the highest 53 of the type are one bit, which is set if any of them is. (A number between two
/// multiples of 2^k stays between them, with a sign, too.)
llvm::Value *forDouble(llvm::IRBuilder<> &builder, llvm::Value *integer, bool isSigned) {
  llvm::Type *type = integer->getType();
  const unsigned width = type->getScalarSizeInBits();
  if (width <= kBitsOfDouble)
    return integer;
  const auto number = [&](std::uint64_t value) { return llvm::ConstantInt::get(type, value); };
  const unsigned low = width - kBitsOfDouble + 1;
  llvm::Value *zero = number(0), *rest = builder.CreateAnd(integer, number((1ull << low) - 1));
  llvm::Value *together =
      builder.CreateSelect(builder.CreateICmpNE(rest, zero), number(1ull << (low - 1)), zero);
  llvm::Value *shorter = builder.CreateOr(builder.CreateSub(integer, rest), together);
  // Smaller numbers are exact as they are.
  const std::uint64_t end = 1ull << kBitsOfDouble;
  llvm::Value *isExact =
      isSigned ? builder.CreateICmpULE(builder.CreateAdd(integer, number(end)), number(2 * end))
               : builder.CreateICmpULE(integer, number(end));
  return builder.CreateSelect(isExact, integer, shorter);
}

} // namespace

void roundIntegersOnce(llvm::Module &module) {
  for (llvm::Function &function : module) {
    std::vector<llvm::CastInst *> conversions;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if ((instruction.getOpcode() == llvm::Instruction::SIToFP ||
           instruction.getOpcode() == llvm::Instruction::UIToFP) &&
          instruction.getType()->getScalarType()->isBFloatTy())
        conversions.push_back(llvm::cast<llvm::CastInst>(&instruction));
    if (conversions.empty())
      continue;
    llvm::AssumptionCache assumptions(function);
    const llvm::DominatorTree dominators(function);
    for (llvm::CastInst *conversion : conversions) {
      llvm::Value *integer = conversion->getOperand(0);
      const bool isSigned = conversion->getOpcode() == llvm::Instruction::SIToFP;
      const unsigned bits =
          isSigned ? llvm::ComputeMaxSignificantBits(integer, module.getDataLayout(), &assumptions,
                                                     conversion, &dominators) -
                         1
                   : llvm::computeKnownBits(integer, module.getDataLayout(), &assumptions,
                                            conversion, &dominators)
                         .countMaxActiveBits();
      const unsigned width = integer->getType()->getScalarSizeInBits();
      if (bits <= kBitsOfSingle || (width > kBitsOfDouble && width != 64))
        continue; // kernels have no other width
      llvm::IRBuilder<> builder(conversion);
      llvm::Value *exact = forDouble(builder, integer, isSigned);
      llvm::Type *real = integer->getType()->getWithNewType(builder.getDoubleTy());
      llvm::Value *wide =
          isSigned ? builder.CreateSIToFP(exact, real) : builder.CreateUIToFP(exact, real);
      llvm::Value *rounded = builder.CreateFPTrunc(wide, conversion->getType());
      conversion->replaceAllUsesWith(rounded);
      rounded->takeName(conversion);
      conversion->eraseFromParent();
    }
  }
}

} // namespace flydsl::jit
