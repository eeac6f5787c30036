// How fly.copy and fly.gemm fall into calls of their atom.
//
// The lowering makes the calls; tracing looks at the first of them, because all calls of one
// operation have the same layouts. Both go through the functions here, so that what the lowering
// refuses is refused while tracing.
#pragma once

#include "dialect/Fly/IR/AlgebraValue.h"

namespace mlir::fly {

/// Atom calls, or accesses, that one operation becomes at most; more than that belongs into a loop.
constexpr int64_t kMostCalls = 1 << 14;

/// The tensors of a copy, or of one call of its atom.
struct CopyOperands {
  MemRefValue src, dst;
  std::optional<MemRefValue> pred;
};

/// Runs `fn` on each atom call's part of a copy, in order; a failure of `fn` ends it. A call's
/// tensors have one mode, whose values are the call's. A LayoutError where the tensors do not fall
/// into calls.
LogicalResult forEachCall(CopyAtomType atom, const CopyOperands &whole,
                          llvm::function_ref<LogicalResult(const CopyOperands &)> fn);

/// Elements of a tensor that one call of the atom moves; an atom's values may be wider or narrower
/// than they are. A LayoutError where it is no whole number.
int64_t elementsPerCall(CopyAtomType atom, Type elemTy);

/// Whether the first `values` elements of a tensor's one mode lie as its linear layout says,
/// wherever the tensor starts: its swizzle neither reads nor changes a bit that the mode moves. Not
/// given where that is not known.
std::optional<bool> isLinear(const MemRefValue &tensor, int64_t values);

/// The tensors of a gemm, or of one call of its atom, where `c` is what is added to.
struct MmaOperands {
  MemRefValue d, a, b, c;
};

/// The same for D = A * B + C over (value, M, N), (value, M, K), (value, N, K); `order` or
/// `traversal` (where given) says which call comes first. Of the calls along K, the first one
/// `begins` with C, the others go on with D.
LogicalResult forEachCall(const MmaOperands &whole, std::optional<GemmTraversalOrder> order,
                          const flydsl::layout::Layout *traversal,
                          llvm::function_ref<LogicalResult(const MmaOperands &, bool begins)> fn);

} // namespace mlir::fly
