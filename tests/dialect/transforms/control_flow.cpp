// Runs Fly values that loops and branches carry: modules go through all passes to machine code of
// the host, where global memory is the host's memory.
#include "Registry.h"
#include "made_code.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/Support/TargetSelect.h"

#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

using namespace mlir;
using flydsl::test::callMade;

namespace {

constexpr const char *kModule = R"(
// Walks n-element tensors of stride 2, sums element 1 of each, and counts the layout's size up.
func.func @walk(%address: i64, %n: i32, %steps: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %p = fly.inttoptr(%address) : (i64) -> !fly.ptr<i32, global>
  %shape = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?>
  %stride = fly.make_int_tuple() : () -> !fly.int_tuple<2>
  %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<?>, !fly.int_tuple<2>) -> !fly.layout<?:2>
  %view = fly.make_view(%p, %layout) : (!fly.ptr<i32, global>, !fly.layout<?:2>) -> !fly.memref<i32, global, ?:2>
  %t, %sum = scf.for %i = %c0 to %steps step %c1 iter_args(%t = %view, %s = %c0) -> (!fly.memref<i32, global, ?:2>, i32) : i32 {
    %one = fly.make_int_tuple() : () -> !fly.int_tuple<1>
    %x = fly.memref.load(%t, %one) : (!fly.memref<i32, global, ?:2>, !fly.int_tuple<1>) -> i32
    %more = arith.addi %s, %x : i32
    %here = fly.get_iter(%t) : (!fly.memref<i32, global, ?:2>) -> !fly.ptr<i32, global>
    %size = fly.size(%t) : (!fly.memref<i32, global, ?:2>) -> !fly.int_tuple<?>
    %there = fly.add_offset(%here, %size) : (!fly.ptr<i32, global>, !fly.int_tuple<?>) -> !fly.ptr<i32, global>
    %unit = fly.make_int_tuple() : () -> !fly.int_tuple<1>
    %larger = fly.int_tuple_add(%size, %unit) : (!fly.int_tuple<?>, !fly.int_tuple<1>) -> !fly.int_tuple<?>
    %grown = fly.make_layout(%larger, %stride) : (!fly.int_tuple<?>, !fly.int_tuple<2>) -> !fly.layout<?:2>
    %next = fly.make_view(%there, %grown) : (!fly.ptr<i32, global>, !fly.layout<?:2>) -> !fly.memref<i32, global, ?:2>
    scf.yield %next, %more : !fly.memref<i32, global, ?:2>, i32
  }
  %size = fly.size(%t) : (!fly.memref<i32, global, ?:2>) -> !fly.int_tuple<?>
  %number = fly.get_scalar(%size) : (!fly.int_tuple<?>) -> i32
  %c1000 = arith.constant 1000 : i32
  %scaled = arith.muli %number, %c1000 : i32
  %result = arith.addi %sum, %scaled : i32
  return %result : i32
}

// Doubles a layout until it has at least 20 elements; its cosize.
func.func @grow(%n: i32, %d: i32) -> i32 {
  %twenty = arith.constant 20 : i32
  %shape = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?>
  %stride = fly.make_int_tuple(%d) : (i32) -> !fly.int_tuple<?>
  %layout = fly.make_layout(%shape, %stride) : (!fly.int_tuple<?>, !fly.int_tuple<?>) -> !fly.layout<?:?>
  %r = scf.while (%l = %layout) : (!fly.layout<?:?>) -> !fly.layout<?:?> {
    %size = fly.size(%l) : (!fly.layout<?:?>) -> !fly.int_tuple<?>
    %number = fly.get_scalar(%size) : (!fly.int_tuple<?>) -> i32
    %small = arith.cmpi slt, %number, %twenty : i32
    scf.condition(%small) %l : !fly.layout<?:?>
  } do {
  ^bb0(%l: !fly.layout<?:?>):
    %shape2 = fly.get_shape(%l) : (!fly.layout<?:?>) -> !fly.int_tuple<?>
    %twice = fly.int_tuple_add(%shape2, %shape2) : (!fly.int_tuple<?>, !fly.int_tuple<?>) -> !fly.int_tuple<?>
    %same = fly.get_stride(%l) : (!fly.layout<?:?>) -> !fly.int_tuple<?>
    %next = fly.make_layout(%twice, %same) : (!fly.int_tuple<?>, !fly.int_tuple<?>) -> !fly.layout<?:?>
    scf.yield %next : !fly.layout<?:?>
  }
  %cosize = fly.cosize(%r) : (!fly.layout<?:?>) -> !fly.int_tuple<?>
  %result = fly.get_scalar(%cosize) : (!fly.int_tuple<?>) -> i32
  return %result : i32
}

