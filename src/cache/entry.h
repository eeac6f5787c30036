// The format of one cache entry, on disk and in an archive.
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
//      end    16  XXH3-128 of all preceding bytes
// Numbers are little-endian. A reader verifies the checksum, the key and every size before it uses
// anything of the entry.
#pragma once

#include "cache/key.h"

#include <string>
#include <vector>

namespace flydsl::cache {

using Bytes = std::vector<std::uint8_t>;

inline constexpr std::uint32_t kFormatVersion = 1;

/// Limits that no kernel comes near. An entry that claims more is not unpacked.
inline constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t(256) << 20;
inline constexpr std::uint64_t kMaxMetadataBytes = std::uint64_t(16) << 20;
/// The size of a header and a checksum.
inline constexpr std::uint64_t kMinEntryBytes = 56 + 16;
/// The largest size of an entry on disk. Zstandard adds less than one part in 128 to data that do
/// not compress.
inline constexpr std::uint64_t kMaxEntryBytes =
    kMaxMetadataBytes + kMaxPayloadBytes + kMaxPayloadBytes / 128 + 4096;

/// The content of an entry; opaque to the cache.
struct Blob {
  Bytes metadata;
  Bytes payload;
};

/// Throws flydsl::Error for a blob over the limits, or if zstd fails.
Bytes encodeEntry(const Key &key, const Blob &blob);

/// The result of reading an entry: a blob, or the reason why there is none.
struct Decoded {
  std::optional<Blob> blob;
  std::string problem; ///< empty if there is a blob
};

/// Verifies and unpacks an entry. `expected` is the key that the entry must contain.
Decoded decodeEntry(const Key &expected, const std::uint8_t *data, std::size_t size);

/// The key in an entry's header, not verified; nullopt if the bytes are not an entry.
std::optional<Key> entryKey(const std::uint8_t *data, std::size_t size);

} // namespace flydsl::cache
