// The fleet's cache over TCP, and over TLS with certificates made for the test.
#include "redis_server.h"

#include "cache/remote/counters.h"
#include "cache/remote/remote_tier.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <netinet/in.h>

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

} // namespace

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
