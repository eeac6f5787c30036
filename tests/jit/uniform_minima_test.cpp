// A minimum of 64 bits that a wave's lanes have in common stays one where vector instructions compute it.
#include "jit/compile/backends/backends.h"
#include "jit/compile/codegen/codegen.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"

#include <catch2/catch.hpp>

#include <string>

using namespace flydsl;

namespace {

/// Loads from a buffer whose size is a minimum or maximum of a number and 2^30. `size` makes %wanted.
std::string kernelWith(const std::string &size, const std::string &minimum) {
  return R"(
define amdgpu_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, i64 %given) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %own = zext i32 %lane to i64
  %wanted = )" +
         size + R"(
  %bytes = call i64 @llvm.)" +
         minimum + R"(.i64(i64 %wanted, i64 1073741824)
  %buffer = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %x, i16 0, i64 %bytes, i32 0)
  %at = shl i32 %lane, 2
  %value = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %buffer, i32 %at, i32 0, i32 0)
  %to = getelementptr i32, ptr addrspace(1) %y, i32 %lane
  store i32 %value, ptr addrspace(1) %to
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i64 @llvm.)" +
         minimum + R"(.i64(i64, i64)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8), i32, i32, i32)
)";
}

struct Code {
  bool isRead; ///< from one lane, in LLVM IR
  bool loops;  ///< over the lanes' descriptors
};
Code codeOf(const std::string &text, const std::string &target) {
  jit::CompileOptions options;
  options.target = Target::parse(target);
  const jit::Backend &backend = jit::backendFor(options.target);
  jit::TargetMachineLease machine(backend, options);
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  CAPTURE(problem.getMessage().str());
  REQUIRE(module);
  module->setTargetTriple((*machine).getTargetTriple());
  module->setDataLayout((*machine).createDataLayout());
  REQUIRE(backend.prepare(*module, *machine, options));
  backend.finish(*module, *machine);
  CHECK_FALSE(llvm::verifyModule(*module));
  const llvm::Function *read = module->getFunction("llvm.amdgcn.readfirstlane.i64");
  llvm::SmallString<0> assembly;
  REQUIRE(jit::emit(*module, machine, backend, options, /*assembly=*/true, assembly));
  return {read && !read->use_empty(), assembly.str().contains("saveexec")};
}

} // namespace

TEST_CASE(
    "A buffer whose size is a minimum of 64 bits is accessed without a loop over its descriptors") {
  for (const char *minimum : {"smin", "smax", "umin", "umax"}) {
    const Code code = codeOf(kernelWith("mul i64 %given, 6", minimum), "gfx1250");
    CAPTURE(minimum);
    CHECK(code.isRead);
    CHECK_FALSE(code.loops);
  }
}

TEST_CASE("A minimum that differs between lanes is read from no other lane") {
  const Code code = codeOf(kernelWith("mul i64 %given, %own", "smin"), "gfx1250");
  CHECK_FALSE(code.isRead);
  CHECK(code.loops);
}

TEST_CASE("Where minima of 64 bits are no instruction, they stay as they are") {
  for (const char *target : {"gfx942", "gfx1201"}) {
    const Code code = codeOf(kernelWith("mul i64 %given, 6", "smin"), target);
    CAPTURE(target);
    CHECK_FALSE(code.isRead);
    CHECK_FALSE(code.loops);
  }
}
