// What a process keeps of compiles that are over, counted in allocated bytes.
#include "jit/compile/codegen/llvm_options.h"
#include "jit/compile/compiler.h"
#include "jit/compile/module/context_pool.h"
#include "module_text.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>
#include <malloc.h>
#include <string>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

std::size_t allocated() {
  const struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

/// Compiles kernels that were never there before.
void compileNew(int count, LlvmOptions (*llvmOptions)(int) = [](int) { return LlvmOptions(); }) {
  static int number = 0;
  for (int i = 0; i < count; ++i, ++number) {
    ContextLease context;
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        test::scaleKernel("scale_" + std::to_string(number), number), context.get());
    REQUIRE(module);
    CompileOptions options;
    options.target = Target::parse("gfx942");
    options.llvmOptions = llvmOptions(number);
    REQUIRE(compileModule(*module, options));
  }
}

/// As compiles of kMostOperations do.
void wearOutContext() {
  ContextLease context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(test::scaleKernel(), context.get());
  REQUIRE(module);
  for (std::size_t i = 0; i < kMostOperations / 10; ++i)
    noteWork(*module);
}

} // namespace

TEST_CASE("Compiles that are over leave nothing in a process that goes on") {
  // Threads and contexts are renewed at the same places of both halves.
  const auto half = [] {
    compileNew(256);
    wearOutContext();
    compileNew(1);
    return allocated();
  };
  (void)half();
  const std::size_t before = half(), after = half();
  CAPTURE(before, after);
  CHECK(before > 1'000'000); // else nothing is counted
  CHECK(static_cast<double>(after) - static_cast<double>(before) < 257 * 256);
}

TEST_CASE("A context that has made enough is replaced, and what it kept is given back") {
  mlir::MLIRContext *first = nullptr;
  {
    ContextLease context;
    first = context.get();
    REQUIRE(keptWith(*context));
    *keptWith(*context) = std::make_shared<int>(5);
  }
  std::weak_ptr<void> kept;
  {
    ContextLease context;
    REQUIRE(context.get() == first); // the pool's last
    kept = *keptWith(*context);
  }
  CHECK_FALSE(kept.expired());
  wearOutContext();
  CHECK(kept.expired());
}

TEST_CASE("Options of LLVM that a loop tries in turn leave a limited number of machines") {
  const auto tried = [](int number) {
    return LlvmOptions{{"amdgpu-schedule-metric-bias", std::to_string(number)}};
  };
  compileNew(40, tried);
  const std::size_t before = allocated();
  compileNew(24, tried);
  const std::size_t after = allocated();
  CAPTURE(before, after);
  CHECK(static_cast<double>(after) - static_cast<double>(before) < 1 << 20);
}
