// The address of the fleet's cache as a URL.
#pragma once

#include "cache/remote/client.h"

#include <string>
#include <string_view>

namespace flydsl::cache {

struct RemoteUrl {
  Endpoint endpoint;
  std::string user;      ///< of Redis's access lists; empty: the default user
  unsigned database = 0; ///< the number of the database
};

/// Parses one of
///   redis://[USER@]HOST[:PORT][/DATABASE]     TCP
///   rediss://[USER@]HOST[:PORT][/DATABASE]    TLS
///   redis+unix://[USER@]/PATH/TO/SOCKET       a Unix socket
/// HOST is a name, an IPv4 address, or an IPv6 address in brackets. Throws flydsl::Error that says
/// what was expected. A password in the URL is refused, and is not in the message.
RemoteUrl parseRemoteUrl(std::string_view text);

} // namespace flydsl::cache
