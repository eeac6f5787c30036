// The configuration of the fleet's cache: its URL, its secrets, and what is refused.
#include "../scratch.h"

#include "cache/remote/breaker.h"
#include "cache/remote/remote_config.h"
#include "cache/remote/remote_tier.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sys/stat.h>

using namespace flydsl;
using namespace flydsl::cache;
using namespace flydsl::cache::test;
using Catch::Contains;

namespace {

struct Variable {
  Variable(const char *name, const std::string &value) : name(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name); }
  const char *name;
};

std::string fileWith(const Scratch &scratch, const std::string &text, mode_t mode) {
  static int count = 0;
  const std::string path = scratch.path + "/secret" + std::to_string(count++);
  std::ofstream(path) << text;
  chmod(path.c_str(), mode);
  return path;
}

constexpr const char *kUrl = "FLYDSL_RUNTIME_REMOTE_CACHE";
constexpr const char *kPassword = "FLYDSL_RUNTIME_REMOTE_CACHE_PASSWORD_FILE";
constexpr const char *kKey = "FLYDSL_RUNTIME_REMOTE_CACHE_KEY_FILE";

} // namespace

TEST_CASE("A URL names transport, host, port, user and database") {
  RemoteUrl url = parseRemoteUrl("redis://cache.example");
  CHECK(url.endpoint.host == "cache.example");
  CHECK(url.endpoint.port == 6379);
  CHECK_FALSE(url.endpoint.tls);
  CHECK(url.user.empty());
  CHECK(url.database == 0);
  url = parseRemoteUrl("rediss://engine@10.0.0.7:6380/12");
  CHECK(url.endpoint.tls);
  CHECK(url.endpoint.host == "10.0.0.7");
  CHECK(url.endpoint.port == 6380);
  CHECK(url.user == "engine");
  CHECK(url.database == 12);
  url = parseRemoteUrl("redis://[fe80::1]:7000/");
  CHECK(url.endpoint.host == "fe80::1");
  CHECK(url.endpoint.port == 7000);
  url = parseRemoteUrl("redis+unix:///run/redis/a@b.sock");
  CHECK(url.endpoint.socket == "/run/redis/a@b.sock");
  CHECK(parseRemoteUrl("redis+unix://me@/run/redis.sock").user == "me");
}

TEST_CASE("What is no URL of a cache is refused with what was expected") {
  const std::pair<const char *, const char *> wrong[] = {
      {"", "no URL of Redis"},
      {"http://cache", "no URL of Redis"},
      {"redis:/cache", "no URL of Redis"},
      {"REDIS://cache", "no URL of Redis"},
      {"redis://", "there is no host"},
      {"redis://:6379", "there is no host"},
      {"redis://ca/che", "the database is no number"},
      {"redis://cache/1/2", "the database is no number"},
      {"redis://cache/-1", "the database is no number"},
      {"redis://cache:", "port"},
      {"redis://cache:0", "port"},
      {"redis://cache:65536", "port"},
      {"redis://cache:6379x", "port"},
      {"redis://ca che", "spaces"},
      {"redis://cache?ssl=false", "parameters"},
      {"redis://cache#1", "fragments"},
      {"redis://c%61che", "escapes"},
      {"redis://[::1", "no ']'"},
      {"redis://[::1]6379", "after ']'"},
      {"redis://[1.2.3.4]", "no IPv6"},
      {"redis://@cache", "a user has"},
      {"redis+unix://run/redis.sock", "three slashes"},
      {"redis+unix:///", "three slashes"},
  };
  for (const auto &[text, why] : wrong) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parseRemoteUrl(text),
                      Contains(why) && Contains("expected redis://") && Contains(kUrl));
  }
}

TEST_CASE("A password in the URL is refused, and is not in the message") {
  for (const char *text : {"redis://:hunter2@cache", "rediss://me:hunter2@cache:6379/1",
                           "redis://me:hunter2@cache:port", "redis://me:hunter2@"}) {
    std::string message;
    try {
      parseRemoteUrl(text);
    } catch (const Error &error) {
      message = error.what();
    }
    CHECK_THAT(message, Contains(kPassword) && !Contains("hunter2"));
  }
}

TEST_CASE("A secret's file is refused where others could read or write it") {
  Scratch scratch;
  CHECK(readSecret(kPassword, fileWith(scratch, "word\n", 0600)) == "word");
  CHECK(readSecret(kPassword, fileWith(scratch, "a\nb", 0440)) == "a\nb");
  CHECK_THROWS_WITH(readSecret(kPassword, fileWith(scratch, "word", 0644)),
                    Contains(kPassword) && Contains("chmod o-r"));
  CHECK_THROWS_WITH(readSecret(kPassword, fileWith(scratch, "word", 0660)),
                    Contains("its group may write"));
  CHECK_THROWS_WITH(readSecret(kPassword, fileWith(scratch, "word", 0602)),
                    Contains("everybody may write"));
  CHECK_THROWS_WITH(readSecret(kPassword, fileWith(scratch, "\n", 0600)), Contains("empty"));
  CHECK_THROWS_WITH(readSecret(kPassword, fileWith(scratch, std::string(5000, 'x'), 0600)),
                    Contains(kPassword));
  CHECK_THROWS_WITH(readSecret(kPassword, scratch.path + "/none"), Contains("no such file"));
}

