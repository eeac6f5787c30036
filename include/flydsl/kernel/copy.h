// Copies: a copy atom, its repetition over threads and values, and the copy itself.
#pragma once

#include <flydsl/kernel/atom.h>
#include <flydsl/kernel/tensor.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN

class ThrCopy;

/// What a predicate does with a call that straddles the border: some of its elements lie inside of
/// the shape, others outside. A call of one element never does.
enum class Straddling {
  refused,  ///< it must be known that there is none; otherwise it is a TraceError
  copied,   ///< it happens whole: what lies past the border is padding that belongs to the tensor
  left_out, ///< it does not happen: its elements inside of the shape are not copied either
};

/// A copy atom repeated over threads and values to cover a tile.
class FLYDSL_API TiledCopy : public Value, public detail::StaticParam<TiledCopy> {
public:
  using Value::Value;
  /// The (M, N) tile that all threads copy together.
  Tile tile_mn(Loc loc = Loc::current()) const;
  /// The layout (thread, value) -> element of the tile.
  Layout layout_tv_tiled(Loc loc = Loc::current()) const;
  /// The same, in the order in which the atom reads its source.
  Layout layout_src_tv_tiled(Loc loc = Loc::current()) const;
  /// The same, in the order in which the atom writes its destination.
  Layout layout_dst_tv_tiled(Loc loc = Loc::current()) const;
  /// The number of threads that copy a tile.
  std::int64_t threads(Loc loc = Loc::current()) const;
  /// The part of one thread. Throws TraceError for a number that is not a thread of the copy. It
  /// also throws for a plain `thread_idx().x` if the block has another number of threads than the
  /// copy, unless the call is inside an `fx::if_` that chooses among the threads.
  ThrCopy get_slice(const IntTuple &thread, Loc loc = Loc::current()) const;
  ThrCopy thr_slice(const IntTuple &thread, Loc loc = Loc::current()) const;
};

/// The part of a tiled copy that one thread does.
class FLYDSL_API ThrCopy : public TiledCopy {
public:
  ThrCopy(const TiledCopy &copy, const IntTuple &thread) : TiledCopy(copy), thread_(thread) {}
  ThrCopy &operator=(const ThrCopy &) = delete;
  /// The tiled copy that this is a part of.
  const TiledCopy &tiled_copy() const { return *this; }
  /// The thread whose part this is.
  const IntTuple &thr_idx() const { return thread_; }
  /// The thread's part of the source, a tensor of tiles (M, N, ...): (values, repeats in M, repeats
  /// in N, ...). Throws TraceError if a tensor in shared memory or registers is not a whole number
  /// of tiles. In global memory a partial tile is allowed; a predicate must leave out what is past
  /// the end.
  Tensor partition_S(const Tensor &source, Loc loc = Loc::current()) const;
  /// The thread's part of the destination; otherwise as partition_S.
  Tensor partition_D(const Tensor &destination, Loc loc = Loc::current()) const;
  /// A predicate for the copies of a tile at the border (CopyOptions::pred): one boolean for each
  /// call of the atom, true where the call's elements lie inside of `shape`. `places` is the tile
  /// of fx::make_identity_tensor(shape) that is cut as the source is; it has the coordinates of the
  /// tile's elements. The modes are those of the partition, with one value for all elements of a
  /// call: ((1, calls), repeats in M, repeats in N, ...).
  Tensor predicate(const Tensor &places, const IntTuple &shape,
                   Straddling straddling = Straddling::refused, Loc loc = Loc::current()) const;
  /// A fragment that was made for another partition, with the modes of this copy's partition.
  Tensor retile(const Tensor &fragment, Loc loc = Loc::current()) const;

private:
  IntTuple thread_;
};

/// Repeats the atom over `layoutTv`: (thread, value) -> element of the tile. Throws TraceError if
/// the threads or the values are not a whole number of the atom's, or if they reach past the tile.
FLYDSL_API TiledCopy make_tiled_copy(const CopyAtom &atom, const Layout &layoutTv,
                                     const Tile &tileMn, Loc loc = Loc::current());
/// Each thread of `threads` (M, N) takes the values of `values` (M, N), a block of neighbouring
/// elements. Both layouts must be static and count from 0 without gaps, and `values` must have a
/// whole number of the atom's values.
FLYDSL_API TiledCopy make_tiled_copy_tv(const CopyAtom &atom, const Layout &threads,
                                        const Layout &values, Loc loc = Loc::current());

/// Options of a copy, as in `{.pred = p}`.
struct CopyOptions {
  /// One boolean per call of the atom: the call happens if it is true. It has the modes of the
  /// source; the first one may be left out. ThrCopy::predicate makes one for tiles at a border.
  std::optional<Tensor> pred = {};
  /// For predicated copies into registers: what the elements of calls that do not happen become.
  /// Without it they keep what they were.
  std::optional<Numeric::Arg> other = {};
  /// For buffer copies: the number of elements that is added to all addresses. It is a scalar of
  /// the whole wave.
  std::optional<Numeric> soffset = {};
  /// For copies of a buffer into LDS (rocdl::BufferCopyLDS and its kin): the number of elements that
  /// the instruction itself adds. It must be known while tracing.
  std::optional<Numeric> imm_offset = {};

  /// Calls `fn(name, number)` for each option that is an operand of the atom's instruction.
  template <class Fn> void each_operand(Fn fn) const {
    if (soffset)
      fn("soffset", *soffset);
    if (imm_offset)
      fn("imm_offset", *imm_offset);
  }
};

/// Copies `source` to `destination`, one atom call after another. Both are (values, repeats...) of
/// one thread, have the same element type (nothing is converted) and shapes that are known while
/// tracing. The values of one call must be neighbours in memory: if the atom moves more than one
/// element, the stride of mode 0 must be known to be 1.
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
