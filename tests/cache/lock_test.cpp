// Locks on file systems that misbehave, which functions of the C library in this program stand for.
#include "cache/file_lock.h"
#include "scratch.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

using namespace flydsl::cache;
using namespace flydsl::cache::test;

/// In the place of the C library's: files called so have no state, as after a server's restart.
extern "C" int stat(const char *path, struct stat *into) noexcept {
  if (std::strstr(path, "stale-handle")) {
    errno = ESTALE;
    return -1;
  }
  return fstatat(AT_FDCWD, path, into, 0);
}

TEST_CASE("A lock whose file can't be looked at is given up when the time is over, or when asked") {
  Scratch scratch;
  const std::string path = scratch.path + "/stale-handle";
  const auto start = std::chrono::steady_clock::now();
  const auto taken = [&] { return std::chrono::steady_clock::now() - start; };
  FileLock lock;
  CHECK(lock.acquire(path, std::chrono::milliseconds(200)) == FileLock::State::gaveUp);
  CHECK(taken() >= std::chrono::milliseconds(200));
  CHECK(taken() < std::chrono::seconds(20));
  int asked = 0;
  CHECK(lock.acquire(path, std::chrono::hours(1), [&] { return ++asked == 3; }) ==
        FileLock::State::gaveUp);
  CHECK(asked == 3);
  CHECK_FALSE(lock.held());
  CHECK(lock.acquire(scratch.path + "/lock", std::chrono::milliseconds(200)) ==
        FileLock::State::held);
}
