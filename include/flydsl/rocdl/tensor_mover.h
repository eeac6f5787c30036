// gfx1250: the tensor data mover, which copies whole tiles between tensors and LDS.
// flydsl/flydsl.h does not include it.
#pragma once

#include <flydsl/kernel/atom.h>
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
/// Each of the waves issues one instruction, whatever lanes are on. All of them must reach the call: where an
/// fx::if_ stands around it, its condition is the same for all threads of a wave, such as
/// `fx::rocdl::wave_id() == 0`, and `waves` says how many waves get there, from wave 0 on. Without an fx::if_, 1
/// lets each wave move a tile of its own: where it writes, `lds` of a load, is made of its wave_id().
///
/// The compiler waits for no move. `s_wait_tensorcnt(n)` waits until at most n moves of the wave are under
/// way; they end in the order in which they were issued, loads and stores alike. After it, a barrier lets the
/// other waves read what came: `gpu::barrier()`, which also keeps the compiler from moving reads before the wait.
/// Before LDS is moved to again, its readers meet at a barrier too. The emulator's wait check names what is missing.
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

/// The direction of an atom of the mover (`make_tiled_tdm_atom`): from a tensor into LDS, or back.
/// `cache_modifier`: as TensorMoveOptions::cache.
struct TensorLoad {
  int cache_modifier = 0;
};
struct TensorStore {
  int cache_modifier = 0;
};
/// Options of `make_tiled_tdm_atom`.
struct TiledTdmOptions {
  /// The waves that share a tile in equal parts.
  int num_warps = 1;
  /// Whether what lies outside of the tensor becomes zeros, or is not written. If false, the tensor has all
  /// that is moved.
  bool init_boundary_check = true;
  /// Of a load: see TensorMoveOptions::workgroups.
  std::optional<Int32> workgroups = {};
};
/// An atom, and the tensor by whose coordinates it moves.
struct TiledTdm {
  CopyAtom atom;
  Tensor coordinates; ///< has the tensor's shape; it is divided and sliced like the tensor
};
/// gfx1250: an atom that moves tiles of `tensor`, in global memory, to where `smem_layout` says that
/// their elements lie in LDS, and the tensor's coordinates. `tdm_tile` takes a tile from the tensor, as
/// fx::zipped_divide does; both have as many elements. The atom is one box, the part of one wave;
/// `tdm_partition` gives the boxes of a wave, and fx::copy moves them:
///
///   auto [atom, places] = make_tiled_tdm_atom(TensorLoad{}, x, make_layout({128, 64}, {64, 1}), {128, 64},
///                                             {.num_warps = 4});
///   auto tiles = zipped_divide(places, {128, 64});            // ((128, 64), (rows, columns))
///   auto [to, from] = tdm_partition(atom, wave_id(), make_layout(4), lds, tiles(_, make_coord(i, j)));
///   copy(atom, from, to);
///
/// The tensor has 1 to 5 modes without further nesting, and elements of 8, 16, 32 or 64 bits; both
/// memories have the same contiguous mode. LDS may have a gap after every power of two of elements, which a
/// store may not. Waits and barriers are those of `tensor_load_to_lds`. Throws TraceError for anything
/// else, and for another target. FlyDSL's function of this name has `atomic_barrier` as well, which
/// the emulator does not run.
FLYDSL_API TiledTdm make_tiled_tdm_atom(const TensorLoad &op, const Tensor &tensor,
                                        const Layout &smem_layout, const Tile &tdm_tile,
                                        const TiledTdmOptions &options = {},
                                        Loc loc = Loc::current());
FLYDSL_API TiledTdm make_tiled_tdm_atom(const TensorStore &op, const Tensor &tensor,
                                        const Layout &smem_layout, const Tile &tdm_tile,
                                        const TiledTdmOptions &options = {},
                                        Loc loc = Loc::current());

/// What a wave moves: the same boxes in LDS and in the tensor.
struct TdmPartition {
  Tensor shared, global; ///< (box, boxes of the wave, rest...)
};
/// gfx1250: the boxes of the wave at `warp_coord` of `warp_layout`, whose size is the atom's
/// `num_warps` and which numbers the waves from 0 on. Mode 0 of `stensor`, in LDS, and of `gtensor`, of
/// the coordinates, is the tile; their other modes are kept, such as stages and tiles of a row. Both
/// may be one tile, whose modes are its own: `gtensor` as zipped_divide(...)(_, make_coord(i, j)) gives
/// it. All threads of a wave copy, and each wave that does copies what is its own: where the block has
/// more waves than the N of the layout, this is called inside of fx::if_(wave_id() < N, ...). Throws
/// TraceError where something does not fit, and the copy does so where the tile has another shape than
/// the atom.
FLYDSL_API TdmPartition tdm_partition(const CopyAtom &atom, const IntTuple &warp_coord,
                                      const Layout &warp_layout, const Tensor &stensor,
                                      const Tensor &gtensor, Loc loc = Loc::current());

} // namespace rocdl
FLYDSL_NAMESPACE_END
