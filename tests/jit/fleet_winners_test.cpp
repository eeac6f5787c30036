// Winners of autotuning that machines share by a server.
#include "../cache/remote/redis_server.h"

#include "cache/remote/counters.h"
#include "jit/autotune/winners.h"

#include <flydsl/error.h>

#include <atomic>
#include <catch2/catch.hpp>

using namespace flydsl;
using namespace flydsl::jit;
using cache::test::RedisServer;

namespace {

const std::vector<Config> kConfigs = {Config({{"block", 64}}), Config({{"block", 128}})};

WinnerIdentity identityOf(const std::string &name) {
  return {name, Config({{"n", 1024}}), "a GPU", "gfx942", 304, "this build"};
}

AutotuneResult found(const Config &config) {
  AutotuneResult result;
  result.config = config;
  result.milliseconds = 0.5;
  return result;
}

/// The one name of a winner on the server.
std::string nameOn(const RedisServer &server) {
  REQUIRE(server.ask({"DBSIZE"}).number == 1);
  return server.ask({"RANDOMKEY"}).text;
}

} // namespace

TEST_CASE("One machine searches, the others take its winner") {
  RedisServer server;
  cache::RemoteTier one(server.config()), two(server.config());
  CHECK_FALSE(loadSharedWinner(one, identityOf("product"), kConfigs));
  std::atomic<int> searches{0}, taken{0};
  const auto search = [&] {
    ++searches;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return found(kConfigs[1]);
  };
  std::vector<std::thread> threads;
  for (cache::RemoteTier *tier : {&one, &two, &one, &two})
    threads.emplace_back([&, tier] {
      const auto theirs = searchOnce(*tier, identityOf("product"), kConfigs, search);
      taken += theirs && *theirs == kConfigs[1];
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(searches == 1);
  CHECK(taken == 3);
  CHECK(loadSharedWinner(two, identityOf("product"), kConfigs) == kConfigs[1]);
  // Whatever differs in the identity is another problem.
  WinnerIdentity other = identityOf("product");
  other.library = "another build";
  CHECK_FALSE(loadSharedWinner(two, other, kConfigs));
  CHECK_FALSE(loadSharedWinner(two, identityOf("norm"), kConfigs));
  // FLYDSL_AUTOTUNE=1 replaces what is there.
  storeSharedWinner(one, identityOf("product"), found(kConfigs[0]));
  CHECK(loadSharedWinner(two, identityOf("product"), kConfigs) == kConfigs[0]);
}

TEST_CASE("A winner that is for something else, or that nobody offers, is searched for again") {
  RedisServer server;
  cache::RemoteTier fleet(server.config());
  storeSharedWinner(fleet, identityOf("product"), found(kConfigs[0]));
  const std::string name = nameOn(server);
  const std::string key = name.substr(name.find('{') + 1, 32);
  const auto entry = [&](const std::string &text) {
    const cache::Bytes bytes =
        cache::encodeEntry(*cache::Key::fromHex(key), {{text.begin(), text.end()}, {}});
    return std::string(bytes.begin(), bytes.end());
  };
  const std::string start = R"({"identity": {"name": "product", "key": {"n": 1024}, )"
                            R"("device": "a GPU", "arch": "gfx942", "compute_units": 304, )"
                            R"("library": "this build"}, )";
  server.ask({"SET", name, entry(start + R"("config": {"block": 64}, "milliseconds": 1})")});
  REQUIRE(loadSharedWinner(fleet, identityOf("product"), kConfigs) == kConfigs[0]);
  for (const std::string &text :
       {start + R"("config": {"block": 96}, "milliseconds": 1})", start + R"("config": [1]})",
        std::string(R"({"identity": {"name": "norm"}, "config": {"block": 64}})"), std::string("{"),
        std::string(100'000, '['), std::string(2 << 20, ' '), std::string()}) {
    CAPTURE(text.substr(0, 300));
    server.ask({"SET", name, entry(text)});
    const std::uint64_t before = cache::remoteCounters().rejected;
    CHECK_FALSE(loadSharedWinner(fleet, identityOf("product"), kConfigs));
    CHECK(cache::remoteCounters().rejected == before + 1);
    CHECK_FALSE(
        searchOnce(fleet, identityOf("product"), kConfigs, [] { return found(kConfigs[1]); }));
    CHECK(loadSharedWinner(fleet, identityOf("product"), kConfigs) == kConfigs[1]);
  }
}
