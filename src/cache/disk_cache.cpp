#include "cache/disk_cache.h"

#include "support/log.h"

#include <flydsl/error.h>

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace flydsl::cache {

DiskCache::DiskCache(CacheConfig config) : config_(std::move(config)) {}

std::vector<std::string> DiskCache::directories() const {
  std::vector<std::string> all = config_.readOnlyDirs;
  if (config_.disk && !config_.directory.empty())
    all.push_back(config_.directory);
  return all;
}

/// Marks an entry as used now. The mark is the file's modification time. It is accurate to a
/// minute, which suffices for the order of eviction and saves a write per hit.
static void stamp(const std::string &path) {
  struct stat info;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (stat(path.c_str(), &info) == 0 && std::abs(now.tv_sec - info.st_mtim.tv_sec) >= 60)
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

void DiskCache::report(const std::string &problem) {
  bool first;
  {
    std::lock_guard lock(mutex_);
    first = reported_.insert(problem).second;
  }
  if (first)
    support::log().warn("cache: not used: {}", problem);
}

std::string DiskCache::refused(const std::string &directory) const {
  return support::distrust(directory, config_.trust);
}

DiskCache::Found DiskCache::loadFrom(const std::string &directory, bool writable, const Key &key,
                                     Blob &into) {
  if (std::string problem = distrustDirectory(directory, key, config_.trust); !problem.empty()) {
    report(problem);
    return Found::no;
  }
  std::string path = entryPath(directory, key);
  Decoded decoded = readEntry(path, key, config_.trust);
  if (!decoded.problem.empty()) {
    report(path + ": " + decoded.problem);
    // A bad entry, or anything that is not a file, is removed to make room for a good entry. For a
    // link, a pipe or a device, only the name is removed.
    if (writable)
      ::unlink(path.c_str());
    return Found::bad;
  }
  if (!decoded.blob)
    return Found::no;
  if (writable)
    stamp(path);
  into = std::move(*decoded.blob);
  return Found::yes;
}

std::optional<Blob> DiskCache::load(const Key &key) {
  Blob blob;
  for (const std::string &directory : config_.readOnlyDirs)
    if (loadFrom(directory, false, key, blob) == Found::yes)
      return blob;
  if (config_.disk && loadFrom(config_.directory, true, key, blob) == Found::yes)
    return blob;
  return std::nullopt;
}

void DiskCache::warnOnce(std::atomic<bool> &said, const std::string &message) {
  if (!said.exchange(true))
    support::log().warn("{}", message);
  else
    support::log().debug("{}", message);
}

bool DiskCache::store(const Key &key, const Blob &blob) {
  if (!config_.disk)
    return false;
  if (std::string why = distrustDirectory(config_.directory, key, config_.trust); !why.empty()) {
    report(why);
    return false;
  }
  std::size_t bytes = 0;
  std::string problem;
  try {
    const Bytes data = encodeEntry(key, blob);
    bytes = data.size();
    problem = support::writeFile(entryPath(config_.directory, key), data,
                                 support::ownOptions(config_.trust));
  } catch (const Error &error) {
    problem = error.what();
  }
  if (!problem.empty()) {
    warnOnce(saidUnwritable_, "the cache directory " + config_.directory + " can't be written (" +
                                  problem + "); kernels are not kept");
    return false;
  }
  keepWithinLimit(bytes);
  return true;
}

/// The whole directory is examined once, and again when the entries that this process has added
/// exceed the limit.
void DiskCache::keepWithinLimit(std::uint64_t added) {
  if (config_.sizeLimit == 0)
    return;
  std::lock_guard lock(mutex_);
  if (!estimated_) {
    estimate_ = directoryBytes(config_.directory);
    estimated_ = true;
  } else {
    estimate_ += added;
  }
  if (estimate_ <= config_.sizeLimit)
    return;
  // Prunes to nine tenths of the limit, so that not every store has to prune.
  Pruned pruned = prune(config_.directory, config_.sizeLimit - config_.sizeLimit / 10);
  estimate_ = pruned.bytesLeft;
  support::log().debug("cache {}: {} entries of {} bytes removed, {} bytes left", config_.directory,
                       pruned.entries, pruned.bytes, pruned.bytesLeft);
}

Blob DiskCache::loadOrMake(const Key &key, std::chrono::milliseconds timeout,
                           const std::function<Blob()> &make, bool &made) {
  made = false;
  if (std::optional<Blob> blob = load(key))
    return std::move(*blob);
  FileLock lock;
  if (config_.disk && distrustDirectory(config_.directory, key, config_.trust).empty()) {
    std::string path = entryPath(config_.directory, key);
    std::string lockFile = lockPath(config_.directory, key);
    // If the folders can't be made, the lock is unusable and `store` reports the reason.
    (void)support::makeFolders(std::filesystem::path(path).parent_path(),
                               support::ownOptions(config_.trust));
    auto state = lock.acquire(
        lockFile, timeout, [&] { return ::access(path.c_str(), F_OK) == 0; }, config_.trust.group);
    if (state == FileLock::State::unusable)
      support::log().debug("no lock at {}; another process may compile the same kernel", lockFile);
    // Usually the process that had the lock before has made the entry.
    if (std::optional<Blob> blob = load(key))
      return std::move(*blob);
  }
  Blob blob = make();
  made = true;
  store(key, blob);
  return blob;
}

} // namespace flydsl::cache
