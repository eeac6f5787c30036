// What is known of an integer SSA value.
//
// Range and divisibility of i32, i64 and index values, read off the operations that define them.
// The layout lowering gives them to its symbols, so that divisions become shifts and 64-bit
// arithmetic becomes 32-bit where that is right; the swizzle pass asks how many low bits of an
// addend are zero.

#ifndef FLYDSL_DIALECT_FLY_TRANSFORMS_INTEGERFACTS_H
#define FLYDSL_DIALECT_FLY_TRANSFORMS_INTEGERFACTS_H

#include "layout/expr.h"

#include "mlir/IR/Value.h"

#include <cstdint>
#include <optional>

namespace mlir::fly {

/// The constant that `value` is, if it is one.
std::optional<int64_t> constantValue(Value value);

/// An expression whose range and divisor hold for `value`. Exact for constants; ids and sizes of
/// threads and blocks have the launch's bounds (the block's from the enclosing function's
/// `known_block_size` where it is given); followed through arith and through the induction
/// variables of scf.for. Arithmetic that could wrap in its type is taken as unknown but for the
/// powers of two that divide it.
flydsl::layout::ExprRef factsOf(Value value);

/// How many low bits of `value` are known to be zero; 63 for the constant 0.
unsigned knownTrailingZeros(Value value);

} // namespace mlir::fly

#endif // FLYDSL_DIALECT_FLY_TRANSFORMS_INTEGERFACTS_H
