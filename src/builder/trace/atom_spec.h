// Atoms and tiled operations that are known while tracing, as they were asked for. They need no
// context of MLIR's, so each is good for every trace.
#pragma once

#include "layout/tile.h"

#include <flydsl/detail/handle.h>

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Types.h"

#include <memory>
#include <variant>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The instruction of an atom.
class AtomInstruction {
public:
  virtual ~AtomInstruction() = default;
  /// The dialect's type; null if its verifier refuses, which tells `emitError` why.
  virtual mlir::Type type(mlir::MLIRContext &context, EmitError emitError) const = 0;
};
using AtomInstructionRef = std::shared_ptr<const AtomInstruction>;

struct CopyAtomSpec {
  AtomInstructionRef instruction;
  int valueBits;
};
struct MmaAtomSpec {
  AtomInstructionRef instruction;
};
struct TiledCopySpec {
  CopyAtomSpec atom;
  layout::Layout threadsAndValues;
  layout::Tile tile;
};
struct TiledMmaSpec {
  MmaAtomSpec atom;
  layout::Layout atoms;
  layout::Tile permutation;
};
using AtomSpec =
    std::variant<AtomInstructionRef, CopyAtomSpec, MmaAtomSpec, TiledCopySpec, TiledMmaSpec>;

/// The dialect's type of a spec; null if a verifier refuses.
mlir::Type typeOf(const AtomSpec &spec, mlir::MLIRContext &context, EmitError emitError);

} // namespace detail
FLYDSL_NAMESPACE_END
