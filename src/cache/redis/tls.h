// TLS over a socket, by OpenSSL. OpenSSL reads and writes memory only; the socket's operations
// have deadlines and raise no SIGPIPE.
#pragma once

#include "cache/redis/socket.h"

#include <memory>
#include <openssl/ssl.h>

namespace flydsl::cache::redis {

/// The certificates that are trusted.
class TlsContext {
public:
  /// Throws std::runtime_error if the file can't be read. An empty name: the system's certificates.
  explicit TlsContext(const std::string &caFile);
  SSL_CTX *get() const { return context_.get(); }

private:
  struct Free {
    void operator()(SSL_CTX *context) const { SSL_CTX_free(context); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
};

/// A TLS connection over a socket, whose server has shown a certificate for `host`.
class TlsSession {
public:
  /// Throws std::runtime_error if the server's certificate is not trusted or is for another host.
  TlsSession(const TlsContext &context, Socket &socket, const std::string &host, Deadline deadline);

  void write(std::string_view bytes, Deadline deadline);
  std::size_t read(std::span<char> into, Deadline deadline);

private:
  void sendPending(Deadline deadline);
  void receive(Deadline deadline);
  [[noreturn]] void fail(const char *what);
  /// Calls one of OpenSSL's functions until it has done its work. Returns what it returned.
  template <class Function> int run(const char *what, Deadline deadline, Function function);

  struct Free {
    void operator()(SSL *session) const { SSL_free(session); }
  };
  Socket &socket_;
  std::unique_ptr<SSL, Free> session_;
};

} // namespace flydsl::cache::redis
