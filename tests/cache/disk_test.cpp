#include "scratch.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace flydsl;
using namespace flydsl::cache;
using namespace flydsl::cache::test;

namespace fs = std::filesystem;

namespace {

void setTime(const std::string &path, std::int64_t secondsFromNow) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  timespec times[2] = {{now.tv_sec + secondsFromNow, 0}, {now.tv_sec + secondsFromNow, 0}};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

} // namespace

TEST_CASE("What is stored is loaded, by this cache and by another") {
  Scratch scratch;
  DiskCache cache(configIn(scratch.path + "/made/when/needed"));
  CHECK_FALSE(cache.load(keyOf(1)));
  CHECK(cache.store(keyOf(1), blobOf(1)));
  DiskCache other(cache.config());
  REQUIRE(other.load(keyOf(1)));
  CHECK(same(*other.load(keyOf(1)), blobOf(1)));
  CHECK_FALSE(other.load(keyOf(2)));
  CHECK(listEntries(cache.config().directory).size() == 1);
}

TEST_CASE("Every byte of the file flipped in turn is a miss, and the bad file goes") {
  Scratch scratch;
  CacheConfig config = configIn(scratch.path);
  std::string path = entryPath(scratch.path, keyOf(1));
  DiskCache(config).store(keyOf(1), blobOf(1, 100));
  Bytes good = contentsOf(path);
  DiskCache cache(config);
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= 0x40;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bad.data()),
               static_cast<std::streamsize>(bad.size()));
    if (cache.load(keyOf(1)) || fs::exists(path))
      FAIL("byte " << at);
  }
  bool made = false;
  Blob blob =
      cache.loadOrMake(keyOf(1), std::chrono::seconds(1), [] { return blobOf(1, 100); }, made);
  CHECK(made);
  CHECK(same(blob, blobOf(1, 100)));
  CHECK(cache.load(keyOf(1)));
}

TEST_CASE("An entry that was renamed to another key is not served") {
  Scratch scratch;
  DiskCache cache(configIn(scratch.path));
  cache.store(keyOf(1), blobOf(1));
  fs::create_directories(fs::path(entryPath(scratch.path, keyOf(2))).parent_path());
  fs::copy_file(entryPath(scratch.path, keyOf(1)), entryPath(scratch.path, keyOf(2)));
  CHECK_FALSE(cache.load(keyOf(2)));
  CHECK(cache.load(keyOf(1)));
}

TEST_CASE("Read-only directories are looked into first and are never written") {
  Scratch scratch;
  std::string fleet = scratch.path + "/fleet", own = scratch.path + "/own";
  DiskCache(configIn(fleet)).store(keyOf(1), blobOf(1));
  CacheConfig config = configIn(own);
  config.readOnlyDirs = {scratch.path + "/absent", fleet};
  DiskCache cache(config);
  CHECK(cache.load(keyOf(1)));
  CHECK(cache.store(keyOf(2), blobOf(2)));
  CHECK(listEntries(fleet).size() == 1);
  CHECK(listEntries(own).size() == 1);
  // A bad entry there stays where it is, and the own directory is used.
  fs::resize_file(entryPath(fleet, keyOf(1)), 50);
  CHECK_FALSE(cache.load(keyOf(1)));
  CHECK(fs::exists(entryPath(fleet, keyOf(1))));
  cache.store(keyOf(1), blobOf(1));
  CHECK(cache.load(keyOf(1)));
}

TEST_CASE("Switched off: nothing is read and nothing is written") {
  Scratch scratch;
  DiskCache(configIn(scratch.path)).store(keyOf(1), blobOf(1));
  CacheConfig config = configIn(scratch.path);
  config.disk = false;
  DiskCache cache(config);
  CHECK_FALSE(cache.load(keyOf(1)));
  CHECK_FALSE(cache.store(keyOf(2), blobOf(2)));
  bool made = false;
  cache.loadOrMake(keyOf(3), std::chrono::seconds(1), [] { return blobOf(3); }, made);
  CHECK(made);
  CHECK(listEntries(scratch.path).size() == 1);
}

