#include "cache/entry.h"

#include <flydsl/error.h>

#include <cstring>
#include <zstd.h>

namespace flydsl::cache {

namespace {

constexpr char kMagic[8] = {'F', 'L', 'Y', 'C', 'A', 'C', 'H', 'E'};

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t zero;
  Key key;
  std::uint64_t metadataBytes;
  std::uint64_t payloadBytes;
  std::uint64_t compressedBytes;
};
static_assert(sizeof(Header) == 56);
static_assert(sizeof(Key) == 16);

constexpr std::size_t kChecksumBytes = sizeof(Key);
static_assert(kMinEntryBytes == sizeof(Header) + kChecksumBytes);

} // namespace

Bytes encodeEntry(const Key &key, const Blob &blob) {
  if (blob.payload.size() > kMaxPayloadBytes || blob.metadata.size() > kMaxMetadataBytes)
    throw Error("a cache entry of " + std::to_string(blob.payload.size()) + " bytes and " +
                std::to_string(blob.metadata.size()) + " of metadata; the most are " +
                std::to_string(kMaxPayloadBytes) + " and " + std::to_string(kMaxMetadataBytes));
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kFormatVersion;
  header.key = key;
  header.metadataBytes = blob.metadata.size();
  header.payloadBytes = blob.payload.size();

  std::size_t bound = ZSTD_compressBound(blob.payload.size());
  std::size_t before = sizeof header + blob.metadata.size();
  Bytes out(before + bound + kChecksumBytes);
  std::size_t compressed =
      ZSTD_compress(out.data() + before, bound, blob.payload.data(), blob.payload.size(), 3);
  if (ZSTD_isError(compressed))
    throw Error(std::string("compressing a cache entry: ") + ZSTD_getErrorName(compressed));
  header.compressedBytes = compressed;
  std::memcpy(out.data(), &header, sizeof header);
  if (!blob.metadata.empty())
    std::memcpy(out.data() + sizeof header, blob.metadata.data(), blob.metadata.size());
  Key checksum = digest(out.data(), before + compressed);
  std::memcpy(out.data() + before + compressed, &checksum, sizeof checksum);
  out.resize(before + compressed + kChecksumBytes);
  return out;
}

std::optional<Key> entryKey(const std::uint8_t *data, std::size_t size) {
  Header header;
  if (size < sizeof header)
    return std::nullopt;
  std::memcpy(&header, data, sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return std::nullopt;
  return header.key;
}

Decoded decodeEntry(const Key &expected, const std::uint8_t *data, std::size_t size) {
  auto bad = [](std::string why) { return Decoded{std::nullopt, std::move(why)}; };
  Header header;
  if (size < kMinEntryBytes)
    return bad("truncated: " + std::to_string(size) + " bytes");
  std::memcpy(&header, data, sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return bad("not a cache entry");
  if (header.version != kFormatVersion)
    return bad("format version " + std::to_string(header.version) + ", expected " +
               std::to_string(kFormatVersion));
  std::size_t body = size - kChecksumBytes;
  Key checksum;
  std::memcpy(&checksum, data + body, sizeof checksum);
  if (checksum != digest(data, body))
    return bad("checksum mismatch");
  if (header.key != expected)
    return bad("it belongs to key " + header.key.hex());
  std::uint64_t contents = body - sizeof header;
  if (header.zero != 0 || header.metadataBytes > contents ||
      header.compressedBytes != contents - header.metadataBytes)
    return bad("sizes that do not fit together");
  // These checks come before any allocation, because a short file may claim any size.
  if (header.payloadBytes > kMaxPayloadBytes || header.metadataBytes > kMaxMetadataBytes)
    return bad("it would unpack to " + std::to_string(header.payloadBytes) + " bytes and " +
               std::to_string(header.metadataBytes) + " of metadata");

  const std::uint8_t *metadata = data + sizeof header;
  const std::uint8_t *frame = metadata + header.metadataBytes;
  if (ZSTD_getFrameContentSize(frame, header.compressedBytes) != header.payloadBytes)
    return bad("a payload of another size");
  Blob blob;
  blob.metadata.assign(metadata, frame);
  blob.payload.resize(header.payloadBytes);
  std::size_t unpacked =
      ZSTD_decompress(blob.payload.data(), blob.payload.size(), frame, header.compressedBytes);
  if (ZSTD_isError(unpacked) || unpacked != header.payloadBytes)
    return bad("a payload that does not unpack");
  return {std::move(blob), {}};
}

} // namespace flydsl::cache
