// The dense matrix instructions: which shapes and types there are, on which targets, and what LLVM
// calls them. Verifiers, diagnostics and the lowering all ask here.
#pragma once

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace mlir::fly_rocdl {

/// One per type of the dialect.
enum class MatrixFamily { MFMA, GFX11, GFX120X, GFX1250 };

struct MatrixInstruction {
  MatrixFamily family;
  int32_t m, n, k;
  /// Element types as IR spells them; an integer of any sign is "i8".
  std::string a, b, acc;
  /// The operation of the ROCDL dialect, without its prefix: "mfma.f32.16x16x16f16".
  std::string name;
  /// Of MFMA, the targets that have it, as bits of MfmaTarget.
  unsigned targets;
};

enum MfmaTarget : unsigned { kGfx90a = 1, kGfx942 = 2, kGfx950 = 4 };

/// Null where no target has such an instruction.
const MatrixInstruction *findMatrixInstruction(MatrixFamily family, int32_t m, int32_t n, int32_t k,
                                               Type a, Type b, Type acc);

/// All of a family that a target ("gfx942", features ignored) has, by element types: "f16, f16 ->
/// f32: 32x32x8, 16x16x16; ...". With no target, those of any.
std::string offeredInstructions(MatrixFamily family, llvm::StringRef target = "");

/// Why the instruction of a copy or mma atom is not on a target, and what the target has in its
/// place; empty where it is there, or where the target is none that this library knows.
std::string missingOn(Type instruction, llvm::StringRef target);

} // namespace mlir::fly_rocdl
