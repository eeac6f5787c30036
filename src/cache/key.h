// Keys of the cache: XXH3-128 hashes of tagged pieces that carry their lengths.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace flydsl::cache {

struct Key {
  std::uint64_t high = 0, low = 0;

  /// The key as 32 hexadecimal digits, most significant first.
  std::string hex() const;
  static std::optional<Key> fromHex(std::string_view text);

  friend bool operator==(const Key &, const Key &) = default;
  friend auto operator<=>(const Key &, const Key &) = default;
};

/// The XXH3-128 hash of some bytes.
Key digest(const void *data, std::size_t size);

/// Builds a key from pieces. Each piece is hashed with its tag and its length, so that no two
/// sequences of pieces give the same input to the hash.
class KeyBuilder {
public:
  KeyBuilder();
  ~KeyBuilder();
  KeyBuilder(const KeyBuilder &) = delete;
  KeyBuilder &operator=(const KeyBuilder &) = delete;

  KeyBuilder &add(std::string_view tag, std::string_view bytes);
  KeyBuilder &add(std::string_view tag, std::uint64_t number);
  Key finish() const;

private:
  void *state_;
};

} // namespace flydsl::cache

template <> struct std::hash<flydsl::cache::Key> {
  std::size_t operator()(const flydsl::cache::Key &key) const noexcept { return key.low; }
};
