// gfx1250: copies between global memory and LDS that bypass the registers. flydsl/flydsl.h does not
// include it.
#pragma once

#include <flydsl/rocdl/intrinsics.h>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

/// gfx1250: copies `bytes` (1, 4, 8 or 16) of each lane from global memory to shared memory. Each
/// lane has a place of its own in both, unlike gfx950's loads into LDS, whose lanes follow one
/// another; lanes that are off copy nothing.
///
/// The compiler waits for no copy. `s_wait_asynccnt(n)` waits until at most n copies of the wave
/// are under way; loads end in the order in which they were issued. After it, a barrier lets the
/// other waves read what came: `gpu::barrier()`, which also keeps the compiler from moving reads
/// before the wait. Before LDS is copied to again, its readers meet at a barrier too. The
/// emulator's wait check names what is missing.
///
/// Throws TraceError for another target, size, or memory. Source: LLVM's
/// llvm.amdgcn.global.load.async.to.lds.
FLYDSL_API void global_load_async_to_lds(const Pointer &global, const Pointer &lds, int bytes,
                                         Loc loc = Loc::current());
/// gfx1250: the same load for the workgroups of a cluster that `workgroups` has as bits, by their
/// numbers (`cluster_workgroup_flat_id`): memory answers them all at once. Each of them makes the same
/// call with the same addresses, and each gets the bytes in its own shared memory. With 0 it is
/// `global_load_async_to_lds`. The emulator ends a launch in which a workgroup of the mask does not
/// ask. Throws TraceError as above. Source: LLVM's llvm.amdgcn.cluster.load.async.to.lds.
FLYDSL_API void cluster_load_async_to_lds(const Pointer &global, const Pointer &lds, int bytes,
                                          const Int32 &workgroups, Loc loc = Loc::current());
/// gfx1250: loads `count` neighbouring elements for each lane, 4, 8 or 16 bytes together, for the workgroups
/// of a cluster as `cluster_load_async_to_lds` does, into registers: the compiler waits for them. Each
/// workgroup of the mask makes the same loads of the same lanes. Throws TraceError for another target,
/// size, or memory. Source: LLVM's llvm.amdgcn.cluster.load.
FLYDSL_API Vector cluster_load(const Pointer &global, int count, const Int32 &workgroups,
                               Loc loc = Loc::current());
/// gfx1250: `global_load_async_to_lds` the other way, from shared to global memory. Of several stores,
/// and of stores and loads, no order is known: wait for them with `s_wait_asynccnt(0)` before the LDS
/// is written again.
FLYDSL_API void global_store_async_from_lds(const Pointer &lds, const Pointer &global, int bytes,
                                            Loc loc = Loc::current());

} // namespace rocdl
FLYDSL_NAMESPACE_END
