#include "cache/disk_cache.h"

#include "support/log.h"

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace flydsl::cache {

DiskCache::DiskCache(Config config) : config_(std::move(config)) {}

std::vector<std::string> DiskCache::directories() const {
  std::vector<std::string> all = config_.readOnlyDirs;
  if (config_.disk && !config_.directory.empty())
    all.push_back(config_.directory);
  return all;
}

/// Marks an entry as used now. The stamp is the file's modification time; a minute's precision is
/// enough for an order of eviction and spares a write per hit.
static void stamp(const std::string &path) {
  struct stat info;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (stat(path.c_str(), &info) == 0 && std::abs(now.tv_sec - info.st_mtim.tv_sec) >= 60)
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

DiskCache::Found DiskCache::loadFrom(const std::string &directory, bool writable, const Key &key,
                                     Blob &into) {
  std::string path = entryPath(directory, key);
  std::optional<Bytes> data = readFile(path);
  if (!data)
    return Found::no;
  Decoded decoded = decodeEntry(key, data->data(), data->size());
  if (!decoded.blob) {
    bool first;
    {
      std::lock_guard lock(mutex_);
      first = reported_.insert(path).second;
    }
    if (first)
      support::log().warn("cache entry {} is bad ({}) and is not used", path, decoded.problem);
    if (writable)
      ::unlink(path.c_str());
    return Found::bad;
  }
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
  Bytes data = encodeEntry(key, blob);
  std::string path = entryPath(config_.directory, key);
  std::string problem = writeDurably(path, data);
  if (!problem.empty()) {
    warnOnce(saidUnwritable_, "the cache directory " + config_.directory + " can't be written (" +
                                  problem + "); kernels are not kept");
    return false;
  }
  keepWithinLimit(data.size());
  return true;
}

/// A look at the whole directory is needed once, and again when what this process added goes past
/// the limit.
void DiskCache::keepWithinLimit(std::uint64_t added) {
  if (config_.sizeLimit == 0)
    return;
  std::lock_guard lock(mutex_);
  if (!estimated_) {
    for (const EntryFile &entry : listEntries(config_.directory))
      estimate_ += entry.bytes;
    estimated_ = true;
  } else {
    estimate_ += added;
  }
  if (estimate_ <= config_.sizeLimit)
    return;
  // Down to nine tenths, so that not every store has to prune.
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
  if (config_.disk) {
    std::string path = entryPath(config_.directory, key);
    std::string lockFile = lockPath(config_.directory, key);
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    auto state = lock.acquire(lockFile, timeout, [&] { return ::access(path.c_str(), F_OK) == 0; });
    if (state == FileLock::State::unusable)
      support::log().debug("no lock at {}; another process may compile the same kernel", lockFile);
    // Whoever had the lock before has made it, as a rule.
    if (std::optional<Blob> blob = load(key))
      return std::move(*blob);
  }
  Blob blob = make();
  made = true;
  store(key, blob);
  return blob;
}

} // namespace flydsl::cache
