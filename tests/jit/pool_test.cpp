#include "jit/compile_pool.h"
#include "jit/context_pool.h"
#include "module_text.h"

#include <flydsl/error.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

CompileTask scaleBy(KernelCache &cache, int factor) {
  return {"scale" + std::to_string(factor), [&cache, factor] {
            ContextLease context;
            auto module = mlir::parseSourceString<mlir::ModuleOp>(
                test::scaleKernel("scale", factor), context.get());
            if (!module)
              throw Error("the kernel does not parse");
            CompileOptions options;
            options.target = Target::parse("gfx942");
            return cache.compile(*module, options);
          }};
}

cache::Config memoryOnly() {
  cache::Config config;
  config.disk = false;
  return config;
}

} // namespace

TEST_CASE(
    "Many kernels on several threads: the same key compiles once, and all get the same object") {
  KernelCache cache(memoryOnly());
  CompilePool pool(4);
  std::vector<CompileTask> tasks;
  constexpr int different = 6, copies = 5;
  for (int copy = 0; copy < copies; ++copy)
    for (int factor = 1; factor <= different; ++factor)
      tasks.push_back(scaleBy(cache, factor));
  std::size_t calls = 0, lastDone = 0;
  auto outcomes = compileAll(std::move(tasks), pool, [&](const CompileProgress &progress) {
    ++calls;
    CHECK(progress.done == lastDone + 1);
    lastDone = progress.done;
    CHECK(progress.total == different * copies);
    CHECK_THAT(progressLine(progress), Catch::Contains("/30: scale"));
  });
  CHECK(calls == different * copies);
  REQUIRE(outcomes.size() == different * copies);
  CHECK(cache.stats().compiles == different);
  CHECK(cache.stats().memoryHits == different * (copies - 1));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    CHECK(outcomes[i].name == "scale" + std::to_string(i % different + 1));
    REQUIRE(outcomes[i].kernel.object);
    CHECK(outcomes[i].kernel.object == outcomes[i % different].kernel.object);
  }
  CHECK(outcomes[0].kernel.object->bytes != outcomes[1].kernel.object->bytes);
}

TEST_CASE("A kernel that fails is reported in its place and stops no other") {
  KernelCache cache(memoryOnly());
  CompilePool pool(2);
  std::vector<CompileTask> tasks = {scaleBy(cache, 1),
                                    {"bad", []() -> CachedKernel { throw CompileError("no"); }},
                                    scaleBy(cache, 2)};
  std::size_t failed = 0;
  auto outcomes = compileAll(std::move(tasks), pool,
                             [&](const CompileProgress &progress) { failed = progress.failed; });
  CHECK(failed == 1);
  CHECK(outcomes[0].kernel.object);
  CHECK(outcomes[2].kernel.object);
  CHECK_FALSE(outcomes[1].kernel.object);
  REQUIRE(outcomes[1].error);
  CHECK_THROWS_AS(std::rethrow_exception(outcomes[1].error), CompileError);
}

TEST_CASE("A submitted task gives its value or its exception through a future") {
  CompilePool pool(1);
  CHECK(pool.submit([] { return 5; }).get() == 5);
  auto failing = pool.submit([]() -> int { throw Error("mine"); });
  CHECK_THROWS_WITH(failing.get(), "mine");
}
