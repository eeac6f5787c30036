// Machines of a fleet, as processes with disks of their own that share a server: what is compiled,
// and how often. The compiler is one that makes a small object and writes down that it did.
#include "../cache/remote/redis_server.h"

#include "jit/compile/kernel_cache.h"

#include <flydsl/error.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fcntl.h>
#include <fstream>
#include <random>

using namespace flydsl;
using namespace flydsl::jit;
using cache::test::RedisServer;
using cache::test::Scratch;

namespace {

std::shared_ptr<const CodeObject> objectFor(std::uint64_t number, const char *target = "gfx942") {
  CodeObject object;
  object.target = target;
  KernelMetadata kernel;
  kernel.name = "k" + std::to_string(number);
  object.kernels = {kernel};
  object.bytes.assign(2000 + number, static_cast<std::uint8_t>(number));
  return std::make_shared<const CodeObject>(std::move(object));
}

/// A kernel as one of these machines gets it.
CachedKernel fetch(KernelCache &kernels, std::uint64_t number,
                   const std::function<void()> &compiles = {}) {
  return kernels.fetch(cache::test::keyOf(number), "k", Target::parse("gfx942"), [&] {
    if (compiles)
      compiles();
    return objectFor(number);
  });
}

} // namespace

TEST_CASE("8 machines that need the same 200 kernels compile each of them once") {
  constexpr std::uint64_t machines = 8, kernels = 200;
  RedisServer server;
  Scratch scratch;
  const std::string log = scratch.path + "/compiled";
  std::vector<pid_t> children;
  for (std::uint64_t m = 0; m < machines; ++m)
    children.push_back(cache::test::start([&, m] {
      cache::RemoteTier fleet(server.config());
      KernelCache mine(cache::test::configIn(scratch.path + "/disk" + std::to_string(m)), &fleet);
      std::vector<std::uint64_t> order(kernels);
      for (std::uint64_t n = 0; n < kernels; ++n)
        order[n] = n;
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(m / 2)));
      int wrong = 0;
      for (std::uint64_t n : order) {
        const CachedKernel got = fetch(mine, n, [&] {
          const int fd = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
          const std::string line = std::to_string(n) + "\n";
          if (::write(fd, line.data(), line.size()) < 0)
            _exit(9);
          ::close(fd);
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
        wrong += got.object->bytes != objectFor(n)->bytes;
      }
      const CacheStats stats = mine.stats();
      wrong += stats.compiles + stats.remoteHits != kernels;
      // All is on this machine's disk now.
      KernelCache again(cache::test::configIn(scratch.path + "/disk" + std::to_string(m)));
      for (std::uint64_t n = 0; n < kernels; ++n)
        wrong += fetch(again, n).tier != CacheTier::disk;
      return wrong ? 1 : 0;
    }));
  for (pid_t child : children)
    CHECK(cache::test::wait(child) == 0);
  std::vector<std::uint64_t> compiled;
  std::ifstream in(log);
  for (std::uint64_t n; in >> n;)
    compiled.push_back(n);
  std::sort(compiled.begin(), compiled.end());
  std::vector<std::uint64_t> once(kernels);
  for (std::uint64_t n = 0; n < kernels; ++n)
    once[n] = n;
  CHECK(compiled == once);
  CHECK(server.ask({"DBSIZE"}).number == static_cast<std::int64_t>(kernels)); // and no lease
}

TEST_CASE("What the fleet has is checked as what the disk has, and replaced") {
  RedisServer server;
  Scratch scratch;
  cache::RemoteTier fleet(server.config());
  const auto accept = [](const cache::Blob &) { return std::string(); };
  const auto kind = cache::RemoteTier::Kind::kernel;
  // Whole entries that are not what the call needs: for another target, and no metadata at all.
  const auto other = objectFor(1, "gfx950");
  const cache::Blob wrong[] = {{encodeMetadata(*other), other->bytes}, cache::test::blobOf(1)};
  int machine = 0;
  for (const cache::Blob &blob : wrong) {
    REQUIRE(fleet.store(kind, cache::test::keyOf(1), blob));
    KernelCache mine(cache::test::configIn(scratch.path + "/" + std::to_string(machine++)), &fleet);
    CHECK(fetch(mine, 1).tier == CacheTier::compiled);
    KernelCache next(cache::test::configIn(scratch.path + "/" + std::to_string(machine++)), &fleet);
    CHECK(fetch(next, 1).tier == CacheTier::remote);
    CHECK(fetch(next, 1).tier == CacheTier::memory);
  }
  CHECK(fleet.load(kind, cache::test::keyOf(1), accept));
}

TEST_CASE("With the disk off the fleet's cache works; run-only takes from it and names it") {
  RedisServer server;
  cache::RemoteTier fleet(server.config());
  cache::CacheConfig none;
  none.disk = false;
  KernelCache one(none, &fleet), two(none, &fleet);
  CHECK(fetch(one, 1).tier == CacheTier::compiled);
  CHECK(fetch(two, 1).tier == CacheTier::remote);
  none.runOnly = true;
  KernelCache runs(none, &fleet);
  CHECK(fetch(runs, 1).tier == CacheTier::remote);
  CHECK_THROWS_WITH(fetch(runs, 2),
                    Catch::Contains("RUN_ONLY") && Catch::Contains(fleet.config().name));
  CHECK(runs.stats().compiles == 0);
  CHECK(server.ask({"DBSIZE"}).number == 1); // run-only takes no lease
}
