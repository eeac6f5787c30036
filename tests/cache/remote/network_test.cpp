// The fleet's cache over TCP, and over TLS with certificates made for the test.
#include "redis_server.h"

#include "cache/remote/counters.h"
#include "cache/remote/remote_tier.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

using namespace flydsl;
using namespace flydsl::cache;
using namespace flydsl::cache::test;
using Catch::Contains;

namespace {

void run(const std::string &command) {
  if (std::system((command + " 2>/dev/null").c_str()) != 0)
    throw std::runtime_error(command);
}

/// A port that nobody listens on just now.
std::uint16_t freePort() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd, reinterpret_cast<sockaddr *>(&address), size) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size) != 0)
    throw std::runtime_error("no port");
  ::close(fd);
  return ntohs(address.sin_port);
}

/// An authority, and a server's certificate by it for the address 127.0.0.1 alone.
void makeCertificates(const std::string &in, const std::string &authority) {
  const std::string ca = in + "/" + authority;
  run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" +
      authority + " -keyout " + ca + ".key -out " + ca + ".pem");
  run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=cache -keyout " +
      ca + "-server.key -out " + ca + "-server.csr");
  run("printf 'subjectAltName=IP:127.0.0.1' > " + in + "/extensions");
  run("openssl x509 -req -days 2 -in " + ca + "-server.csr -CA " + ca + ".pem -CAkey " + ca +
      ".key -CAcreateserial -extfile " + in + "/extensions -out " + ca + "-server.pem");
}

bool shares(RemoteConfig config, std::uint64_t number) {
  RemoteTier one(config), two(config);
  const auto accept = [](const Blob &) { return std::string(); };
  one.store(RemoteTier::Kind::kernel, keyOf(number), blobOf(number, 200'000));
  const auto blob = two.load(RemoteTier::Kind::kernel, keyOf(number), accept);
  return blob && same(*blob, blobOf(number, 200'000));
}

/// A server that gives the same answer to everything.
class ParrotServer {
public:
  explicit ParrotServer(std::string answer) : answer_(std::move(answer)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket_, reinterpret_cast<sockaddr *>(&address), size) != 0 ||
        ::listen(socket_, 8) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr *>(&address), &size) != 0)
      throw std::runtime_error("no server");
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~ParrotServer() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  RemoteConfig config() const {
    RemoteConfig config;
    config.url.endpoint.host = "127.0.0.1";
    config.url.endpoint.port = port_;
    config.name = "parrot";
    config.timeout = std::chrono::milliseconds(2000);
    config.lease = std::chrono::milliseconds(400);
    return config;
  }

private:
  void serve() {
    std::vector<std::jthread> connections;
    for (int fd; (fd = ::accept(socket_, nullptr, nullptr)) >= 0;)
      connections.emplace_back([this, fd] {
        char bytes[65536]; // a command comes whole, because the client writes it at once
        while (::read(fd, bytes, sizeof bytes) > 0 &&
               ::send(fd, answer_.data(), answer_.size(), MSG_NOSIGNAL) > 0) {
        }
        ::close(fd);
      });
  }
  std::string answer_;
  int socket_;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

/// How long `count` kernels take that are asked for one after another, and made at once.
double secondsFor(RemoteTier &tier, int count) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    bool made = false;
    const auto number = static_cast<std::uint64_t>(i);
    const Blob blob = tier.loadOrMake(
        RemoteTier::Kind::kernel, keyOf(number), [](const Blob &) { return std::string(); },
        [&] { return blobOf(number); }, made);
    CHECK(made);
    CHECK(same(blob, blobOf(number)));
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

TEST_CASE("A server whose answers are not Redis's costs no time, and then it is left alone") {
  // Nil, an integer that no script gives, and a text where a number is due.
  for (const char *answer : {"$-1\r\n", ":7\r\n", ":-1\r\n"}) {
    INFO(answer);
    ParrotServer server(answer);
    RemoteTier tier(server.config());
    const auto failures = remoteCounters().failures.load(),
               skipped = remoteCounters().skipped.load();
    CHECK(secondsFor(tier, 20) < 0.4); // one lease's length
    CHECK(remoteCounters().failures - failures == 1);
    CHECK(remoteCounters().skipped - skipped > 10);
  }
}

TEST_CASE("A server that says of each kernel that another machine makes it costs one lease, not "
          "one a kernel") {
  ParrotServer server(":0\r\n");
  RemoteConfig config = server.config();
  config.timeout = std::chrono::milliseconds(200);
  RemoteTier tier(config);
  const double seconds = secondsFor(tier, 20);
  CHECK(seconds > 0.3); // the first one waited for that machine
  CHECK(seconds < 1.5);
}

TEST_CASE("By TCP a server is found by its address and by its name") {
  const std::uint16_t port = freePort();
  RedisServer server({"--port", std::to_string(port), "--bind", "127.0.0.1"});
  RemoteConfig config = server.config();
  std::uint64_t number = 0;
  for (const char *host : {"127.0.0.1", "localhost"}) {
    config.url.endpoint = {};
    config.url.endpoint.host = host;
    config.url.endpoint.port = port;
    CAPTURE(host);
    CHECK(shares(config, ++number));
  }
  CHECK(server.ask({"DBSIZE"}).number == 2);
}

TEST_CASE("TLS: the server must show a certificate for its name that is trusted") {
  const Scratch scratch;
  makeCertificates(scratch.path, "good");
  run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "
      "/CN=other -keyout " +
      scratch.path + "/other.key -out " + scratch.path + "/other.pem");
  const std::uint16_t port = freePort();
  RedisServer server({"--tls-port", std::to_string(port), "--tls-cert-file",
                      scratch.path + "/good-server.pem", "--tls-key-file",
                      scratch.path + "/good-server.key", "--tls-ca-cert-file",
                      scratch.path + "/good.pem", "--tls-auth-clients", "no"});
  RemoteConfig config = server.config();
  config.url.endpoint = {};
  config.url.endpoint.tls = true;
  config.url.endpoint.host = "127.0.0.1";
  config.url.endpoint.port = port;
  config.url.endpoint.caFile = scratch.path + "/good.pem";
  CHECK(shares(config, 1));

  // Each of these fails when it connects, and nothing is asked of the server.
  RemoteConfig wrong = config;
  wrong.url.endpoint.caFile = scratch.path + "/other.pem";
  CHECK_FALSE(shares(wrong, 2));
  wrong = config;
  wrong.url.endpoint.host = "localhost"; // the certificate is for the address
  CHECK_FALSE(shares(wrong, 3));
  wrong = config;
  wrong.url.endpoint.caFile.clear(); // the system trusts no authority of a test
  CHECK_FALSE(shares(wrong, 4));
  wrong = config;
  wrong.url.endpoint.tls = false; // what answers is no Redis without TLS
  CHECK_FALSE(shares(wrong, 5));
  CHECK(server.ask({"DBSIZE"}).number == 1);

  wrong = config;
  wrong.url.endpoint.caFile = scratch.path + "/none.pem";
  CHECK_THROWS_WITH(RemoteTier(wrong), Contains("none.pem") && Contains("can't be read"));
}
