// The tiers of the cache without a compiler behind them, with many threads and with several caches
// on one directory.
#include "jit/compile/kernel_cache.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>
#include <unistd.h>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

std::shared_ptr<const CodeObject> objectFor(std::uint64_t number) {
  CodeObject object;
  object.target = "gfx942";
  KernelMetadata kernel;
  kernel.name = "k" + std::to_string(number);
  object.kernels = {kernel};
  object.bytes.assign(300 + number, static_cast<std::uint8_t>(number));
  return std::make_shared<const CodeObject>(std::move(object));
}

cache::Key keyOf(std::uint64_t number) {
  return cache::KeyBuilder().add("fetch test", number).finish();
}

struct Directory {
  std::string path =
      std::filesystem::temp_directory_path() / ("flydsl-fetch-" + std::to_string(getpid()));
  Directory() { std::filesystem::remove_all(path); }
  ~Directory() { std::filesystem::remove_all(path); }
};

} // namespace

TEST_CASE(
    "Threads over three caches on one directory: each kernel is compiled once and all agree") {
  Directory directory;
  cache::CacheConfig config;
  config.directory = directory.path;
  KernelCache caches[3] = {KernelCache(config), KernelCache(config), KernelCache(config)};
  Target target = Target::parse("gfx942");
  constexpr std::uint64_t kernels = 40;
  std::atomic<int> compiles[kernels] = {};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 9; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kernels; ++i) {
        std::uint64_t n = (i * 7 + t * 11) % kernels;
        CachedKernel got = caches[t % 3].fetch(keyOf(n), "k", target, [&] {
          ++compiles[n];
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          return objectFor(n);
        });
        wrong += got.object->bytes != objectFor(n)->bytes;
        wrong += got.object->kernel().name != "k" + std::to_string(n);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
  for (std::uint64_t n = 0; n < kernels; ++n)
    CHECK(compiles[n] == 1);
  std::uint64_t total = 0, hits = 0;
  for (const KernelCache &one : caches) {
    total += one.stats().compiles;
    hits += one.stats().diskHits + one.stats().memoryHits;
  }
  CHECK(total == kernels);
  CHECK(hits == 9 * kernels - kernels);
}

TEST_CASE("An entry for another target under the same key is not used") {
  Directory directory;
  cache::CacheConfig config;
  config.directory = directory.path;
  Target other = Target::parse("gfx950");
  KernelCache(config).fetch(keyOf(1), "k", Target::parse("gfx942"), [] { return objectFor(1); });
  bool compiled = false;
  CachedKernel got = KernelCache(config).fetch(keyOf(1), "k", other, [&] {
    compiled = true;
    CodeObject object = *objectFor(1);
    object.target = "gfx950";
    return std::make_shared<const CodeObject>(std::move(object));
  });
  CHECK(compiled);
  CHECK(got.object->target == "gfx950");
}

TEST_CASE("A compile that fails is reported each time and leaves nothing behind") {
  Directory directory;
  cache::CacheConfig config;
  config.directory = directory.path;
  KernelCache kernels(config);
  Target target = Target::parse("gfx942");
  auto fails = []() -> std::shared_ptr<const CodeObject> { throw CompileError("no"); };
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_AS(kernels.fetch(keyOf(1), "k", target, fails), CompileError);
  CHECK(kernels.stats().failures == 2);
  CHECK(kernels.fetch(keyOf(1), "k", target, [] { return objectFor(1); }).tier ==
        CacheTier::compiled);
}

TEST_CASE("An entry that does not fit the call is made again, once") {
  Directory directory;
  cache::CacheConfig config;
  config.directory = directory.path;
  const Target target = Target::parse("gfx942");
  KernelCache(config).fetch(keyOf(1), "k", target, [] { return objectFor(7); });
  const auto fits = [](const CodeObject &object) {
    if (!object.find("k1"))
      throw CompileError("it has no k1");
  };
  for (CacheTier expected : {CacheTier::compiled, CacheTier::disk}) {
    KernelCache cache(config);
    const CachedKernel got = cache.fetch(keyOf(1), "k", target, [] { return objectFor(1); }, fits);
    CHECK(got.tier == expected);
    CHECK(got.object->find("k1"));
  }
  // Where nothing may be compiled it is a miss like any other.
  KernelCache(config).fetch(keyOf(2), "k", target, [] { return objectFor(7); });
  config.runOnly = true;
  CHECK_THROWS_WITH(KernelCache(config).fetch(
                        keyOf(2), "k", target, [] { return objectFor(1); }, fits),
                    Catch::Contains("RUN_ONLY"));
}

TEST_CASE("Run-only says of a directory that it is not looked into, and why") {
  Directory directory;
  cache::CacheConfig config;
  config.directory = directory.path;
  const Target target = Target::parse("gfx942");
  KernelCache(config).fetch(keyOf(1), "k", target, [] { return objectFor(1); });
  std::filesystem::permissions(directory.path, std::filesystem::perms(0777));
  config.runOnly = true;
  CHECK_THROWS_WITH(KernelCache(config).fetch(keyOf(1), "k", target, [] { return objectFor(1); }),
                    Catch::Contains("not looked into") && Catch::Contains("everybody may write"));
}
