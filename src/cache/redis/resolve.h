// The addresses of a host, at a deadline.
#pragma once

#include "cache/remote/client.h"

#include <sys/socket.h>
#include <vector>

namespace flydsl::cache::redis {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

/// Throws std::runtime_error if the host is not known or nothing is known at the deadline.
std::vector<Address> resolve(const std::string &host, std::uint16_t port, Deadline deadline);

} // namespace flydsl::cache::redis
