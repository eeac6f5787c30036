// An archive: cache entries in one file, to carry compiled kernels from one machine to another.
//
// The file consists of "FLYARCHV", the format version and the number of entries (4 bytes each). For
// each entry, its size (8 bytes) and its bytes as they are on disk follow. Entries contain their
// own checksums.
#pragma once

#include "cache/disk_cache.h"

namespace flydsl::cache {

struct Transferred {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> skipped; ///< the entries that were left out, with the reasons
};

/// Writes the valid entries among `entries` to `archive`, whole or not at all. Entries that `trust`
/// does not trust are left out. Throws flydsl::Error if the archive can't be written.
Transferred exportEntries(const std::vector<EntryFile> &entries, const std::string &archive,
                          const support::Trust &trust = {});

/// Verifies each entry of `archive` and writes it to `directory`. Throws flydsl::Error, before
/// anything is written, if the file is not an archive or ends early. The owner of the archive does
/// not matter, because the user chose it; the written entries belong to the user.
Transferred importEntries(const std::string &archive, const std::string &directory,
                          const support::Trust &trust = {});

} // namespace flydsl::cache
