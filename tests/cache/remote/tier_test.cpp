// The fleet's cache on a real Redis: entries, leases, garbage, a full server, and one that is gone.
#include "mute_server.h"
#include "redis_server.h"

#include "cache/remote/counters.h"
#include "cache/remote/remote_tier.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>
#include <random>

using namespace flydsl;
using namespace flydsl::cache;
using namespace flydsl::cache::test;
using Catch::Contains;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kKernel = RemoteTier::Kind::kernel;

std::string acceptAll(const Blob &) { return {}; }

std::string nameOf(std::uint64_t number, const std::string &suffix = "plain") {
  return "flydsl:kernel:{" + keyOf(number).hex() + "}:" + suffix;
}

/// Asks a tier for an entry, which `make` makes.
Blob makeBy(RemoteTier &tier, std::uint64_t number, const std::function<Blob()> &make) {
  bool ignored = false;
  return tier.loadOrMake(kKernel, keyOf(number), acceptAll, make, ignored);
}

/// Asks a tier for an entry. Returns whether it made it; fails if the entry is not the right one.
bool made(RemoteTier &tier, std::uint64_t number, milliseconds takes = milliseconds(0),
          std::size_t bytes = 600) {
  bool madeHere = false;
  const Blob blob = tier.loadOrMake(
      kKernel, keyOf(number), acceptAll,
      [&] {
        std::this_thread::sleep_for(takes);
        return blobOf(number, bytes);
      },
      madeHere);
  if (!same(blob, blobOf(number, bytes)))
    throw std::runtime_error("a wrong entry");
  return madeHere;
}

bool has(RemoteTier &tier, std::uint64_t number) {
  const auto blob = tier.load(kKernel, keyOf(number), acceptAll);
  return blob && same(*blob, blobOf(number));
}

milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start);
}

/// What was counted since this object was made.
struct Counted {
  std::uint64_t hits, misses, stores, rejected, failures, skipped;
  static Counted now() {
    const RemoteCounters &c = remoteCounters();
    return {c.hits, c.misses, c.stores, c.rejected, c.failures, c.skipped};
  }
  Counted since() const {
    const Counted n = now();
    return {n.hits - hits,         n.misses - misses,     n.stores - stores,
            n.rejected - rejected, n.failures - failures, n.skipped - skipped};
  }
};

} // namespace

