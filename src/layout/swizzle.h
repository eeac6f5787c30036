// Swizzles: bijections that permute addresses or coordinates by exclusive or, to spread accesses
// over the LDS banks.
#pragma once

#include "layout/int_tuple.h"

#include <string>

namespace flydsl::layout {

/// `S<mask,base,shift>` xors bits [base + shift, base + shift + mask) of an offset onto bits [base,
/// base + mask): x ^ ((x & (((1 << mask) - 1) << (base + shift))) >> shift). With shift >= mask it
/// is its own inverse. S<3,4,3> on bytes permutes 16-byte units within 8 rows of 128 bytes.
struct Swizzle {
  int32_t mask = 0;
  int32_t base = 0;
  int32_t shift = 0;

  Swizzle() = default;
  /// Throws a LayoutError if one of the numbers is negative or their sum is above 62.
  Swizzle(int32_t mask, int32_t base, int32_t shift);

  bool isTrivial() const { return mask == 0; }
  /// The number of offsets after which the pattern repeats: 2^(mask + base + shift).
  int64_t period() const { return int64_t(1) << (mask + base + shift); }
  /// The swizzled offset, which must not be negative.
  Int apply(const Int &offset) const;
  /// The swizzled offset, given as a tuple of one leaf.
  IntTuple apply(const IntTuple &offset) const;

  bool operator==(const Swizzle &) const = default;
  size_t hash() const;
  std::string str() const;
};

/// `CS<mask,baseRow,[modeRow],baseCol,[modeCol]>` changes one leaf of a coordinate tuple: it xors
/// `mask` bits of the leaf at modeRow, from bit baseRow on, onto the leaf at modeCol, from bit
/// baseCol on. The leaf at modeRow stays.
struct CoordSwizzle {
  int32_t mask = 0;
  int32_t baseRow = 0;
  ModePath modeRow;
  int32_t baseCol = 0;
  ModePath modeCol;

  CoordSwizzle() = default;
  /// Throws a LayoutError if a bit position is negative or not below bit 62.
  CoordSwizzle(int32_t mask, int32_t baseRow, ModePath modeRow, int32_t baseCol, ModePath modeCol);

  bool isTrivial() const { return mask == 0; }
  IntTuple apply(const IntTuple &coord) const;

  bool operator==(const CoordSwizzle &) const = default;
  size_t hash() const;
  std::string str() const;
};

} // namespace flydsl::layout
