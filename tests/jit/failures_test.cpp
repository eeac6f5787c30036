#include "jit/compiler.h"
#include "jit/context_pool.h"
#include "jit/guard.h"
#include "module_text.h"

#include <flydsl/error.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/ErrorHandling.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

struct Failure {
  std::string message;
  SourceLocation where;
};

/// Compiles what can't be compiled; then shows that the next kernel compiles.
Failure failure(const std::string &text, CompileOptions options) {
  std::string dir =
      std::filesystem::temp_directory_path() / ("flydsl-failures-" + std::to_string(getpid()));
  options.dumpDir = dir;
  Failure result;
  {
    ContextLease context;
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get(), "user.cpp");
    REQUIRE(module);
    try {
      compileModule(*module, options);
    } catch (const CompileError &error) {
      result = {error.what(), error.where()};
    }
  }
  CHECK(std::filesystem::exists(dir + "/broken/reproducer.mlir"));
  std::ifstream file(dir + "/broken/reproducer.mlir");
  std::string reproducer((std::istreambuf_iterator<char>(file)), {});
  CHECK(reproducer.find("mlir_reproducer") != std::string::npos);
  CHECK(reproducer.find("@broken") != std::string::npos);
  CHECK_THAT(result.message, Catch::Contains("kernel 'broken'") && Catch::Contains("gfx942") &&
                                 Catch::Contains(dir + "/broken/reproducer.mlir"));
  std::filesystem::remove_all(dir);

  ContextLease context;
  auto good = mlir::parseSourceString<mlir::ModuleOp>(test::scaleKernel(), context.get());
  CompileOptions plain;
  plain.target = options.target;
  CHECK(compileModule(*good, plain)->kernel().name == "scale");
  return result;
}

CompileOptions gfx942() {
  CompileOptions options;
  options.target = Target::parse("gfx942");
  return options;
}

std::string kernelWith(const std::string &body, const std::string &globals = "") {
  return "module attributes {gpu.container_module} { gpu.module @kernels {\n" + globals +
         "gpu.func @broken(%p: !llvm.ptr<1>) kernel {\n" + body + "\n gpu.return } } }";
}

} // namespace

TEST_CASE("A pass that fails is named, with the user's line") {
  Failure failed = failure(
      kernelWith("%f = arith.constant 0.0 : f32\n"
                 "%m = gpu.subgroup_mma_constant_matrix %f : !gpu.mma_matrix<16x16xf32, \"COp\">\n"
                 "%mem = memref.alloc() : memref<16x16xf32>\n"
                 "%c = arith.constant 0 : index\n"
                 "gpu.subgroup_mma_store_matrix %m, %mem[%c, %c] {leadDimension = 16 : index} : "
                 "!gpu.mma_matrix<16x16xf32, \"COp\">, memref<16x16xf32>"),
      gfx942());
  CHECK_THAT(failed.message, Catch::Contains("pass 'convert-gpu-to-rocdl' failed") &&
                                 Catch::Contains("gpu.subgroup_mma"));
  CHECK(failed.where.file == "user.cpp");
  CHECK(failed.where.line >= 3);
}

TEST_CASE("What survives the passes and has no LLVM form is an error of the translation") {
  Failure failed = failure(kernelWith("%1 = memref.alloc() : memref<4xf32, \"nowhere\">\n"
                                      "%c = arith.constant 0 : index\n"
                                      "%v = memref.load %1[%c] : memref<4xf32, \"nowhere\">\n"
                                      "llvm.store %v, %p : f32, !llvm.ptr<1>"),
                           gfx942());
  CHECK_THAT(failed.message,
             Catch::Contains("translating to LLVM IR failed") && Catch::Contains("memory space"));
}

TEST_CASE("LDS over the target's limit is an error that names the limit") {
  Failure failed = failure(
      kernelWith(
          "%a = llvm.mlir.addressof @lds : !llvm.ptr<3>\n"
          "%v = llvm.load volatile %a : !llvm.ptr<3> -> i32\n"
          "llvm.store %v, %p : i32, !llvm.ptr<1>",
          "llvm.mlir.global internal @lds() {addr_space = 3 : i32} : !llvm.array<70000 x i8>\n"),
      gfx942());
  CHECK_THAT(failed.message, Catch::Contains("65536"));
}

