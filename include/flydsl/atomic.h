// Atomic operations on single elements of memory.
#pragma once

#include <flydsl/atom.h>
#include <flydsl/tensor.h>

FLYDSL_NAMESPACE_BEGIN

/// Combines the element at `pointer` (generic, global or shared memory) with `value`, atomically,
/// and gives what was there before. Integers do all operations, minimum and maximum by their sign;
/// floats add, exchange, and take minimum and maximum. `inc` counts up and starts again at 0 above
/// `value`; `dec` counts down and starts again at `value` below 0 and above `value`. `scope` says
/// who sees it as one step: "wavefront", "workgroup", "agent" (the device), "system" (or empty: the
/// host and other devices too), "singlethread", or one of these with "-one-as", LLVM's for a single
/// address space; a TraceError for others. No order is promised to other memory.
FLYDSL_API Numeric atomic(AtomicOp op, const Pointer &pointer, const Numeric::Arg &value,
                          const char *scope = "agent");
/// Writes `desired` where the element is `expected` to the bit, atomically, and gives what was
/// there before.
FLYDSL_API Numeric atomic_cas(const Pointer &pointer, const Numeric::Arg &expected,
                              const Numeric::Arg &desired, const char *scope = "agent");

/// What an atomic access says of the thread's other accesses: nothing; that those behind it see what
/// a release that it has read from has written; that who reads it by an acquire sees what stands
/// before it; and one order of all accesses of this kind.
enum class MemoryOrder { relaxed, acquire, release, seq_cst };

/// Reads the element at `pointer` (of 8, 16, 32 or 64 bits), which other threads write meanwhile:
/// it is read anew each time, where the compiler reads a plain element once. It is what a thread
/// waits with: `fx::while_([&] { return fx::atomic_load(flag) == 0; }, [] {})`. Order `release` is
/// a TraceError.
FLYDSL_API Numeric atomic_load(const Pointer &pointer, MemoryOrder order = MemoryOrder::acquire,
                               const char *scope = "agent", Loc loc = Loc::current());
/// Writes the element, whole. Order `acquire` is a TraceError.
FLYDSL_API void atomic_store(const Pointer &pointer, const Numeric::Arg &value,
                             MemoryOrder order = MemoryOrder::release, const char *scope = "agent");

FLYDSL_NAMESPACE_END
