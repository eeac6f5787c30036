// The matrix instructions that the products of this library use, and what follows from them for the
// layout of operands. No compiler is needed to ask.
#pragma once

#include <flydsl/dtype.h>
#include <flydsl/target.h>

#include <cstdint>
#include <optional>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The bytes of a row that a lane holds as a piece: one load brings them.
inline constexpr int kPieceBytes = 16;
/// A product of 16 x 16 elements by a wave.
struct MatrixForm {
  DType a, b;          ///< types of the elements
  DType acc;           ///< f32 or i32
  int k = 0;           ///< of one instruction
  bool scaled = false; ///< gfx950's instruction with scales, which are 1
  int lanes = 64;      ///< of a wave
  int across = 4;      ///< lanes that share the K of a row; others hold the same

  int bytes() const { return a.memory_bits() / 8; }
  /// Elements of a piece.
  int piece() const { return kPieceBytes / bytes(); }
  /// The elements of K of a row that one piece of every lane covers.
  int granule() const { return piece() * across; }
  /// The elements of K that are loaded and multiplied together: whole pieces and instructions.
  int part() const { return k > granule() ? k : granule(); }
  /// The elements of K that a lane holds for one instruction.
  int perLane() const { return k / across; }
  /// Registers of a lane for the sums of 16 x 16.
  int sums() const { return 16 * 16 / lanes; }
  /// Instructions for a part.
  int products() const { return part() / k; }
};

/// The kinds of element types that matrix instructions distinguish.
enum class MatrixKind { half, byte, float8 };

inline std::optional<MatrixKind> matrixKind(DType dtype) {
  using enum DType::Kind;
  switch (dtype.kind()) {
  case f16:
  case bf16:
    return MatrixKind::half;
  case i8:
    return MatrixKind::byte;
  case f8E4M3FN:
  case f8E5M2:
  case f8E4M3FNUZ:
  case f8E5M2FNUZ:
    return MatrixKind::float8;
  default:
    return std::nullopt;
  }
}

/// True for a float of 8 bits in the format of the target's instructions.
inline bool hasFloat8(const Target &target, DType dtype) {
  using enum DType::Kind;
  switch (dtype.kind()) {
  case f8E4M3FN:
  case f8E5M2:
    return target.has(Feature::ocp_fp8);
  case f8E4M3FNUZ:
  case f8E5M2FNUZ:
    return target.has(Feature::fnuz_fp8);
  default:
    return false;
  }
}

/// An instruction's extent of K, and how the lanes share it. Source: AMD's matrix instruction
/// calculator; RDNA3's halves of a wave hold the same rows.
struct MatrixRow {
  flydsl::Family family;
  MatrixKind kind;
  int k;
  int lanes = 64, across = 4;
  bool scaled = false;
};
/// The longest instruction of 16 x 16 for each kind comes first.
inline constexpr MatrixRow kMatrixRows[] = {
    {flydsl::Family::cdna2, MatrixKind::half, 16},
    {flydsl::Family::cdna2, MatrixKind::byte, 16},
    {flydsl::Family::cdna3, MatrixKind::half, 16},
    {flydsl::Family::cdna3, MatrixKind::byte, 32},
    {flydsl::Family::cdna3, MatrixKind::float8, 32},
    {flydsl::Family::cdna4, MatrixKind::half, 32},
    {flydsl::Family::cdna4, MatrixKind::byte, 64},
    {flydsl::Family::cdna4, MatrixKind::float8, 128, 64, 4, true},
    {flydsl::Family::cdna4, MatrixKind::float8, 32},
    {flydsl::Family::rdna3, MatrixKind::half, 16, 32, 1},
    {flydsl::Family::rdna3, MatrixKind::byte, 16, 32, 1},
    {flydsl::Family::rdna4, MatrixKind::half, 16, 32, 2},
    {flydsl::Family::rdna4, MatrixKind::byte, 16, 32, 2},
    {flydsl::Family::rdna4, MatrixKind::float8, 16, 32, 2},
};

/// The instruction for operands of types a and b and for steps of `stepK` elements in K, of rows
/// that are whole multiples of `rowK` elements; none if the target has none.
inline std::optional<MatrixForm> matrixForm(const Target &target, DType a, DType b,
                                            std::int64_t stepK, std::int64_t rowK) {
  const auto kind = matrixKind(a);
  const bool mixes = kind == MatrixKind::float8 && matrixKind(b) == kind;
  if (!kind || (a != b && !mixes))
    return std::nullopt;
  if (kind == MatrixKind::float8 && !(hasFloat8(target, a) && hasFloat8(target, b)))
    return std::nullopt;
  for (const MatrixRow &row : kMatrixRows)
    if (row.family == target.family() && row.kind == *kind) {
      const MatrixForm form{
          a, b, kind == MatrixKind::byte ? i32 : f32, row.k, row.scaled, row.lanes, row.across};
      if (stepK % form.part() == 0 && rowK % form.part() == 0)
        return form;
    }
  return std::nullopt;
}

/// What the target's matrix instructions take, for messages.
inline std::string productTypes(const Target &target) {
  std::string types = "both are f16, or both bf16, or both i8";
  if (target.has(Feature::ocp_fp8))
    types += ", or each is f8E4M3FN or f8E5M2";
  if (target.has(Feature::fnuz_fp8))
    types += ", or each is f8E4M3FNUZ or f8E5M2FNUZ";
  return target.name() + " has products where " + types;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
