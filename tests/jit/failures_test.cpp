#include "jit/compile/compiler.h"
#include "jit/compile/guard/guard.h"
#include "jit/compile/module/context_pool.h"
#include "module_text.h"
#include "support/sanitizers.h"

#include <flydsl/error.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/ErrorHandling.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unistd.h>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

struct Failure {
  std::string message;
  std::string llvmIr; ///< failed.ll
  SourceLocation where;
  std::string again; ///< what fly-opt says to the reproducer; empty where its passes succeed
};

std::string contents(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string runAgain(const std::string &reproducer) {
  const std::string log = reproducer + ".log";
  const std::string command = std::string("'" FLY_OPT "' --run-reproducer '") + reproducer +
                              "' > /dev/null 2> '" + log + "'";
  return std::system(command.c_str()) == 0 ? std::string() : "failed: " + contents(log);
}

/// Compiles what can't be compiled; then shows that the next kernel compiles.
Failure failure(const std::string &text, CompileOptions options) {
  std::string dir =
      std::filesystem::temp_directory_path() / ("flydsl-failures-" + std::to_string(getpid()));
  setenv("FLYDSL_DUMP_DIR", dir.c_str(), 1);
  Failure result;
  {
    ContextLease context;
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get(), "user.cpp");
    REQUIRE(module);
    try {
      compileModule(*module, options);
    } catch (const CompileError &error) {
      result = {error.what(), {}, error.where(), {}};
    }
  }
  CHECK(std::filesystem::exists(dir + "/broken/reproducer.mlir"));
  std::string reproducer = contents(dir + "/broken/reproducer.mlir");
  result.llvmIr = contents(dir + "/broken/failed.ll");
  result.again = runAgain(dir + "/broken/reproducer.mlir");
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

/// Inline assembly with so many times 32 vector registers in use at once.
std::string tuplesInUse(int count) {
  std::string body, places, constraints, names, types;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i), comma = i ? ", " : "";
    body += "%a" + number +
            " = llvm.inline_asm has_side_effects \"; $0\", \"=v\" : () -> vector<32xi32>\n";
    places += " $" + number;
    constraints += std::string(i ? "," : "") + "v";
    names += comma + "%a" + number;
    types += comma + "vector<32xi32>";
  }
  return body + "llvm.inline_asm has_side_effects \";" + places + "\", \"" + constraints + "\" " +
         names + " : (" + types + ") -> ()";
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
  CHECK_THAT(failed.again, Catch::StartsWith("failed: ") && Catch::Contains("gpu.subgroup_mma"));
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

TEST_CASE("LDS over the target's limit is an error that names the limit and the largest arrays") {
  std::string body, globals;
  for (const auto &[name, bytes] : {std::pair("few", 100), {"most", 40000}, {"many", 30000}}) {
    const std::string n = name;
    globals += "llvm.mlir.global internal @" + n + "() {addr_space = 3 : i32} : !llvm.array<" +
               std::to_string(bytes) + " x i8>\n"; // lines 2 to 4
    body += "%" + n + " = llvm.mlir.addressof @" + n + " : !llvm.ptr<3>\n%v" + n +
            " = llvm.load volatile %" + n + " : !llvm.ptr<3> -> i32\nllvm.store volatile %v" + n +
            ", %p : i32, !llvm.ptr<1>\n";
  }
  Failure failed = failure(kernelWith(body, globals), gfx942());
  CHECK_THAT(failed.message,
             Catch::Contains("are over the 65536 that a workgroup may have: 40000 bytes at "
                             "user.cpp:3, 30000 at user.cpp:4, 100 at user.cpp:2"));
  CHECK(failed.where.line == 3);
}

TEST_CASE("More registers than there are is an error, whoever set the limit") {
  CompileOptions limited = gfx942();
  limited.maxRegisters = 24;
  CHECK_THAT(failure(kernelWith(tuplesInUse(3)), limited).message,
             Catch::Contains("generating code failed") &&
                 Catch::Contains("more registers than available"));
  CHECK_THAT(failure(kernelWith("%a = llvm.inline_asm has_side_effects \"; $0\", \"={v999}\" : () "
                                "-> i32\nllvm.store %a, %p : i32, !llvm.ptr<1>"),
                     gfx942())
                 .message,
             Catch::Contains("v999"));
}

