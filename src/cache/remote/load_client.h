// Loading the library that speaks with the server.
#pragma once

#include "cache/remote/client.h"

namespace flydsl::cache {

/// The client of `endpoint`, by the library at `library`, or if that is empty by the one beside
/// this code. Throws flydsl::Error if there is no such library, or if it refuses the endpoint.
std::unique_ptr<RemoteClient> loadRemoteClient(const Endpoint &endpoint,
                                               const std::string &library);

} // namespace flydsl::cache
