#include "jit/code_object/code_object.h"
#include "jit/compile/backends/backends.h"
#include "jit/compile/link/link_lld.h"
#include "jit/compile/rocm/rocm_codegen.h"
#include "object_of.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

llvm::SmallVector<char, 0> objectFor(const std::string &text, const Target &target) {
  CompileOptions options;
  options.target = target;
  return objectOf(text, options);
}

const char *store = R"(
  define amdgpu_kernel void @store(ptr addrspace(1) %to, i32 %what) {
    store i32 %what, ptr addrspace(1) %to
    ret void
  })";

} // namespace

TEST_CASE("LLD links for every target, and comgr makes the same kernel where it lists the target") {
  unsigned both = 0;
  for (const Target &target : Target::all()) {
    CAPTURE(target.name());
    const auto object = objectFor(store, target);
    const auto linked = linkWithLld(object, target);
    REQUIRE(linked);
    const CodeObject read = readCodeObject(*linked);
    CHECK(read.kernel().name == "store");
    CHECK(backendFor(target).link(object, target) == *linked);
    if (const auto other = linkWithComgr(object, target)) {
      ++both;
      CHECK(readCodeObject(*other).kernels == read.kernels);
    }
  }
  CHECK(both > 0); // Debian's lists gfx90a
}

TEST_CASE("What does not link says which symbol is missing, and the next link works") {
  const Target target = Target::parse("gfx942");
  const auto broken = objectFor(R"(
    declare void @nobody()
    define amdgpu_kernel void @calls() {
      call void @nobody()
      ret void
    })",
                                target);
  std::string what;
  try {
    backendFor(target).link(broken, target);
  } catch (const CompileError &error) {
    what = error.what();
  }
  CHECK_THAT(what, Catch::Contains("gfx942") && Catch::Contains("undefined symbol: nobody"));
  CHECK(readCodeObject(backendFor(target).link(objectFor(store, target), target)).kernel().name ==
        "store");
}

TEST_CASE("Passes that made objects before make what new ones make") {
  const Target target = Target::parse("gfx942");
  const auto first = objectFor(store, target);
  // What metadata says of printf stays with the passes that saw it.
  const auto prints =
      objectFor(std::string(store) + "\n!llvm.printf.fmts = !{!0}\n!0 = !{!\"1:1:4:%d\"}", target);
  CHECK(prints != first);
  unsigned same = 0;
  for (int i = 0; i < 70; ++i) // more than one list of passes serves
    same += objectFor(store, target) == first;
  CHECK(same == 70);
}
