#include "jit/compile/rocm/llvm_target.h"

#include <catch2/catch.hpp>

using namespace flydsl;

TEST_CASE("LLVM and comgr spell a target with its fixed features") {
  const Target fixed = Target::parse("gfx950:sramecc+:xnack-");
  CHECK(jit::isaName(fixed) == "amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-");
  CHECK(jit::llvmFeatures(fixed) == "+sramecc,-xnack");
  CHECK(jit::llvmFeatures(Target::parse("gfx90a:xnack+")) == "+xnack");
  CHECK(jit::llvmFeatures(Target::parse("gfx1201")).empty());
}
