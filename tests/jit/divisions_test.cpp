// Integers of up to 32 bits are divided before LLVM does it, in f32 where their quotients are right there.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <catch2/catch.hpp>

#include <string>

using namespace flydsl;

namespace {

enum class How {
  byLlvm,     // as it was
  byConstant, // 32 bits by a constant, which LLVM multiplies
  inFloat,
  ofWords
};

/// How `result`, a division of what `operands` compute from %x and %y, is carried out.
How howDivided(const std::string &type, const std::string &operands, const std::string &division) {
  const std::string text = "declare void @llvm.assume(i1)\ndefine " + type + " @divide(" + type +
                           " %x, " + type + " %y, i8 %small, i8 %other) {\n" + operands +
                           "\n  %result = " + division + "\n  ret " + type + " %result\n}\n";
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  CAPTURE(text, problem.getMessage().str());
  REQUIRE(module);
  jit::divideShortNumbers(*module);
  CHECK_FALSE(llvm::verifyModule(*module));
  bool isLeft = false, isByConstant = false, hasReciprocal = false, hasRest = false;
  for (llvm::Instruction &instruction : llvm::instructions(*module->getFunction("divide"))) {
    const auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    hasReciprocal |= intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::amdgcn_rcp;
    hasRest |= intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::fma;
    if (instruction.getOpcode() == llvm::Instruction::UDiv ||
        instruction.getOpcode() == llvm::Instruction::SDiv ||
        instruction.getOpcode() == llvm::Instruction::URem ||
        instruction.getOpcode() == llvm::Instruction::SRem) {
      const bool isWord = instruction.getType()->isIntegerTy(32);
      (isWord && llvm::isa<llvm::ConstantInt>(instruction.getOperand(1)) ? isByConstant : isLeft) =
          true;
    }
  }
  REQUIRE(int(isLeft) + isByConstant + hasReciprocal == 1);
  return isLeft         ? How::byLlvm
         : isByConstant ? How::byConstant
         : hasRest      ? How::inFloat
                        : How::ofWords;
}

std::string masked(const std::string &type, const std::string &mask) {
  return "  %a = and " + type + " %x, " + mask + "\n  %b = and " + type + " %y, 63";
}

} // namespace

TEST_CASE("Numbers without sign are divided in f32 up to 22 bits, and as words up to 32") {
  const std::string most22 = "4194303", most23 = "8388607", most24 = "16777215";
  for (const std::string &type : {"i32", "i64"})
    for (const std::string &division : {"udiv ", "urem "}) {
      CHECK(howDivided(type, masked(type, most22), division + type + " %a, %b") == How::inFloat);
      CHECK(howDivided(type, masked(type, most23), division + type + " %a, %b") == How::ofWords);
      CHECK(howDivided(type, masked(type, most24), division + type + " %a, %b") == How::ofWords);
    }
  CHECK(howDivided("i32", "", "udiv i32 %x, %y") == How::ofWords);
  CHECK(howDivided("i64", masked("i64", "4294967295"), "udiv i64 %a, %b") == How::ofWords);
  CHECK(howDivided("i64", masked("i64", "8589934591"), "udiv i64 %a, %b") == How::byLlvm);
  // The divisor's bits count as well.
  CHECK(howDivided("i32", masked("i32", most22), "udiv i32 %b, %a") == How::inFloat);
  CHECK(howDivided("i32", masked("i32", most23), "udiv i32 %b, %a") == How::ofWords);
}

TEST_CASE("Numbers with a sign are divided in f32 up to 23 bits, and as words up to 32") {
  const auto shifted = [](const std::string &type, int by) {
    return "  %a = ashr " + type + " %x, " + std::to_string(by) + "\n  %b = ashr " + type +
           " %y, " + std::to_string(by + 2);
  };
  for (const std::string &division : {"sdiv ", "srem "}) {
    CHECK(howDivided("i32", shifted("i32", 9), division + "i32 %a, %b") == How::inFloat);
    CHECK(howDivided("i32", shifted("i32", 8), division + "i32 %a, %b") == How::ofWords);
    CHECK(howDivided("i32", "", division + "i32 %x, %y") == How::ofWords);
    CHECK(howDivided("i64", shifted("i64", 41), division + "i64 %a, %b") == How::inFloat);
    CHECK(howDivided("i64", shifted("i64", 40), division + "i64 %a, %b") == How::ofWords);
    CHECK(howDivided("i64", shifted("i64", 32), division + "i64 %a, %b") == How::ofWords);
    CHECK(howDivided("i64", shifted("i64", 31), division + "i64 %a, %b") == How::byLlvm);
  }
}

TEST_CASE("Frozen numbers are as short as what is frozen") {
  CHECK(howDivided("i64",
                   "  %c = ashr i64 %x, 32\n  %a = freeze i64 %c\n  %d = ashr i64 %y, 50\n  %b = "
                   "freeze i64 %d",
                   "sdiv i64 %a, %b") == How::ofWords);
  CHECK(howDivided("i32", "  %c = lshr i32 %x, 10\n  %a = freeze i32 %c\n  %b = lshr i32 %y, 20",
                   "udiv i32 %a, %b") == How::inFloat);
}

TEST_CASE("Divisions by constants stay, with 32 bits where the numbers have them") {
  CHECK(howDivided("i32", masked("i32", "16777215"), "udiv i32 %a, 10") == How::byConstant);
  CHECK(howDivided("i64", masked("i64", "16777215"), "udiv i64 %a, 10") == How::byConstant);
  CHECK(howDivided("i64", "  %a = ashr i64 %x, 32", "srem i64 %a, -7") == How::byConstant);
  CHECK(howDivided("i64", "", "udiv i64 %x, 10") == How::byLlvm);
  // -2^31 / -1 does not have 32 bits.
  CHECK(howDivided("i64", "  %a = ashr i64 %x, 32", "sdiv i64 %a, -1") == How::ofWords);
}

TEST_CASE(
    "What a kernel assumes of an operand counts, and short types and vectors are divided, too") {
  const std::string assumed = "  %near = icmp ult i32 %x, 4194304\n  call void @llvm.assume(i1 "
                              "%near)\n  %b = and i32 %y, 63";
  CHECK(howDivided("i32", assumed, "udiv i32 %x, %b") == How::inFloat);
  CHECK(howDivided("i8", "", "sdiv i8 %x, %y") == How::inFloat);
  CHECK(howDivided("i16", "", "urem i16 %x, %y") == How::inFloat);
  CHECK(howDivided("<2 x i32>", "", "udiv <2 x i32> %x, %y") == How::ofWords);
  CHECK(howDivided("<2 x i32>", "", "udiv <2 x i32> %x, <i32 3, i32 5>") == How::byConstant);
  CHECK(howDivided("i128", "", "udiv i128 %x, %y") == How::byLlvm);
}
