// The cache on disk: one file per key, shared by processes and machines.
//
// A file appears by rename only, whole and flushed, and is verified whenever it is read; so
// whatever happens to writers, readers see a good entry or none. What can't be read, written or
// locked makes the cache slower, never wrong.
#pragma once

#include "cache/config.h"
#include "cache/entry.h"
#include "cache/file_lock.h"
#include "support/file.h"
#include "support/fork.h"

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
  explicit DiskCache(Config config);

  /// The blob for `key`, from the read-only directories first. An entry that fails verification, is
  /// no regular file, or is or may be written by another user is a miss: it is logged once and,
  /// where that is safe, removed.
  std::optional<Blob> load(const Key &key);

  /// Writes the entry. False if it could not be written; the first time is logged as a warning.
  bool store(const Key &key, const Blob &blob);

  /// Loads `key`, or makes it while no other process makes the same one, and stores it. Waits for
  /// another process `timeout` at most. Throws what `make` throws.
  Blob loadOrMake(const Key &key, std::chrono::milliseconds timeout,
                  const std::function<Blob()> &make, bool &made);

  /// For a cache that is never destroyed: its lock is held while the process forks.
  void holdAtFork() { support::holdAtFork(mutex_); }

  const Config &config() const { return config_; }
  /// The directories that are looked into, in order.
  std::vector<std::string> directories() const;
  /// Why `directory` is not looked into; empty where it is.
  std::string refused(const std::string &directory) const;

private:
  enum class Found { no, bad, yes };
  Found loadFrom(const std::string &directory, bool writable, const Key &key, Blob &into);
  void keepWithinLimit(std::uint64_t added);
  void warnOnce(std::atomic<bool> &said, const std::string &message);
  /// Logs that something is not used and why ("PATH: why"), once.
  void report(const std::string &problem);

  const Config config_;
  std::atomic<bool> saidUnwritable_{false};
  std::mutex mutex_;               ///< guards what follows
  std::set<std::string> reported_; ///< what is in the log already
  std::uint64_t estimate_ = 0;     ///< bytes in the directory, as far as this process knows
  bool estimated_ = false;
};

/// Path of a key's entry in a cache directory, and of the lock that its maker holds.
std::string entryPath(const std::string &directory, const Key &key);
std::string lockPath(const std::string &directory, const Key &key);

/// All entries of a directory, in no order; a directory that can't be read has none.
std::vector<EntryFile> listEntries(const std::string &directory);

struct Pruned {
  std::uint64_t entries = 0, bytes = 0; ///< removed
  std::uint64_t bytesLeft = 0;
};
/// Bytes of a directory: its entries, and the files that are being written or were when their
/// writer was killed.
std::uint64_t directoryBytes(const std::string &directory);

/// Removes what killed writers left behind and what is no entry but has an entry's name, then the
/// entries used longest ago until `limit` bytes are left.
Pruned prune(const std::string &directory, std::uint64_t limit);

/// Reads, verifies and unpacks the entry of `key` at `path`. No blob and no problem: there is none.
Decoded readEntry(const std::string &path, const Key &key, const support::Trust &trust);

/// Why entries of `directory` for `key` are not believed or not written, whatever they hold: the
/// directory, or its folder for the key, is or may be written by another. Empty where they are.
std::string distrustDirectory(const std::string &directory, const Key &key,
                              const support::Trust &trust);

} // namespace flydsl::cache