TEST_CASE("The limit drops what was used longest ago, whatever the clock did") {
  Scratch scratch;
  CacheConfig config = configIn(scratch.path);
  config.sizeLimit = 0;
  DiskCache unlimited(config);
  for (std::uint64_t n = 0; n < 20; ++n) {
    unlimited.store(keyOf(n), blobOf(0, 5000));
    setTime(entryPath(scratch.path, keyOf(n)), -10000 + static_cast<std::int64_t>(n) * 100);
  }
  std::uint64_t each = listEntries(scratch.path).front().bytes;
  CHECK(unlimited.load(keyOf(0))); // now the most recent one
  config.sizeLimit = each * 10;
  DiskCache limited(config);
  limited.store(keyOf(100), blobOf(0, 5000));
  std::uint64_t total = 0;
  for (const EntryFile &entry : listEntries(scratch.path))
    total += entry.bytes;
  CHECK(total <= config.sizeLimit);
  CHECK(limited.load(keyOf(100)));
  CHECK(limited.load(keyOf(0)));
  CHECK(limited.load(keyOf(19)));
  CHECK_FALSE(limited.load(keyOf(1)));

  // A clock that was set back leaves stamps in the future; the entries still load, and pruning
  // still ends.
  setTime(entryPath(scratch.path, keyOf(19)), 1000000);
  CHECK(limited.load(keyOf(19)));
  Pruned pruned = prune(scratch.path, 0);
  CHECK(pruned.bytesLeft == 0);
  CHECK(listEntries(scratch.path).empty());
}

TEST_CASE("Pruning clears what killed writers left, and not what a writer is at") {
  Scratch scratch;
  DiskCache cache(configIn(scratch.path));
  cache.store(keyOf(1), blobOf(1));
  std::string base = entryPath(scratch.path, keyOf(1));
  const std::string dead = base + ".1.2.3.tmp", alive = base + ".9.9.9.tmp",
                    lost = base + ".8.8.8.tmp";
  for (const std::string &name : {dead, alive, lost})
    std::ofstream(name) << "half an entry";
  std::ofstream(lockPath(scratch.path, keyOf(1))) << "";
  setTime(lockPath(scratch.path, keyOf(1)), -7200);
  // Writers hold a lock on what they write, for an hour at most.
  int writers[2];
  for (int i = 0; i < 2; ++i) {
    writers[i] = ::open((i ? lost : alive).c_str(), O_RDWR);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    REQUIRE(fcntl(writers[i], F_OFD_SETLK, &lock) == 0);
  }
  setTime(lost, -7200);
  prune(scratch.path, 1 << 20);
  CHECK_FALSE(fs::exists(dead));
  CHECK_FALSE(fs::exists(lost));
  CHECK_FALSE(fs::exists(lockPath(scratch.path, keyOf(1))));
  CHECK(fs::exists(alive));
  CHECK(cache.load(keyOf(1)));
  for (int writer : writers)
    ::close(writer);
}

TEST_CASE("A directory that vanishes comes again; a place that is no directory costs nothing but "
          "the cache") {
  Scratch scratch;
  DiskCache cache(configIn(scratch.path + "/cache"));
  cache.store(keyOf(1), blobOf(1));
  fs::remove_all(scratch.path + "/cache");
  CHECK_FALSE(cache.load(keyOf(1)));
  CHECK(cache.store(keyOf(1), blobOf(1)));
  CHECK(cache.load(keyOf(1)));

  std::ofstream(scratch.path + "/file") << "x";
  DiskCache nowhere(configIn(scratch.path + "/file/cache"));
  CHECK_FALSE(nowhere.store(keyOf(1), blobOf(1)));
  CHECK_FALSE(nowhere.store(keyOf(2), blobOf(2)));
  bool made = false;
  Blob blob = nowhere.loadOrMake(keyOf(3), std::chrono::seconds(1), [] { return blobOf(3); }, made);
  CHECK(made);
  CHECK(same(blob, blobOf(3)));
}

TEST_CASE("A full disk leaves no entry and no debris") {
  Scratch scratch;
  DiskCache cache(configIn(scratch.path));
  cache.store(keyOf(1), blobOf(1));
  // The limit on the size of files fails a write in the middle, as a full disk does.
  struct rlimit before, small{};
  getrlimit(RLIMIT_FSIZE, &before);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  small.rlim_cur = 1000;
  small.rlim_max = before.rlim_max;
  setrlimit(RLIMIT_FSIZE, &small);
  bool stored = cache.store(keyOf(2), blobOf(2, 1 << 20));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK_FALSE(stored);
  CHECK_FALSE(cache.load(keyOf(2)));
  CHECK(cache.load(keyOf(1)));
  std::size_t files = 0;
  for (const auto &item : fs::recursive_directory_iterator(scratch.path))
    files += item.is_regular_file();
  CHECK(files == 1);
}
