// The file operations below DiskCache: whole reads, durable writes, listing, pruning.
#include "cache/disk_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace flydsl::cache {

namespace fs = std::filesystem;

static constexpr std::string_view entrySuffix = ".flyc";
static constexpr std::string_view temporarySuffix = ".tmp";
static constexpr std::string_view lockSuffix = ".lock";

std::string entryPath(const std::string &directory, const Key &key) {
  std::string name = key.hex();
  return directory + "/" + name.substr(0, 2) + "/" + name + std::string(entrySuffix);
}

std::string lockPath(const std::string &directory, const Key &key) {
  std::string name = key.hex();
  return directory + "/" + name.substr(0, 2) + "/" + name + std::string(lockSuffix);
}

std::optional<Bytes> readFile(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return std::nullopt;
  struct stat info;
  std::optional<Bytes> data;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    data.emplace(static_cast<std::size_t>(info.st_size));
    std::size_t done = 0;
    while (done < data->size()) {
      ssize_t n = ::read(fd, data->data() + done, data->size() - done);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        break;
      done += static_cast<std::size_t>(n);
    }
    data->resize(done);
  }
  ::close(fd);
  return data;
}

static std::string temporaryName(const std::string &path) {
  static std::atomic<unsigned> counter{0};
  static const unsigned salt = std::random_device{}(); // process ids repeat between machines
  return path + "." + std::to_string(getpid()) + "." + std::to_string(salt) + "." +
         std::to_string(counter++) + std::string(temporarySuffix);
}

std::string writeDurably(const std::string &path, const Bytes &data) {
  std::string folder = fs::path(path).parent_path();
  std::error_code ignored;
  fs::create_directories(folder, ignored); // if that failed, the open below says why
  std::string temporary = temporaryName(path);
  auto why = [](const char *what) { return std::string(what) + ": " + std::strerror(errno); };
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0)
    return why("open");
  std::string problem;
  for (std::size_t done = 0; done < data.size();) {
    ssize_t n = ::write(fd, data.data() + done, data.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      problem = why("write");
      break;
    }
    done += static_cast<std::size_t>(n);
  }
  if (problem.empty() && ::fsync(fd) != 0)
    problem = why("fsync");
  if (::close(fd) != 0 && problem.empty())
    problem = why("close");
  if (problem.empty() && ::rename(temporary.c_str(), path.c_str()) != 0)
    problem = why("rename");
  if (!problem.empty()) {
    ::unlink(temporary.c_str());
    return problem;
  }
  // The rename itself becomes durable with the directory. Where a directory can't be flushed, the
  // entry may be lost in a power failure; it can't be wrong.
  int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
  return {};
}

/// Calls `visit(path, stat)` for each regular file of the directory's shards.
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
      if (stat(file->path().c_str(), &info) == 0 && S_ISREG(info.st_mode))
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
    if (path.extension() != entrySuffix)
      return;
    if (auto key = Key::fromHex(path.stem().native()))
      entries.push_back(
          {path, *key, static_cast<std::uint64_t>(info.st_size), nanoseconds(info.st_mtim)});
  });
  return entries;
}

Pruned prune(const std::string &directory, std::uint64_t limit) {
  // A writer takes seconds; what is older (or, after a clock was set back, from the future) has
  // lost its writer.
  constexpr std::int64_t abandoned = std::int64_t(3600) * 1'000'000'000;
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  std::int64_t now = nanoseconds(time);
  forEachFile(directory, [&](const fs::path &path, const struct stat &info) {
    if (std::abs(now - nanoseconds(info.st_mtim)) <= abandoned)
      return;
    if (path.extension() == temporarySuffix)
      ::unlink(path.c_str());
    else if (path.extension() == lockSuffix)
      FileLock().acquire(path, std::chrono::milliseconds(0)); // letting go removes the file
  });

  std::vector<EntryFile> entries = listEntries(directory);
  std::sort(entries.begin(), entries.end(),
            [](const EntryFile &a, const EntryFile &b) { return a.lastUse < b.lastUse; });
  Pruned result;
  for (const EntryFile &entry : entries)
    result.bytesLeft += entry.bytes;
  for (const EntryFile &entry : entries) {
    if (result.bytesLeft <= limit)
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
