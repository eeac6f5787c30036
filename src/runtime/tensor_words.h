// A tensor's type as signature words: one header, then a word per leaf, shape first. A leaf's word
// is its value where static, its divisibility where dynamic. The header holds, from bit 0: the tag
// (4 bits), the dtype (8), the rank (4), log2 of the alignment (8), three masks of 8 bits, a bit
// per mode: shape dynamic, stride dynamic, shape 64 bits wide; and whether it spans 4 GiB or more.
#pragma once

#include <cstdint>

namespace flydsl::runtime {

inline constexpr int dtypeAt = 4, rankAt = 12, alignAt = 16, shapeMaskAt = 24, strideMaskAt = 32,
                     wideMaskAt = 40, largeAt = 48;

constexpr std::uint64_t field(std::uint64_t word, int at, std::uint64_t mask) {
  return word >> at & mask;
}

} // namespace flydsl::runtime
