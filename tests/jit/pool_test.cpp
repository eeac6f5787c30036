#include "jit/compile/compile_pool.h"
#include "jit/compile/kernel_cache.h"
#include "jit/compile/module/context_pool.h"
#include "module_text.h"

#include <flydsl/error.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

CachedKernel scaleBy(KernelCache &cache, int factor) {
  ContextLease context;
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(test::scaleKernel("scale", factor), context.get());
  if (!module)
    throw Error("the kernel does not parse");
  CompileOptions options;
  options.target = Target::parse("gfx942");
  return cache.compile(*module, options);
}

cache::CacheConfig memoryOnly() {
  cache::CacheConfig config;
  config.disk = false;
  return config;
}

} // namespace

TEST_CASE(
    "Many kernels on several threads: the same key compiles once, and all get the same object") {
  KernelCache cache(memoryOnly());
  CompilePool pool(4);
  constexpr std::size_t different = 6, copies = 5;
  std::vector<CachedKernel> kernels(different * copies);
  std::vector<std::size_t> ready;
  runAll(
      pool, kernels.size(),
      [&](std::size_t i) { kernels[i] = scaleBy(cache, static_cast<int>(i % different) + 1); },
      [&](std::size_t i) {
        CHECK(kernels[i].object);
        ready.push_back(i);
      });
  std::sort(ready.begin(), ready.end());
  REQUIRE(ready.size() == kernels.size());
  CHECK(std::adjacent_find(ready.begin(), ready.end()) == ready.end());
  CHECK(cache.stats().compiles == different);
  CHECK(cache.stats().memoryHits == different * (copies - 1));
  for (std::size_t i = 0; i < kernels.size(); ++i)
    CHECK(kernels[i].object == kernels[i % different].object);
  CHECK(kernels[0].object->bytes != kernels[1].object->bytes);
}

TEST_CASE("A submitted task gives its value or its exception through a future") {
  CompilePool pool(1);
  CHECK(pool.submit([] { return 5; }).get() == 5);
  auto failing = pool.submit([]() -> int { throw Error("mine"); });
  CHECK_THROWS_WITH(failing.get(), "mine");
}
