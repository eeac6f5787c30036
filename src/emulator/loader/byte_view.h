// Reading from untrusted bytes: every access is checked against the end, in 64-bit arithmetic that
// cannot wrap.
#pragma once

#include "emulator/loader/load_error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace flyemu::loader {

/// A range of bytes that somebody else owns.
class ByteView {
public:
  ByteView() = default;
  ByteView(const void *data, size_t size)
      : data_(static_cast<const uint8_t *>(data)), size_(size) {}

  const uint8_t *data() const { return data_; }
  size_t size() const { return size_; }

  bool contains(uint64_t offset, uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }

  /// The bytes [offset, offset + length); \p what names them in the error.
  ByteView sub(uint64_t offset, uint64_t length, const char *what) const {
    if (!contains(offset, length))
      throw LoadError(LoadFailure::Malformed,
                      std::string(what) + " lies outside the file (offset " +
                          std::to_string(offset) + ", " + std::to_string(length) + " of " +
                          std::to_string(size_) + " bytes)");
    return ByteView(data_ + offset, length);
  }

  /// A little-endian value at \p offset; alignment does not matter.
  template <typename T> T read(uint64_t offset, const char *what) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, sub(offset, sizeof(T), what).data(), sizeof(T));
    return value;
  }

  /// The zero-terminated string at \p offset, of less than \p most bytes.
  std::string_view string(uint64_t offset, const char *what, uint64_t most) const {
    ByteView rest = sub(offset, 0, what);
    const uint64_t length = size_ > offset ? std::min<uint64_t>(size_ - offset, most) : 0;
    const void *end = length ? std::memchr(rest.data(), 0, length) : nullptr;
    if (!end)
      throw LoadError(LoadFailure::Malformed, std::string(what) + " has no end");
    const char *begin = reinterpret_cast<const char *>(rest.data());
    return {begin, static_cast<size_t>(static_cast<const char *>(end) - begin)};
  }

private:
  const uint8_t *data_ = nullptr;
  size_t size_ = 0;
};

} // namespace flyemu::loader
