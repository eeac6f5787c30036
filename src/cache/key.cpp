#include "cache/key.h"

#include <new>
#include <xxhash.h>

namespace flydsl::cache {

static Key toKey(XXH128_hash_t hash) { return {hash.high64, hash.low64}; }

std::string Key::hex() const {
  static const char digits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[i] = digits[(high >> (60 - 4 * i)) & 15];
    text[16 + i] = digits[(low >> (60 - 4 * i)) & 15];
  }
  return text;
}

std::optional<Key> Key::fromHex(std::string_view text) {
  if (text.size() != 32)
    return std::nullopt;
  std::uint64_t half[2] = {};
  for (int i = 0; i < 32; ++i) {
    char c = text[i];
    unsigned digit;
    if (c >= '0' && c <= '9')
      digit = c - '0';
    else if (c >= 'a' && c <= 'f')
      digit = c - 'a' + 10;
    else
      return std::nullopt;
    half[i / 16] = half[i / 16] << 4 | digit;
  }
  return Key{half[0], half[1]};
}

Key digest(const void *data, std::size_t size) { return toKey(XXH3_128bits(data, size)); }

KeyBuilder::KeyBuilder() : state_(XXH3_createState()) {
  if (!state_)
    throw std::bad_alloc();
  XXH3_128bits_reset(static_cast<XXH3_state_t *>(state_));
}

KeyBuilder::~KeyBuilder() { XXH3_freeState(static_cast<XXH3_state_t *>(state_)); }

KeyBuilder &KeyBuilder::add(std::string_view tag, std::string_view bytes) {
  auto *state = static_cast<XXH3_state_t *>(state_);
  std::uint64_t sizes[2] = {tag.size(), bytes.size()};
  XXH3_128bits_update(state, sizes, sizeof sizes);
  XXH3_128bits_update(state, tag.data(), tag.size());
  XXH3_128bits_update(state, bytes.data(), bytes.size());
  return *this;
}

KeyBuilder &KeyBuilder::add(std::string_view tag, std::uint64_t number) {
  return add(tag, std::string_view(reinterpret_cast<const char *>(&number), sizeof number));
}

Key KeyBuilder::finish() const {
  return toKey(XXH3_128bits_digest(static_cast<const XXH3_state_t *>(state_)));
}

} // namespace flydsl::cache
