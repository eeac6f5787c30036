// Calls among the functions of a module, of the host and of kernels.
#include "host_module.h"

#include <flydsl/host/compile_ir.h>

using namespace host_module;
using Catch::Contains;

namespace {
const std::string kTensor = "!fly.memref<i32, global, ?:1>";

/// A function of the host that launches with grid 1.
const std::string kOnce = "func.func private @once(%y: " + kTensor +
                          R"(, %v: i32, %s: !gpu.async.token) -> !gpu.async.token {
  %c1 = arith.constant 1 : index
  %t = )" + launch("%c1", "%y", "%v") +
                          "return %t : !gpu.async.token\n}\n";

std::string callOnce(const std::string &value) {
  return "func.call @once(%x, " + value + ", %s) : (" + kTensor +
         ", i32, !gpu.async.token) -> !gpu.async.token\n";
}
} // namespace

TEST_CASE("a host function may call others, which compute or launch") {
  const std::string text = module(R"(
    %m = func.call @twice(%n) : (i32) -> i32
    %grid = arith.index_cast %m : i32 to index
    %t = )" + launch("%grid", "%x", "%m") +
                                      "%u = " + callOnce("%n"),
                                  "", R"(
  func.func private @twice(%a: i32) -> i32 {
    %b = func.call @sum(%a, %a) : (i32, i32) -> i32
    return %b : i32
  }
  func.func private @sum(%a: i32, %b: i32) -> i32 {
    %c = arith.addi %a, %b : i32
    return %c : i32
  }
)" + kOnce);
  CHECK(run(text, 2) == std::vector<std::int32_t>{2, 4, 4, 4, 0, 0, 0, 0});
  const fx::Program program = fx::parse_program(text);
  CHECK(program.functions() == std::vector<std::string>{"f"});
}

