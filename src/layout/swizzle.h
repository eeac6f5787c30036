// Bijections that permute addresses or coordinates by exclusive or, to spread LDS banks.
#pragma once

#include "layout/int_tuple.h"

#include <string>

namespace flydsl::layout {

/// `S<mask,base,shift>`: bits [base + shift, base + shift + mask) of an offset are xored onto bits
/// [base, base + mask):  x ^ ((x & (((1 << mask) - 1) << (base + shift))) >> shift).
/// With shift >= mask it is its own inverse. S<3,4,3> on bytes permutes 16-byte units within 8 rows
/// of 128 bytes.
struct Swizzle {
  int32_t mask = 0;
  int32_t base = 0;
  int32_t shift = 0;

  Swizzle() = default;
  /// All three are not negative and their sum is at most 62; a LayoutError otherwise.
  Swizzle(int32_t mask, int32_t base, int32_t shift);

  bool isTrivial() const { return mask == 0; }
  /// The pattern repeats after so many offsets: 2^(mask + base + shift).
  int64_t period() const { return int64_t(1) << (mask + base + shift); }
  /// The swizzled offset, which must not be negative.
  Int apply(const Int &offset) const;
  /// An index computed over an offset of one leaf.
  IntTuple apply(const IntTuple &offset) const;

  bool operator==(const Swizzle &) const = default;
  size_t hash() const;
  std::string str() const;
};

/// `CS<mask,baseRow,[modeRow],baseCol,[modeCol]>`: of a coordinate tuple, `mask` bits of the leaf
/// at modeRow, from bit baseRow up, are xored onto the leaf at modeCol from bit baseCol up. The row
/// stays.
struct CoordSwizzle {
  int32_t mask = 0;
  int32_t baseRow = 0;
  ModePath modeRow;
  int32_t baseCol = 0;
  ModePath modeCol;

  CoordSwizzle() = default;
  /// Bit positions are not negative and end below bit 62; a LayoutError otherwise.
  CoordSwizzle(int32_t mask, int32_t baseRow, ModePath modeRow, int32_t baseCol, ModePath modeCol);

  bool isTrivial() const { return mask == 0; }
  IntTuple apply(const IntTuple &coord) const;

  bool operator==(const CoordSwizzle &) const = default;
  size_t hash() const;
  std::string str() const;
};

} // namespace flydsl::layout
