// The file operations under DiskCache: reading an entry, listing, pruning.
#include "cache/disk_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace flydsl::cache {

namespace fs = std::filesystem;

static constexpr std::string_view kEntrySuffix = ".flyc";
static constexpr std::string_view kLockSuffix = ".lock";

std::string entryPath(const std::string &directory, const Key &key) {
  std::string name = key.hex();
  return directory + "/" + name.substr(0, 2) + "/" + name + std::string(kEntrySuffix);
}

std::string lockPath(const std::string &directory, const Key &key) {
  std::string name = key.hex();
  return directory + "/" + name.substr(0, 2) + "/" + name + std::string(kLockSuffix);
}

Decoded readEntry(const std::string &path, const Key &key, const support::Trust &trust) {
  support::FileContents file = support::readAll(path, kMaxEntryBytes, trust);
  if (!file.bytes)
    return {std::nullopt, file.absent ? std::string() : std::move(file.problem)};
  return decodeEntry(key, file.bytes->data(), file.bytes->size());
}

std::string distrustDirectory(const std::string &directory, const Key &key,
                              const support::Trust &trust) {
  std::string problem = support::distrust(directory, trust);
  if (problem.empty())
    problem = support::distrust(fs::path(entryPath(directory, key)).parent_path(), trust);
  return problem;
}

/// Calls `visit(path, stat)` for each name in the directory's shards. Links are not followed.
template <class Visit> static void forEachFile(const std::string &directory, Visit visit) {
  std::error_code error;
  for (fs::directory_iterator shard(directory, error), end; !error && shard != end;
       shard.increment(error)) {
    if (shard->path().filename().native().size() != 2)
      continue;
    std::error_code inner;
    for (fs::directory_iterator file(shard->path(), inner); !inner && file != end;
         file.increment(inner)) {
      struct stat info;
      if (lstat(file->path().c_str(), &info) == 0 && !S_ISDIR(info.st_mode))
        visit(file->path(), info);
    }
  }
}

static std::int64_t nanoseconds(const timespec &time) {
  return std::int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::vector<EntryFile> listEntries(const std::string &directory) {
  std::vector<EntryFile> entries;
  forEachFile(directory, [&](const fs::path &path, const struct stat &info) {
    if (path.extension() != kEntrySuffix)
      return;
    if (auto key = Key::fromHex(path.stem().native()))
      entries.push_back(
          {path, *key, static_cast<std::uint64_t>(info.st_size), nanoseconds(info.st_mtim)});
  });
  return entries;
}

/// The bytes that a file counts for. The holes of a sparse file take no room.
static std::uint64_t bytesOf(const struct stat &info) {
  const auto size = static_cast<std::uint64_t>(info.st_size);
  return size <= kMaxEntryBytes ? size
                                : std::min(size, static_cast<std::uint64_t>(info.st_blocks) * 512);
}

std::uint64_t directoryBytes(const std::string &directory) {
  std::uint64_t bytes = 0;
  forEachFile(directory,
              [&](const fs::path &, const struct stat &info) { bytes += bytesOf(info); });
  return bytes;
}

Pruned prune(const std::string &directory, std::uint64_t limit) {
  // The owner of a lock needs minutes. A lock that is older has lost its owner, and so has one from
  // the future, which was made before a clock was set back.
  constexpr std::int64_t abandoned = std::int64_t(3600) * 1'000'000'000;
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  std::int64_t now = nanoseconds(time);
  Pruned result;
  std::vector<EntryFile> entries;
  forEachFile(directory, [&](const fs::path &path, const struct stat &info) {
    const std::uint64_t bytes = bytesOf(info);
    if (path.extension() == support::kTemporarySuffix) {
      if (!support::removeAbandoned(path))
        result.bytesLeft += bytes;
    } else if (path.extension() == kLockSuffix) {
      if (S_ISREG(info.st_mode) && std::abs(now - nanoseconds(info.st_mtim)) > abandoned)
        FileLock().acquire(path, std::chrono::milliseconds(0)); // the release removes the file
    } else if (auto key = Key::fromHex(path.stem().native());
               key && path.extension() == kEntrySuffix) {
      const bool possible =
          S_ISREG(info.st_mode) && static_cast<std::uint64_t>(info.st_size) <= kMaxEntryBytes;
      entries.push_back({path, *key, bytes, possible ? nanoseconds(info.st_mtim) : INT64_MIN});
      result.bytesLeft += bytes;
    }
  });
  std::sort(entries.begin(), entries.end(),
            [](const EntryFile &a, const EntryFile &b) { return a.lastUse < b.lastUse; });
  for (const EntryFile &entry : entries) {
    if (result.bytesLeft <= limit && entry.lastUse != INT64_MIN)
      break;
    if (::unlink(entry.path.c_str()) != 0 && errno != ENOENT)
      continue;
    ++result.entries;
    result.bytes += entry.bytes;
    result.bytesLeft -= entry.bytes;
  }
  return result;
}

} // namespace flydsl::cache