TEST_CASE("a call stands in a branch, in a loop, and may have branches of its own") {
  const std::string text = module(R"(
    %c0 = arith.constant 0 : index
    %end = arith.index_cast %n : i32 to index
    scf.for %i = %c0 to %end step %c1 {
      %v = arith.index_cast %i : index to i32
      %positive = func.call @positive(%v) : (i32) -> i1
      scf.if %positive {
        %u = )" + callOnce("%v") + R"(
      }
    }
    %last = func.call @cut(%n) : (i32) -> i32
    %grid = arith.index_cast %last : i32 to index
    %t = )" + launch("%grid", "%x", "%last"),
                                  "", R"(
  func.func private @positive(%a: i32) -> i1 {
    %zero = arith.constant 0 : i32
    %is = arith.cmpi sgt, %a, %zero : i32
    return %is : i1
  }
  func.func private @cut(%a: i32) -> i32 {
    %two = arith.constant 2 : i32
    %big = arith.cmpi sgt, %a, %two : i32
    cf.cond_br %big, ^big, ^small
  ^big:
    return %two : i32
  ^small:
    return %a : i32
  }
)" + kOnce);
  CHECK(run(text, 4) == std::vector<std::int32_t>{2, 2, 0, 0, 0, 0, 0, 0});
  CHECK(run(text, 1) == std::vector<std::int32_t>{1, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("a public function that is called by another may be called alone too") {
  const std::string text =
      module("%u = " + callOnce("%n"), "", "func.func @once" + kOnce.substr(kOnce.find('(')));
  const fx::Program program = fx::parse_program(text);
  CHECK(program.functions() == std::vector<std::string>{"f", "once"});
  fx::DeviceArray<std::int32_t> x({8});
  program("once", x, 7, nullptr);
  CHECK(x.to_host()[0] == 7);
}

TEST_CASE("functions that call themselves are refused with the line and the way around") {
  const std::string body =
      "%m = func.call @even(%n) : (i32) -> i32\n%t = " + launch("%c1", "%x", "%m");
  const std::string text = module(body, "", R"(
  func.func private @even(%a: i32) -> i32 {
    %b = func.call @odd(%a) : (i32) -> i32
    return %b : i32
  }
  func.func private @odd(%a: i32) -> i32 {
    %b = func.call @even(%a) : (i32) -> i32
    return %b : i32
  }
)");
  CHECK_THAT(error(text), Contains("text.mlir:24: 'even' calls itself: even -> odd -> even; "
                                   "functions are put in the place of their calls, so write it as "
                                   "a loop (scf.for)"));
}

TEST_CASE("calls that have no place or no body are refused with their line") {
  CHECK_THAT(error(module("func.call @other() : () -> ()\n%t = " + launch("%c1", "%x", "%n"), "",
                          "func.func private @other()\n")),
             Contains("text.mlir:13") && Contains("'other' is declared, but has no body"));
  CHECK_THAT(error(module(R"(
    %yes = arith.constant true
    scf.if %yes {
      func.call @branches() : () -> ()
    }
    %t = )" + launch("%c1", "%x", "%n"),
                          "", R"(
  func.func private @branches() {
    cf.br ^next
  ^next:
    return
  })")),
             Contains("text.mlir:16: the body of 'branches' has branches (cf.br), which the scf.if "
                      "around this call can't hold; write them as scf.if and scf.for"));
}

TEST_CASE("a body that does not return is refused") {
  CHECK_THAT(
      error(module("%m = func.call @never(%n) : (i32) -> i32\n%t = " + launch("%c1", "%x", "%m"),
                   "", "func.func private @never(%a: i32) -> i32 {\nllvm.unreachable\n}\n")),
      Contains("text.mlir:13: the body of 'never' ends with llvm.unreachable, not with a "
               "return"));
}

TEST_CASE("bodies that grow without measure are refused") {
  std::string others = "func.func private @g0() {\n%c = arith.constant 1 : i32\nreturn }\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string call = "  func.call @g" + std::to_string(i - 1) + "() : () -> ()\n";
    others += "func.func private @g" + std::to_string(i) + "() {\n" + call + call + "return }\n";
  }
  CHECK_THAT(
      error(module("func.call @g40() : () -> ()\n%t = " + launch("%c1", "%x", "%n"), "", others)),
      Contains("more than 262144 operations more than before"));
  std::string chain = "func.func private @h0() { return }\n";
  for (int i = 1; i <= 300; ++i)
    chain += "func.func private @h" + std::to_string(i) + "() {\nfunc.call @h" +
             std::to_string(i - 1) + "() : () -> ()\nreturn }\n";
  CHECK_THAT(
      error(module("func.call @h300() : () -> ()\n%t = " + launch("%c1", "%x", "%n"), "", chain)),
      Contains("calls nest deeper than 256 here"));
}

namespace {
/// A kernel that calls functions of its module, with views and numbers as their arguments.
const std::string kCallingKernel = R"(
  gpu.module @kernels {
    func.func private @place(%i: i32) -> !fly.int_tuple<?> {
      %c = fly.make_int_tuple(%i) : (i32) -> !fly.int_tuple<?>
      return %c : !fly.int_tuple<?>
    }
    func.func private @write(%x: !fly.memref<i32, global, ?:1>, %i: i32, %v: i32) {
      %c = func.call @place(%i) : (i32) -> !fly.int_tuple<?>
      fly.memref.store(%v, %x, %c) : (i32, !fly.memref<i32, global, ?:1>, !fly.int_tuple<?>) -> ()
      return
    }
    gpu.func @put(%x: !fly.memref<i32, global, ?:1>, %v: i32) kernel {
      %b = gpu.block_id x
      %i = arith.index_cast %b : index to i32
      %w = arith.addi %v, %i : i32
      func.call @write(%x, %i, %w) : (!fly.memref<i32, global, ?:1>, i32, i32) -> ()
      gpu.return
    }
  }
)";
} // namespace

TEST_CASE("a kernel may call functions of its module") {
  std::string text = module("%t = " + launch("%c1", "%x", "%n"));
  const std::size_t begin = text.find("  gpu.module"), end = text.find("  func.func @f");
  text.replace(begin, end - begin, kCallingKernel);
  CHECK(run(text, 9) == std::vector<std::int32_t>{9, 0, 0, 0, 0, 0, 0, 0});

  const fx::Executable kernel =
      fx::compile_ir("module attributes {gpu.container_module} {" + kCallingKernel + "}");
  fx::DeviceArray<std::int32_t> x({8});
  kernel(x, 5).launch({.grid = 3, .block = 1});
  CHECK(x.to_host()[2] == 7);
}

TEST_CASE("a kernel whose function calls itself is refused") {
  std::string text = kCallingKernel;
  const std::string call = "%c = func.call @place(%i) : (i32) -> !fly.int_tuple<?>";
  text.replace(text.find(call), call.size(),
               "func.call @write(%x, %i, %v) : (!fly.memref<i32, global, ?:1>, i32, i32) -> ()\n" +
                   call);
  CHECK_THROWS_WITH(fx::compile_ir("module attributes {gpu.container_module} {" + text + "}",
                                   {.name = "kernel.mlir"}),
                    Contains("kernel.mlir:8: 'write' calls itself: write -> write"));
}
