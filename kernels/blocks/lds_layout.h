// Layouts of tiles in shared memory (LDS) whose accesses meet no bank twice.
//
// LDS has banks of 4 bytes: 64 on gfx950, 32 on the other targets. An access of 16 bytes a lane is
// served for as many neighbouring lanes at a time as the banks have room for, 8 or 16; two of these
// lanes that want different words of one bank cost a cycle. In a matrix instruction's operand,
// neighbouring lanes have neighbouring rows and the same column, so that in a row-major tile of
// rows of 128 bytes all of them meet in four banks.
#pragma once

#include <flydsl/layout.h>
#include <flydsl/target.h>

#include <algorithm>
#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The numbers of a Swizzle.
struct XorSwizzle {
  int mask, base, shift;
  Swizzle swizzle() const { return {mask, base, shift}; }
};

/// The banks of a target's LDS. Source: AMD's ISA manuals of CDNA3 and CDNA4, "LDS".
inline int ldsBanks(const Target &target) {
  return target.family() == flydsl::Family::cdna4 ? 64 : 32;
}

/// The swizzle of a row-major tile with rows of `rowBytes`, a power of two of at least 16: it xors
/// the row into the number of a piece of 16 bytes. Then neither a wave that writes rows, nor one in
/// which neighbouring lanes read 16 bytes at one column of neighbouring rows, has conflicts.
inline XorSwizzle xorSwizzle(int elementBytes, int rowBytes, int banks) {
  const auto log2 = [](int x) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(x))) - 1;
  };
  const int pieces = log2(rowBytes / 16); // bits of the number of a piece in its row
  const int slots = log2(banks * 4 / 16); // bits of the place of a piece among the banks
  // If a row is shorter than the banks, the first bits of the row say where in them it lies; the
  // bits above are those to xor.
  return {std::min(pieces, slots), log2(16 / elementBytes), std::max(pieces, slots)};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
