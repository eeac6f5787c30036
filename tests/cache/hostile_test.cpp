// A cache directory with files that no cache wrote, and one that others own or may write.
#include "processes.h"
#include "scratch.h"

#include "cache/archive.h"
#include "cache/disk_cache.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <sys/stat.h>
#include <thread>
#include <zstd.h>

using namespace flydsl;
using namespace flydsl::cache;
using namespace flydsl::cache::test;

namespace fs = std::filesystem;

namespace {

constexpr uid_t somebody = 12345;

mode_t modeOf(const std::string &path) {
  struct stat info;
  REQUIRE(lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

/// A store, and a load by another cache object.
bool works(const CacheConfig &config, std::uint64_t number) {
  if (!DiskCache(config).store(keyOf(number), blobOf(number)))
    return false;
  auto blob = DiskCache(config).load(keyOf(number));
  return blob && same(*blob, blobOf(number));
}

} // namespace

TEST_CASE("A pipe, a device's link, a directory or a terabyte of holes in place of an entry is a "
          "miss") {
  Scratch scratch;
  TimeLimit limit(30);
  CacheConfig config = configIn(scratch.path);
  const std::string path = entryPath(scratch.path, keyOf(1));
  DiskCache(config).store(keyOf(1), blobOf(1));
  const std::vector<std::pair<const char *, std::function<void()>>> guises = {
      {"pipe", [&] { REQUIRE(mkfifo(path.c_str(), 0600) == 0); }},
      {"device", [&] { REQUIRE(symlink("/dev/zero", path.c_str()) == 0); }},
      {"sparse file",
       [&] {
         std::ofstream(path) << "FLYCACHE";
         REQUIRE(chmod(path.c_str(), 0600) == 0);
         REQUIRE(truncate(path.c_str(), off_t(1) << 40) == 0);
       }},
  };
  for (const auto &[name, put] : guises) {
    CAPTURE(name);
    fs::remove(path);
    put();
    DiskCache cache(config);
    bool made = false;
    const Blob blob =
        cache.loadOrMake(keyOf(1), std::chrono::seconds(5), [] { return blobOf(1); }, made);
    CHECK(made);
    CHECK(same(blob, blobOf(1)));
    CHECK(DiskCache(config).load(keyOf(1))); // replaced by a good one
    // The same again, met by a prune.
    fs::remove(path);
    put();
    config.sizeLimit = 1 << 20;
    CHECK(works(config, 2));
    prune(scratch.path, config.sizeLimit);
    CHECK(DiskCache(config).load(keyOf(2)));
    CHECK_FALSE(fs::exists(fs::symlink_status(path)));
  }
  // A directory can't be replaced by a file: the kernel is made each time, and nothing else fails.
  fs::create_directories(path + "/x");
  CHECK_FALSE(DiskCache(config).load(keyOf(1)));
  CHECK_FALSE(DiskCache(config).store(keyOf(1), blobOf(1)));
  CHECK(works(config, 2));
}

TEST_CASE("A pipe in place of the lock does not block, nor does one in place of an archive") {
  Scratch scratch;
  TimeLimit limit(30);
  DiskCache cache(configIn(scratch.path));
  cache.store(keyOf(1), blobOf(1));
  fs::remove(entryPath(scratch.path, keyOf(1)));
  REQUIRE(mkfifo(lockPath(scratch.path, keyOf(1)).c_str(), 0600) == 0);
  bool made = false;
  cache.loadOrMake(keyOf(1), std::chrono::seconds(60), [] { return blobOf(1); }, made);
  CHECK(made);
  CHECK(cache.load(keyOf(1)));

  const std::string archive = scratch.path + "/archive";
  REQUIRE(mkfifo(archive.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(importEntries(archive, scratch.path + "/to"), Catch::Contains("a pipe"));
  fs::remove(archive);
  // A header that promises four thousand million entries, and holes to hold them.
  const char header[] = "FLYARCHV\1\0\0\0\xff\xff\xff\xff";
  std::ofstream(archive).write(header, 16);
  REQUIRE(truncate(archive.c_str(), off_t(1) << 40) == 0);
  CHECK_THROWS_WITH(importEntries(archive, scratch.path + "/to"), Catch::Contains("no entry"));
}

TEST_CASE("An entry that would unpack to more than a kernel has is refused before it is unpacked") {
  // A real frame of zeros, as long as it says: some kilobytes for more than the limit.
  const std::uint64_t size = kMaxPayloadBytes + (1 << 20);
  Bytes frame(1 << 20);
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setPledgedSrcSize(context, size);
  const Bytes zeros(1 << 20);
  ZSTD_outBuffer out{frame.data(), frame.size(), 0};
  for (std::uint64_t done = 0; done < size; done += zeros.size()) {
    ZSTD_inBuffer in{zeros.data(), zeros.size(), 0};
    const bool last = done + zeros.size() >= size;
    REQUIRE_FALSE(ZSTD_isError(
        ZSTD_compressStream2(context, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue)));
  }
  ZSTD_freeCCtx(context);
  REQUIRE(out.pos < 100'000);

  Bytes entry = encodeEntry(keyOf(1), {});
  entry.resize(56);
  const std::uint64_t sizes[3] = {0, size, out.pos};
  std::memcpy(entry.data() + 32, sizes, sizeof sizes);
  entry.insert(entry.end(), frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(out.pos));
  const Key checksum = digest(entry.data(), entry.size());
  const auto *bytes = reinterpret_cast<const std::uint8_t *>(&checksum);
  entry.insert(entry.end(), bytes, bytes + sizeof checksum);
  const Decoded decoded = decodeEntry(keyOf(1), entry.data(), entry.size());
  CHECK_FALSE(decoded.blob);
  CHECK_THAT(decoded.problem, Catch::Contains("unpack to " + std::to_string(size)));

  CHECK_THROWS_WITH(encodeEntry(keyOf(1), {Bytes(kMaxMetadataBytes + 1), {}}),
                    Catch::Contains(std::to_string(kMaxMetadataBytes)));
  Scratch scratch; // too large to be kept is no error of the compile
  CHECK_FALSE(
      DiskCache(configIn(scratch.path)).store(keyOf(1), {Bytes(kMaxMetadataBytes + 1), {}}));
}

TEST_CASE("What killed writers left counts toward the limit, and goes") {
  Scratch scratch;
  TimeLimit limit(100);
  CacheConfig config = configIn(scratch.path);
  config.sizeLimit = 1 << 20;
  // Killed in the middle of writing 48 MiB that do not compress.
  Blob large;
  large.payload.resize(48 << 20);
  std::uint64_t state = 1;
  for (std::uint8_t &byte : large.payload)
    byte = static_cast<std::uint8_t>(
        (state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  const Bytes encoded = encodeEntry(keyOf(1), large);
  for (std::size_t left = 0; left < 3; ++left) {
    const pid_t writer = start([&]() -> int {
      for (;;)
        (void)support::writeFile(entryPath(scratch.path, keyOf(1)), encoded,
                                 support::ownOptions(config.trust));
    });
    REQUIRE(stopInWrite(writer, scratch.path, left));
    kill(writer, SIGKILL);
    CHECK(wait(writer) == 1000 + SIGKILL);
    REQUIRE(begunFiles(scratch.path).size() == left + 1);
  }
  fs::remove(entryPath(scratch.path, keyOf(1)));
  CHECK(directoryBytes(scratch.path) > 0);
  CHECK(works(config, 2));
  prune(scratch.path, config.sizeLimit);
  CHECK(directoryBytes(scratch.path) <= config.sizeLimit);
  CHECK(DiskCache(config).load(keyOf(2)));
}

TEST_CASE("The cache is this user's alone, whatever the umask") {
  Scratch scratch;
  for (mode_t mask : {0000, 0777}) {
    const std::string directory = scratch.path + "/" + std::to_string(mask) + "/cache";
    const mode_t before = umask(mask);
    const bool stored = works(configIn(directory), 1);
    umask(before);
    CHECK(stored);
    CHECK(modeOf(directory) == 0700);
    CHECK(modeOf(fs::path(directory).parent_path()) == 0700);
    const std::string entry = entryPath(directory, keyOf(1));
    CHECK(modeOf(entry) == 0600);
    CHECK(modeOf(fs::path(entry).parent_path()) == 0700);
  }
}

TEST_CASE("What others may write is not used: the entry, its folder, the directory") {
  Scratch scratch;
  CacheConfig config = configIn(scratch.path + "/cache");
  const std::string entry = entryPath(config.directory, keyOf(1));
  for (mode_t extra : {0020, 0002}) {
    REQUIRE(works(config, 1));
    REQUIRE(chmod(entry.c_str(), 0600 | extra) == 0);
    CHECK_FALSE(DiskCache(config).load(keyOf(1)));
    CHECK(works(config, 1)); // replaced
    for (const std::string &folder :
         {config.directory, std::string(fs::path(entry).parent_path())}) {
      CAPTURE(folder, extra);
      REQUIRE(chmod(folder.c_str(), 0700 | extra) == 0);
      DiskCache cache(config);
      CHECK_FALSE(cache.load(keyOf(1)));
      CHECK_FALSE(cache.store(keyOf(1), blobOf(1)));
      bool made = false;
      cache.loadOrMake(keyOf(1), std::chrono::seconds(1), [] { return blobOf(1); }, made);
      CHECK(made);
      REQUIRE(chmod(folder.c_str(), 0700) == 0);
      CHECK(DiskCache(config).load(keyOf(1)));
    }
  }
  REQUIRE(chmod(config.directory.c_str(), 0777) == 0);
  CHECK_THAT(DiskCache(config).refused(config.directory),
             Catch::Contains("everybody may write") && Catch::Contains("chmod o-w"));
}

TEST_CASE("What another user owns is not used, root's is") {
  if (geteuid() != 0)
    return;
  Scratch scratch;
  CacheConfig config = configIn(scratch.path + "/cache");
  REQUIRE(works(config, 1));
  const std::string entry = entryPath(config.directory, keyOf(1));
  // An entry that another user put there, in a directory of ours.
  REQUIRE(chown(entry.c_str(), somebody, somebody) == 0);
  CHECK_FALSE(DiskCache(config).load(keyOf(1)));
  CHECK(works(config, 1));
  // A directory of another user, with an entry of ours.
  REQUIRE(chown(config.directory.c_str(), somebody, somebody) == 0);
  CHECK_FALSE(DiskCache(config).load(keyOf(1)));
  CHECK_FALSE(DiskCache(config).store(keyOf(1), blobOf(1)));
  CHECK_THAT(DiskCache(config).refused(config.directory), Catch::Contains("belongs to user 12345"));

  // A fleet's directory: root's, readable by all. Another user's is refused.
  const std::string fleet = scratch.path + "/fleet";
  REQUIRE(works(configIn(fleet), 1));
  for (const auto &item : fs::recursive_directory_iterator(fleet))
    REQUIRE(chmod(item.path().c_str(), item.is_directory() ? 0755 : 0644) == 0);
  REQUIRE(chmod(fleet.c_str(), 0755) == 0);
  REQUIRE(chmod(scratch.path.c_str(), 0755) == 0);
  auto loads = [&] {
    return asUser(somebody, [&] {
      CacheConfig mine;
      mine.disk = false;
      mine.readOnlyDirs = {fleet};
      return DiskCache(mine).load(keyOf(1)) ? 7 : 8;
    });
  };
  CHECK(loads() == 7);
  REQUIRE(chown(entryPath(fleet, keyOf(1)).c_str(), somebody + 1, 0) == 0);
  CHECK(loads() == 8);
}

TEST_CASE("A group that is trusted shares a cache, and no other group does") {
  if (geteuid() != 0)
    return;
  Scratch scratch;
  REQUIRE(chmod(scratch.path.c_str(), 0755) == 0);
  const gid_t team = 23456;
  const std::string directory = scratch.path + "/cache";
  REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
  REQUIRE(chown(directory.c_str(), 0, team) == 0);
  REQUIRE(chmod(directory.c_str(), 02770) == 0);
  CacheConfig config = configIn(directory);
  config.trust.group = team;
  auto asMember = [&](uid_t user, auto work) {
    return wait(start([&]() -> int {
      const gid_t groups[] = {team};
      if (setgroups(1, groups) != 0 || setgid(user) != 0 || setuid(user) != 0)
        return 98;
      umask(0077);
      return work();
    }));
  };
  CHECK(asMember(1001, [&] { return works(config, 1) ? 7 : 8; }) == 7);
  CHECK(modeOf(entryPath(directory, keyOf(1))) == 0660);
  CHECK(asMember(1002, [&] { return DiskCache(config).load(keyOf(1)) ? 7 : 8; }) == 7);
  CHECK(asMember(1002, [&] { return works(config, 1) ? 7 : 8; }) == 7);
  // Who does not name the group does not use it.
  CacheConfig plain = configIn(directory);
  CHECK(asMember(1002, [&] { return DiskCache(plain).load(keyOf(1)) ? 7 : 8; }) == 8);
  plain.trust.group = team + 1;
  CHECK(asMember(1002, [&] { return DiskCache(plain).load(keyOf(1)) ? 7 : 8; }) == 8);
}

TEST_CASE("The group is a name or a number of this machine") {
  setenv("FLYDSL_RUNTIME_CACHE_GROUP", "0", 1);
  CHECK(CacheConfig::fromEnvironment().trust.group == 0u);
  setenv("FLYDSL_RUNTIME_CACHE_GROUP", "root", 1);
  CHECK(CacheConfig::fromEnvironment().trust.group == 0u);
  setenv("FLYDSL_RUNTIME_CACHE_GROUP", "no such group", 1);
  CHECK_THROWS_WITH(CacheConfig::fromEnvironment(),
                    Catch::Contains("FLYDSL_RUNTIME_CACHE_GROUP=no such group"));
  unsetenv("FLYDSL_RUNTIME_CACHE_GROUP");
  CHECK_FALSE(CacheConfig::fromEnvironment().trust.group);
}