TEST_CASE("Inline assembly that does not assemble is an error that quotes it") {
  Failure failed = failure(
      kernelWith("llvm.inline_asm has_side_effects \"v_no_such_instruction v0\", \"\" : () -> ()"),
      gfx942());
  CHECK_THAT(failed.message, Catch::Contains("v_no_such_instruction"));
}

TEST_CASE("An instruction of another target makes LLVM give up, and not the process") {
  Failure failed = failure(
      kernelWith(
          "%v = llvm.call_intrinsic \"llvm.amdgcn.s.get.waveid.in.workgroup\"() : () -> i32\n"
          "llvm.store %v, %p : i32, !llvm.ptr<1>"),
      gfx942());
  CHECK_THAT(failed.message, Catch::Contains("annot select"));
}

TEST_CASE("A module without kernels, and one with two device modules") {
  ContextLease context;
  auto empty = mlir::parseSourceString<mlir::ModuleOp>("module {}", context.get());
  CHECK_THROWS_WITH(compileModule(*empty, gfx942()), Catch::Contains("no gpu.module"));
  auto two = mlir::parseSourceString<mlir::ModuleOp>("module { gpu.module @a {} gpu.module @b {} }",
                                                     context.get());
  CHECK_THROWS_WITH(compileModule(*two, gfx942()), Catch::Contains("second"));
}

TEST_CASE(
    "The guard turns fatal errors, signals, exits, exceptions and stack overflow into outcomes") {
  auto run = [](void (*work)()) { return runGuarded([work](Guard &) { work(); }, 60); };
  CHECK(run([] {}).kind == GuardOutcome::finished);
  GuardOutcome fatal = run([] { llvm::report_fatal_error("no such thing"); });
  CHECK(fatal.kind == GuardOutcome::fatal);
  CHECK(fatal.message == "no such thing");
  CHECK(run([] { *static_cast<volatile int *>(nullptr) = 1; }).kind == GuardOutcome::crashed);
  CHECK(run([] { std::abort(); }).kind == GuardOutcome::crashed);
  GuardOutcome threw = run([] { throw Error("mine"); });
  CHECK(threw.kind == GuardOutcome::threw);
  CHECK_THROWS_WITH(std::rethrow_exception(threw.error), "mine");
  GuardOutcome overflow = run([] {
    struct Deep {
      static int down(volatile char *above) {
        volatile char frame[4096];
        frame[0] = above ? above[0] : 1;
        if (frame[0] == 77) // never, but the compiler does not know
          return 0;
        return down(frame) + frame[0];
      }
    };
    volatile int result = Deep::down(nullptr);
    (void)result;
  });
  CHECK(overflow.kind == GuardOutcome::crashed);
  CHECK(run([] {}).kind == GuardOutcome::finished);
}

TEST_CASE("Work that takes too long is given up") {
  auto stop = std::make_shared<std::atomic<bool>>(false);
  GuardOutcome cooperative = runGuarded(
      [](Guard &guard) {
        for (;;)
          guard.checkDeadline();
      },
      1);
  CHECK(cooperative.kind == GuardOutcome::timedOut);
  GuardOutcome deaf = runGuarded(
      [stop](Guard &guard) {
        guard.allowAbandon();
        while (!*stop)
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
      },
      1);
  CHECK(deaf.kind == GuardOutcome::timedOut);
  *stop = true;
}

TEST_CASE("The host's signal handlers are there again after a compile") {
  struct sigaction before, after;
  sigaction(SIGSEGV, nullptr, &before);
  CHECK(runGuarded([](Guard &) {}, 60).kind == GuardOutcome::finished);
  sigaction(SIGSEGV, nullptr, &after);
  CHECK(before.sa_handler == after.sa_handler);
}
