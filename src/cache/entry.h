// The bytes of one cache entry, on disk and in an archive.
//
//   offset  size  what
//        0     8  "FLYCACHE"
//        8     4  format version
//       12     4  zero
//       16    16  key
//       32     8  bytes of metadata
//       40     8  bytes of payload, uncompressed
//       48     8  bytes of payload, compressed
//       56        metadata, then the payload as one zstd frame
//      end    16  XXH3-128 of all that stands before
// Numbers are little-endian. Nothing of an entry is used before the checksum, the key and every
// size have been verified.
#pragma once

#include "cache/key.h"

#include <string>
#include <vector>

namespace flydsl::cache {

using Bytes = std::vector<std::uint8_t>;

inline constexpr std::uint32_t formatVersion = 1;

/// No kernel comes near these; what claims more is not unpacked.
inline constexpr std::uint64_t maxPayloadBytes = std::uint64_t(256) << 20;
inline constexpr std::uint64_t maxMetadataBytes = std::uint64_t(16) << 20;
/// A header and a checksum.
inline constexpr std::uint64_t minEntryBytes = 56 + 16;
/// The most that a whole entry takes on disk. Zstandard adds less than one part in 128 to what does
/// not compress.
inline constexpr std::uint64_t maxEntryBytes =
    maxMetadataBytes + maxPayloadBytes + maxPayloadBytes / 128 + 4096;

/// What is kept for a key; opaque to the cache.
struct Blob {
  Bytes metadata;
  Bytes payload;
};

/// Throws flydsl::Error for a blob over the limits, or if zstd fails.
Bytes encodeEntry(const Key &key, const Blob &blob);

/// What reading an entry gave: a blob, or why there is none.
struct Decoded {
  std::optional<Blob> blob;
  std::string problem; ///< empty where there is a blob
};

/// Verifies and unpacks. `expected` is the key that the entry must carry.
Decoded decodeEntry(const Key &expected, const std::uint8_t *data, std::size_t size);

/// The key in an entry's header, unverified; nothing for bytes that are no entry.
std::optional<Key> entryKey(const std::uint8_t *data, std::size_t size);

} // namespace flydsl::cache
