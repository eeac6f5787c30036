#include "cache/remote/url.h"

#include "support/env.h"
#include "support/env_variables.h"
#include "support/text.h"

#include <flydsl/error.h>

#include <algorithm>
#include <cctype>

namespace flydsl::cache {

namespace {

/// Refuses the URL. A text with a password is not shown.
[[noreturn]] void refuse(std::string_view text, const std::string &why) {
  const bool secret = text.find('@') != std::string_view::npos;
  throw Error(std::string(support::env::kRemoteCache.name()) +
              (secret ? "" : "=" + support::printable(text)) + ": " + why +
              "; expected redis://[USER@]HOST[:PORT][/DATABASE], rediss://... for TLS, or "
              "redis+unix:///PATH/TO/SOCKET");
}

bool isOf(std::string_view text, std::string_view others) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || others.find(c) != std::string_view::npos;
  });
}

/// Takes "USER@" off the front of `rest`.
std::string takeUser(std::string_view text, std::string_view &rest) {
  const std::size_t end = rest.rfind('@');
  if (end == std::string_view::npos)
    return {};
  const std::string_view user = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  if (user.find(':') != std::string_view::npos)
    refuse(text, "a password does not belong into the URL, which logs and lists of processes show; "
                 "put it into a file and name that in " +
                     std::string(support::env::kRemoteCachePasswordFile.name()));
  if (!isOf(user, "._-"))
    refuse(text, "a user has letters, digits, '.', '_' and '-'");
  return std::string(user);
}

/// A number within limits, or nothing.
std::optional<std::uint64_t> number(std::string_view digits, std::uint64_t least,
                                    std::uint64_t most) {
  const auto value = support::parseWholeNumber(digits);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

/// Reads "HOST[:PORT]" into the endpoint.
void readPlace(std::string_view text, std::string_view place, Endpoint &endpoint) {
  std::string_view port;
  bool hasPort = false;
  if (place.starts_with('[')) {
    const std::size_t end = place.find(']');
    if (end == std::string_view::npos)
      refuse(text, "'[' has no ']'");
    endpoint.host = place.substr(1, end - 1);
    if (!isOf(endpoint.host, ":.") || endpoint.host.find(':') == std::string::npos)
      refuse(text, "there is no IPv6 address in the brackets");
    place.remove_prefix(end + 1);
    hasPort = place.starts_with(':');
    if (!place.empty() && !hasPort)
      refuse(text, "after ']' comes ':' and a port, or nothing");
    port = hasPort ? place.substr(1) : place;
  } else {
    const std::size_t colon = place.find(':');
    hasPort = colon != std::string_view::npos;
    port = hasPort ? place.substr(colon + 1) : std::string_view();
    endpoint.host = place.substr(0, colon);
    if (!isOf(endpoint.host, ".-_"))
      refuse(text, "there is no host, or it has other characters than letters, digits, '.', '-' "
                   "and '_'");
  }
  if (!hasPort)
    return;
  const auto value = number(port, 1, 65535);
  if (!value)
    refuse(text, "the port is no number from 1 to 65535");
  endpoint.port = static_cast<std::uint16_t>(*value);
}

} // namespace

RemoteUrl parseRemoteUrl(std::string_view text) {
  RemoteUrl url;
  std::string_view rest = text;
  const auto take = [&](std::string_view scheme) {
    const bool is = rest.starts_with(scheme);
    if (is)
      rest.remove_prefix(scheme.size());
    return is;
  };
  const bool isSocket = take("redis+unix://");
  url.endpoint.tls = !isSocket && take("rediss://");
  if (!isSocket && !url.endpoint.tls && !take("redis://"))
    refuse(text, "this is no URL of Redis");
  if (rest.find_first_of("?#% \t\r\n") != std::string_view::npos)
    refuse(text, "it takes no parameters, fragments, escapes or spaces");
  // A path may have an '@' as well; a user stands before the first '/'.
  const std::size_t slash = rest.find('/');
  std::string_view place = rest.substr(0, slash);
  url.user = takeUser(text, place);
  const std::string_view path =
      slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  if (isSocket) {
    if (!place.empty() || path.size() < 2)
      refuse(text, "a Unix socket is named by its absolute path, with three slashes");
    url.endpoint.socket = path;
    return url;
  }
  readPlace(text, place, url.endpoint);
  if (path.size() > 1) {
    const auto database = number(path.substr(1), 0, 1'000'000);
    if (!database)
      refuse(text, "the database is no number");
    url.database = static_cast<unsigned>(*database);
  }
  return url;
}

} // namespace flydsl::cache
