#include "cache/redis/socket.h"

#include "cache/redis/resolve.h"

#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace flydsl::cache::redis {

namespace {

[[noreturn]] void fail(const std::string &what, int code) {
  throw std::runtime_error(what + ": " + std::generic_category().message(code));
}

/// The milliseconds until the deadline, rounded up, as poll takes them.
int untilFor(Deadline deadline, const char *what) {
  const auto left = deadline - std::chrono::steady_clock::now();
  if (left <= left.zero())
    throw std::runtime_error(std::string(what) + " took too long");
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

int newSocket(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    fail("making a socket", errno);
  return fd;
}

} // namespace

Socket::~Socket() {
  if (fd_ >= 0)
    ::close(fd_);
}

void Socket::wait(short events, Deadline deadline, const char *what) const {
  pollfd polled{fd_, events, 0};
  for (;;) {
    const int ready = ::poll(&polled, 1, untilFor(deadline, what));
    if (ready > 0)
      return;
    if (ready < 0 && errno != EINTR)
      fail(what, errno);
  }
}

/// Waits for the end of a connect that is under way.
void Socket::finishConnect(Deadline deadline) const {
  wait(POLLOUT, deadline, "connecting");
  int code = 0;
  socklen_t size = sizeof code;
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &code, &size) != 0)
    code = errno;
  if (code)
    fail("connecting", code);
}

Socket Socket::connect(const Endpoint &endpoint, Deadline deadline) {
  if (!endpoint.socket.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (endpoint.socket.size() >= sizeof address.sun_path)
      throw std::runtime_error("the path of the socket is longer than " +
                               std::to_string(sizeof address.sun_path - 1) + " bytes");
    std::memcpy(address.sun_path, endpoint.socket.data(), endpoint.socket.size());
    Socket socket(newSocket(AF_UNIX));
    // EAGAIN says that the server's queue of connections is full.
    if (::connect(socket.fd_, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0)
      fail("connecting", errno);
    return socket;
  }
  std::string problem = "the host has no address";
  for (const Address &address : resolve(endpoint.host, endpoint.port, deadline)) {
    try {
      Socket socket(newSocket(address.bytes.ss_family));
      const int on = 1;
      (void)setsockopt(socket.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      if (::connect(socket.fd_, reinterpret_cast<const sockaddr *>(&address.bytes), address.size) !=
          0) {
        if (errno != EINPROGRESS)
          fail("connecting", errno);
        socket.finishConnect(deadline);
      }
      return socket;
    } catch (const std::runtime_error &error) {
      problem = error.what();
    }
  }
  throw std::runtime_error(problem);
}

void Socket::write(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    else if (errno == EAGAIN)
      wait(POLLOUT, deadline, "sending");
    else if (errno != EINTR)
      fail("sending", errno);
  }
}

std::size_t Socket::read(std::span<char> into, Deadline deadline) {
  for (;;) {
    const ssize_t got = ::recv(fd_, into.data(), into.size(), 0);
    if (got > 0)
      return static_cast<std::size_t>(got);
    if (got == 0)
      throw std::runtime_error("the server closed the connection");
    if (errno == EAGAIN)
      wait(POLLIN, deadline, "the answer");
    else if (errno != EINTR)
      fail("receiving", errno);
    // A server that sends without end does not get past the deadline.
    (void)untilFor(deadline, "the answer");
  }
}

} // namespace flydsl::cache::redis
