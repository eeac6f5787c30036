// How fly.copy and fly.gemm fall into calls of their atom.
//
// The lowering makes the calls; tracing looks at the first of them, because all calls of one
// operation have the same layouts. Both go through the functions here, so that what the lowering
// refuses is refused while tracing.
#pragma once

#include "dialect/Fly/IR/AlgebraValue.h"

namespace mlir::fly {

/// The most atom calls, or accesses, that one operation may become. More of them belong into a
/// loop.
constexpr int64_t kMostCalls = 1 << 14;

/// The tensors of a copy, or of one call of its atom.
struct CopyOperands {
  MemRefValue src, dst;
  std::optional<MemRefValue> pred;
};

/// Whether the instruction copies from the memory of `src` to the memory of `dst`. A generic
/// address counts as one of global memory.
bool copiesBetween(CopyOpTypeInterface instruction, MemRefType src, MemRefType dst);

/// What a tensor of one element is to an atom that copies several at once: a mistake, or where they
/// begin.
enum class OneElement { IsTooFew, Begins };

/// Calls `fn` with each atom call's part of a copy, in order, until `fn` fails. The tensors of a
/// call have one mode, which lists the values of the call. Throws LayoutError if the tensors can't
/// be divided into calls.
LogicalResult forEachCall(CopyAtomType atom, const CopyOperands &whole, OneElement oneElement,
                          llvm::function_ref<LogicalResult(const CopyOperands &)> fn);

/// How many elements of a tensor one call of the atom moves. The atom's values may be wider or
/// narrower than the elements. Throws LayoutError if it is not a whole number.
int64_t elementsPerCall(CopyAtomType atom, Type elemTy);

/// Whether the first `values` elements of a tensor of one mode lie as its linear layout says,
/// wherever the tensor starts: the swizzle then neither reads nor changes a bit in which they
/// differ. The result is empty if that is not known.
std::optional<bool> isLinear(const MemRefValue &tensor, int64_t values);

/// The tensors of a gemm, or of one call of its atom, where `c` is what is added to.
struct MmaOperands {
  MemRefValue d, a, b, c;
};

/// Which part of D (and of C), A and B a call takes, numbered from 0: calls that take the same part
/// of a tensor have the same number.
struct MmaParts {
  int64_t d, a, b;
};

/// The same for D = A * B + C over (value, M, N), (value, M, K), (value, N, K); `order` or
/// `traversal` (where given) says which call comes first. Of the calls along K, the first one
/// `begins` with C, the others go on with D.
LogicalResult
forEachCall(const MmaOperands &whole, std::optional<GemmTraversalOrder> order,
            const flydsl::layout::Layout *traversal,
            llvm::function_ref<LogicalResult(const MmaOperands &, MmaParts, bool begins)> fn);

} // namespace mlir::fly
