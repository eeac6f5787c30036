// Layouts of tiles in shared memory (LDS) whose accesses meet no bank twice.
//
// LDS has banks of 4 bytes, and serves as many lanes at a time as the banks have room for. Two of
// these lanes that want different words of one bank cost a cycle. Which lanes those are was
// measured (docs/emulator.md, "How LDS serves lanes", has the sources). Of accesses of 16 bytes:
//
//   reads on CDNA with 32 banks   lanes 0-3 with 20-23, 4-7 with 16-19, 8-11 with 28-31, ...
//   reads on gfx950, 64 banks     lanes 0-3, 12-15, 20-27; and 4-11, 16-19, 28-31; ...
//   writes, and all on RDNA       8 neighbouring lanes, over 32 banks
//
// In an operand of a matrix instruction of CDNA, lanes 16 g to 16 g + 15 have 16 rows and column g.
// So reads meet four or eight rows in one column and as many others in the next one, which is the
// rule that layouts are made by:
//
//   32 banks   rows 0-3 in a column, rows 4-7 in the one after or before it; the same with 8 more
//   64 banks   rows 0-3 and 12-15 in a column, rows 4-11 in the one after or before it
//
// "Rows" are those of the instruction: its row 4 b + a may be any row of the tile.
#pragma once

#include <flydsl/host/product.h>
#include <flydsl/layout/layout.h>

#include <algorithm>
#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The numbers of a Swizzle.
struct XorSwizzle {
  int mask, base, shift;
  Swizzle swizzle() const { return {mask, base, shift}; }
  /// The place of an element that lies at `index` without the swizzle; and the other way round,
  /// because it is its own inverse.
  template <class Int> Int operator()(const Int &index) const {
    return index ^ ((index >> shift) & (((1 << mask) - 1) << base));
  }
};

/// The swizzle of a row-major tile with rows of `rowBytes`, a power of two of at least 16: it xors
/// the row into the number of a piece of 16 bytes. Then neither a wave that writes rows, nor one
/// that reads an operand from neighbouring rows, has conflicts.
inline XorSwizzle xorSwizzle(int elementBytes, int rowBytes, int banks) {
  const auto log2 = [](int x) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(x))) - 1;
  };
  const int pieces = log2(rowBytes / 16); // bits of the number of a piece in its row
  const int slots = log2(banks * 4 / 16); // bits of the place of a piece among the banks
  const int base = log2(16 / elementBytes);
  // Rows of 64 bytes lie four side by side in 64 banks. Of the 16 rows of an operand, the first and
  // the last four are read together with the others in the next column, which xors 1: only bit 1 is
  // left to tell the first four from the last.
  if (slots == 4 && pieces == 2)
    return {1, base + 1, 3};
  // If a row is shorter than the banks, the first bits of the row say where in them it lies; the
  // bits above are those to xor.
  return {std::min(pieces, slots), base, std::max(pieces, slots)};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
