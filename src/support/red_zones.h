// Red zones between the arrays of a kernel's shared memory, where it is compiled for the emulator's
// check of memory.
#pragma once

#include <algorithm>
#include <cstdint>

namespace flydsl::support {

/// A kernel says by three instructions in a row where an array and the zone after it lie:
///
///   s_mul_i32 s, BEGIN, kArrayMark   ; BEGIN is a scalar register with the array's address in LDS
///   s_mov_b32 s, BYTES               ; of the array
///   s_mov_b32 s, ZONE                ; bytes of the zone after it
///
/// They write no register that the program reads. The word is no factor of a hash or of a division
/// that compilers make.
inline constexpr std::uint32_t kArrayMark = 0x7fe5a0c9;

/// The sizes of zones that are tried, the largest first: a row of a tile, as well as an element.
inline constexpr std::uint64_t kRedZones[] = {1024, 256, 64, 16};

/// What the bytes of an array and its zone are a multiple of, where the largest alignment of the
/// kernel's arrays is this: then one array's zone ends where the next array begins. Between arrays of
/// larger alignments bytes are left that belong to neither.
constexpr std::uint64_t redZoneGrain(std::uint64_t largestAlignment) {
  return std::clamp<std::uint64_t>(largestAlignment, 16, 128);
}

/// The bytes of an array of `bytes` and the zone after it, of at least `zone` bytes. An array
/// without a zone stays as it is.
constexpr std::uint64_t withRedZone(std::uint64_t bytes, std::uint64_t zone, std::uint64_t grain) {
  return zone ? (bytes + zone + grain - 1) / grain * grain : bytes;
}

} // namespace flydsl::support
