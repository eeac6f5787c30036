// The workspace of a product whose K is shared by several blocks. No compiler is needed to ask.
#pragma once

#include "blocks/facts/cache_line.h"

#include <flydsl/dtype.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The sums of the parts of a product: [part][row][column].
struct PartsShape {
  int parts;
  std::int64_t n; ///< columns of the product
  DType acc;      ///< f32 or i32

  /// Columns in memory: rows start at multiples of 16 bytes.
  std::int64_t columns() const { return (n + 3) / 4 * 4; }
  std::size_t bytes(std::int64_t m) const {
    return static_cast<std::size_t>(parts * m * columns() * acc.bytes());
  }
};

/// The flags by which the blocks of a tile count themselves, a word for each tile, zero between
/// calls. A block adds the bit of its part, times kMark: the word of parts that have arrived is the
/// number of their bits times kMark. Hardly any other word is such a product, so that a workspace
/// that was not set to zero is found out.
///
/// Flags are the last bytes of the workspace, whatever its size, so that calls of different sizes
/// find them where others left them at zero. Their room is the same for all products with few
/// tiles, so that none of these puts its sums where another has its flags.
struct PartFlags {
  static constexpr int kBytes = 8, kMostParts = 16;
  /// An odd number in the upper half, here 2^32 over the golden ratio, and 1 in the lower.
  static constexpr std::int64_t kMark = 0x1e3779b1'00000001;
  static constexpr std::int64_t kRoom = 4096;
  /// A cache line has so many flags, and the room so many lines. Blocks wait for
  /// each other at a line, so that the flags of neighbouring tiles are in different lines.
  static constexpr std::int64_t kOfLine = kCacheLine / kBytes, kLines = kRoom / kOfLine;

  static std::int64_t count(std::int64_t tiles) { return std::max(tiles, kRoom); }
  static std::size_t bytes(std::int64_t tiles) {
    return static_cast<std::size_t>(kBytes * count(tiles));
  }
  /// The place of the first flag in a workspace of so many bytes.
  static std::int64_t place(std::int64_t bytes, std::int64_t tiles) {
    return (bytes / kBytes - count(tiles)) * kBytes;
  }
};

/// Bytes of shared memory by which the threads of a block learn whether it is the last.
inline constexpr int kArrivedBytes = 4;

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
