// Matrix multiplication: an atom, its repetition over threads and a tile, and the gemm over
// fragments.
#pragma once

#include <flydsl/kernel/copy.h>

FLYDSL_NAMESPACE_BEGIN

class ThrMma;

/// An operand of D = A * B + C.
enum class MmaOperand { A, B, C, D };

/// The order of a gemm's atom calls, fastest mode first: KMN runs k innermost and n outermost. In a
/// serpentine order, the two inner loops run backwards on every other pass.
enum class GemmTraversalOrder {
  KMN,
  KNM,
  MKN,
  MNK,
  NKM,
  NMK,
  KMN_Serpentine,
  KNM_Serpentine,
  MKN_Serpentine,
  MNK_Serpentine,
  NKM_Serpentine,
  NMK_Serpentine
};

/// Options of a fragment.
struct FragmentOptions {
  /// The number of copies of the fragment, which become its last mode. 0 makes one copy without
  /// such a mode.
  int stages = 0;
};

/// The tile that a fragment is made for: a tensor, its layout or its shape.
class FragmentTile {
public:
  FragmentTile(const Tensor &tile) : value_(tile) {}
  FragmentTile(const Layout &tile) : value_(tile) {}
  FragmentTile(const IntTuple &shape) : value_(shape) {}
  FragmentTile(std::initializer_list<IntTuple> shape, Loc loc = Loc::current())
      : value_(IntTuple(shape, loc)) {}
  /// The tensor, layout or shape.
  const detail::Handle &handle() const { return value_.handle(); }

private:
  Value value_;
};

/// An mma atom repeated over (M, N, K) by several waves and, with a permutation, over a larger
/// tile.
class FLYDSL_API TiledMma : public Value, public detail::StaticParam<TiledMma> {
public:
  using Value::Value;
  /// The atom that is repeated.
  MmaAtom mma_atom(Loc loc = Loc::current()) const;
  /// The arrangement of the atoms in (M, N, K).
  Layout atom_layout(Loc loc = Loc::current()) const;
  /// The permutations of M, N and K; `fx::_` for a mode without one.
  Tile permutation_mnk(Loc loc = Loc::current()) const;
  /// The extents of the tile in M, N and K.
  IntTuple tile_size_mnk(Loc loc = Loc::current()) const;
  /// The layout (thread of an atom, M, N, K) -> thread.
  Layout thr_layout_vmnk(Loc loc = Loc::current()) const;
  /// The layout (thread, value) -> element of the operand's tile.
  Layout tv_layout_A_tiled(Loc loc = Loc::current()) const;
  Layout tv_layout_B_tiled(Loc loc = Loc::current()) const;
  Layout tv_layout_C_tiled(Loc loc = Loc::current()) const;

  /// The number of threads that work on a tile.
  std::int64_t threads(Loc loc = Loc::current()) const;
  /// The part of one thread. Throws TraceError for a number that is not a thread of the mma. It
  /// also throws for a plain `thread_idx().x` if the block has another number of threads than the
  /// mma, unless the call is inside an `fx::if_` that chooses among the threads.
  ThrMma get_slice(const IntTuple &thread, Loc loc = Loc::current()) const;
  ThrMma thr_slice(const IntTuple &thread, Loc loc = Loc::current()) const;

  /// Registers for a thread's part of an operand's tile: A (M, K), B (N, K), C (M, N). The tile is
  /// given as a tensor (of memory or coordinates), a layout or a shape.
  Tensor make_fragment_A(const FragmentTile &a, FragmentOptions options = {},
                         Loc loc = Loc::current()) const;
  Tensor make_fragment_B(const FragmentTile &b, FragmentOptions options = {},
                         Loc loc = Loc::current()) const;
  Tensor make_fragment_C(const FragmentTile &c, FragmentOptions options = {},
                         Loc loc = Loc::current()) const;
};

/// The part of a tiled mma that one thread does.
class FLYDSL_API ThrMma : public TiledMma {
public:
  ThrMma(const TiledMma &mma, const IntTuple &thread) : TiledMma(mma), thread_(thread) {}
  /// The thread whose part this is.
  const IntTuple &thr_idx() const { return thread_; }
  /// The thread's values of an operand's tile: (values, repeats, repeats), where the repeats are in
  /// (M, K) for A, (N, K) for B and (M, N) for C. Throws TraceError if a tensor in shared memory or
  /// registers is not a whole number of tiles.
  Tensor partition_A(const Tensor &a, Loc loc = Loc::current()) const;
  Tensor partition_B(const Tensor &b, Loc loc = Loc::current()) const;
  Tensor partition_C(const Tensor &c, Loc loc = Loc::current()) const;

private:
  IntTuple thread_;
};

/// Repeats the atom over a layout of atoms in (M, N, K). `permutation` says which rows, columns and
/// ks the repeats of a thread take (a Layout or a length per mode, `fx::_` for none). Throws
/// TraceError if the layout gives two atoms to the same threads, or if a mode of the permutation is
/// not a whole number of atoms.
FLYDSL_API TiledMma make_tiled_mma(const MmaAtom &atom, const Layout &atomLayout,
                                   Loc loc = Loc::current());
FLYDSL_API TiledMma make_tiled_mma(const MmaAtom &atom, const Layout &atomLayout,
                                   const Tile &permutation, Loc loc = Loc::current());

/// Copies in which each thread holds what it holds of the operand's fragments.
FLYDSL_API TiledCopy make_tiled_copy_A(const CopyAtom &atom, const TiledMma &mma,
                                       Loc loc = Loc::current());
FLYDSL_API TiledCopy make_tiled_copy_B(const CopyAtom &atom, const TiledMma &mma,
                                       Loc loc = Loc::current());
FLYDSL_API TiledCopy make_tiled_copy_C(const CopyAtom &atom, const TiledMma &mma,
                                       Loc loc = Loc::current());

/// Options of a gemm.
struct GemmOptions {
  /// The order of the atom calls; the default is NMK.
  std::optional<GemmTraversalOrder> order = {};
  /// The order as a layout (step) -> position in (M, N, K). At most one of the two may be given.
  std::optional<Layout> traversal_layout = {};
  /// The scales of the operands of a scaled atom.
  std::optional<Numeric> scale_a = {}, scale_b = {};
};

/// D = A * B + C on fragments of one thread: A (V, M, K), B (V, N, K), C and D (V, M, N), one atom
/// call after another. The fragments must be registers of the atom's element types; nothing is
/// converted.
FLYDSL_API void gemm(const MmaAtom &atom, const Tensor &d, const Tensor &a, const Tensor &b,
                     const Tensor &c, const GemmOptions &options = {}, Loc loc = Loc::current());
FLYDSL_API void gemm(const TiledMma &mma, const Tensor &d, const Tensor &a, const Tensor &b,
                     const Tensor &c, const GemmOptions &options = {}, Loc loc = Loc::current());
/// One call of the atom; the tensors hold the values of that call.
FLYDSL_API void mma_atom_call(const MmaAtom &atom, const Tensor &d, const Tensor &a,
                              const Tensor &b, const Tensor &c, Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