TEST_CASE("Scratch over the hardware's limit is an error that names both sizes") {
  Failure failed = failure(
      kernelWith("%n = llvm.mlir.constant(100000000 : i32) : i32\n"
                 "%a = llvm.alloca %n x i8 : (i32) -> !llvm.ptr<5>\n"
                 "%i = llvm.load %p : !llvm.ptr<1> -> i32\n"
                 "%at = llvm.getelementptr %a[%i] : (!llvm.ptr<5>, i32) -> !llvm.ptr<5>, i8\n"
                 "%z = llvm.mlir.constant(0 : i8) : i8\n"
                 "llvm.store volatile %z, %at : i8, !llvm.ptr<5>"),
      gfx942());
  CHECK_THAT(failed.message, Catch::Contains("(100000") && Catch::Contains("131056"));
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

TEST_CASE("A fatal error of LLVM: arithmetic that would need a library of the host") {
  Failure failed = failure(kernelWith("%x = llvm.load %p : !llvm.ptr<1> -> f128\n"
                                      "%y = llvm.fadd %x, %x : f128\n"
                                      "llvm.store %y, %p : f128, !llvm.ptr<1>"),
                           gfx942());
  CHECK_THAT(failed.message, Catch::Contains("LLVM gave up while generating code") &&
                                 Catch::Contains("unsupported library call"));
}

TEST_CASE("A crash of the code generator is an error, and LLVM's input is kept") {
  Failure failed = failure(
      kernelWith("%d = llvm.mlir.constant(7 : i32) : i32\n"
                 "%f = llvm.call_intrinsic \"llvm.frameaddress.p0\"(%d) : (i32) -> !llvm.ptr\n"
                 "llvm.store %f, %p : !llvm.ptr, !llvm.ptr<1>"),
      gfx942());
  CHECK_THAT(failed.message, Catch::Contains("the compiler crashed while generating code"));
  CHECK_THAT(failed.llvmIr, Catch::Contains("@llvm.frameaddress"));
  CHECK(failed.again == ""); // the passes are not to blame
}

TEST_CASE("A wrong use of an intrinsic is found before LLVM stumbles over it") {
  const std::string body =
      "%x = llvm.load %p : !llvm.ptr<1> -> i32\n%z = llvm.trunc %x : i32 to i1\n"
      "%y = llvm.call_intrinsic \"llvm.ctlz.i32\"(%x, %z) : (i32, i1) -> i32\n"
      "llvm.store %y, %p : i32, !llvm.ptr<1>";
  CHECK_THAT(failure(kernelWith(body), gfx942()).message,
             Catch::Contains("verifying LLVM IR failed") && Catch::Contains("immarg"));
  CompileOptions unverified = gfx942();
  unverified.verify = false;
  CHECK_THAT(failure(kernelWith(body), unverified).message,
             Catch::Contains("the compiler crashed while optimizing LLVM IR: Segmentation fault"));
}

namespace {
/// ThreadSanitizer holds signals back until the thread calls the C library, so that no thread is
/// interrupted in a loop of its own.
constexpr bool interruptible = !support::kUnderThreadSanitizer;

std::size_t threadsOfThisProcess() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto &task : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

/// Threads end a little after their last word.
bool comesDownTo(std::size_t threads) {
  for (int i = 0; i < 200 && threadsOfThisProcess() > threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return threadsOfThisProcess() <= threads;
}
} // namespace

TEST_CASE("A compile that does not end is stopped, and its thread with it") {
  if (!interruptible)
    return;
  runGuarded([](Guard &) {}, 60); // a thread that waits for work is kept
  const std::size_t threads = threadsOfThisProcess();
  CompileOptions options = gfx942();
  options.timeoutSeconds = 1;
  // The register allocator tries to place what can't be placed in exponentially many ways.
  Failure failed = failure(kernelWith(tuplesInUse(9)), options);
  CHECK_THAT(failed.message,
             Catch::Contains("generating code took longer than 1 s and was given up") &&
                 !Catch::Contains("goes on"));
  CHECK(comesDownTo(threads + 1));
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
  // In this program's code, without a look at the clock: interrupted.
  const std::size_t threads = threadsOfThisProcess();
  if (interruptible) {
    GuardOutcome busy = runGuarded(
        [](Guard &) {
          for (volatile unsigned i = 0;;)
            i = i + 1;
        },
        1);
    CHECK(busy.kind == GuardOutcome::timedOut);
    CHECK(busy.message.empty());
    CHECK(comesDownTo(threads));
  }
  // Not to be interrupted: left to itself.
  GuardOutcome deaf = runGuarded(
      [stop](Guard &guard) {
        guard.allowAbandon();
        guard.forbidInterrupt();
        while (!*stop)
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
      },
      1);
  CHECK(deaf.kind == GuardOutcome::timedOut);
  CHECK_THAT(deaf.message, Catch::Contains("goes on"));
  *stop = true;
}

namespace {

/// Works past the deadline, in code where a thread may be stopped.
void workLong() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  volatile unsigned steps = 0;
  while (std::chrono::steady_clock::now() < end)
    for (int i = 0; i < 1000; ++i)
      steps = steps + 1;
}
[[noreturn]] void workForEver() {
  for (volatile unsigned steps = 0;;)
    steps = steps + 1;
}

/// Whether work that has a second, holds something for longer and then goes on for ever is stopped
/// only after it gave that up.
bool isStoppedAfter(const std::function<void()> &holdingWork) {
  std::atomic<bool> gaveUp{false};
  const GuardOutcome outcome = runGuarded(
      [&](Guard &) {
        holdingWork();
        gaveUp = true;
        workForEver();
      },
      1);
  return outcome.kind == GuardOutcome::timedOut && outcome.message.empty() && gaveUp;
}

int madeLate() {
  static const int made = [] {
    workLong();
    return 1;
  }();
  return made;
}

} // namespace

TEST_CASE("Work is not stopped while it holds a lock, and the lock is free afterwards") {
  if (!interruptible)
    return;
  std::mutex mutex;
  std::shared_mutex shared;
  std::once_flag once;
  std::atomic<int> stopped{0};
  const std::function<void()> holding[] = {
      [&] {
        std::lock_guard lock(mutex);
        workLong();
      },
      [&] {
        std::shared_lock lock(shared);
        workLong();
      },
      [&] { std::call_once(once, workLong); },
      [] { madeLate(); },
  };
  std::vector<std::thread> threads;
  for (const auto &work : holding)
    threads.emplace_back([&] { stopped += isStoppedAfter(work); });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(stopped == int(std::size(holding)));
  CHECK(mutex.try_lock());
  CHECK(shared.try_lock());
  std::call_once(once, [] { FAIL("the work was not done once"); });
  CHECK(madeLate() == 1);
}
