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
  /// One thread's part.
  ThrCopy get_slice(const IntTuple &thread) const;
  ThrCopy thr_slice(const IntTuple &thread) const;
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
  Tensor partition_S(const Tensor &source, Loc loc = Loc::current()) const;
  /// What the thread writes of a tile.
  Tensor partition_D(const Tensor &destination, Loc loc = Loc::current()) const;
  /// A fragment of another partition, seen in the modes of this copy's.
  Tensor retile(const Tensor &fragment, Loc loc = Loc::current()) const;

private:
  IntTuple thread_;
};

inline ThrCopy TiledCopy::get_slice(const IntTuple &thread) const { return {*this, thread}; }
inline ThrCopy TiledCopy::thr_slice(const IntTuple &thread) const { return {*this, thread}; }

/// The atom over `layout_tv`: (thread, value) -> element of the tile.
FLYDSL_API TiledCopy make_tiled_copy(const CopyAtom &atom, const Layout &layout_tv,
                                     const Tile &tile_mn, Loc loc = Loc::current());
/// Each thread of `threads` (M, N) takes the values of `values` (M, N) beside one another. Both
/// static.
FLYDSL_API TiledCopy make_tiled_copy_tv(const CopyAtom &atom, const Layout &threads,
                                        const Layout &values, Loc loc = Loc::current());

/// What a copy is given beside its sides; `{.pred = p}`.
struct CopyOptions {
  /// One boolean per atom call: whether it happens.
  std::optional<Tensor> pred = {};
  /// Elements that a buffer copy adds to all addresses, a scalar of the whole wave.
  std::optional<Numeric> soffset = {};
  /// Elements that a buffer copy adds by its instruction, known while tracing.
  std::optional<Numeric> imm_offset = {};
};

/// Copies `source` to `destination`, atom call by atom call; both are (values, repeats...) of one
/// thread.
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
