// Atomic operations on single elements of memory.
#pragma once

#include <flydsl/atom.h>
#include <flydsl/tensor.h>

FLYDSL_NAMESPACE_BEGIN

/// Atomically combines the element at `pointer` (in generic, global or shared memory) with `value`,
/// and returns its previous value.
///
/// * Integers support all operations; minimum and maximum go by the sign of the type.
/// * Floats support add, exchange, minimum and maximum.
/// * `inc` counts up, and starts again at 0 above `value`. `dec` counts down, and starts again at
///   `value` below 0 and above `value`.
///
/// `scope` names the threads that see the operation as one step: "wavefront", "workgroup", "agent"
/// (the device), "system" or "" (the host and other devices too), "singlethread", or one of these
/// with the suffix "-one-as", by which LLVM means a single address space. Another scope is a
/// TraceError. Accesses to other memory are not ordered.
FLYDSL_API Numeric atomic(AtomicOp op, const Pointer &pointer, const Numeric::Arg &value,
                          const char *scope = "agent");
/// Atomically writes `desired` if the bits of the element equal those of `expected`, and returns
/// the previous value.
FLYDSL_API Numeric atomic_cas(const Pointer &pointer, const Numeric::Arg &expected,
                              const Numeric::Arg &desired, const char *scope = "agent");

/// The order that an atomic access imposes on the thread's other accesses:
///
/// * relaxed: none.
/// * acquire: accesses after it see all that was written before the release that it has read from.
/// * release: a thread that reads its value by an acquire sees the accesses before it.
/// * seq_cst: both, and all accesses of this kind have one order.
enum class MemoryOrder { relaxed, acquire, release, seq_cst };

/// Reads the element at `pointer` (of 8, 16, 32 or 64 bits) while other threads may write it. The
/// element is read anew each time, whereas the compiler may read a plain element only once. A
/// thread waits with it: `fx::while_([&] { return fx::atomic_load(flag) == 0; }, [] {})`. Order
/// `release` is a TraceError.
FLYDSL_API Numeric atomic_load(const Pointer &pointer, MemoryOrder order = MemoryOrder::acquire,
                               const char *scope = "agent", Loc loc = Loc::current());
/// Writes the element in one step. Order `acquire` is a TraceError.
FLYDSL_API void atomic_store(const Pointer &pointer, const Numeric::Arg &value,
                             MemoryOrder order = MemoryOrder::release, const char *scope = "agent");

FLYDSL_NAMESPACE_END
