// What the tensors of a copy and of a matrix product must be.
//
// The lowering takes IR of any origin and reads what it does not know in the one way that makes
// sense. Here the user's call is at hand, so what would be taken on trust there is refused.
#pragma once

#include "builder/trace/tracer.h"

#include <flydsl/mma.h>

namespace flydsl::builder {

/// The operands of a copy, `op` being fly.copy or fly.copy_atom_call. `atom` is an atom or a tiled
/// copy; `values` is the type that it was made for, none where it was made for a width.
struct CopyCheck {
  const char *op;
  mlir::Type atom;
  DType values;
  const Tensor &source, &destination;
  const Tensor *pred;
  Loc loc;

  /// A TraceError where the atom can't copy so.
  void expectFits() const;
};

/// The operands of a gemm, or of one call of an mma atom. `atom` is an atom or a tiled mma.
struct MmaCheck {
  const char *op;
  mlir::Type atom;
  const Tensor &d, &a, &b, &c;
  const GemmOptions *options; ///< null: one call
  Loc loc;

  /// A TraceError where the atom can't multiply so.
  void expectFits() const;
};

} // namespace flydsl::builder
