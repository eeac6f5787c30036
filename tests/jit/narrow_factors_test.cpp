// Factors of 64-bit products that have 32 bits are extended where they are multiplied.
#include "jit/compile/rocm/rocm_codegen.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <catch2/catch.hpp>

#include <string>

using namespace flydsl;

namespace {

/// A loop that adds up products of a stride and the number of the turn; `assumed` bounds the stride.
std::string loopOver(const std::string &assumed, const std::string &stride) {
  return R"(
declare void @llvm.assume(i1)
define i64 @sum(i64 %given, i32 %small, i32 %n) {
start:
)" + assumed +
         R"(
  %stride = )" +
         stride + R"(
  br label %turn
turn:
  %i = phi i32 [ 0, %start ], [ %next, %turn ]
  %all = phi i64 [ 0, %start ], [ %more, %turn ]
  %wide = zext i32 %i to i64
  %product = mul i64 %wide, %stride
  %more = add i64 %all, %product
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, %n
  br i1 %again, label %turn, label %end
end:
  ret i64 %more
}
)";
}

/// Whether the product's second factor is extended from 32 bits in the product's own block.
bool isExtendedInPlace(const std::string &text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  CAPTURE(text, problem.getMessage().str());
  REQUIRE(module);
  jit::showNarrowFactors(*module);
  CHECK_FALSE(llvm::verifyModule(*module));
  for (llvm::Instruction &product : llvm::instructions(*module->getFunction("sum"))) {
    if (product.getOpcode() != llvm::Instruction::Mul || product.getName() != "product")
      continue;
    const auto *factor = llvm::dyn_cast<llvm::ZExtInst>(product.getOperand(1));
    return factor && factor->getParent() == product.getParent() &&
           factor->getOperand(0)->getType()->isIntegerTy(32);
  }
  FAIL("there is no product");
  return false;
}

constexpr const char *kTwice = "shl i64 %given, 1", *kExtended = "zext i32 %small to i64";
/// What `fx::assume((stride >= 0) & (stride < end))` becomes.
std::string below(const std::string &end) {
  return "  %near = icmp ult i64 %given, " + end + "\n  call void @llvm.assume(i1 %near)";
}

} // namespace

TEST_CASE("A factor of 32 bits from before a loop is extended in the loop") {
  CHECK(isExtendedInPlace(loopOver("", kExtended)));
  CHECK(isExtendedInPlace(loopOver("", "and i64 %given, 4294967295")));
  CHECK(isExtendedInPlace(loopOver("", "lshr i64 %given, 32")));
}

TEST_CASE("What a kernel assumes of a factor counts") {
  CHECK(isExtendedInPlace(loopOver(below("2147483648"), kTwice)));
  CHECK_FALSE(isExtendedInPlace(loopOver(below("2147483649"), kTwice)));
  CHECK_FALSE(isExtendedInPlace(loopOver("", kTwice)));
}

TEST_CASE("A factor that may have more than 32 bits stays") {
  CHECK_FALSE(isExtendedInPlace(loopOver("", "and i64 %given, 8589934591")));
  CHECK_FALSE(isExtendedInPlace(loopOver("", "sext i32 %small to i64")));
}
