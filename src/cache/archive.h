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

/// Writes the good entries among `entries` to `archive`, whole or not at all. Throws
/// flydsl::Error if the archive can't be written.
/// Entries that `trust` does not believe are left out.
Transferred exportEntries(const std::vector<EntryFile> &entries, const std::string &archive,
                          const support::Trust &trust = {});

/// Verifies each entry of `archive` and writes it to `directory`. Throws flydsl::Error for a file
/// that is no archive or that ends early, before anything is written. What is believed of an
/// archive is the user's choice; its entries become the user's own.
Transferred importEntries(const std::string &archive, const std::string &directory,
                          const support::Trust &trust = {});

} // namespace flydsl::cache
