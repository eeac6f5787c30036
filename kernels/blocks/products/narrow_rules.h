// Narrow weights: those of products whose other operand has more bits. No compiler is needed to ask.
//
// Their bytes lie in blocks of 16 rows by 64 bytes, as those of other prepared weights do
// (preshuffle.h). Which elements the 16 bytes of a piece are differs. A run of 8 elements, of 16 under
// operands of 8 bits, is a piece of the other operand, and piece i of the four of a row has the runs i,
// i + 4, i + 8 and so on. So the lanes that share a row, be they one, two or four, find in whole pieces what they
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

/// The elements of a run, under elements of so many bits.
constexpr int narrowRun(int under) { return Preshuffled::kPieceBytes * 8 / under; }
/// The elements of a row of a block.
constexpr int narrowBlockK(DType dtype) {
  return Preshuffled::kPieces * Preshuffled::kPieceBytes * 8 / dtype.memory_bits();
}
/// The number of an element among those of its run. Under 8 bits, elements i and i + 4 of 8 neighbours share
/// a byte, so that a mask gives four neighbours.
constexpr int placeInRun(int under, int element) {
  return under == 8 ? element / 8 * 8 + element % 4 * 2 + element % 8 / 4 : element;
}
/// The number of element (row, column) among all of the prepared weights, whose bytes are `bytes`.
inline std::int64_t narrowPlace(const WeightProblem &problem, const Preshuffled &bytes,
                                std::int64_t row, std::int64_t column) {
  const std::int64_t blockK = narrowBlockK(problem.dtype), ofRun = narrowRun(problem.under),
                     run = column % blockK / ofRun,
                     piece =
                         run % Preshuffled::kPieces * Preshuffled::kRows + row % Preshuffled::kRows,
                     first = row / Preshuffled::kRows * bytes.rowOfBlocks() +
                             column / blockK * bytes.block() + piece * Preshuffled::kPieceBytes;
  return first * 8 / problem.dtype.memory_bits() + run / Preshuffled::kPieces * ofRun +
         placeInRun(problem.under, static_cast<int>(column % ofRun));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
