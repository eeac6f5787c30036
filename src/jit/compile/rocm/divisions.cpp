// AMD GPUs have no instruction that divides integers. LLVM 22 divides numbers that it knows to have at most
// 24 bits in f32, and some of the quotients are wrong: the reciprocal (v_rcp_f32) may be 1 unit in the
// last place too large, which takes the quotient of a dividend above 2^22 over the next whole number
// (16362053 / 6 gives 2727009), and a quotient that needs one bit more than its operands, such as
// -128 / -1, loses its sign. So does -2^31 / -1 of 64-bit numbers that have 32 bits. Later versions of
// LLVM use f32 for 22 bits, or 23 with a sign, and keep the sign: llvm/llvm-project #201186, #202753,
// #203436, #204469, #209711. So numbers of up to 32 bits are divided here, before LLVM does it. Longer
// ones stay; LLVM takes f32 for none of them unless it finds out later that they are short.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/KnownBits.h"

#include <algorithm>
#include <vector>

namespace flydsl::jit {

namespace {

/// The dividends whose quotients are right in f32. The reciprocal is wrong by at most 2^-23 of itself,
/// and the product with it is rounded by 2^-24, so that a / b comes out at most a / b * 1.5 * 2^-23 too
/// large. It reaches the next whole number, which is at least 1 / b away, from a of 2^23 / 1.5 on.
constexpr unsigned kBitsInFloat = 22;

/// One number divided by another. Both have the same type, of 32 or 64 bits.
class Division {
public:
  Division(llvm::BinaryOperator &division, llvm::AssumptionCache &assumptions,
           const llvm::DominatorTree &dominators)
      : division_(division), query_(division.getDataLayout(), &dominators, &assumptions, &division),
        builder_(&division) {}

  /// The result in the operands' type. Null if LLVM divides such numbers well.
  llvm::Value *expanded(llvm::Value *a, llvm::Value *b);

private:
  bool isSigned() const {
    return division_.getOpcode() == llvm::Instruction::SDiv ||
           division_.getOpcode() == llvm::Instruction::SRem;
  }
  bool isQuotient() const {
    return division_.getOpcode() == llvm::Instruction::SDiv ||
           division_.getOpcode() == llvm::Instruction::UDiv;
  }
  /// How many bits hold the value, with its sign if the division has one. LLVM freezes operands that it uses
  /// twice, and sees no bits through it; a value of no meaning may have any quotient.
  unsigned bitsOf(const llvm::Value *value) const {
    if (const auto *frozen = llvm::dyn_cast<llvm::FreezeInst>(value))
      value = frozen->getOperand(0);
    return isSigned() ? llvm::ComputeMaxSignificantBits(value, query_.DL, query_.AC, query_.CxtI,
                                                        query_.DT)
                      : llvm::computeKnownBits(value, query_).countMaxActiveBits();
  }
  llvm::Value *signOf(llvm::Value *word);
  llvm::Value *inFloat(llvm::Value *a, llvm::Value *b);
  llvm::Value *ofWords(llvm::Value *a, llvm::Value *b);
  llvm::Value *highOf(llvm::Value *a, llvm::Value *b);

