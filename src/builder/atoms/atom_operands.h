// What the tensors of a copy and of a matrix product must be.
//
// The lowering takes IR of any origin and reads what it does not know in the one way that makes
// sense. Here the user's call is at hand, so what would be taken on trust there is refused.
#pragma once

#include "builder/trace/tracer.h"

#include "dialect/Fly/IR/FlyTypes.h"

#include <flydsl/kernel/mma.h>

namespace flydsl::builder {

/// The operands of a copy. `atom` is an atom or a tiled copy; `values` is the type that it was made
/// for, none where it was made for a width.
struct CopyCheck {
  /// fx::copy calls the atom as often as it takes, fx::copy_atom_call once.
  enum class Calls { all, one };
  const Tracer &tracer;
  Calls calls;
  mlir::Type atom;
  DType values;
  const Tensor &source, &destination;
  const Tensor *pred;
  Loc loc;

  /// A TraceError where the atom can't copy so.
  void expectFits() const;
};

/// fx's enumerators as the dialect's.
mlir::fly::GemmTraversalOrder orderOf(GemmTraversalOrder order);
mlir::fly::MmaOperand operandOf(MmaOperand operand);

/// The operands of a gemm, or of one call of an mma atom. `atom` is an atom or a tiled mma.
struct MmaCheck {
  const Tracer &tracer;
  mlir::Type atom;
  const Tensor &d, &a, &b, &c;
  const GemmOptions *options; ///< null: one call
  Loc loc;

  /// A TraceError where the atom can't multiply so.
  void expectFits() const;
};

} // namespace flydsl::builder
