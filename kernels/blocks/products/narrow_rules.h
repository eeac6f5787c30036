// Narrow weights: those of products whose other operand has 16 bits. No compiler is needed to ask.
//
// Their bytes lie in blocks of 16 rows by 64 bytes, as those of other prepared weights do
// (preshuffle.h). Which elements the 16 bytes of a piece are differs: runs of 8 elements, which are a
// piece of the 16-bit operand, lie four runs apart. So the lanes that share a row, be they one, two or
// four, find in whole pieces what they multiply.
#pragma once

#include "blocks/products/preshuffle.h"

#include <flydsl/dtype.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A type of narrow weights. Elements are codes without a sign, less an offset; or 8-bit floats, which
/// have no codes.
struct NarrowType {
  DType dtype;
  bool codes;
  int offset;    ///< of codes without zero points
  float factor;  ///< what the numbers are multiplied by, besides their scales
  bool grouped;  ///< they need groups, because of the factor
};
/// f4E2M1FN's numbers are halves of integers from -12 to 12.
inline constexpr NarrowType kNarrowTypes[] = {
    {u4, true, 0, 1, false},         {i4, true, 8, 1, false},
    {u8, true, 0, 1, false},         {i8, true, 128, 1, false},
    {f4E2M1FN, true, 12, 0.5f, true}, {f8E4M3FN, false, 0, 1, false},
    {f8E5M2, false, 0, 1, false},    {f8E4M3FNUZ, false, 0, 1, false},
    {f8E5M2FNUZ, false, 0, 1, false},
};
inline const NarrowType *narrowType(DType dtype) {
  for (const NarrowType &type : kNarrowTypes)
    if (type.dtype == dtype)
      return &type;
  return nullptr;
}

/// The elements of a run.
inline constexpr int kNarrowRun = 8;
/// The elements of a row of a block.
constexpr int narrowBlockK(DType dtype) {
  return Preshuffled::kPieces * Preshuffled::kPieceBytes * 8 / dtype.memory_bits();
}
/// The number of element (row, column) among all of the prepared weights.
inline std::int64_t narrowPlace(const Preshuffled &bytes, DType dtype, std::int64_t row,
                                std::int64_t column) {
  const std::int64_t blockK = narrowBlockK(dtype), run = column % blockK / kNarrowRun,
                     first = row / Preshuffled::kRows *
                     bytes.rowOfBlocks() + column / blockK * bytes.block() +
                     (run % Preshuffled::kPieces * Preshuffled::kRows + row % Preshuffled::kRows) *
                         Preshuffled::kPieceBytes;
  return first * 8 / dtype.memory_bits() + run / Preshuffled::kPieces * kNarrowRun +
         column % kNarrowRun;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
