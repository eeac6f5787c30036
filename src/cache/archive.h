// Entries in one file, to carry compiled kernels from one machine to another.
//
// "FLYARCHV", the format version, the number of entries (4 bytes each); then for each entry its
// size (8 bytes) and its bytes as they are on disk. The entries verify themselves.
#pragma once

#include "cache/disk_cache.h"

namespace flydsl::cache {

struct Transferred {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> skipped; ///< what was left out, and why
};

/// Writes the good entries among `entries` to `archive`, by way of a temporary file. Throws
/// flydsl::Error if the archive can't be written.
Transferred exportEntries(const std::vector<EntryFile> &entries, const std::string &archive);

/// Verifies each entry of `archive` and writes it to `directory`. Throws flydsl::Error for a file
/// that is no archive or that ends early, before anything is written.
Transferred importEntries(const std::string &archive, const std::string &directory);

} // namespace flydsl::cache
