#include "cache/remote/remote_config.h"

#include "support/env_variables.h"
#include "support/file.h"

#include <flydsl/error.h>

#include <cctype>
#include <sys/stat.h>

namespace flydsl::cache {

namespace env = support::env;

/// The least length of a key for signatures: as many bytes as 128 bits are.
static constexpr std::size_t kLeastKeyBytes = 16;
static constexpr std::uint64_t kMostSecretBytes = 4096;

std::string readSecret(std::string_view variable, const std::string &path) {
  const auto refuse = [&](const std::string &why) {
    throw Error(std::string(variable) + "=" + path + ": " + why);
  };
  // The owners of caches are no owners of secrets: a group of the cache has no part in this.
  support::FileContents file = support::readAll(path, kMostSecretBytes, support::Trust{});
  if (file.absent)
    refuse("there is no such file");
  if (!file.bytes)
    refuse(file.problem);
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || (info.st_mode & S_IROTH))
    refuse("everybody may read this secret (chmod o-r makes it its owner's)");
  std::string secret(file.bytes->begin(), file.bytes->end());
  if (secret.ends_with('\n'))
    secret.pop_back();
  if (secret.empty())
    refuse("it is empty");
  return secret;
}

static std::string checkedPrefix() {
  const std::string prefix = env::kRemoteCachePrefix.get().value_or("flydsl");
  bool good = prefix.size() <= 64;
  for (char c : prefix)
    good &= std::isalnum(static_cast<unsigned char>(c)) ||
            std::string_view("._-:").find(c) != std::string_view::npos;
  if (!good)
    throw Error(std::string(env::kRemoteCachePrefix.name()) +
                ": expected at most 64 letters, digits, '.', '_', '-' and ':'");
  return prefix;
}

std::optional<RemoteConfig> RemoteConfig::fromEnvironment() {
  const auto text = env::kRemoteCache.get();
  if (!text)
    return std::nullopt;
  RemoteConfig config;
  config.url = parseRemoteUrl(*text);
  config.name = *text; // it has no password
  if (auto path = env::kRemoteCachePasswordFile.get())
    config.password = readSecret(env::kRemoteCachePasswordFile.name(), *path);
  else if (!config.url.user.empty())
    throw Error(std::string(env::kRemoteCache.name()) + "=" + *text + ": user " + config.url.user +
                " has no password; name its file in " +
                std::string(env::kRemoteCachePasswordFile.name()));
  if (auto path = env::kRemoteCacheKeyFile.get()) {
    const std::string key = readSecret(env::kRemoteCacheKeyFile.name(), *path);
    if (key.size() < kLeastKeyBytes)
      throw Error(std::string(env::kRemoteCacheKeyFile.name()) + "=" + *path + ": a key of " +
                  std::to_string(key.size()) + " bytes; the least are " +
                  std::to_string(kLeastKeyBytes) + " (head -c 32 /dev/urandom makes one)");
    config.signingKey.assign(key.begin(), key.end());
  }
  if (auto path = env::kRemoteCacheCaFile.get()) {
    if (!config.url.endpoint.tls)
      throw Error(std::string(env::kRemoteCacheCaFile.name()) + "=" + *path + ": " + config.name +
                  " does not use TLS; rediss:// does");
    config.url.endpoint.caFile = *path;
  }
  config.prefix = checkedPrefix();
  config.timeToLive = std::chrono::seconds(env::kRemoteCacheTtl.get());
  config.timeout = std::chrono::milliseconds(env::kRemoteCacheTimeout.get());
  config.lease = std::chrono::seconds(env::kRemoteCacheLease.get());
  config.mostBytes = env::kRemoteCacheEntrySize.get().bytes;
  if (config.mostBytes > kMostRemoteBytes)
    throw Error(std::string(env::kRemoteCacheEntrySize.name()) + ": at most " +
                std::to_string(kMostRemoteBytes) + " bytes, which is what Redis keeps in a value");
  return config;
}

} // namespace flydsl::cache
