// Copies: an atom, the threads and values it is repeated over, and the copy itself.
#pragma once

#include <flydsl/atom.h>
#include <flydsl/tensor.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN

class ThrCopy;

/// A copy atom repeated over threads and values to cover a tile.
class FLYDSL_API TiledCopy : public Value, public detail::StaticParam<TiledCopy> {
public:
  using Value::Value;
  /// The (M, N) tile that all threads copy together.
  Tile tile_mn(Loc loc = Loc::current()) const;
  /// (thread, value) -> element of the tile; as the source is read; as the destination is written.
  Layout layout_tv_tiled(Loc loc = Loc::current()) const;
  Layout layout_src_tv_tiled(Loc loc = Loc::current()) const;
  Layout layout_dst_tv_tiled(Loc loc = Loc::current()) const;
  /// The number of threads that copy a tile.
  std::int64_t threads(Loc loc = Loc::current()) const;
  /// One thread's part. TraceError for a number that is no thread of the copy, and for a plain
  /// `thread_idx().x` of a block with another number of threads, unless an `fx::if_` around the
  /// call chooses among them.
  ThrCopy get_slice(const IntTuple &thread, Loc loc = Loc::current()) const;
  ThrCopy thr_slice(const IntTuple &thread, Loc loc = Loc::current()) const;
};

/// One thread's part of a tiled copy.
class FLYDSL_API ThrCopy : public TiledCopy {
public:
  ThrCopy(const TiledCopy &copy, const IntTuple &thread) : TiledCopy(copy), thread_(thread) {}
  ThrCopy &operator=(const ThrCopy &) = delete;
  /// What it is a part of.
  const TiledCopy &tiled_copy() const { return *this; }
  const IntTuple &thr_idx() const { return thread_; }
  /// What the thread reads of a tile (M, N, ...): (values, repeats in M, repeats in N, ...).
  /// TraceError where a tensor in shared memory or registers is no whole number of tiles; in global
  /// memory the rest is for a predicate to leave out.
  Tensor partition_S(const Tensor &source, Loc loc = Loc::current()) const;
  /// What the thread writes of a tile.
  Tensor partition_D(const Tensor &destination, Loc loc = Loc::current()) const;
  /// A fragment of another partition, seen in the modes of this copy's.
  Tensor retile(const Tensor &fragment, Loc loc = Loc::current()) const;

private:
  IntTuple thread_;
};

/// The atom over `layout_tv`: (thread, value) -> element of the tile. TraceError where threads and
/// values are no whole number of the atom's, or reach past the tile.
FLYDSL_API TiledCopy make_tiled_copy(const CopyAtom &atom, const Layout &layout_tv,
                                     const Tile &tile_mn, Loc loc = Loc::current());
/// Each thread of `threads` (M, N) takes the values of `values` (M, N) beside one another. Both are
/// static and count from 0 without gaps; `values` has a whole number of the atom's.
FLYDSL_API TiledCopy make_tiled_copy_tv(const CopyAtom &atom, const Layout &threads,
                                        const Layout &values, Loc loc = Loc::current());

/// What a copy is given beside its sides; `{.pred = p}`.
struct CopyOptions {
  /// One boolean per atom call: whether it happens. Of the source's modes, the first one may be
  /// left out.
  std::optional<Tensor> pred = {};
  /// Elements that a buffer copy adds to all addresses, a scalar of the whole wave.
  std::optional<Numeric> soffset = {};
  /// Elements that a buffer copy adds by its instruction, known while tracing.
  std::optional<Numeric> imm_offset = {};
};

/// Copies `source` to `destination`, atom call by atom call; both are (values, repeats...) of one
/// thread, of one element type (nothing is converted) and of shapes known while tracing. The values
/// of a call are neighbours in memory: the stride of mode 0 is known to be 1 where an atom moves
/// more than one element.
FLYDSL_API void copy(const CopyAtom &atom, const Tensor &source, const Tensor &destination,
                     Loc loc = Loc::current());
FLYDSL_API void copy(const CopyAtom &atom, const Tensor &source, const Tensor &destination,
                     const CopyOptions &options, Loc loc = Loc::current());
FLYDSL_API void copy(const TiledCopy &atom, const Tensor &source, const Tensor &destination,
                     Loc loc = Loc::current());
FLYDSL_API void copy(const TiledCopy &atom, const Tensor &source, const Tensor &destination,
                     const CopyOptions &options, Loc loc = Loc::current());

/// One call of the atom; the tensors hold the values of that call.
FLYDSL_API void copy_atom_call(const CopyAtom &atom, const Tensor &source,
                               const Tensor &destination, Loc loc = Loc::current());
FLYDSL_API void copy_atom_call(const CopyAtom &atom, const Tensor &source,
                               const Tensor &destination, const CopyOptions &options,
                               Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
