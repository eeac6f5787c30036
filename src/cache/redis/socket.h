// A connected socket whose every operation ends at a deadline.
#pragma once

#include "cache/remote/client.h"

#include <span>
#include <string_view>

namespace flydsl::cache::redis {

/// A socket to a server, by TCP or a path. All functions throw std::runtime_error at the deadline,
/// and for what the system says.
class Socket {
public:
  /// Connects to the first address of the host that answers.
  static Socket connect(const Endpoint &endpoint, Deadline deadline);

  Socket(Socket &&other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket &operator=(Socket &&) = delete;
  ~Socket();

  void write(std::string_view bytes, Deadline deadline);
  /// Waits for bytes and returns their number, which is 1 or more. The end of the connection is an
  /// error.
  std::size_t read(std::span<char> into, Deadline deadline);

private:
  explicit Socket(int fd) : fd_(fd) {}
  void finishConnect(Deadline deadline) const;
  void wait(short events, Deadline deadline, const char *what) const;

  int fd_;
};

} // namespace flydsl::cache::redis
