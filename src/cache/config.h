// The configuration of the cache: its place, its size and the trusted owners.
#pragma once

#include "support/trust.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flydsl::cache {

struct CacheConfig {
  bool disk = true;      ///< FLYDSL_RUNTIME_ENABLE_CACHE; the cache in memory is always on
  bool runOnly = false;  ///< FLYDSL_RUNTIME_RUN_ONLY: a miss is an error
  std::string directory; ///< FLYDSL_RUNTIME_CACHE_DIR, default ~/.flydsl/cache
  std::vector<std::string>
      readOnlyDirs; ///< FLYDSL_RUNTIME_CACHE_READONLY_DIRS, separated by ':'; searched first
  std::uint64_t sizeLimit = std::uint64_t(2)
                            << 30; ///< FLYDSL_RUNTIME_CACHE_SIZE in bytes; 0: no limit
  support::Trust trust;            ///< the trusted owners; the group is FLYDSL_RUNTIME_CACHE_GROUP

  /// Throws flydsl::Error that names the variable and its value if a value can't be parsed.
  static CacheConfig fromEnvironment();
};

/// Parses a number of bytes: "1500", "64K", "10M", "2G", "1T" (powers of 1024, in upper or lower
/// case; "iB" or "B" may follow). Throws flydsl::Error for any other text.
std::uint64_t parseSize(std::string_view text);

} // namespace flydsl::cache
