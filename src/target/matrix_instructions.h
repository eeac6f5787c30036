// The matrix instructions: one row each, with everything that verifiers, diagnostics, atoms, raw
// intrinsics, the lowering and programs ask about one. The rows stand in matrix_table.cpp.
#pragma once

#include "target/processors.h"

#include <flydsl/dtype.h>
#include <flydsl/rocdl/matrix_products.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// The kinds of matrix instructions, each a type of the dialect FlyROCDL.
enum class MatrixFamily : std::uint8_t { MFMA, MFMAScale, GFX11, GFX120X, GFX1250, GFX1250Scale };

/// What a lane holds of an operand: so many elements as LLVM's intrinsic takes them, which may be
/// words that hold several of the instruction's own elements. One element is a scalar.
struct Registers {
  DType element;
  int count;
  constexpr int bits() const { return element.bits() * count; }
};

/// One matrix instruction. It computes D = A * B + C for `blocks` independent products.
struct MatrixInstruction {
  MatrixFamily family;
  /// The operation of the ROCDL dialect without "rocdl.", which is LLVM's intrinsic without
  /// "llvm.amdgcn." too, but for one underscore: "mfma.f32.16x16x16f16".
  std::string_view name;
  FamilySet processors; ///< the generations that have the instruction
  Feature feature;      ///< a feature that all of them have
  int m, n, k;          ///< of one block
  int blocks;
  /// True if one block of A can serve all blocks (CBSZ). An atom of several blocks uses that: it is
  /// one product of an A of m rows with a B of n * blocks rows.
  bool sharesA;
  DType a, b, acc; ///< elements; integers of any sign are the signed type
  int scaleBlock;  ///< elements of K that share a scale; 0: there are no scales
  Registers registersA, registersB, registersC;
  rocdl::ThreadValues layoutA, layoutB, layoutC; ///< of the atom

  /// Lanes of the wave that runs it.
  constexpr int lanes() const {
    return family == MatrixFamily::MFMA || family == MatrixFamily::MFMAScale ? 64 : 32;
  }
  constexpr bool isAtom() const { return blocks == 1 || sharesA; }
  constexpr int atomN() const { return n * blocks; } ///< rows of B and columns of C of the atom
  constexpr bool isOn(Family generation) const { return processors.has(generation); }
};

/// All rows, in the order in which diagnostics list them.
std::span<const MatrixInstruction> matrixInstructions();

/// The element formats of the scaled instructions, at the numbers by which an instruction names
/// them.
inline constexpr std::array<DType, 5> kMxFormats = {f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN, f4E2M1FN};
/// The number of such a format; -1 for other types.
int mxFormat(DType element);

/// What a lane holds of C and D in a fragment. RDNA3's instructions keep a sum of 16 bits in the
/// low half of a register each (`registersC`); the fragment has them side by side.
Registers fragmentC(const MatrixInstruction &row);

/// The family of the instructions without scales of a target; every target has one.
MatrixFamily denseFamilyOf(const Target &target);

/// How raw intrinsics name an instruction: LLVM's name after "mfma.", "mfma.scale." or "wmma.",
/// with underscores: "f32_16x16x16f16".
std::string rawName(const MatrixInstruction &row);
/// The instruction without scales that a target has by that name, or null.
const MatrixInstruction *findRaw(std::string_view name, const Target &target);
/// The scaled MFMA by its raw name, "f32_16x16x128_f8f6f4", or null.
const MatrixInstruction *findRawScaled(std::string_view name, DType a, DType b);
/// The names that `findRaw` takes for a target.
std::vector<std::string> rawNames(const Target &target);
/// The processors of a feature that have an instruction of that name.
std::vector<std::string> processorsWithRaw(std::string_view name, Feature feature);

/// "16x16x16".
std::string shapeText(int m, int n, int k);
/// All atoms of a family that a target has, by element types: "f16, f16 -> f32: 32x32x8, 16x16x16;
/// ...". With no target, those of any.
std::string offeredInstructions(MatrixFamily family, const Target &target = {});

} // namespace detail
FLYDSL_NAMESPACE_END
