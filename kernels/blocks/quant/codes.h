// Codes of 4 and 8 bits in words, as numbers.
#pragma once

#include "blocks/quant/codebook.h"

#include <flydsl/flydsl.h>

#include <cstdint>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The bytes of each word, in f32.
inline std::vector<Vector> codesOf(const Vector &words) {
  std::vector<Vector> all;
  for (std::int64_t i = 0; i < words.size(); ++i) {
    const Numeric word = words.at(i);
    const auto byte = [&](int k) { return Numeric((word >> (8 * k)) & 255u).to(f32); };
    all.push_back(Vector::of({byte(0), byte(1), byte(2), byte(3)}));
  }
  return all;
}
/// The low four bits of each byte if `shift` is 0, the high ones if it is 4.
inline Vector nibbles(const Vector &words, int shift) {
  return (shift ? Vector(words >> shift) : words) & 0x0f0f0f0fu;
}
/// The values of a book for the four bits of each byte of a word, as what they are above `least`.
inline Numeric lookedUp(const Numeric &word, const Codebook &book, int least) {
  const auto four = [&](std::size_t first) { // of the book, as a word
    std::uint32_t values = 0;
    for (std::size_t i = 0; i < 4; ++i)
      values |= static_cast<std::uint32_t>(book[first + i] - least) << (8 * i);
    return Int32(static_cast<std::int32_t>(values));
  };
  const Numeric number = word.bitcast(i32), inHalf = number & 0x07070707;
  const Int32 low = permute_bytes(four(4), four(0), Int32(inHalf)),
              high = permute_bytes(four(12), four(8), Int32(inHalf));
  // Byte k of the one or of the other, by bit 3 of the number.
  const Int32 chosen = ((number >> 1) & 0x04040404) | 0x03020100;
  return permute_bytes(high, low, chosen).bitcast(u32);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
