// What is known of an integer SSA value: the range and divisibility of i32, i64 and index values,
// as the operations that define them show.
//
// The layout lowering gives them to its symbols, so that divisions become shifts and 64-bit
// arithmetic becomes 32-bit where that is right; the swizzle pass asks how many low bits of an
// addend are zero.
#pragma once

#include "layout/expr.h"

#include "mlir/IR/Value.h"

#include <cstdint>
#include <optional>

namespace mlir::fly {

/// The constant that `value` is, if it is one.
std::optional<int64_t> constantValue(Value value);

/// An expression whose range and divisor hold for `value`.
///
/// Constants are exact. Ids and sizes of threads and blocks have the bounds of a launch: those of
/// the block come from `known_block_size` of the enclosing function if it is there, all others from
/// the limits of all processors, because the target is not known here. Arithmetic and the induction
/// variables of scf.for are followed. Of arithmetic that could wrap in its type, only the powers of
/// two that divide it are known. What a select takes of a number is within the bounds that its
/// condition compares the number with: `select(i >= 0 and i < n, i, 0)` is not negative. What
/// llvm.intr.assume promises by comparisons with constants, in the block that has a value, bounds it
/// if nothing else is known of its range.
flydsl::layout::ExprRef factsOf(Value value);
/// The same of what operations alone show, as LLVM finds it too.
flydsl::layout::ExprRef factsWithoutAssumptions(Value value);

/// How many low bits of `value` are known to be zero; 63 for the constant 0.
unsigned knownTrailingZeros(Value value);

} // namespace mlir::fly
