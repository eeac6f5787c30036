// The matrix instructions: one row each, with everything that verifiers, diagnostics, atoms, raw
// intrinsics and the lowering ask about one. The rows stand in MatrixTable.cpp.
#pragma once

#include "layout/layout.h"
#include "target/processors.h"

#include <flydsl/dtype.h>

#include "mlir/IR/Types.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlir::fly_rocdl {

/// The types of the dialect that are matrix instructions.
enum class MatrixFamily : std::uint8_t { MFMA, MFMAScale, GFX11, GFX120X, GFX1250, GFX1250Scale };

/// What a lane holds of an operand: so many elements as LLVM's intrinsic takes them, which may be
/// words that hold several of the instruction's own elements. One element is a scalar.
struct Registers {
  flydsl::DType element;
  int count;
  constexpr int bits() const { return element.bits() * count; }
  Type in(MLIRContext *context) const;
};

/// Which element of a column-major tile (M x K of A, N x K of B, M x N of C and D) each lane holds
/// as each of its values: a layout with two modes of lanes and up to three of values.
struct ThreadValues {
  struct Mode {
    int size, stride;
  };
  std::array<Mode, 2> lanes;
  std::array<Mode, 3> values;
  int valueModes; ///< 0: the layout is not published
  constexpr bool isKnown() const { return valueModes != 0; }
};

/// One matrix instruction. It computes D = A * B + C for `blocks` independent products.
struct MatrixInstruction {
  MatrixFamily family;
  /// The operation of the ROCDL dialect without "rocdl.", which is LLVM's intrinsic without
  /// "llvm.amdgcn." too, but for one underscore: "mfma.f32.16x16x16f16".
  std::string_view name;
  flydsl::detail::FamilySet processors; ///< the generations that have the instruction
  flydsl::Feature feature;              ///< a feature that all of them have
  int m, n, k;                          ///< of one block
  int blocks;
  /// True if one block of A can serve all blocks (CBSZ). An atom of several blocks uses that: it is
  /// one product of an A of m rows with a B of n * blocks rows.
  bool sharesA;
  flydsl::DType a, b, acc; ///< elements; integers of any sign are the signed type
  int scaleBlock;          ///< elements of K that share a scale; 0: there are no scales
  Registers registersA, registersB, registersC;
  ThreadValues layoutA, layoutB, layoutC; ///< of the atom

  /// Lanes of the wave that runs it.
  constexpr int lanes() const {
    return family == MatrixFamily::MFMA || family == MatrixFamily::MFMAScale ? 64 : 32;
  }
  constexpr bool isAtom() const { return blocks == 1 || sharesA; }
  constexpr int atomN() const { return n * blocks; } ///< rows of B and columns of C of the atom
  constexpr bool isOn(flydsl::Family family) const { return processors.has(family); }
};

/// All rows, in the order in which diagnostics list them.
std::span<const MatrixInstruction> matrixInstructions();

/// The element formats of the scaled instructions, at the numbers by which an instruction names
/// them.
inline constexpr std::array<flydsl::DType, 5> kMxFormats = {
    flydsl::f8E4M3FN, flydsl::f8E5M2, flydsl::f6E2M3FN, flydsl::f6E3M2FN, flydsl::f4E2M1FN};
/// The number of such a format; -1 for other types.
int mxFormat(flydsl::DType element);
int mxFormat(Type element);

/// The atom of a family with this shape and these elements, or null. `scaleBlock` as in the row.
const MatrixInstruction *findMatrixInstruction(MatrixFamily family, int m, int n, int k, Type a,
                                               Type b, Type acc, int scaleBlock = 0);

/// The lanes of a wave that runs the instruction, in order.
flydsl::layout::Layout lanesOf(const MatrixInstruction &row);
/// The layout of an atom's operand. A LayoutError where the row does not know it.
flydsl::layout::Layout layoutA(const MatrixInstruction &row);
flydsl::layout::Layout layoutB(const MatrixInstruction &row);
flydsl::layout::Layout layoutC(const MatrixInstruction &row);
/// The layout of A or B where each lane holds `run` neighbours in K, whatever the instruction has;
/// the runs go to the groups of lanes in turn.
flydsl::layout::Layout withRun(const MatrixInstruction &row, const ThreadValues &tv, int run);

/// What a lane holds of C and D in a fragment. RDNA3's instructions keep a sum of 16 bits in the
/// low half of a register each (`registersC`); the fragment has them side by side.
Registers fragmentC(const MatrixInstruction &row);

/// The family of the instructions without scales of a target; every target has one.
MatrixFamily denseFamilyOf(const flydsl::Target &target);

/// How raw intrinsics name an instruction: LLVM's name after "mfma.", "mfma.scale." or "wmma.",
/// with underscores: "f32_16x16x16f16".
std::string rawName(const MatrixInstruction &row);
/// The instruction without scales that a target has by that name, or null.
const MatrixInstruction *findRaw(std::string_view name, const flydsl::Target &target);
/// The scaled MFMA by its raw name, "f32_16x16x128_f8f6f4", or null.
const MatrixInstruction *findRawScaled(std::string_view name, flydsl::DType a, flydsl::DType b);
/// The names that `findRaw` takes for a target.
std::vector<std::string> rawNames(const flydsl::Target &target);
/// The processors of a feature that have an instruction of that name.
std::vector<std::string> processorsWithRaw(std::string_view name, flydsl::Feature feature);

/// All atoms of a family that a target has, by element types: "f16, f16 -> f32: 32x32x8, 16x16x16;
/// ...". With no target, those of any.
std::string offeredInstructions(MatrixFamily family, const flydsl::Target &target = {});

/// Why the instruction of a copy or mma atom is not on a target, and what the target has in its
/// place; empty where it is there.
std::string missingOn(Type instruction, const flydsl::Target &target);

} // namespace mlir::fly_rocdl