  llvm::BinaryOperator &division_;
  const llvm::SimplifyQuery query_;
  llvm::IRBuilder<> builder_;
};

/// 0 or -1, as a word.
llvm::Value *Division::signOf(llvm::Value *word) {
  const llvm::KnownBits known = llvm::computeKnownBits(word, query_);
  if (known.isNonNegative())
    return builder_.getInt32(0);
  return known.isNegative() ? builder_.getInt32(-1) : builder_.CreateAShr(word, 31);
}

/// The quotient or remainder of numbers of 32 bits in registers with at most `kBitsInFloat` bits besides
/// the sign. What is cut off of the approximate quotient is at most 1 too small.
llvm::Value *Division::inFloat(llvm::Value *a, llvm::Value *b) {
  llvm::Type *real = builder_.getFloatTy();
  const auto toReal = [&](llvm::Value *value) {
    return isSigned() ? builder_.CreateSIToFP(value, real) : builder_.CreateUIToFP(value, real);
  };
  llvm::Value *realA = toReal(a), *realB = toReal(b);
  llvm::Value *inverse = builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_rcp, {real}, {realB});
  llvm::Value *whole =
      builder_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, builder_.CreateFMul(realA, inverse));
  llvm::Value *rest = builder_.CreateIntrinsic(llvm::Intrinsic::fma, {real},
                                               {builder_.CreateFNeg(whole), realB, realA});
  const auto magnitude = [&](llvm::Value *value) {
    return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  };
  llvm::Value *isShort =
      builder_.CreateFCmpOGE(magnitude(rest), isSigned() ? magnitude(realB) : realB);
  llvm::Value *one = builder_.getInt32(1);
  if (isSigned())
    one = builder_.CreateOr(builder_.CreateAShr(builder_.CreateXor(a, b), 30), one); // 1 or -1
  llvm::Value *quotient = isSigned() ? builder_.CreateFPToSI(whole, builder_.getInt32Ty())
                                     : builder_.CreateFPToUI(whole, builder_.getInt32Ty());
  quotient = builder_.CreateAdd(
      quotient, builder_.CreateSelect(isShort, one, llvm::Constant::getNullValue(one->getType())));
  return isQuotient() ? quotient : builder_.CreateSub(a, builder_.CreateMul(quotient, b));
}

/// The upper 32 bits of a product of words without sign.
llvm::Value *Division::highOf(llvm::Value *a, llvm::Value *b) {
  llvm::Type *wide = builder_.getInt64Ty();
  llvm::Value *product =
      builder_.CreateMul(builder_.CreateZExt(a, wide), builder_.CreateZExt(b, wide));
  return builder_.CreateTrunc(builder_.CreateLShr(product, 32), builder_.getInt32Ty());
}

/// The quotient or remainder of words without sign (T. Rodeheffer, "Software Integer Division", 2008): the
/// reciprocal of b in fixed point, one step of Newton's method, and up to two corrections. The factor is 2^32 - 512,
/// so that the reciprocal is never too large.
llvm::Value *Division::ofWords(llvm::Value *a, llvm::Value *b) {
  llvm::Type *real = builder_.getFloatTy();
  llvm::Value *inverse = builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_rcp, {real},
                                                  {builder_.CreateUIToFP(b, real)});
  llvm::Value *z =
      builder_.CreateFPToUI(builder_.CreateFMul(inverse, llvm::ConstantFP::get(real, 4294966784.0)),
                            builder_.getInt32Ty());
  z = builder_.CreateAdd(z, highOf(z, builder_.CreateMul(builder_.CreateNeg(b), z)));
  llvm::Value *quotient = highOf(a, z);
  llvm::Value *rest = builder_.CreateSub(a, builder_.CreateMul(quotient, b));
  for (int correction = 0; correction < 2; ++correction) {
    llvm::Value *isShort = builder_.CreateICmpUGE(rest, b);
    quotient = builder_.CreateSelect(isShort, builder_.CreateAdd(quotient, builder_.getInt32(1)),
                                     quotient);
    rest = builder_.CreateSelect(isShort, builder_.CreateSub(rest, b), rest);
  }
  return isQuotient() ? quotient : rest;
}

