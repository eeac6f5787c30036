// The dense matrix instructions: which shapes and types there are, on which targets, and what LLVM
// calls them. Verifiers, diagnostics and the lowering all ask here.
#pragma once

#include <flydsl/target.h>

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

/// Of a target with WMMA, the instruction with LLVM's name ("f32_16x16x32_f16", points or
/// underscores); null where the target has none.
const MatrixInstruction *findWmma(llvm::StringRef name, const flydsl::Target &target);
/// The names of all WMMA instructions that a target has, as `findWmma` takes them.
std::vector<std::string> wmmaNames(const flydsl::Target &target);
/// The processors that have a WMMA instruction of that name.
std::vector<std::string> wmmaTargets(llvm::StringRef name);

/// What a lane hands to a WMMA operation of the ROCDL dialect, as vectors (words for elements below
/// 16 bits; before gfx1250, bf16 as 16-bit integers). RDNA3 holds a sum of 16 bits in the low half
/// of a register each, so `acc` has 16 such values there.
struct WmmaRegisters {
  Type a, b, acc;
};
WmmaRegisters wmmaRegisters(const MatrixInstruction &instruction, MLIRContext *context);

/// All of a family that a target has, by element types: "f16, f16 -> f32: 32x32x8, 16x16x16; ...".
/// With no target, those of any.
std::string offeredInstructions(MatrixFamily family, const flydsl::Target &target = {});

/// Why the instruction of a copy or mma atom is not on a target, and what the target has in its
/// place; empty where it is there.
std::string missingOn(Type instruction, const flydsl::Target &target);

} // namespace mlir::fly_rocdl
