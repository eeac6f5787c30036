// Many processes on one cache directory.
#include "processes.h"
#include "scratch.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <thread>

using namespace flydsl;
using namespace flydsl::cache;
using namespace flydsl::cache::test;

namespace {

/// One line per call, appended atomically.
void note(const std::string &path, std::uint64_t number) {
  int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0666);
  std::string line = std::to_string(number) + "\n";
  if (::write(fd, line.data(), line.size()) < 0)
    _exit(9);
  ::close(fd);
}

std::vector<std::uint64_t> notes(const std::string &path) {
  std::vector<std::uint64_t> all;
  std::ifstream in(path);
  for (std::uint64_t number; in >> number;)
    all.push_back(number);
  return all;
}

} // namespace

TEST_CASE("16 processes x 100 kernels: each is made once, and all agree") {
  Scratch scratch;
  std::string log = scratch.path + "/made";
  constexpr std::uint64_t kernels = 100;
  std::vector<pid_t> children;
  for (unsigned p = 0; p < 16; ++p)
    children.push_back(start([&, p] {
      DiskCache cache(configIn(scratch.path + "/cache"));
      std::vector<std::uint64_t> order(kernels);
      for (std::uint64_t n = 0; n < kernels; ++n)
        order[n] = n;
      std::shuffle(order.begin(), order.end(), std::mt19937(p));
      int wrong = 0;
      for (std::uint64_t n : order) {
        bool made = false;
        Blob blob = cache.loadOrMake(
            keyOf(n), std::chrono::seconds(60),
            [&] {
              note(log, n);
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
              return blobOf(n);
            },
            made);
        wrong += !same(blob, blobOf(n));
      }
      return wrong;
    }));
  for (pid_t child : children)
    CHECK(wait(child) == 0);
  std::vector<std::uint64_t> made = notes(log);
  std::sort(made.begin(), made.end());
  std::vector<std::uint64_t> once(kernels);
  for (std::uint64_t n = 0; n < kernels; ++n)
    once[n] = n;
  CHECK(made == once);
  CHECK(listEntries(scratch.path + "/cache").size() == kernels);
  std::size_t locks = 0;
  for (const auto &item : std::filesystem::recursive_directory_iterator(scratch.path + "/cache"))
    locks += item.path().extension() == ".lock";
  CHECK(locks == 0);
}

TEST_CASE("Writers killed at random moments, a thousand times: nothing bad is ever served") {
  Scratch scratch;
  CacheConfig config = configIn(scratch.path + "/cache");
  std::mt19937 random(42);
  DiskCache reader(config);
  int served = 0;
  for (int round = 0; round < 1000; ++round) {
    // Moments count from the start of the work, in every second round from its first entry: a
    // machine that is busy may run the process late.
    int begun[2];
    REQUIRE(::pipe(begun) == 0);
    const pid_t child = start([&]() -> int {
      const auto tell = [&] { return ::write(begun[1], "x", 1) == 1; };
      if (round % 2 == 0 && !tell())
        return 1;
      DiskCache cache(config);
      for (std::uint64_t n = 0;; n = (n + 1) % 8) {
        bool made = false;
        ::unlink(entryPath(config.directory, keyOf(n)).c_str());
        cache.loadOrMake(keyOf(n), std::chrono::seconds(5), [&] { return blobOf(n, 20000); }, made);
        if (n == 0 && round % 2 == 1 && !tell())
          return 1;
      }
    });
    ::close(begun[1]);
    char byte;
    REQUIRE(::read(begun[0], &byte, 1) == 1);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    kill(child, SIGKILL);
    CHECK(wait(child) == 1000 + SIGKILL);
    ::close(begun[0]);
    for (std::uint64_t n = 0; n < 8; ++n)
      if (auto blob = reader.load(keyOf(n))) {
        ++served;
        if (!same(*blob, blobOf(n, 20000)))
          FAIL("round " << round << ", key " << n);
      }
  }
  CHECK(served > 0);
  // Whatever the dead left, the next one gets the lock at once.
  auto before = std::chrono::steady_clock::now();
  bool made = false;
  DiskCache(config).loadOrMake(
      keyOf(77), std::chrono::seconds(60), [] { return blobOf(77); }, made);
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(5));
}

TEST_CASE("A dead owner does not block; a stuck one only until the time-out") {
  Scratch scratch;
  CacheConfig config = configIn(scratch.path);
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  pid_t owner = start([&]() -> int {
    bool made;
    DiskCache(config).loadOrMake(
        keyOf(1), std::chrono::seconds(1),
        [&]() -> Blob {
          if (::write(pipe[1], "x", 1) != 1)
            _exit(9);
          pause();
          return {};
        },
        made);
    return 0;
  });
  char byte;
  REQUIRE(::read(pipe[0], &byte, 1) == 1);
  DiskCache cache(config);
  bool made = false;
  auto before = std::chrono::steady_clock::now();
  cache.loadOrMake(keyOf(1), std::chrono::milliseconds(300), [] { return blobOf(1); }, made);
  CHECK(made); // the owner is stuck: this process went ahead
  CHECK(std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(300));
  ::unlink(entryPath(scratch.path, keyOf(1)).c_str());
  kill(owner, SIGKILL);
  wait(owner);
  before = std::chrono::steady_clock::now();
  cache.loadOrMake(keyOf(1), std::chrono::seconds(60), [] { return blobOf(1); }, made);
  CHECK(made);
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(10));
  ::close(pipe[0]);
  ::close(pipe[1]);
}