llvm::Value *Division::expanded(llvm::Value *a, llvm::Value *b) {
  llvm::Type *type = a->getType(), *word = builder_.getInt32Ty();
  const bool isWide = type->getIntegerBitWidth() > 32;
  // The quotient by -1 may have one bit more than its dividend.
  const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(b);
  const bool isByConstant = constant && !(isWide && isSigned() && constant->isMinusOne());
  if (isByConstant && !isWide)
    return nullptr; // LLVM multiplies
  const unsigned bits = std::max(bitsOf(a), bitsOf(b));
  if (bits > 32)
    return nullptr;
  if (isByConstant) {
    llvm::Value *result = builder_.CreateBinOp(division_.getOpcode(), builder_.CreateTrunc(a, word),
                                               builder_.CreateTrunc(b, word));
    return isSigned() ? builder_.CreateSExt(result, type) : builder_.CreateZExt(result, type);
  }
  llvm::Value *wordA = builder_.CreateTrunc(a, word), *wordB = builder_.CreateTrunc(b, word);
  if (bits <= kBitsInFloat + isSigned()) {
    llvm::Value *result = inFloat(wordA, wordB);
    return isSigned() ? builder_.CreateSExt(result, type) : builder_.CreateZExt(result, type);
  }
  if (!isSigned())
    return builder_.CreateZExt(ofWords(wordA, wordB), type);
  llvm::Value *signA = signOf(wordA), *signB = signOf(wordB);
  const auto magnitude = [&](llvm::Value *value, llvm::Value *sign) {
    return builder_.CreateXor(builder_.CreateAdd(value, sign), sign);
  };
  llvm::Value *result =
      builder_.CreateZExt(ofWords(magnitude(wordA, signA), magnitude(wordB, signB)), type);
  llvm::Value *sign =
      builder_.CreateSExt(isQuotient() ? builder_.CreateXor(signA, signB) : signA, type);
  return builder_.CreateSub(builder_.CreateXor(result, sign), sign);
}

bool isDivision(const llvm::Instruction &instruction) {
  switch (instruction.getOpcode()) {
  case llvm::Instruction::SDiv:
  case llvm::Instruction::UDiv:
  case llvm::Instruction::SRem:
  case llvm::Instruction::URem:
    return true;
  default:
    return false;
  }
}

/// The result of a division of scalars of any width up to 64 bits. Null if LLVM divides such numbers well.
llvm::Value *expandedScalar(llvm::BinaryOperator &division, llvm::Value *a, llvm::Value *b,
                            llvm::AssumptionCache &assumptions,
                            const llvm::DominatorTree &dominators) {
  llvm::IRBuilder<> builder(&division);
  llvm::Type *type = a->getType();
  const unsigned width = type->getIntegerBitWidth();
  if (width > 64)
    return nullptr;
  llvm::Type *wide = width <= 32 ? builder.getInt32Ty() : builder.getInt64Ty();
  const bool isSigned = division.getOpcode() == llvm::Instruction::SDiv ||
                        division.getOpcode() == llvm::Instruction::SRem;
  const auto widened = [&](llvm::Value *value) {
    return isSigned ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
  };
  llvm::Value *result =
      Division(division, assumptions, dominators).expanded(widened(a), widened(b));
  return result ? builder.CreateTrunc(result, type) : nullptr;
}

} // namespace

void divideShortNumbers(llvm::Module &module) {
  for (llvm::Function &function : module) {
    std::vector<llvm::BinaryOperator *> divisions;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isDivision(instruction))
        divisions.push_back(llvm::cast<llvm::BinaryOperator>(&instruction));
    if (divisions.empty())
      continue;
    // What a kernel assumes counts too.
    llvm::AssumptionCache assumptions(function);
    const llvm::DominatorTree dominators(function);
    for (llvm::BinaryOperator *division : divisions) {
      llvm::Value *a = division->getOperand(0), *b = division->getOperand(1), *result = nullptr;
      if (const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(division->getType())) {
        llvm::IRBuilder<> builder(division);
        result = llvm::PoisonValue::get(division->getType());
        for (unsigned i = 0; i < vector->getNumElements(); ++i) {
          llvm::Value *x = builder.CreateExtractElement(a, i),
                      *y = builder.CreateExtractElement(b, i);
          llvm::Value *element = expandedScalar(*division, x, y, assumptions, dominators);
          if (!element)
            element = builder.CreateBinOp(division->getOpcode(), x, y);
          result = builder.CreateInsertElement(result, element, i);
        }
      } else {
        result = expandedScalar(*division, a, b, assumptions, dominators);
      }
      if (!result)
        continue;
      division->replaceAllUsesWith(result);
      result->takeName(division);
      division->eraseFromParent();
    }
  }
}

} // namespace flydsl::jit
