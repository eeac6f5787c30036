// Modules that differ in the order of what has no effect share a key; others do not.
#include "jit/compile/ir_key.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/options/options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

/// The key of a kernel of two pointers and a number.
cache::Key keyOf(const std::string &body) {
  ContextLease context;
  const std::string text = "gpu.module @kernels {\n"
                           "gpu.func @f(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i32) kernel {\n" +
                           body + "gpu.return\n} }";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  REQUIRE(module);
  CompileOptions options;
  options.target = Target::parse("gfx942");
  return irKey(*module, options);
}

std::string load(const char *value, const char *from) {
  return std::string(value) + " = llvm.load " + from + " : !llvm.ptr<1> -> f32\n";
}
std::string store(const char *value, const char *to) {
  return std::string("llvm.store ") + value + ", " + to + " : f32, !llvm.ptr<1>\n";
}
const std::string difference = "%c = arith.subf %a, %b : f32\n";

} // namespace

TEST_CASE("Reads and arithmetic count by what they are, whatever their order") {
  const cache::Key key =
      keyOf(load("%a", "%p") + load("%b", "%q") + difference + store("%c", "%p"));
  CHECK(key == keyOf(load("%b", "%q") + load("%a", "%p") + difference + store("%c", "%p")));
  CHECK(key != keyOf(load("%a", "%q") + load("%b", "%p") + difference + store("%c", "%p")));
  CHECK(key != keyOf(load("%a", "%p") + load("%b", "%q") + difference + store("%c", "%q")));
  CHECK(key != keyOf(load("%a", "%p") + load("%b", "%p") + difference + store("%c", "%p")));

  const std::string sums = "%s = arith.addi %n, %n : i32\n",
                    products = "%m = arith.muli %n, %n : i32\n",
                    both = "%d = arith.subi %s, %m : i32\n"
                           "llvm.store %d, %p : i32, !llvm.ptr<1>\n";
  CHECK(keyOf(sums + products + both) == keyOf(products + sums + both));
  CHECK(keyOf(sums + products + both) != keyOf("%m = arith.addi %n, %n : i32\n"
                                               "%s = arith.muli %n, %n : i32\n" +
                                               both));
}

TEST_CASE("Effects keep their order, and reads their place among writes") {
  const std::string a = load("%a", "%p"), b = load("%b", "%q"), writes = store("%a", "%q"),
                    end = difference + store("%c", "%p");
  CHECK(keyOf(a + b + writes + end) != keyOf(a + writes + b + end));
  CHECK(keyOf(a + b + store("%a", "%p") + store("%b", "%q")) !=
        keyOf(a + b + store("%b", "%q") + store("%a", "%p")));
  CHECK(keyOf(a + b + store("%a", "%p") + store("%a", "%p")) != keyOf(a + b + store("%a", "%p")));
  // Memory is made at any time before it is used.
  const std::string one = "%k = llvm.mlir.constant(1 : i32) : i32\n",
                    memory = "%m = llvm.alloca %k x f32 : (i32) -> !llvm.ptr<5>\n",
                    use = "llvm.store %a, %m : f32, !llvm.ptr<5>\n";
  CHECK(keyOf(one + memory + a + use) == keyOf(a + one + memory + use));
}

TEST_CASE("What depends on the lanes that are active has its place") {
  const std::string condition = "%z = arith.constant 0 : i32\n"
                                "%c = arith.cmpi slt, %n, %z : i32\n",
                    ballot = "%m = rocdl.ballot %c : i64\n",
                    use = "llvm.store %m, %p : i64, !llvm.ptr<1>\n";
  CHECK(keyOf(condition + ballot + "scf.if %c {\n" + use + "}\n") !=
        keyOf(condition + "scf.if %c {\n" + ballot + use + "}\n"));
}

TEST_CASE("Regions, arguments, types and branches are in the key") {
  auto loop = [](const char *step, const char *carried) {
    return "%zero = arith.constant 0 : i32\n%step = arith.constant " + std::string(step) +
           " : i32\n%r:2 = scf.for %i = %zero to %n step %step iter_args(%x = %zero, %y = %n) -> "
           "(i32, i32) : i32 {\n"
           "%s = arith.addi %x, %y : i32\nscf.yield " +
           carried + " : i32, i32\n}\nllvm.store %r#0, %p : i32, !llvm.ptr<1>\n";
  };
  const cache::Key key = keyOf(loop("1", "%s, %x"));
  CHECK(key == keyOf(loop("1", "%s, %x")));
  CHECK(key != keyOf(loop("2", "%s, %x")));
  CHECK(key != keyOf(loop("1", "%s, %y")));
  CHECK(key != keyOf(loop("1", "%x, %s")));
  auto typed = [](const std::string &type) {
    return "%a = llvm.load %p : !llvm.ptr<1> -> " + type + "\nllvm.store %a, %q : " + type +
           ", !llvm.ptr<1>\n";
  };
  CHECK(keyOf(typed("f32")) != keyOf(typed("i32")));
  auto branch = [](const char *targets) {
    return "%zero = arith.constant 0 : i32\n%c = arith.cmpi slt, %n, %zero : i32\n"
           "cf.cond_br %c, " +
           std::string(targets) +
           "\n^one:\nllvm.store %n, %p : i32, !llvm.ptr<1>\ncf.br ^end\n^two:\n"
           "llvm.store %n, %q : i32, !llvm.ptr<1>\ncf.br ^end\n^end:\n";
  };
  CHECK(keyOf(branch("^one, ^two")) == keyOf(branch("^one, ^two")));
  CHECK(keyOf(branch("^one, ^two")) != keyOf(branch("^two, ^one")));
}
