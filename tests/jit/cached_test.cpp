#include "jit/compile/ir_key.h"
#include "jit/compile/kernel_cache.h"
#include "jit/compile/module/context_pool.h"
#include "module_text.h"

#include <flydsl/error.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

struct Scratch {
  std::string path =
      std::filesystem::temp_directory_path() / ("flydsl-cached-" + std::to_string(getpid()));
  Scratch() { std::filesystem::remove_all(path); }
  ~Scratch() { std::filesystem::remove_all(path); }
};

cache::CacheConfig configIn(const std::string &directory) {
  cache::CacheConfig config;
  config.directory = directory;
  return config;
}

CompileOptions options(const char *target = "gfx942") {
  CompileOptions made;
  made.target = Target::parse(target);
  return made;
}

mlir::OwningOpRef<mlir::ModuleOp> parse(ContextLease &context, const std::string &text,
                                        const char *file = "kernel.mlir") {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get(), file);
  REQUIRE(module);
  return module;
}

} // namespace

TEST_CASE("Compiled once, then from memory, then from disk, with the same bytes and metadata") {
  Scratch scratch;
  ContextLease context;
  auto module = parse(context, test::scaleKernel());
  KernelCache first(configIn(scratch.path));
  CachedKernel compiled = first.compile(*module, options());
  CHECK(compiled.tier == CacheTier::compiled);
  CHECK(first.compile(*module, options()).tier == CacheTier::memory);
  KernelCache second(configIn(scratch.path));
  CachedKernel loaded = second.compile(*module, options());
  CHECK(loaded.tier == CacheTier::disk);
  CHECK(loaded.object->bytes == compiled.object->bytes);
  CHECK(loaded.object->kernels == compiled.object->kernels);
  CHECK(loaded.object->target == compiled.object->target);
  CHECK(second.stats().compiles == 0);
  CHECK(second.stats().diskHits == 1);
  CHECK(first.stats().compiles == 1);
  CHECK(first.stats().memoryHits == 1);
}

TEST_CASE("What changes the code changes the key; locations don't, unless line tables are made") {
  ContextLease context;
  auto module = parse(context, test::scaleKernel(), "a.cpp");
  auto moved = parse(context, "\n\n" + test::scaleKernel(), "b.cpp");
  auto other = parse(context, test::scaleKernel("scale", 3));
  cache::Key key = irKey(*module, options());
  CHECK(key == irKey(*module, options()));
  CHECK(key == irKey(*moved, options()));
  CHECK(key != irKey(*other, options()));
  CHECK(key != irKey(*module, options("gfx950")));
  CHECK(key != irKey(*module, options("gfx942:xnack-")));
  std::vector<CompileOptions> variants(10, options());
  variants[0].optLevel = 3;
  variants[1].wavesPerEu = 2;
  variants[2].maxRegisters = 64;
  variants[3].fastMath = true;
  variants[4].lineTables = true;
  variants[5].attributes = {{"amdgpu-memory-bound", "true"}};
  variants[6].llvmOptions = {{"enable-post-misched", "false"}};
  variants[7].llvmGroupScheduler = true;
  variants[8].markUnwritten = true;
  variants[9].redZone = 64;
  for (const CompileOptions &variant : variants)
    CHECK(key != irKey(*module, variant));
  CHECK(irKey(*module, variants[4]) != irKey(*moved, variants[4]));
  // Another context: nothing of a process's addresses is in the key.
  ContextLease second;
  CHECK(key == irKey(*parse(second, test::scaleKernel()), options()));
}

TEST_CASE("Run-only: a hit works, a miss names kernel, key and directories; nothing is compiled") {
  Scratch scratch;
  ContextLease context;
  auto module = parse(context, test::scaleKernel());
  cache::CacheConfig config = configIn(scratch.path);
  config.runOnly = true;
  KernelCache empty(config);
  std::string message;
  try {
    empty.compile(*module, options());
  } catch (const CompileError &error) {
    message = error.what();
  }
  CHECK_THAT(message, Catch::Contains("'scale'") && Catch::Contains(scratch.path) &&
                          Catch::Contains(irKey(*module, options()).hex()));
  CHECK(empty.stats().compiles == 0);
  KernelCache(configIn(scratch.path)).compile(*module, options());
  KernelCache filled(config);
  CHECK(filled.compile(*module, options()).tier == CacheTier::disk);
  CHECK(filled.stats().compiles == 0);
}

TEST_CASE("A damaged entry is compiled again and replaced; an unwritable directory does no harm") {
  Scratch scratch;
  ContextLease context;
  auto module = parse(context, test::scaleKernel());
  CachedKernel good = KernelCache(configIn(scratch.path)).compile(*module, options());
  std::string path = cache::entryPath(scratch.path, good.key);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CachedKernel again = KernelCache(configIn(scratch.path)).compile(*module, options());
  CHECK(again.tier == CacheTier::compiled);
  CHECK(again.object->bytes == good.object->bytes);
  CHECK(KernelCache(configIn(scratch.path)).compile(*module, options()).tier == CacheTier::disk);

  std::ofstream(scratch.path + "/file") << "not a directory";
  KernelCache nowhere(configIn(scratch.path + "/file/below"));
  CHECK(nowhere.compile(*module, options()).object->bytes == good.object->bytes);
  CHECK(nowhere.compile(*module, options()).tier == CacheTier::memory);
}
