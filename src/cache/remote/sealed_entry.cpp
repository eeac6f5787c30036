#include "cache/remote/sealed_entry.h"

#include <cstdio>

namespace flydsl::cache {

EntrySeal::EntrySeal(RemoteClient &client, std::vector<std::uint8_t> key)
    : client_(client), key_(std::move(key)) {
  if (key_.empty())
    return;
  const std::string_view pieces[] = {"flydsl: the name of a key"};
  const Signature name = client_.sign(key_, pieces);
  char text[24];
  std::snprintf(text, sizeof text, "signed-%02x%02x%02x%02x", name[0], name[1], name[2], name[3]);
  suffix_ = text;
}

Signature EntrySeal::signatureOf(std::string_view name, std::string_view bytes) const {
  // A name has no zero byte, so its end is where it seems to be.
  const std::string_view pieces[] = {"flydsl: an entry\n", name, std::string_view("\0", 1), bytes};
  return client_.sign(key_, pieces);
}

std::string EntrySeal::seal(std::string_view name, const Key &key, const Blob &blob) const {
  const Bytes entry = encodeEntry(key, blob);
  std::string bytes(entry.begin(), entry.end());
  if (!key_.empty()) {
    const Signature signature = signatureOf(name, bytes);
    bytes.append(signature.begin(), signature.end());
  }
  return bytes;
}

Decoded EntrySeal::open(std::string_view name, const Key &key, std::string_view bytes) const {
  if (!key_.empty()) {
    constexpr std::size_t size = std::tuple_size_v<Signature>;
    if (bytes.size() < size)
      return {std::nullopt, "truncated: " + std::to_string(bytes.size()) + " bytes"};
    const Signature expected = signatureOf(name, bytes.substr(0, bytes.size() - size));
    // Compares all bytes whatever they are, so that the time tells nothing of the first wrong one.
    unsigned different = 0;
    for (std::size_t i = 0; i < size; ++i)
      different |= expected[i] ^ static_cast<std::uint8_t>(bytes[bytes.size() - size + i]);
    if (different)
      return {std::nullopt, "it is not signed with this machine's key"};
    bytes.remove_suffix(size);
  }
  return decodeEntry(key, reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
}

} // namespace flydsl::cache
