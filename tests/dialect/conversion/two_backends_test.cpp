// Conversions of two backends in one context: neither sees what the other attached.
#include "dialect/Conversion/FlyToLLVM/FlyToLLVM.h"
#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"
#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <catch2/catch.hpp>

#include <memory>
#include <string>

using namespace mlir;

namespace {

constexpr const char *kUniversal = R"(
!atom = !fly.copy_atom<!fly.universal_copy<128>, 32>
func.func @move(%src: !fly.memref<f32, global, 4:1>, %dst: !fly.memref<f32, shared, 4:1>) {
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !atom
  fly.copy_atom_call(%atom, %src, %dst) : (!atom, !fly.memref<f32, global, 4:1>, !fly.memref<f32, shared, 4:1>) -> ()
  return
}
)";

constexpr const char *kBuffers = R"(
func.func @move(%p: !llvm.ptr, %stride: i16, %size: i64, %flags: i32) -> f32 {
  %b = fly.make_ptr(%p, %stride, %size, %flags) : (!llvm.ptr, i16, i64, i32) -> !fly.ptr<f32, #fly_rocdl.buffer_desc>
  %x = fly.ptr.load(%b) : (!fly.ptr<f32, #fly_rocdl.buffer_desc>) -> f32
  return %x : f32
}
)";

constexpr const char *kNeutral = "convert-fly-to-llvm{address-spaces=0,1,3,5}";
constexpr const char *kRocdl = "convert-fly-to-rocdl";

/// Runs one pass on the module, in this context: the result's text, or the first error's.
std::string converted(MLIRContext &context, const char *text, const char *pass) {
  std::string result;
  ScopedDiagnosticHandler errors(&context, [&](Diagnostic &diagnostic) {
    if (result.empty())
      result = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  PassManager passes(&context);
  if (!module || failed(parsePassPipeline(pass, passes)) || failed(passes.run(*module)))
    return "error: " + result;
  llvm::raw_string_ostream(result) << *module;
  return result;
}

std::unique_ptr<MLIRContext> makeContext() {
  fly::registerFlyToLLVMPasses();
  fly::registerFlyToROCDLPasses();
  DialectRegistry registry;
  registry
      .insert<fly::FlyDialect, fly_rocdl::FlyROCDLDialect, func::FuncDialect, LLVM::LLVMDialect>();
  return std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
}

} // namespace

TEST_CASE("two backends in one context convert as each does alone", "[conversion]") {
  const auto one = makeContext(), other = makeContext(), both = makeContext();
  const std::string neutral = converted(*one, kUniversal, kNeutral),
                    rocdl = converted(*other, kUniversal, kRocdl);
  CHECK_THAT(neutral, Catch::Contains("llvm.load") && !Catch::Contains("fly."));
  CHECK(neutral == rocdl); // address spaces are the same, and universal atoms are nobody's
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(converted(*both, kUniversal, kRocdl) == rocdl);
    CHECK(converted(*both, kUniversal, kNeutral) == neutral);
  }
}

TEST_CASE("what one backend attached is refused by another's conversion", "[conversion]") {
  const auto context = makeContext();
  CHECK_THAT(converted(*context, kBuffers, kRocdl), Catch::Contains("rocdl.raw.ptr.buffer.load"));
  CHECK_THAT(converted(*context, kBuffers, kNeutral),
             Catch::Contains("error: ") && Catch::Contains("can't make a pointer of type"));
}