// One of two tensors, and a fragment that a branch fills differently, written back through an atom.
func.func @choose(%address: i64, %first: i1, %n: i32) -> i32 {
  %p = fly.inttoptr(%address) : (i64) -> !fly.ptr<i32, global>
  %atom = fly.make_copy_atom {valBits = 32 : i32} : !fly.copy_atom<!fly.universal_copy<64>, 32>
  %pair = fly.static : !fly.layout<2:1>
  %r = fly.memref.alloca(%pair) : (!fly.layout<2:1>) -> !fly.memref<i32, register, 2:1>
  %here = fly.make_view(%p, %pair) : (!fly.ptr<i32, global>, !fly.layout<2:1>) -> !fly.memref<i32, global, 2:1>
  %away = fly.make_int_tuple(%n) : (i32) -> !fly.int_tuple<?>
  %q = fly.add_offset(%p, %away) : (!fly.ptr<i32, global>, !fly.int_tuple<?>) -> !fly.ptr<i32, global>
  %there = fly.make_view(%q, %pair) : (!fly.ptr<i32, global>, !fly.layout<2:1>) -> !fly.memref<i32, global, 2:1>
  %chosen = scf.if %first -> (!fly.memref<i32, global, 2:1>) {
    fly.copy(%atom, %there, %r) : (!fly.copy_atom<!fly.universal_copy<64>, 32>, !fly.memref<i32, global, 2:1>, !fly.memref<i32, register, 2:1>) -> ()
    scf.yield %here : !fly.memref<i32, global, 2:1>
  } else {
    fly.copy(%atom, %here, %r) : (!fly.copy_atom<!fly.universal_copy<64>, 32>, !fly.memref<i32, global, 2:1>, !fly.memref<i32, register, 2:1>) -> ()
    scf.yield %there : !fly.memref<i32, global, 2:1>
  }
  fly.copy(%atom, %r, %chosen) : (!fly.copy_atom<!fly.universal_copy<64>, 32>, !fly.memref<i32, register, 2:1>, !fly.memref<i32, global, 2:1>) -> ()
  %one = fly.make_int_tuple() : () -> !fly.int_tuple<1>
  %x = fly.memref.load(%chosen, %one) : (!fly.memref<i32, global, 2:1>, !fly.int_tuple<1>) -> i32
  return %x : i32
}
)";

constexpr const char *kPasses =
    "fly-rewrite-func-signature,fly-canonicalize,fly-layout-lowering,fly-int-swizzle-simplify,"
    "canonicalize,fly-convert-atom-call-to-ssa-form,fly-promote-regmem-to-vectorssa{pieces=true},"
    "convert-fly-to-rocdl,canonicalize,convert-scf-to-cf,convert-cf-to-llvm,convert-vector-to-llvm,"
    "convert-ub-to-llvm,convert-arith-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts";

} // namespace

TEST_CASE("loops and branches carry layouts, tensors and fragments", "[passes]") {
  flydsl::tools::registerPasses();
  DialectRegistry registry;
  flydsl::tools::registerDialects(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();

  auto module = parseSourceString<ModuleOp>(kModule, &context);
  REQUIRE(module);
  PassManager passes(&context);
  REQUIRE(succeeded(parsePassPipeline(kPasses, passes)));
  REQUIRE(succeeded(passes.run(*module)));
  auto engine = ExecutionEngine::create(*module);
  REQUIRE(static_cast<bool>(engine));
  auto function = [&](const char *name) {
    auto found = (*engine)->lookup(name);
    REQUIRE(static_cast<bool>(found));
    return *found;
  };
  std::vector<int32_t> memory(256);
  std::iota(memory.begin(), memory.end(), 100);
  auto address = reinterpret_cast<int64_t>(memory.data());

  void *walk = function("walk"), *grow = function("grow"), *choose = function("choose");
  for (int32_t n : {1, 3, 8})
    for (int32_t steps : {0, 1, 5}) {
      int32_t expected = 0, at = 0, size = n;
      for (int32_t i = 0; i < steps; ++i, at += size, ++size)
        expected += memory[at + 2];
      CHECK(callMade<int32_t>(walk, address, n, steps) == expected + 1000 * size);
    }

  for (int32_t n : {1, 3, 19, 20, 100}) {
    int32_t size = n;
    while (size < 20)
      size *= 2;
    CHECK(callMade<int32_t>(grow, n, 7) == (size - 1) * 7 + 1);
  }

  CHECK(callMade<int32_t>(choose, address, true, 10) == 111);
  CHECK(memory[0] == 110);
  CHECK(callMade<int32_t>(choose, address, false, 20) == 111);
  CHECK(memory[20] == 110);
  CHECK(memory[21] == 111);
}
