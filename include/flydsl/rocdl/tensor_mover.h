// gfx1250: the tensor data mover, which copies whole tiles between tensors and LDS.
// flydsl/flydsl.h does not include it.
#pragma once

#include <flydsl/kernel/tensor.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

/// Options of a tile's move.
struct TensorMoveOptions {
  /// The number of waves that share the tile; each moves an equal part of it. A power of
  /// two. By default all waves of the block.
  std::optional<int> waves = {};
  /// The instruction's cache bits as LLVM's intrinsic takes them: th in bits 0 to 2, scope in bits 3
  /// and 4.
  int cache = 0;
  /// Of a load in a cluster: the workgroups that load the same tile to the same place in their LDS,
  /// as bits by cluster_workgroup_flat_id(), the own one among them. Each of them calls this, and
  /// memory is read for all at once. By default each workgroup loads for itself.
  std::optional<Int32> workgroups = {};
};

/// gfx1250: copies one tile of `tensor`, in global memory, to `lds`, in shared memory. The tile has
/// the shape of `lds`, which is static; `tile` counts tiles of that shape along each mode, as
/// fx::flat_divide does. What lies outside of the tensor becomes zeros.
///
/// Each of the waves issues one instruction, whatever lanes are on. All of them must reach the call:
/// where an fx::if_ stands around it, its condition is the same for all threads of a wave, such as
/// `fx::rocdl::wave_id() == 0`, and `waves` says how many waves get there, from wave 0 on.
///
/// The compiler waits for no move. `s_wait_tensorcnt(n)` waits until at most n moves of the wave are
/// under way; they end in the order in which they were issued, loads and stores alike. After it, a
/// barrier lets the other waves read what came: `gpu::barrier()`, which also keeps the compiler from
/// moving reads before the wait. Before LDS is moved to again, its readers meet at a barrier too. The
/// emulator's wait check names what is missing.
///
/// Both have the same 1 to 5 modes (the last has the stride 1), and elements of 8, 16, 32 or
/// 64 bits. In `lds`, every so many elements may be followed by a gap, as in `(64, 32):(40, 1)`: 2, 4,
/// ... 256 words of 32 bits, and then 2 to 128 words (or 2 words, and then 1). Throws TraceError for
/// anything else, for another target, and where `waves` is not the number of waves that get there as
/// far as is known; a gap or a share of the waves that the mover can't do is a CompileError. The
/// tensor's address is a multiple of an element's size. Source: LLVM's
/// llvm.amdgcn.tensor.load.to.lds, and what docs/emulator.md names for the descriptor.
FLYDSL_API void tensor_load_to_lds(const Tensor &tensor, const IntTuple &tile, const Tensor &lds,
                                   const TensorMoveOptions &options = {}, Loc loc = Loc::current());
/// gfx1250: the same from shared to global memory. What lies outside of the tensor is not written.
/// Before it, a barrier follows what wrote `lds`; before LDS is written again, the wave waits by
/// `s_wait_tensorcnt` and all meet at a barrier; before it ends, it waits. In a store, a gap in `lds` comes after each row.
FLYDSL_API void tensor_store_from_lds(const Tensor &lds, const Tensor &tensor, const IntTuple &tile,
                                      const TensorMoveOptions &options = {},
                                      Loc loc = Loc::current());

} // namespace rocdl
FLYDSL_NAMESPACE_END
