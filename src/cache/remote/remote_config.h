// The configuration of the fleet's cache.
#pragma once

#include "cache/remote/url.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flydsl::cache {

struct RemoteConfig {
  RemoteUrl url;
  std::string name; ///< the URL as messages show it
  std::string password;
  std::vector<std::uint8_t> signingKey;            ///< empty: entries are not signed
  std::string prefix = "flydsl";                   ///< how all names on the server begin
  std::chrono::seconds timeToLive{30 * 24 * 3600}; ///< of an entry since its store; 0: for ever
  /// The most time that a look-up takes, and the most that a store takes; a connection that has to
  /// be made is part of it.
  std::chrono::milliseconds timeout{500};
  /// How long others wait for a machine that compiles a kernel.
  std::chrono::milliseconds lease{30'000};
  std::size_t mostBytes = std::size_t(16) << 20; ///< of an entry
  /// The library that speaks with the server; empty: the one beside this code.
  std::string library;

  /// Nothing if FLYDSL_RUNTIME_REMOTE_CACHE is not set. Throws flydsl::Error that names the
  /// variable if a value can't be used, or if others may read or write the file of a secret.
  static std::optional<RemoteConfig> fromEnvironment();
};

/// The most bytes of a value in Redis (proto-max-bulk-len is 512 MiB unless it is set).
inline constexpr std::size_t kMostRemoteBytes = std::size_t(512) << 20;

/// The secret in a file: its bytes without one newline at the end. Throws flydsl::Error, which
/// begins with `variable`, if the file can't be read, is empty or longer than 4 KiB, belongs to
/// another user, or everybody may read it or others write it.
std::string readSecret(std::string_view variable, const std::string &path);

} // namespace flydsl::cache
