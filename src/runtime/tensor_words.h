// A tensor's type as signature words: one header, then a word for each leaf that has one, shape
// first. A leaf's word is its value where static, its divisibility where dynamic; 1, the usual
// case of both, is left out, so most tensors are their header. The header holds, from bit 0: the
// tag (4 bits), the dtype (8), the rank (4), log2 of the alignment (5), masks of 8 bits, a bit per
// mode: shape dynamic, stride dynamic, shape 64 bits wide; whether it spans 4 GiB or more (1); the
// masks of leaves with a word: shape (8), stride (8); and whether its dynamic extents are of 32 bits,
// which do not hold the number of its elements (1).
#pragma once

#include <flydsl/host/args.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace flydsl::runtime {

inline constexpr int kDtypeAt = 4, kRankAt = 12, kAlignAt = 16, kShapeMaskAt = 21,
                     kStrideMaskAt = 29, kWideMaskAt = 37, kLargeAt = 45, kShapeWordAt = 46,
                     kStrideWordAt = 54, kManyAt = 62;

constexpr std::uint64_t field(std::uint64_t word, int at, std::uint64_t mask) {
  return word >> at & mask;
}

/// The words of the tensor that begins with `head`.
constexpr std::size_t tensorWords(std::uint64_t head) {
  return 1 + static_cast<std::size_t>(std::popcount(field(head, kShapeWordAt, 0xffff)));
}

/// The head of the mark that says whether an argument that a call may leave out is there.
inline constexpr std::uint64_t kPresenceHead =
    detail::ArgPack::constantTag | detail::ArgPack::presenceBit;

/// Whether a type says no more than that the argument after it is there.
inline bool saysGiven(const detail::ArgType &type) { return type.isPresence && type.bits; }

/// True where every launch says what begins with `head`: it passes an argument, or leaves one out. Of
/// static values and other constants, a signature alone tells.
constexpr bool isOfLaunch(std::uint64_t head) {
  using detail::ArgPack;
  const std::uint64_t tag = head & 15;
  return tag == ArgPack::tensorTag || tag == ArgPack::scalarTag || tag == ArgPack::pointerTag ||
         head == kPresenceHead;
}

/// The words of the argument that begins with `head`; 0 if no argument begins with it.
constexpr std::size_t argumentWords(std::uint64_t head) {
  using detail::ArgPack;
  switch (head & 15) {
  case ArgPack::tensorTag:
    return tensorWords(head);
  case ArgPack::scalarTag:
  case ArgPack::pointerTag:
    return 1;
  case ArgPack::constantTag:
    return 2;
  case ArgPack::staticTag:
    return 3;
  case ArgPack::textTag:
    return 1 + ((head >> 4) + 7) / 8;
  }
  return 0;
}

} // namespace flydsl::runtime
