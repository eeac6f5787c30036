// Compiled kernels by key: memory, then disk, then the fleet's cache, then the compiler. What a
// launch asks first.
#pragma once

#include "cache/disk_cache.h"
#include "cache/memory_table.h"
#include "cache/remote/remote_tier.h"
#include "jit/code_object/code_object.h"
#include "jit/code_object/memory_of.h"
#include "jit/compile/compiler.h"

#include <flydsl/host/executable.h>

#include <atomic>
#include <functional>

namespace flydsl::jit {

struct CachedKernel {
  std::shared_ptr<const CodeObject> object;
  cache::Key key;
  CacheTier tier = CacheTier::compiled;
  double hashMs = 0;  ///< to make the key from the IR
  double fetchMs = 0; ///< to find or to compile
};

/// Counters since the process started; a snapshot.
struct CacheStats {
  std::uint64_t memoryHits = 0, diskHits = 0, remoteHits = 0, compiles = 0, failures = 0;
  std::uint64_t bytesLoaded = 0, bytesCompiled = 0; ///< of code objects
  double compileMs = 0, loadMs = 0;
};

class KernelCache {
public:
  /// `remote`, which may be null, must outlive this object.
  explicit KernelCache(cache::CacheConfig config, cache::RemoteTier *remote = nullptr)
      : disk_(std::move(config)), remote_(remote) {}

  /// The process's cache, configured by the environment when first asked for. Throws flydsl::Error
  /// for bad variables.
  static KernelCache &process();

  /// The code object of `module`. A hit in memory or on disk runs no pass and no code generator.
  /// Dumping compiles always. Throws CompileError; with runOnly also for a miss, naming kernel, key
  /// and directories.
  /// An entry on disk that `check` throws an Error for is a miss, and is replaced.
  using Check = std::function<void(const CodeObject &)>;
  CachedKernel compile(mlir::ModuleOp module, const CompileOptions &options,
                       const Check &check = {});

  /// The same by key, with what compiles it on a miss.
  using Compiler = std::function<std::shared_ptr<const CodeObject>()>;
  CachedKernel fetch(const cache::Key &key, const std::string &kernel, const Target &target,
                     const Compiler &compiler, const Check &check = {});

  CacheStats stats() const;
  const cache::DiskCache &disk() const { return disk_; }
  /// Forgets what is in memory; the disk stays.
  void forget() { memory_.clear(); }

private:
  /// A kernel that is asked for, and what is found or made of it.
  struct Search;
  std::shared_ptr<const CodeObject> find(Search &search);
  cache::Blob loadOrCompile(Search &search);
  std::shared_ptr<const CodeObject> decode(cache::Blob blob, const Search &search);
  [[noreturn]] void refuseMiss(const Search &search) const;
  std::shared_ptr<const CodeObject> compiled(const Compiler &compiler);

  cache::DiskCache disk_;
  cache::RemoteTier *const remote_;
  /// Kernels of 7 KB, as most are, nine thousand of them; one that went is on disk.
  static constexpr std::size_t kMostBytesInMemory = std::size_t(64) << 20;
  cache::MemoryTable<CodeObject> memory_{kMostBytesInMemory, memoryOf};
  mutable std::mutex mutex_; ///< guards the counters
  CacheStats stats_;
};

/// KernelCache::process().compile(module, options, check).
CachedKernel compileCached(mlir::ModuleOp module, const CompileOptions &options,
                           const KernelCache::Check &check = {});

} // namespace flydsl::jit
