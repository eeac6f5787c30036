// Narrow weights: those of products whose other operand has 16 bits. No compiler is needed to ask.
//
// Their bytes lie in blocks of 16 rows by 64 bytes, as those of other prepared weights do
// (preshuffle.h). Which elements the 16 bytes of a piece are differs. A run of 8 elements is a
// piece of the 16-bit operand, and piece i of the four of a row has the runs i, i + 4, i + 8 and so
// on. So the lanes that share a row, be they one, two or four, find in whole pieces what they
// multiply.
#pragma once

#include "blocks/products/preshuffle.h"

#include <flydsl/dtype.h>
#include <flydsl/kernels/weight.h>

#include <cstdint>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A type of narrow weights: codes, which stand for themselves less an offset, or floats.
struct NarrowType {
  DType dtype;
  bool codes;
  int offset;            ///< of codes without zero points
  std::uint32_t flipped; ///< bits of each word that make codes of signed elements
  bool grouped;          ///< they need groups
};
inline constexpr NarrowType kNarrowTypes[] = {
    {u4, true, 0, 0, false},          {i4, true, 8, 0x88888888u, false},
    {u8, true, 0, 0, false},          {i8, true, 128, 0x80808080u, false},
    {f4E2M1FN, false, 0, 0, true},    {f8E4M3FN, false, 0, 0, false},
    {f8E5M2, false, 0, 0, false},     {f8E4M3FNUZ, false, 0, 0, false},
    {f8E5M2FNUZ, false, 0, 0, false},
};
inline const NarrowType *narrowType(DType dtype) {
  for (const NarrowType &type : kNarrowTypes)
    if (type.dtype == dtype)
      return &type;
  return nullptr;
}

/// Whether prepared weights are a matrix of bytes: narrow ones, and others whose elements are parts
/// of bytes.
inline bool ofBytes(const WeightProblem &problem) {
  return problem.narrow || problem.dtype.memory_bits() < 8;
}
/// Prepared weights.
inline Preshuffled preshuffled(const WeightProblem &problem) {
  const int bits = problem.dtype.memory_bits();
  return ofBytes(problem) ? Preshuffled{problem.n, problem.k * bits / 8, 1}
                          : Preshuffled{problem.n, problem.k, bits / 8};
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
                     piece =
                         run % Preshuffled::kPieces * Preshuffled::kRows + row % Preshuffled::kRows,
                     first = row / Preshuffled::kRows * bytes.rowOfBlocks() +
                             column / blockK * bytes.block() + piece * Preshuffled::kPieceBytes;
  return first * 8 / dtype.memory_bits() + run / Preshuffled::kPieces * kNarrowRun +
         column % kNarrowRun;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
