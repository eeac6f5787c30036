// The cache on disk: one file per key, shared by processes and machines.
//
// A file appears only by rename, whole and flushed, and is verified whenever it is read. Readers
// therefore see a valid entry or none, whatever happens to writers. A file that can't be read,
// written or locked makes the cache slower, never wrong.
#pragma once

#include "cache/config.h"
#include "cache/entry.h"
#include "cache/file_lock.h"
#include "support/file.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace flydsl::cache {

/// One file of the cache.
struct EntryFile {
  std::string path;
  Key key;
  std::uint64_t bytes = 0;
  std::int64_t lastUse = 0; ///< nanoseconds since the epoch
};

class DiskCache {
public:
  explicit DiskCache(CacheConfig config);

  /// Loads the blob for `key`; the read-only directories are searched first. An entry is a miss if
  /// its verification fails, if it is not a regular file, or if another user owns it or may write
  /// it. Such an entry is logged once and, if that is safe, removed.
  std::optional<Blob> load(const Key &key);

  /// Writes the entry. Returns false if that fails; the first failure is logged as a warning.
  bool store(const Key &key, const Blob &blob);

  /// Loads `key`. If there is no entry, it makes and stores the entry while no other process makes
  /// the same one, and waits at most `timeout` for another process. Throws what `make` throws.
  Blob loadOrMake(const Key &key, std::chrono::milliseconds timeout,
                  const std::function<Blob()> &make, bool &made);

  const CacheConfig &config() const { return config_; }
  /// The directories that are searched, in order.
  std::vector<std::string> directories() const;
  /// The reason why `directory` is not searched; empty if it is searched.
  std::string refused(const std::string &directory) const;

private:
  enum class Found { no, bad, yes };
  Found loadFrom(const std::string &directory, bool writable, const Key &key, Blob &into);
  void keepWithinLimit(std::uint64_t added);
  void warnOnce(std::atomic<bool> &said, const std::string &message);
  /// Logs once that something is not used and why ("PATH: why").
  void report(const std::string &problem);

  const CacheConfig config_;
  std::atomic<bool> saidUnwritable_{false};
  std::mutex mutex_;               ///< guards the members below
  std::set<std::string> reported_; ///< what was logged already
  std::uint64_t estimate_ = 0;     ///< bytes in the directory, as far as this process knows
  bool estimated_ = false;
};

/// The path of a key's entry in a cache directory.
std::string entryPath(const std::string &directory, const Key &key);
/// The path of the lock that the maker of a key's entry holds.
std::string lockPath(const std::string &directory, const Key &key);

/// All entries of a directory, in no particular order; none if the directory can't be read.
std::vector<EntryFile> listEntries(const std::string &directory);

struct Pruned {
  std::uint64_t entries = 0, bytes = 0; ///< removed
  std::uint64_t bytesLeft = 0;
};
/// The bytes of a directory: its entries, and files that are being written or that killed writers
/// left behind.
std::uint64_t directoryBytes(const std::string &directory);

/// Removes files that killed writers left behind and anything else that has an entry's name without
/// being an entry; then removes the entries that were used longest ago until at most `limit` bytes
/// are left.
Pruned prune(const std::string &directory, std::uint64_t limit);

/// Reads, verifies and unpacks the entry of `key` at `path`. If there is no entry, the result has
/// neither a blob nor a problem.
Decoded readEntry(const std::string &path, const Key &key, const support::Trust &trust);

/// The reason why entries of `directory` for `key` are neither trusted nor written, whatever they
/// contain: another user owns or may write the directory or its folder for the key. Empty if they
/// are.
std::string distrustDirectory(const std::string &directory, const Key &key,
                              const support::Trust &trust);

} // namespace flydsl::cache
