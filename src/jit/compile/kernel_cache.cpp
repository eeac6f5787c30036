// No MLIR and no LLVM here: a hit touches neither.
#include "jit/compile/kernel_cache.h"

#include "support/clock.h"
#include "support/fork.h"
#include "support/log.h"
#include "support/once_over_forks.h"
#include "support/text.h"

#include <flydsl/error.h>

#include <chrono>
#include <mutex>

namespace flydsl::jit {

/// How long one process waits for another that compiles the same kernel, before it compiles it as
/// well.
static constexpr std::chrono::milliseconds kOtherProcess{120'000};

/// The cache of the process is made at its first use, because that reads the environment.
static constinit support::OnceOverForks making;
[[gnu::constructor]] static void holdMakingAtFork() {
  making.holdAtFork(support::ForkOrder::tables);
}

KernelCache &KernelCache::process() {
  static constinit KernelCache *made = nullptr;
  making.run([] {
    made = new KernelCache(cache::Config::fromEnvironment());
    made->surviveForks();
  });
  return *made;
}

void KernelCache::surviveForks() {
  static KernelCache *cache = nullptr;
  cache = this;
  disk_.holdAtFork();
  support::holdAtFork(mutex_);
  support::holdAtFork(memory_.mutex());
  support::atFork(support::ForkOrder::tables,
                  {nullptr, nullptr, [] { cache->memory_.dropUnfinished(); }});
}

/// Decodes an entry. Null, with a line in the log, if the compiler of this build did not make it
/// for this target, or if `check` refuses it.
std::shared_ptr<const CodeObject> KernelCache::decode(cache::Blob blob, const cache::Key &key,
                                                      const Target &target, const Check &check) {
  try {
    CodeObject object = decodeMetadata(blob.metadata.data(), blob.metadata.size());
    if (object.target != target.id())
      throw Error("it is for " + object.target);
    object.bytes = std::move(blob.payload);
    if (check)
      check(object);
    return std::make_shared<const CodeObject>(std::move(object));
  } catch (const Error &error) {
    support::log().warn("the cache entry {} is not used: {}", key.hex(),
                        support::printable(error.what()));
    return nullptr;
  }
}

std::shared_ptr<const CodeObject> KernelCache::compiled(const Compiler &compiler) {
  auto start = support::Clock::now();
  try {
    std::shared_ptr<const CodeObject> object = compiler();
    std::lock_guard lock(mutex_);
    ++stats_.compiles;
    stats_.bytesCompiled += object->bytes.size();
    stats_.compileMs += support::millisecondsSince(start);
    return object;
  } catch (...) {
    std::lock_guard lock(mutex_);
    ++stats_.failures;
    throw;
  }
}

CachedKernel KernelCache::fetch(const cache::Key &key, const std::string &kernel,
                                const Target &target, const Compiler &compiler,
                                const Check &check) {
  CachedKernel result;
  result.key = key;
  auto start = support::Clock::now();
  bool first = false;
  CacheTier tier = CacheTier::disk;
  result.object = memory_.findOrMake(
      key,
      [&]() -> std::shared_ptr<const CodeObject> {
        if (disk_.config().runOnly) {
          if (std::optional<cache::Blob> blob = disk_.load(key))
            if (auto object = decode(std::move(*blob), key, target, check))
              return object;
          std::string places;
          for (const std::string &directory : disk_.directories()) {
            const std::string refused = disk_.refused(directory);
            support::appendItem(places,
                                refused.empty() ? directory : "(not looked into) " + refused);
          }
          throw CompileError("FLYDSL_RUNTIME_RUN_ONLY: kernel '" + kernel + "' for " + target.id() +
                             ", key " + key.hex() + ", is not in " +
                             (places.empty() ? "any cache: there is no directory" : places));
        }
        std::shared_ptr<const CodeObject> fresh;
        auto make = [&] {
          fresh = compiled(compiler);
          tier = CacheTier::compiled;
          return cache::Blob{encodeMetadata(*fresh), fresh->bytes};
        };
        bool made = false;
        cache::Blob blob = disk_.loadOrMake(key, kOtherProcess, make, made);
        if (made)
          return fresh;
        if (auto object = decode(std::move(blob), key, target, check))
          return object;
        disk_.store(key, make());
        return fresh;
      },
      first);
  result.tier = first ? tier : CacheTier::memory;
  result.fetchMs = support::millisecondsSince(start);
  std::lock_guard lock(mutex_);
  if (result.tier == CacheTier::memory) {
    ++stats_.memoryHits;
  } else if (result.tier == CacheTier::disk) {
    ++stats_.diskHits;
    stats_.bytesLoaded += result.object->bytes.size();
    stats_.loadMs += result.fetchMs;
  }
  return result;
}

CacheStats KernelCache::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

} // namespace flydsl::jit
