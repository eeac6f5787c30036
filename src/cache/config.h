// Where the cache is and how large it gets.
#pragma once

#include "support/trust.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flydsl::cache {

struct Config {
  bool disk = true;      ///< FLYDSL_RUNTIME_ENABLE_CACHE; memory is always on
  bool runOnly = false;  ///< FLYDSL_RUNTIME_RUN_ONLY: a miss is an error
  std::string directory; ///< FLYDSL_RUNTIME_CACHE_DIR, default ~/.flydsl/cache
  std::vector<std::string>
      readOnlyDirs; ///< FLYDSL_RUNTIME_CACHE_READONLY_DIRS, separated by ':'; looked up first
  std::uint64_t sizeLimit =
      std::uint64_t(2) << 30; ///< FLYDSL_RUNTIME_CACHE_SIZE in bytes; 0: no limit
  support::Trust trust; ///< whose entries are believed; its group is FLYDSL_RUNTIME_CACHE_GROUP

  /// Throws flydsl::Error, naming variable and value, for what can't be understood.
  static Config fromEnvironment();
};

/// "1500", "64K", "10M", "2G", "1T" (powers of 1024, any case, "iB" or "B" may follow) in bytes.
/// Throws flydsl::Error.
std::uint64_t parseSize(std::string_view text);

} // namespace flydsl::cache
