// Matrix multiplication: an atom, repeated over threads and a tile, and the gemm over fragments.
#pragma once

#include <flydsl/copy.h>

FLYDSL_NAMESPACE_BEGIN

class ThrMma;

/// An operand of D = A * B + C.
enum class MmaOperand { A, B, C, D };

/// The order of a gemm's atom calls, fastest mode first: KMN runs k innermost, n outermost. A
/// serpentine turns the inner loops around on every other pass.
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

/// What a fragment is made with beside its tensor.
struct FragmentOptions {
  /// As many copies, in a last mode; 0: one, without such a mode.
  int stages = 0;
};

/// The tile that a fragment is made for.
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

/// An mma atom repeated over (M, N, K) by several waves and, through a permutation, over a larger
/// tile.
class FLYDSL_API TiledMma : public Value, public detail::StaticParam<TiledMma> {
public:
  using Value::Value;
  /// The instruction.
  MmaAtom mma_atom(Loc loc = Loc::current()) const;
  /// Atoms side by side in (M, N, K).
  Layout atom_layout(Loc loc = Loc::current()) const;
  /// How M, N and K are permuted, `fx::_` where not.
  Tile permutation_mnk(Loc loc = Loc::current()) const;
  /// (M, N, K) of the tile.
  IntTuple tile_size_mnk(Loc loc = Loc::current()) const;
  /// (thread of an atom, M, N, K) -> thread.
  Layout thr_layout_vmnk(Loc loc = Loc::current()) const;
  /// (thread, value) -> element of the operand's tile.
  Layout tv_layout_A_tiled(Loc loc = Loc::current()) const;
  Layout tv_layout_B_tiled(Loc loc = Loc::current()) const;
  Layout tv_layout_C_tiled(Loc loc = Loc::current()) const;

  /// The number of threads that work on a tile.
  std::int64_t threads(Loc loc = Loc::current()) const;
  /// One thread's part. TraceError for a number that is no thread of the mma, and for a plain
  /// `thread_idx().x` of a block with another number of threads, unless an `fx::if_` around the
  /// call chooses among them.
  ThrMma get_slice(const IntTuple &thread, Loc loc = Loc::current()) const;
  ThrMma thr_slice(const IntTuple &thread, Loc loc = Loc::current()) const;

  /// Registers for a thread's part of an operand's tile: A (M, K), B (N, K), C (M, N). The tile is a
  /// tensor, one of coordinates too, or its layout or shape.
  Tensor make_fragment_A(const FragmentTile &a, FragmentOptions options = {},
                         Loc loc = Loc::current()) const;
  Tensor make_fragment_B(const FragmentTile &b, FragmentOptions options = {},
                         Loc loc = Loc::current()) const;
  Tensor make_fragment_C(const FragmentTile &c, FragmentOptions options = {},
                         Loc loc = Loc::current()) const;
};

/// One thread's part of a tiled mma.
class FLYDSL_API ThrMma : public TiledMma {
public:
  ThrMma(const TiledMma &mma, const IntTuple &thread) : TiledMma(mma), thread_(thread) {}
  /// The thread that it is a part for.
  const IntTuple &thr_idx() const { return thread_; }
  /// The thread's values of an operand's tile: (values, repeats in M or N, repeats in K or N).
  /// TraceError where a tensor in shared memory or registers is no whole number of tiles.
  Tensor partition_A(const Tensor &a, Loc loc = Loc::current()) const;
  Tensor partition_B(const Tensor &b, Loc loc = Loc::current()) const;
  Tensor partition_C(const Tensor &c, Loc loc = Loc::current()) const;

private:
  IntTuple thread_;
};

/// The atom over a layout of atoms in (M, N, K); `permutation` says which rows, columns and ks a
/// thread's repeats take (a Layout or a length per mode, `fx::_` for none). TraceError where the
/// layout gives two atoms to the same threads, or a mode of the permutation is no whole number of
/// them.
FLYDSL_API TiledMma make_tiled_mma(const MmaAtom &atom, const Layout &atom_layout,
                                   Loc loc = Loc::current());
FLYDSL_API TiledMma make_tiled_mma(const MmaAtom &atom, const Layout &atom_layout,
                                   const Tile &permutation, Loc loc = Loc::current());

/// Copies whose threads hold what the operand's fragments hold.
FLYDSL_API TiledCopy make_tiled_copy_A(const CopyAtom &atom, const TiledMma &mma,
                                       Loc loc = Loc::current());
FLYDSL_API TiledCopy make_tiled_copy_B(const CopyAtom &atom, const TiledMma &mma,
                                       Loc loc = Loc::current());
FLYDSL_API TiledCopy make_tiled_copy_C(const CopyAtom &atom, const TiledMma &mma,
                                       Loc loc = Loc::current());

/// How a gemm goes about it.
struct GemmOptions {
  std::optional<GemmTraversalOrder> order = {};
  /// (step) -> position in (M, N, K), instead of an order.
  std::optional<Layout> traversal_layout = {};
  /// Scales of a scaled atom's operands.
  std::optional<Numeric> scale_a = {}, scale_b = {};
};

/// D = A * B + C over fragments of one thread: A (V, M, K), B (V, N, K), C and D (V, M, N), atom
/// call by atom call. The fragments are registers of the atom's element types; nothing is
/// converted.
FLYDSL_API void gemm(const MmaAtom &atom, const Tensor &d, const Tensor &a, const Tensor &b,
                     const Tensor &c, const GemmOptions &options = {}, Loc loc = Loc::current());
FLYDSL_API void gemm(const TiledMma &mma, const Tensor &d, const Tensor &a, const Tensor &b,
                     const Tensor &c, const GemmOptions &options = {}, Loc loc = Loc::current());
/// One call of the atom; the tensors hold the values of that call.
FLYDSL_API void mma_atom_call(const MmaAtom &atom, const Tensor &d, const Tensor &a,
                              const Tensor &b, const Tensor &c, Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
