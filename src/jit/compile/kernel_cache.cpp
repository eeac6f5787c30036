// No MLIR and no LLVM here: a hit touches neither.
#include "jit/compile/kernel_cache.h"

#include "support/clock.h"
#include "support/log.h"
#include "support/process_use.h"
#include "support/text.h"

#include <flydsl/error.h>

#include <chrono>
#include <mutex>

namespace flydsl::jit {

/// How long one process waits for another that compiles the same kernel, before it compiles it as
/// well.
static constexpr std::chrono::milliseconds kOtherProcess{120'000};

KernelCache &KernelCache::process() {
  support::enterLibrary();
  // Made at its first use, because that reads the environment, and never destroyed.
  static KernelCache *const made =
      new KernelCache(cache::CacheConfig::fromEnvironment(), cache::RemoteTier::process());
  return *made;
}

struct KernelCache::Search {
  const cache::Key &key;
  const std::string &kernel;
  const Target &target;
  const Compiler &compiler;
  const Check &check;
  CacheTier tier = CacheTier::disk;
  /// What was compiled, or came from the fleet.
  std::shared_ptr<const CodeObject> fresh;
};

/// Throws flydsl::Error if the compiler of this build did not make the entry for this target, or
/// `check` refuses it.
static std::shared_ptr<const CodeObject> decodeFor(cache::Blob blob, const Target &target,
                                                   const KernelCache::Check &check) {
  CodeObject object = decodeMetadata(blob.metadata.data(), blob.metadata.size());
  if (object.target != target.id())
    throw Error("it is for " + object.target);
  object.bytes = std::move(blob.payload);
  if (check)
    check(object);
  return std::make_shared<const CodeObject>(std::move(object));
}

/// Decodes an entry of the disk. Null, with a line in the log, for one that can't be used.
std::shared_ptr<const CodeObject> KernelCache::decode(cache::Blob blob, const Search &search) {
  try {
    return decodeFor(std::move(blob), search.target, search.check);
  } catch (const Error &error) {
    support::log().warn("the cache entry {} is not used: {}", search.key.hex(),
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

void KernelCache::refuseMiss(const Search &search) const {
  std::string places;
  for (const std::string &directory : disk_.directories()) {
    const std::string refused = disk_.refused(directory);
    support::appendItem(places, refused.empty() ? directory : "(not looked into) " + refused);
  }
  if (remote_)
    support::appendItem(places, remote_->config().name);
  throw CompileError("FLYDSL_RUNTIME_RUN_ONLY: kernel '" + search.kernel + "' for " +
                     search.target.id() + ", key " + search.key.hex() + ", is not in " +
                     (places.empty() ? "any cache: there is no directory" : places));
}

/// The entry for the disk: the fleet's, or else the compiler's.
cache::Blob KernelCache::loadOrCompile(Search &search) {
  const auto compile = [&] {
    search.fresh = compiled(search.compiler);
    search.tier = CacheTier::compiled;
    return cache::Blob{encodeMetadata(*search.fresh), search.fresh->bytes};
  };
  if (!remote_)
    return compile();
  const auto accept = [&](const cache::Blob &blob) -> std::string {
    try {
      search.fresh = decodeFor(blob, search.target, search.check);
      search.tier = CacheTier::remote;
      return {};
    } catch (const Error &error) {
      return error.what();
    }
  };
  bool made = false;
  if (!disk_.config().runOnly)
    return remote_->loadOrMake(cache::RemoteTier::Kind::kernel, search.key, accept, compile, made);
  if (auto blob = remote_->load(cache::RemoteTier::Kind::kernel, search.key, accept))
    return std::move(*blob);
  refuseMiss(search);
}

std::shared_ptr<const CodeObject> KernelCache::find(Search &search) {
  if (disk_.config().runOnly) {
    if (std::optional<cache::Blob> blob = disk_.load(search.key))
      if (auto object = decode(std::move(*blob), search))
        return object;
    if (!remote_)
      refuseMiss(search);
  }
  bool made = false;
  cache::Blob blob =
      disk_.loadOrMake(search.key, kOtherProcess, [&] { return loadOrCompile(search); }, made);
  if (made)
    return search.fresh;
  if (auto object = decode(std::move(blob), search))
    return object;
  disk_.store(search.key, loadOrCompile(search));
  return search.fresh;
}

CachedKernel KernelCache::fetch(const cache::Key &key, const std::string &kernel,
                                const Target &target, const Compiler &compiler,
                                const Check &check) {
  CachedKernel result;
  result.key = key;
  auto start = support::Clock::now();
  bool first = false;
  Search search{key, kernel, target, compiler, check, CacheTier::disk, nullptr};
  result.object = memory_.findOrMake(key, [&] { return find(search); }, first);
  result.tier = first ? search.tier : CacheTier::memory;
  result.fetchMs = support::millisecondsSince(start);
  std::lock_guard lock(mutex_);
  if (result.tier == CacheTier::memory) {
    ++stats_.memoryHits;
  } else if (result.tier == CacheTier::remote) {
    ++stats_.remoteHits;
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