TEST_CASE("The environment gives the whole configuration, or an error that names the variable") {
  Scratch scratch;
  CHECK_FALSE(RemoteConfig::fromEnvironment());
  Variable url(kUrl, "rediss://engine@cache:1234/3");
  CHECK_THROWS_WITH(RemoteConfig::fromEnvironment(), Contains(kPassword));
  Variable password(kPassword, fileWith(scratch, "hunter2\n", 0400));
  Variable key(kKey, fileWith(scratch, "0123456789abcdef", 0400));
  Variable ca("FLYDSL_RUNTIME_REMOTE_CACHE_CA_FILE", "/etc/ca.pem");
  Variable prefix("FLYDSL_RUNTIME_REMOTE_CACHE_PREFIX", "team-a:v1");
  Variable ttl("FLYDSL_RUNTIME_REMOTE_CACHE_TTL", "60");
  Variable timeout("FLYDSL_RUNTIME_REMOTE_CACHE_TIMEOUT", "25");
  Variable lease("FLYDSL_RUNTIME_REMOTE_CACHE_LEASE", "7");
  Variable size("FLYDSL_RUNTIME_REMOTE_CACHE_ENTRY_SIZE", "1M");
  const RemoteConfig config = *RemoteConfig::fromEnvironment();
  CHECK(config.password == "hunter2");
  CHECK(config.signingKey.size() == 16);
  CHECK(config.url.endpoint.caFile == "/etc/ca.pem");
  CHECK(config.prefix == "team-a:v1");
  CHECK(config.timeToLive == std::chrono::seconds(60));
  CHECK(config.timeout == std::chrono::milliseconds(25));
  CHECK(config.lease == std::chrono::seconds(7));
  CHECK(config.mostBytes == 1 << 20);
  CHECK_THAT(config.name, !Contains("hunter2"));

  Variable plain(kUrl, "redis://cache");
  CHECK_THROWS_WITH(RemoteConfig::fromEnvironment(), Contains("CA_FILE") && Contains("rediss://"));
  Variable none("FLYDSL_RUNTIME_REMOTE_CACHE_CA_FILE", "");
  Variable shortKey(kKey, fileWith(scratch, "short", 0400));
  CHECK_THROWS_WITH(RemoteConfig::fromEnvironment(), Contains(kKey) && Contains("5 bytes"));
  Variable noKey(kKey, "");
  Variable braces("FLYDSL_RUNTIME_REMOTE_CACHE_PREFIX", "a{b}");
  CHECK_THROWS_WITH(RemoteConfig::fromEnvironment(), Contains("PREFIX") && Contains("letters"));
  Variable good("FLYDSL_RUNTIME_REMOTE_CACHE_PREFIX", "");
  Variable large("FLYDSL_RUNTIME_REMOTE_CACHE_ENTRY_SIZE", "1G");
  CHECK_THROWS_WITH(RemoteConfig::fromEnvironment(), Contains("ENTRY_SIZE"));
}

TEST_CASE("Without the library that speaks with Redis a configured server is refused") {
  RemoteConfig config;
  config.url = parseRemoteUrl("redis://cache");
  config.library = "/nowhere/libflydsl_redis.so";
  CHECK_THROWS_WITH(RemoteTier(config), Contains(kUrl) && Contains("libhiredis-dev") &&
                                            Contains("libssl-dev") && Contains(config.library));
  // A library that is another one.
  config.library = "libc.so.6";
  CHECK_THROWS_WITH(RemoteTier(config), Contains(kUrl));
}

TEST_CASE("The breaker opens at a failure, lets one probe through, and waits twice as long") {
  using std::chrono::milliseconds;
  Breaker breaker;
  const Breaker::Clock::time_point start{};
  const auto at = [&](int ms) { return start + milliseconds(ms); };
  const milliseconds patience(100);
  CHECK(breaker.allows(at(0), patience));
  CHECK(breaker.allows(at(0), patience));
  breaker.failed(at(0), at(10));
  CHECK_FALSE(breaker.closed());
  // The second request that was under way does not count again.
  breaker.failed(at(5), at(11));
  CHECK(breaker.pause() == Breaker::kFirstPause);
  CHECK_FALSE(breaker.allows(at(500), patience));
  CHECK(breaker.allows(at(1010), patience)); // the probe
  CHECK_FALSE(breaker.allows(at(1011), patience));
  breaker.failed(at(1010), at(1020));
  CHECK(breaker.pause() == 2 * Breaker::kFirstPause);
  CHECK_FALSE(breaker.allows(at(3000), patience));
  CHECK(breaker.allows(at(3020), patience));
  CHECK_FALSE(breaker.allows(at(3100), patience));
  CHECK(breaker.allows(at(3121), patience)); // the probe's thread is gone
  CHECK(breaker.succeeded());
  CHECK(breaker.closed());
  CHECK(breaker.allows(at(3122), patience));
  CHECK_FALSE(breaker.succeeded());
  int now = 4000;
  for (int i = 0; i < 10; ++i) {
    breaker.failed(at(now), at(now));
    now += 100'000;
  }
  CHECK(breaker.pause() == Breaker::kLongestPause);
}
