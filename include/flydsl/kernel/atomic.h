// Atomic operations on single elements of memory.
#pragma once

#include <flydsl/kernel/atom.h>
#include <flydsl/kernel/memory_order.h>
#include <flydsl/kernel/tensor.h>

FLYDSL_NAMESPACE_BEGIN

/// Atomically combines the element at `pointer` (in generic, global or shared memory) with `value`,
/// and returns its previous value.
///
/// * Integers support all operations; minimum and maximum go by the sign of the type.
/// * Floats support add, exchange, minimum and maximum.
/// * `inc` counts up, and starts again at 0 above `value`. `dec` counts down, and starts again at
///   `value` below 0 and above `value`.
///
/// `scope` names the threads that see the operation as one step. Without an order the access is
/// relaxed: accesses to other memory are not ordered.
FLYDSL_API Numeric atomic(AtomicOp op, const Pointer &pointer, const Numeric::Arg &value,
                          SyncScope scope = MemoryScope::agent);
FLYDSL_API Numeric atomic(AtomicOp op, const Pointer &pointer, const Numeric::Arg &value,
                          MemoryOrder order, SyncScope scope = MemoryScope::agent);

/// Atomically adds two neighbouring elements of 16 bits (f16 or bf16) in one step of 32 bits, and
/// returns their previous values. The pointer must be aligned to 4 bytes.
/// gfx90a has the instruction for f16 in global memory, gfx942, gfx950 and gfx12 for both types in
/// global memory and in LDS; elsewhere it is a loop around a compare and swap. Other operations,
/// types and sizes are a TraceError.
FLYDSL_API Vector atomic(AtomicOp op, const Pointer &pointer, const Vector &value,
                         MemoryOrder order = MemoryOrder::relaxed,
                         SyncScope scope = MemoryScope::agent, Loc loc = Loc::current());

/// Atomically writes `desired` if the bits of the element equal those of `expected`, and returns
/// the previous value. If they differ, the access is a load; it acquires if `order` does. Without
/// an order the access is relaxed.
FLYDSL_API Numeric atomic_cas(const Pointer &pointer, const Numeric::Arg &expected,
                              const Numeric::Arg &desired, SyncScope scope = MemoryScope::agent);
FLYDSL_API Numeric atomic_cas(const Pointer &pointer, const Numeric::Arg &expected,
                              const Numeric::Arg &desired, MemoryOrder order,
                              SyncScope scope = MemoryScope::agent);

/// Reads the element at `pointer` (of 8, 16, 32 or 64 bits) while other threads may write it. The
/// element is read anew each time, whereas the compiler may read a plain element only once. A
/// thread waits with it: `fx::while_([&] { return fx::atomic_load(flag) == 0; }, [] {})`. The
/// orders `release` and `acq_rel` are a TraceError.
FLYDSL_API Numeric atomic_load(const Pointer &pointer, MemoryOrder order = MemoryOrder::acquire,
                               SyncScope scope = MemoryScope::agent, Loc loc = Loc::current());
/// Writes the element in one step. The orders `acquire` and `acq_rel` are a TraceError.
FLYDSL_API void atomic_store(const Pointer &pointer, const Numeric::Arg &value,
                             MemoryOrder order = MemoryOrder::release,
                             SyncScope scope = MemoryScope::agent);

FLYDSL_NAMESPACE_END
