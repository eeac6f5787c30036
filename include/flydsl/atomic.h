// Atomic operations on single elements of memory.
#pragma once

#include <flydsl/atom.h>
#include <flydsl/tensor.h>

FLYDSL_NAMESPACE_BEGIN

/// Combines the element at `pointer` (generic, global or shared memory) with `value`, atomically,
/// and gives what was there before. Integers do all operations, minimum and maximum by their sign;
/// floats add, exchange, and take minimum and maximum. `inc` counts up and starts again at 0 above
/// `value`; `dec` counts down and starts again at `value` below 0 and above `value`. `scope` is
/// LLVM's sync scope; empty is the whole system. No order is promised to other memory.
FLYDSL_API Numeric atomic(AtomicOp op, const Pointer &pointer, const Numeric::Arg &value,
                          const char *scope = "agent");
/// Writes `desired` where the element is `expected` to the bit, atomically, and gives what was
/// there before.
FLYDSL_API Numeric atomic_cas(const Pointer &pointer, const Numeric::Arg &expected,
                              const Numeric::Arg &desired, const char *scope = "agent");

FLYDSL_NAMESPACE_END
