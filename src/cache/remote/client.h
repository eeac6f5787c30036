// What the fleet's cache asks of the library that speaks with the server. That library is a file of
// its own, loaded when a server is configured, so that a program without one needs neither a client
// of Redis nor OpenSSL.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace flydsl::cache {

using Deadline = std::chrono::steady_clock::time_point;

/// The place of a server.
struct Endpoint {
  bool tls = false;
  std::string socket; ///< the path of a Unix socket; empty: host and port
  std::string host;
  std::uint16_t port = 6379;
  std::string caFile; ///< with tls: the certificates to trust; empty: the system's
};

/// What a server answers to one command.
struct Reply {
  enum class Kind { text, number, nothing, error };
  Kind kind = Kind::nothing;
  std::string text; ///< of `text` and `error`
  std::int64_t number = 0;
};

/// A connection. One thread at a time uses it. Its destructor tells the server nothing, so that a
/// forked child may destroy its copy of a connection of its parent's.
class RemoteConnection {
public:
  virtual ~RemoteConnection() = default;
  /// Sends one command and waits for its answer. Throws std::runtime_error if the answer is not
  /// whole at the deadline, has more than `mostBytes`, is an array or is not of the protocol. The
  /// connection is of no use after that.
  virtual Reply request(std::span<const std::string_view> words, std::size_t mostBytes,
                        Deadline deadline) = 0;
};

using Signature = std::array<std::uint8_t, 32>;

/// A client of one server. Any thread may use it.
class RemoteClient {
public:
  virtual ~RemoteClient() = default;
  /// Throws std::runtime_error if there is no connection at the deadline.
  virtual std::unique_ptr<RemoteConnection> connect(Deadline deadline) = 0;
  /// HMAC-SHA256 (RFC 2104) of the pieces, one behind the other. Throws std::runtime_error.
  virtual Signature sign(std::span<const std::uint8_t> key,
                         std::span<const std::string_view> pieces) = 0;
};

/// The function that the library exports. It throws std::runtime_error, for example for a file of
/// certificates that can't be read.
using MakeRemoteClient = RemoteClient *(const Endpoint &endpoint);
/// Its name has the version of this interface.
inline constexpr const char *kMakeRemoteClient = "flydslMakeRemoteClient1";
inline constexpr const char *kRemoteLibrary = "libflydsl_redis.so";

} // namespace flydsl::cache
