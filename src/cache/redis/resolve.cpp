#include "cache/redis/resolve.h"

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <netdb.h>
#include <stdexcept>
#include <string>
#include <thread>

namespace flydsl::cache::redis {

namespace {

struct Resolved {
  int code = 0; ///< of getaddrinfo
  std::vector<Address> addresses;
};

Resolved ask(const std::string &host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo *list = nullptr;
  Resolved resolved;
  resolved.code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (resolved.code != 0)
    return resolved;
  for (const addrinfo *one = list; one; one = one->ai_next) {
    Address &address = resolved.addresses.emplace_back();
    address.size = std::min<socklen_t>(one->ai_addrlen, sizeof address.bytes);
    std::memcpy(&address.bytes, one->ai_addr, address.size);
  }
  freeaddrinfo(list);
  return resolved;
}

} // namespace

std::vector<Address> resolve(const std::string &host, std::uint16_t port, Deadline deadline) {
  Resolved resolved = ask(host, port, AI_NUMERICHOST);
  if (resolved.code == 0)
    return std::move(resolved.addresses);
  // getaddrinfo knows no deadline. It runs on a thread of its own, which is left to itself when it
  // takes too long.
  struct Shared {
    std::mutex mutex;
    std::condition_variable done;
    bool ready = false;
    Resolved result;
  };
  auto shared = std::make_shared<Shared>();
  std::thread([shared, host, port] {
    Resolved result = ask(host, port, 0);
    std::lock_guard lock(shared->mutex);
    shared->result = std::move(result);
    shared->ready = true;
    shared->done.notify_one();
  }).detach();
  std::unique_lock lock(shared->mutex);
  if (!shared->done.wait_until(lock, deadline, [&] { return shared->ready; }))
    throw std::runtime_error("looking up the host took too long");
  if (shared->result.code != 0)
    throw std::runtime_error(std::string("looking up the host: ") +
                             gai_strerror(shared->result.code));
  return std::move(shared->result.addresses);
}

} // namespace flydsl::cache::redis
