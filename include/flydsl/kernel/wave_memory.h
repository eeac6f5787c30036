// How the waves of a block use memory besides lane by lane: one number for all lanes of a wave, data
// past the registers into shared memory, elements that lanes exchange while they read, and a barrier
// for one memory. Each vendor has instructions of its own for it.
#pragma once

#include <flydsl/kernel/copy.h>
#include <flydsl/kernel/gpu.h>
#include <flydsl/kernel/memory_order.h>
#include <flydsl/kernel/tensor.h>

FLYDSL_NAMESPACE_BEGIN

namespace gpu {
/// An element of global memory whose place the lanes of a wave have in common, as one number of the
/// wave (see `gpu::uniform`): where a sequence begins, or the scale of a head. Nothing may write the
/// memory while the kernel runs. Elements have 32 or 64 bits. If the lanes' places differ, each reads
/// its own, by a load of vectors. TraceError for elements of other sizes, and for memory that is not
/// global.
FLYDSL_API Numeric uniform_load(const Tensor &tensor, const IntTuple &coord,
                                Loc loc = Loc::current());

/// gpu::barrier for accesses to one memory alone, AddressSpace::shared or AddressSpace::global. A
/// block that exchanges values through shared memory takes `gpu::barrier(AddressSpace::shared)`: loads
/// from global memory stay under way, and caches keep what they hold. On AMD's RDNA a barrier of all
/// memories waits for every load and store of global memory, and empties the first cache ("Memory
/// Model gfx10-gfx11" in LLVM's AMDGPU guide). AddressSpace::generic names all memories. TraceError for
/// registers, which no other thread sees.
FLYDSL_API void barrier(AddressSpace memory, Loc loc = Loc::current());
} // namespace gpu

/// fx::fence for accesses to one memory alone, AddressSpace::shared or AddressSpace::global: accesses to the
/// other one stay under way. AddressSpace::generic names all memories. TraceError for registers, which no
/// other thread sees, and for order `relaxed`.
FLYDSL_API void fence(MemoryOrder order, AddressSpace memory, SyncScope scope = MemoryScope::agent,
                      Loc loc = Loc::current());

/// A copy of `bits` of each lane from global memory to shared memory that bypasses the registers. The
/// lanes' pieces lie one after another in shared memory, whatever their places in global memory are.
/// `gpu::wait_for` waits for it, before the barrier after which other waves read what it has brought.
/// AMD's targets with feature::buffer_to_lds_wide have it of 32, 96 and 128 bits; see
/// `bounded_load_to_shared` for others. TraceError for a target and for bits without it.
FLYDSL_API CopyOp CopyToShared(int bits, Loc loc = Loc::current());
/// The same with a cache policy.
FLYDSL_API CopyOp CopyToShared(int bits, CachePolicy cache, Loc loc = Loc::current());
/// A read of `bits` of each lane from shared memory that transposes elements of `elementBits` over
/// groups of 16 lanes. AMD's targets with feature::lds_transpose_read have it of 64 bits, for elements
/// of 4, 8 and 16, and of 96 bits for elements of 6. TraceError for a target and for sizes without it.
FLYDSL_API CopyOp TransposedCopyFromShared(int elementBits, int bits, Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