TEST_CASE("What one machine made another loads, for as long as it lives") {
  RedisServer server;
  RemoteConfig config = server.config();
  config.timeToLive = std::chrono::seconds(100);
  RemoteTier one(config), two(config);
  const Counted before = Counted::now();
  CHECK_FALSE(has(two, 1));
  CHECK(made(one, 1));
  CHECK(has(two, 1));
  CHECK_FALSE(made(two, 1));
  const Counted counted = before.since();
  CHECK(counted.hits == 2);
  CHECK(counted.misses == 2);
  CHECK(counted.stores == 1);
  CHECK(counted.failures == 0);
  const std::int64_t lives = server.ask({"PTTL", nameOf(1)}).number;
  CHECK(lives > 90'000);
  CHECK(lives <= 100'000);
  // No lease is left, and another kind, prefix or database has names of its own.
  CHECK(server.ask({"DBSIZE"}).number == 1);
  CHECK_FALSE(one.load(RemoteTier::Kind::winner, keyOf(1), acceptAll));
  config.prefix = "other";
  config.timeToLive = std::chrono::seconds(0);
  RemoteTier other(config);
  CHECK_FALSE(has(other, 1));
  CHECK(other.store(kKernel, keyOf(1), blobOf(1)));
  CHECK(has(other, 1));
  CHECK(server.ask({"PTTL", "other" + nameOf(1).substr(6)}).number == -1);
  config.url.database = 5;
  RemoteTier fifth(config);
  CHECK_FALSE(has(fifth, 1));
}

TEST_CASE("Machines that need one entry at once make it once") {
  RedisServer server;
  RemoteTier one(server.config()), two(server.config());
  std::atomic<int> makers{0};
  std::vector<std::thread> threads;
  for (RemoteTier *tier : {&one, &two, &one, &two})
    threads.emplace_back([&, tier] { makers += made(*tier, 1, milliseconds(50)); });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(makers == 1);
}

TEST_CASE("A maker that fails gives its lease back; one that is dead holds it until it ends") {
  RedisServer server;
  RemoteConfig config = server.config();
  config.timeout = milliseconds(400);
  RemoteTier one(config), two(config);
  CHECK_THROWS_WITH(makeBy(one, 1, []() -> Blob { throw std::runtime_error("no"); }), "no");
  Clock::time_point start = Clock::now();
  CHECK(made(two, 1)); // the lease of a kernel is 30 s here
  CHECK(since(start) < std::chrono::seconds(10));

  // The lease of a dead machine.
  config.lease = milliseconds(300);
  RemoteTier three(config);
  server.ask({"SET", nameOf(2, "plain:lease"), "a dead machine", "PX", "300"});
  start = Clock::now();
  CHECK(made(three, 2));
  CHECK(since(start) >= milliseconds(200));
  CHECK(has(two, 2));
  // One that is never given back is waited for no longer than a lease lasts.
  server.ask({"SET", nameOf(3, "plain:lease"), "a stuck machine"});
  start = Clock::now();
  CHECK(made(three, 3));
  CHECK(since(start) >= milliseconds(300));
  CHECK_FALSE(has(two, 3)); // who has no lease stores nothing
}

TEST_CASE("Who lost its lease writes nothing over another machine's entry") {
  RedisServer server;
  RemoteConfig config = server.config();
  config.lease = milliseconds(100);
  RemoteTier slow(config), fast(config);
  const Counted before = Counted::now();
  makeBy(slow, 1, [&] {
    server.ask({"DEL", nameOf(1, "plain:lease")});  // as if it had ended
    std::this_thread::sleep_for(milliseconds(150)); // longer than a lease
    CHECK(made(fast, 1));
    return blobOf(7); // what it would write
  });
  CHECK(has(fast, 1));
  CHECK(before.since().stores == 1);
  // While another machine holds the lease, too.
  makeBy(slow, 2, [&] {
    server.ask({"SET", nameOf(2, "plain:lease"), "another machine"});
    return blobOf(7);
  });
  CHECK(server.ask({"EXISTS", nameOf(2)}).number == 0);
  CHECK(server.ask({"GET", nameOf(2, "plain:lease")}).text == "another machine");
  // If nobody took the lease over, what took long is stored.
  makeBy(slow, 3, [&] {
    server.ask({"DEL", nameOf(3, "plain:lease")});
    return blobOf(3);
  });
  CHECK(has(fast, 3));
}

TEST_CASE("A lease is renewed while what takes longer than it is made") {
  RedisServer server;
  RemoteConfig config = server.config();
  config.lease = milliseconds(900);
  RemoteTier slow(config);
  const std::string lease = nameOf(1, "plain:lease");
  makeBy(slow, 1, [&] {
    const std::string token = server.ask({"GET", lease}).text;
    CHECK_FALSE(token.empty());
    std::this_thread::sleep_for(milliseconds(1300)); // longer than the lease
    CHECK(server.ask({"GET", lease}).text == token);
    return blobOf(1);
  });
  CHECK(has(slow, 1));
  CHECK(server.ask({"EXISTS", lease}).number == 0);
  // What another machine has is not renewed, and not taken back.
  makeBy(slow, 2, [&] {
    server.ask({"SET", nameOf(2, "plain:lease"), "another machine", "PX", "100000"});
    std::this_thread::sleep_for(milliseconds(450)); // one renewal at least
    return blobOf(2);
  });
  CHECK(server.ask({"GET", nameOf(2, "plain:lease")}).text == "another machine");
  CHECK(server.ask({"PTTL", nameOf(2, "plain:lease")}).number > 90'000);
}

TEST_CASE("Garbage in place of an entry is a miss, is counted, and is replaced") {
  RedisServer server;
  RemoteConfig config = server.config();
  config.mostBytes = 100'000;
  RemoteTier tier(config);
  const Bytes good = encodeEntry(keyOf(1), blobOf(1));
  const std::string whole(good.begin(), good.end());
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  const Bytes foreign = encodeEntry(keyOf(2), blobOf(2));
  const std::pair<const char *, std::string> all[] = {
      {"one byte", "x"},
      {"no entry", std::string(500, 'g')},
      {"truncated", whole.substr(0, whole.size() - 1)},
      {"a bit flipped", flipped},
      {"longer", whole + "x"},
      {"another key's", std::string(foreign.begin(), foreign.end())},
      {"huge", std::string(1 << 20, 'h')},
  };
  for (const auto &[name, bytes] : all) {
    CAPTURE(name);
    server.ask({"SET", nameOf(1), bytes});
    Counted before = Counted::now();
    CHECK_FALSE(has(tier, 1));
    CHECK(before.since().rejected == 1);
    before = Counted::now();
    CHECK(made(tier, 1));
    CHECK(before.since().rejected == 1);
    CHECK(before.since().stores == 1);
    CHECK(has(tier, 1));
  }
  // What the caller refuses is replaced as well.
  bool madeHere = false;
  const auto refuse = [](const Blob &blob) {
    return same(blob, blobOf(1)) ? std::string("it is for another target") : std::string();
  };
  tier.loadOrMake(kKernel, keyOf(1), refuse, [] { return blobOf(5); }, madeHere);
  CHECK(madeHere);
  CHECK(same(*tier.load(kKernel, keyOf(1), refuse), blobOf(5)));
  // A list is no entry: an error of the server's, which costs the sharing of this one kernel.
  server.ask({"DEL", nameOf(1)});
  server.ask({"LPUSH", nameOf(1), "x"});
  const Counted before = Counted::now();
  CHECK(made(tier, 1));
  CHECK(before.since().failures == 1);
  CHECK(before.since().stores == 0);
  CHECK(made(tier, 9)); // the breaker is for servers that do not answer
  CHECK(has(tier, 9));
}

TEST_CASE("An entry over the limit is not stored, and blocks nobody") {
  RedisServer server;
  RemoteConfig config = server.config();
  config.mostBytes = 300;
  RemoteTier small(config);
  CHECK(made(small, 1));
  CHECK(server.ask({"DBSIZE"}).number == 0);
  CHECK_FALSE(small.store(kKernel, keyOf(1), blobOf(1)));
}

TEST_CASE("With a key, only entries that were signed with it are taken") {
  RedisServer server;
  RemoteConfig config = server.config();
  RemoteTier plain(config);
  config.signingKey.assign(32, 7);
  RemoteTier one(config), two(config);
  config.signingKey.assign(32, 8);
  RemoteTier other(config);
  CHECK(made(one, 1));
  CHECK(has(two, 1));
  CHECK_FALSE(made(two, 1));
  CHECK_FALSE(has(plain, 1));
  CHECK_FALSE(has(other, 1));
  // The one name on the server tells the suffix of this key's entries.
  const std::string suffix = [&] {
    const std::string name = server.ask({"RANDOMKEY"}).text;
    return name.substr(name.rfind(':') + 1);
  }();
  CHECK_THAT(suffix, Catch::StartsWith("signed-"));
  const std::string good = server.ask({"GET", nameOf(1, suffix)}).text;

  // What somebody writes who has the server and not the key: good entries without a signature, with
  // a wrong one, with that of another key, and with the signature of another entry.
  const Bytes unsignedEntry = encodeEntry(keyOf(2), blobOf(2));
  const std::string bare(unsignedEntry.begin(), unsignedEntry.end());
  CHECK(made(other, 2));
  const std::string othersName = [&] {
    std::string name;
    do
      name = server.ask({"RANDOMKEY"}).text;
    while (name == nameOf(1, suffix));
    return name;
  }();
  const std::string others = server.ask({"GET", othersName}).text;
  REQUIRE(others.size() == bare.size() + 32);
  for (const std::string &forged : {bare, bare + std::string(32, '\0'), others, good,
                                    bare + good.substr(good.size() - 32), std::string("short")}) {
    server.ask({"SET", nameOf(2, suffix), forged});
    const Counted before = Counted::now();
    CHECK_FALSE(has(one, 2));
    CHECK(made(one, 2));
    CHECK(before.since().rejected == 2);
    CHECK(has(two, 2));
  }
}

TEST_CASE("The signature is RFC 4231's HMAC-SHA256") {
  RedisServer server;
  const auto client = loadRemoteClient(server.endpoint, {});
  const std::string_view key = "Jefe"; // test case 2
  const std::string_view pieces[] = {"what do ya want ", "", "for nothing?"};
  const Signature signature =
      client->sign({reinterpret_cast<const std::uint8_t *>(key.data()), key.size()}, pieces);
  std::string hex;
  for (std::uint8_t byte : signature) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  CHECK(hex == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST_CASE("A full server still gives what it has, and costs no waiting") {
  RedisServer server({"--maxmemory", "2mb", "--maxmemory-policy", "noeviction"});
  RemoteTier tier(server.config());
  CHECK(made(tier, 1));
  const std::string filler(1 << 16, 'f');
  for (int i = 0; i < 200; ++i)
    if (server.ask({"SET", "filler" + std::to_string(i), filler}).kind == Reply::Kind::error)
      break;
  REQUIRE_THAT(server.ask({"SET", "more", filler}).text, Contains("OOM"));
  // Below what is used, so that buffers which the server frees later make no room.
  server.ask({"CONFIG", "SET", "maxmemory", "1mb"});
  const Counted before = Counted::now();
  const auto start = Clock::now();
  CHECK_FALSE(made(tier, 1));
  for (std::uint64_t n = 2; n < 20; ++n)
    CHECK(made(tier, n));
  CHECK(since(start) < std::chrono::seconds(10));
  CHECK(before.since().hits == 1);
  CHECK(before.since().failures == 18);
  CHECK(before.since().stores == 0);
  CHECK(before.since().skipped == 0);
  server.ask({"CONFIG", "SET", "maxmemory", "100mb"});
  CHECK(made(tier, 30));
  CHECK(has(tier, 30));
}

TEST_CASE("A server that is killed in the middle is done without, and found again") {
  RedisServer server;
  RemoteConfig config = server.config();
  config.timeout = milliseconds(500);
  RemoteTier tier(config);
  std::atomic<std::uint64_t> done{0};
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  const auto start = Clock::now();
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t n = 0; n < 200; ++n, ++done)
        try {
          made(tier, (n * 7 + t) % 50);
        } catch (const std::exception &) {
          ++wrong;
        }
    });
  while (done < 300)
    std::this_thread::yield();
  server.kill();
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(since(start) < std::chrono::seconds(20));
  const Counted before = Counted::now();
  CHECK(made(tier, 100));
  CHECK(before.since().failures + before.since().skipped >= 1);
  server.start();
  // The breaker's first pause is a second; a failed probe doubles it.
  const auto end = Clock::now() + std::chrono::seconds(10);
  while (!tier.store(kKernel, keyOf(100), blobOf(100)) && Clock::now() < end)
    std::this_thread::sleep_for(milliseconds(20));
  CHECK(has(tier, 100));
}

TEST_CASE("A server that takes connections and answers nothing costs its time-out once") {
  TimeLimit limit(60);
  MuteServer mute;
  RemoteConfig config;
  config.url.endpoint.socket = mute.path;
  config.name = "redis+unix://mute";
  config.timeout = milliseconds(100);
  RemoteTier tier(config);
  const Counted before = Counted::now();
  const auto start = Clock::now();
  for (std::uint64_t n = 0; n < 50; ++n)
    CHECK(made(tier, n));
  // 50 kernels, 50 looks and 50 stores: only the first look waits. A busy machine may take long.
  CHECK(since(start) >= milliseconds(95));
  CHECK(since(start) < milliseconds(2000));
  const Counted counted = before.since();
  CHECK(counted.failures == 1 + static_cast<std::uint64_t>(mute.connections - 1));
  CHECK(counted.failures <= 2); // a probe after a second
  CHECK(counted.skipped >= 48);
}

TEST_CASE("A server that stops answering in the middle of its work costs its time-out once") {
  TimeLimit limit(60);
  RedisServer server;
  RemoteConfig config = server.config();
  config.timeout = milliseconds(200);
  RemoteTier tier(config);
  CHECK(made(tier, 1));
  server.stop();
  const Counted before = Counted::now();
  const auto start = Clock::now();
  for (std::uint64_t n = 2; n < 30; ++n)
    CHECK(made(tier, n));
  CHECK(since(start) < milliseconds(3000));
  CHECK(before.since().failures <= 2);
  server.go();
}

TEST_CASE("What a false server answers is never believed, and never waited for") {
  TimeLimit limit(60);
  const std::string answers[] = {
      "HTTP/1.1 400 Bad Request\r\n\r\n",
      "*2147483647\r\n",                // an array of 16 GB of pointers
      "*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", // arrays in arrays
      "$2147483647\r\n",                // a text that does not come
      "$-2\r\n",
      ":12345678901234567890123456789\r\n",
      "%1\r\n+a\r\n+b\r\n",
      ",1.5\r\n",
      "#t\r\n",       // types of RESP3
      ":1\r\n:1\r\n", // more than was asked
      "$3\r\nabcdef\r\n",
      std::string("\0\0\0\0", 4),
      "",
  };
  for (const std::string &answer : answers) {
    CAPTURE(answer);
    MuteServer server([&](int socket) {
      if (answer.empty())
        ::shutdown(socket, SHUT_RDWR);
      else
        (void)::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL);
    });
    RemoteConfig config;
    config.url.endpoint.socket = server.path;
    config.name = "redis+unix://false";
    config.timeout = milliseconds(50);
    RemoteTier tier(config);
    const Counted before = Counted::now();
    CHECK(made(tier, 1));
    CHECK(before.since().failures == 1);
    CHECK(before.since().hits == 0);
  }
  // More bytes than were asked for, without end.
  const std::string chunk(1 << 16, 'x');
  MuteServer endless([&](int socket) {
    (void)::send(socket, "$100000000\r\n", 12, MSG_NOSIGNAL);
    for (int i = 0; i < 1000; ++i)
      if (::send(socket, chunk.data(), chunk.size(), MSG_NOSIGNAL) < 0)
        return;
  });
  RemoteConfig config;
  config.url.endpoint.socket = endless.path;
  config.name = "redis+unix://endless";
  config.mostBytes = 1 << 20;
  RemoteTier tier(config);
  CHECK(made(tier, 1));
  // One byte at a time is no way to hold a launch up.
  MuteServer drips([&](int socket) {
    for (int i = 0; i < 100; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
      if (::send(socket, i ? "0" : ":", 1, MSG_NOSIGNAL) < 0)
        return;
    }
  });
  config.url.endpoint.socket = drips.path;
  config.timeout = milliseconds(100);
  RemoteTier slow(config);
  const auto start = Clock::now();
  CHECK(made(slow, 1));
  CHECK(since(start) < milliseconds(800));
}

TEST_CASE("Answers in which bytes were changed at random are answers or errors, and nothing else") {
  TimeLimit limit(60);
  std::mt19937 random(7);
  const Bytes entry = encodeEntry(keyOf(1), blobOf(1));
  const std::string bases[] = {"$" + std::to_string(entry.size()) + "\r\n" +
                                   std::string(entry.begin(), entry.end()) + "\r\n",
                               ":1\r\n",
                               "-OOM command not allowed\r\n",
                               "$-1\r\n",
                               "+OK\r\n",
                               "*2\r\n:1\r\n$1\r\nx\r\n"};
  const std::string_view alphabet = "$*+-:%,#_~\r\n0123456789x";
  std::mutex mutex;
  std::string told; // guarded by the mutex
  MuteServer server([&](int socket) {
    std::lock_guard lock(mutex);
    (void)::send(socket, told.data(), told.size(), MSG_NOSIGNAL);
    ::shutdown(socket, SHUT_WR); // so that nobody waits for what does not come
  });
  Endpoint endpoint;
  endpoint.socket = server.path;
  const auto client = loadRemoteClient(endpoint, {});
  int answers = 0, errors = 0;
  for (int i = 0; i < 600; ++i) {
    std::string answer = bases[random() % std::size(bases)];
    for (auto changes = random() % 3; changes--;) {
      // Most changes are near the start, where the protocol is.
      const std::size_t at = random() % std::min<std::size_t>(answer.size() + 1, 12);
      const char byte =
          random() % 4 ? alphabet[random() % alphabet.size()] : static_cast<char>(random() % 256);
      switch (random() % 3) {
      case 0:
        answer.insert(at, 1, byte);
        break;
      case 1:
        answer.resize(random() % (answer.size() + 1));
        break;
      default:
        answer.replace(std::min(at, answer.size()), 1, 1, byte);
      }
    }
    {
      std::lock_guard lock(mutex);
      told = answer;
    }
    const auto deadline = Clock::now() + std::chrono::seconds(5);
    const std::string_view words[] = {"GET", "x"};
    try {
      (void)client->connect(deadline)->request(words, 1 << 20, deadline);
      ++answers;
    } catch (const std::runtime_error &) {
      ++errors;
    }
  }
  CHECK(answers > 50);
  CHECK(errors > 50);
}

TEST_CASE("No server at all, no host of that name, and a path that is no socket") {
  TimeLimit limit(60);
  const Scratch scratch;
  RemoteConfig config;
  config.name = "none";
  config.timeout = milliseconds(200);
  for (int i = 0; i < 4; ++i) {
    config.url.endpoint = {};
    if (i == 0)
      config.url.endpoint.socket = scratch.path + "/none.sock";
    if (i == 1)
      config.url.endpoint.socket = scratch.path + "/" + std::string(200, 'x');
    if (i == 2)
      config.url.endpoint.host = "no-such-host.invalid"; // RFC 6761
    if (i == 3) {
      config.url.endpoint.host = "127.0.0.1";
      config.url.endpoint.port = 1;
    }
    RemoteTier tier(config);
    const auto start = Clock::now();
    const Counted before = Counted::now();
    CHECK(made(tier, 1));
    CHECK(made(tier, 2));
    CHECK(before.since().failures == 1);
    CHECK(since(start) < milliseconds(1500));
  }
}

TEST_CASE(
    "A server with passwords takes the right one; a wrong one is a server that is not there") {
  RedisServer server({"--requirepass", "open sesame"});
  RemoteConfig config = server.config();
  config.password = "open sesame";
  RemoteTier right(config);
  CHECK(made(right, 1));
  CHECK(has(right, 1));
  config.url.user = "default";
  RemoteTier named(config);
  CHECK(has(named, 1));
  config.password = "wrong";
  RemoteTier wrong(config);
  const Counted before = Counted::now();
  CHECK(made(wrong, 2));
  CHECK(made(wrong, 3));
  CHECK(before.since().failures == 1);
  config.url.user.clear();
  config.password.clear();
  RemoteTier none(config);
  CHECK(made(none, 2)); // NOAUTH is an answer
  CHECK_FALSE(has(right, 2));
}

TEST_CASE("A connection that the server closed is made anew") {
  RedisServer server;
  RemoteTier tier(server.config());
  CHECK(made(tier, 1));
  const Counted before = Counted::now();
  // The tier's connection waits for its next request; this kills all but the asking one.
  server.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  CHECK(has(tier, 1));
  CHECK(before.since().failures == 0);
}
