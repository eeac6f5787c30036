// Damaged and malicious modules: each is read or refused, and the process continues.
#include "jit/compile/compiler.h"
#include "jit/compile/kernel_cache.h"
#include "jit/compile/module/bytecode_reader.h"
#include "jit/compile/module/context_pool.h"
#include "jit/compile/module/read_module.h"
#include "module_text.h"

#include <flydsl/error.h>

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <random>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

std::string repeated(const std::string &part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i)
    text += part;
  return text;
}

void read(const std::string &text) {
  ContextLease context;
  readModule(text, "foreign", *context);
}

std::string bytecodeOf(const std::string &text) {
  ContextLease context;
  auto module = readModule(text, "good", *context);
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  REQUIRE(mlir::succeeded(mlir::writeBytecodeToFile(*module, stream)));
  return bytes;
}

std::string mutated(std::string bytes, std::mt19937 &random) {
  auto below = [&](std::size_t n) { return random() % n; };
  for (unsigned changes = 1 + random() % 3; changes > 0 && !bytes.empty(); --changes)
    switch (below(4)) {
    case 0:
      bytes[below(bytes.size())] = static_cast<char>(random());
      break;
    case 1:
      bytes.erase(below(bytes.size()), 1 + below(8));
      break;
    case 2:
      bytes.insert(below(bytes.size()), bytes.substr(below(bytes.size()), 1 + below(12)));
      break;
    case 3:
      bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8));
      break;
    }
  return bytes;
}

/// The next good module compiles, whatever was read before.
void compilesStill() {
  ContextLease context;
  auto module = readModule(test::scaleKernel(), "good", *context);
  CompileOptions options;
  options.target = Target::parse("gfx942");
  CHECK(compileModule(*module, options)->kernel().name == "scale");
}

} // namespace

TEST_CASE("A module that crashes MLIR's parser is an error with its name") {
  CHECK_THROWS_WITH(read("module attributes {x = array<index: 0>} { }"),
                    Catch::Contains("foreign: MLIR crashed while reading it") &&
                        Catch::Contains("Segmentation fault"));
  compilesStill();
}

TEST_CASE("What nests without end is refused before it is parsed, and deep code is read") {
  const auto tooDeep = Catch::Contains("brackets nest deeper than 512");
  CHECK_THROWS_WITH(read(repeated("module {\n", 10000) + repeated("}", 10000)),
                    tooDeep && Catch::Contains("foreign:513: "));
  for (const char *bracket : {"(", "[", "{", "<"})
    CHECK_THROWS_WITH(read("module attributes {x = " + repeated(bracket, 10000)), tooDeep);
  // What is in strings and comments does not nest, and what nests a good deal is good.
  CHECK_NOTHROW(read("module attributes {fly.x = \"" + repeated("(\\\"", 2000) + "\"} { // " +
                     repeated("{", 2000) + "\n}"));
  CHECK_NOTHROW(read(repeated("module {\n", 500) + repeated("}", 500)));
  // Recursion without brackets is caught where it ends.
  CHECK_THROWS_AS(
      read("module attributes {x = affine_map<(d0) -> (" + repeated("-", 3000000) + "d0)>} {}"),
      CompileError);
  compilesStill();
}

TEST_CASE("Numbers of results for which there is no memory are refused before they are parsed") {
  const auto module = [](const std::string &value, const std::string &name = "many") {
    return "module {\n  %" + name + " = arith.constant 1 : i64\n  %sum = arith.addi " + value +
           ", %" + name + " : i64\n}";
  };
  CHECK_THROWS_WITH(
      read(module("%many#2147483648")),
      Catch::Contains("foreign:3: %many#2147483648: an operation has no more than 65536 results"));
  CHECK_THROWS_WITH(read("module {\n  %a:99999999999 = arith.constant 1 : i64 }"),
                    Catch::Contains("foreign:2: %a:99999999999: an operation has no more than"));
  // Smaller numbers are MLIR's to judge; names, strings and comments have any.
  CHECK_THROWS_WITH(read(module("%many#65536")), !Catch::Contains("no more than"));
  CHECK_NOTHROW(read(module("%n.2147483648", "n.2147483648")));
  CHECK_NOTHROW(read("module attributes {fly.x = \"%a#2147483648\"} { // %a#2147483648\n}"));
  compilesStill();
}

TEST_CASE("Thousands of damaged texts are read or refused, and nothing crashes") {
  const std::string good = test::scaleKernel();
  std::mt19937 random(20240611);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 3000; ++i)
    try {
      read(mutated(good, random));
      ++accepted;
    } catch (const CompileError &error) {
      ++refused;
      CHECK(std::string(error.what()).find("foreign") != std::string::npos);
    }
  CHECK(accepted > 0);
  CHECK(refused > 1000);
  compilesStill();
}

TEST_CASE("Bytecode of unknown origin is read by a process of its own, and is the same module") {
  const std::string good = test::scaleKernel(), bytes = bytecodeOf(good);
  CHECK(isMlirBytecode(bytes));
  CHECK_FALSE(isMlirBytecode(good));
  CompileOptions options;
  options.target = Target::parse("gfx942");
  auto keyOf = [&](const std::string &text) {
    ContextLease context;
    KernelCache cache{cache::CacheConfig{}};
    auto module = readModule(text, "module", *context);
    return cache.compile(*module, options).key;
  };
  const auto key = keyOf(good);
  CHECK(keyOf(bytecodeAsText(bytes, "bytes", 60)) == key);
  CHECK(keyOf(bytes) == key); // trusted
  CHECK_THROWS_WITH(bytecodeAsText("ML\xefR", "four", 60), Catch::StartsWith("four: the bytecode"));

  std::mt19937 random(20240612);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 24; ++i)
    try {
      read(bytecodeAsText(mutated(bytes, random), "foreign", 5));
      ++accepted;
    } catch (const CompileError &error) {
      ++refused;
      CHECK(std::string(error.what()).find("foreign") != std::string::npos);
    }
  CHECK(accepted + refused == 24);
  CHECK(refused > 5);
  compilesStill();
}

TEST_CASE("A host that waits for any child, or for none, reads bytecode") {
  const std::string bytes = bytecodeOf(test::scaleKernel());
  struct sigaction ignore {
  }, before;
  ignore.sa_handler = SIG_IGN; // children are not waited for
  sigaction(SIGCHLD, &ignore, &before);
  CHECK_NOTHROW(read(bytecodeAsText(bytes, "bytes", 60)));
  CHECK_THROWS_AS(bytecodeAsText(bytes.substr(0, 200), "bytes", 60), CompileError);
  sigaction(SIGCHLD, &before, nullptr);
}
