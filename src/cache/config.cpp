#include "cache/config.h"

#include "support/env_variables.h"

#include <flydsl/error.h>

#include <algorithm>

namespace flydsl::cache {

std::uint64_t parseSize(std::string_view text) {
  if (const auto size = support::parseByteSize(text))
    return size->bytes;
  throw Error("'" + std::string(text) +
              "' is no size: expected a number of bytes, or one with K, M, G or T");
}

CacheConfig CacheConfig::fromEnvironment() {
  namespace env = support::env;
  CacheConfig config;
  config.disk = env::kEnableCache.get();
  config.runOnly = env::kRunOnly.get();
  if (auto directory = env::kCacheDir.get()) {
    config.directory = *directory;
  } else if (auto home = env::kHome.get()) {
    config.directory = *home + "/.flydsl/cache";
  } else {
    config.disk = false; // there is no place for it
  }
  if (auto list = env::kCacheReadOnlyDirs.get()) {
    std::size_t at = 0;
    while (at <= list->size()) {
      std::size_t end = std::min(list->find(':', at), list->size());
      if (end > at)
        config.readOnlyDirs.push_back(list->substr(at, end - at));
      at = end + 1;
    }
  }
  config.trust = support::Trust::ofCaches();
  config.sizeLimit = env::kCacheSize.get().bytes;
  return config;
}

} // namespace flydsl::cache
