// Who holds what: thread-value layouts of copies and matrix products over a tile.
//
// A thread-value (TV) layout maps (thread, value) to a position in a tile, counted first mode
// fastest: it says which elements each thread of a group holds, and in which order. An atom is what
// one instruction does, with a TV layout for each of its operands. A tiled copy or tiled matrix
// product repeats an atom over more threads and a larger tile, and partitioning a tensor by it
// gives each thread its part:
//
//   copy     (values of one atom's instruction and its repetitions in the tile, tiles along mode 0,
//   along mode 1, ...) product  (values of one atom's operand, atoms along the first mode, along
//   the second)
//
// TV layouts are static. Tensors may be dynamic, and threads are any coordinate.
#pragma once

#include "layout/tile.h"

#include <cstdint>

namespace flydsl::layout {

/// One copy instruction, in elements: which (thread, value) reads and writes which element of the
/// atom. `ref` is the numbering that tiled copies are written in.
struct CopyAtom {
  Layout thr;
  Layout src;
  Layout dst;
  Layout ref;

  /// From TV layouts that count bits, as instructions are described: recast to elements of
  /// `valueBits`.
  static CopyAtom fromBits(const Layout &thr, const Layout &srcBits, const Layout &dstBits,
                           const Layout &refBits, int64_t valueBits);
};

/// A copy atom over a tile: `layoutTV` maps (thread, value) to a position in the tile whose sizes
/// `tileMN` gives.
struct TiledCopy {
  CopyAtom atom;
  Layout layoutTV;
  Tile tileMN = 1;
};

/// A thread's part of a tensor: where it starts and how it goes on. The offset is to be added to
/// the tensor's pointer or coordinate; for composed layouts it is inside the layout, and 0 here.
struct Partition {
  AnyLayout layout;
  IntTuple offset;
};

/// A tile's sizes and TV layout from threads and values laid out over it: the raked product of both
/// is the tile, so that each thread's values lie beside each other. Thread i and value j are
/// counted along `thr` and `val` as layouts. makeLayoutTV((8,16):(16,1), (1,4):(1,1)) = [8|64],
/// ((16,8),4):((32,1),8).
struct LayoutTV {
  Tile tile = 1;
  Layout layout;
};
LayoutTV makeLayoutTV(const Layout &thr, const Layout &val);
TiledCopy makeTiledCopyTV(const CopyAtom &atom, const Layout &thr, const Layout &val);

/// The whole tensor by thread and value: (thread, values, (tiles along each mode)).
Layout thrValViewSrc(const TiledCopy &copy, const Layout &src);
Layout thrValViewDst(const TiledCopy &copy, const Layout &dst);
/// Thread `thread`'s part as source or destination: (values, tiles along mode 0, ...).
Partition partitionSrc(const TiledCopy &copy, const AnyLayout &src, const IntTuple &thread);
Partition partitionDst(const TiledCopy &copy, const AnyLayout &dst, const IntTuple &thread);
/// A thread's fragment, made for another tiled operation over the same tile ((values), rest...),
/// seen in the order in which this copy moves values: ((values of the atom, repetitions), rest...).
/// The fragment's values per thread must divide the tile evenly.
Layout retile(const TiledCopy &copy, const Layout &fragment);
/// (thread, value) -> position in the tile, for the source and for the destination.
Layout tiledLayoutSrc(const TiledCopy &copy);
Layout tiledLayoutDst(const TiledCopy &copy);

enum class MmaOperand { A, B, C, D };

/// One matrix instruction D = A * B + C: its shape (M,N,K), its threads, and the TV layouts of A
/// over (M,K), of B over (N,K) and of C and D over (M,N).
struct MmaAtom {
  IntTuple shapeMNK;
  Layout thr;
  Layout a;
  Layout b;
  Layout c;

  const Layout &operand(MmaOperand which) const;
};

/// An atom repeated: `atomLayoutMNK` places atoms over (M,N,K) and counts them as thread groups do;
/// `permutationMNK` permutes or widens each mode's tile (`*`: as many elements as atoms cover).
struct TiledMma {
  MmaAtom atom;
  Layout atomLayoutMNK;
  Tile permutationMNK = Tile::list({Int::wildcard(), Int::wildcard(), Int::wildcard()});
};

/// (thread in the atom, atom along M, along N, along K) -> thread.
Layout thrLayoutVMNK(const TiledMma &mma);
/// Elements of the tile along M, N and K.
IntTuple tileSizeMNK(const TiledMma &mma);
/// The whole operand by thread and value: ((thread in atom, (atom, atom)), (values, (rest, rest))),
/// the two modes being (M,K) for A, (N,K) for B, (M,N) for C and D.
Layout thrValView(const TiledMma &mma, MmaOperand which, const Layout &tensor);
/// The coordinate of thread `thread` in mode 0 of that view.
IntTuple threadCoord(const TiledMma &mma, MmaOperand which, const IntTuple &thread);
/// Thread `thread`'s part: (values, rest, rest).
Partition partition(const TiledMma &mma, MmaOperand which, const AnyLayout &tensor,
                    const IntTuple &thread);
/// The shape of any thread's part of an operand of this shape.
IntTuple partitionShape(const TiledMma &mma, MmaOperand which, const IntTuple &shape);
/// Registers for a thread's part of `tensor` (make.h, makeFragmentLayout). With `stages` > 0, of
/// its first two modes and that many copies of them.
Layout fragmentLayout(const TiledMma &mma, MmaOperand which, const Layout &tensor, int stages = 0);
/// (thread, value) -> position in the operand's tile.
Layout tiledLayout(const TiledMma &mma, MmaOperand which);
/// A copy with the threads and values of an operand: what moves tiles into or out of a matrix
/// product.
TiledCopy makeTiledCopy(const CopyAtom &atom, const TiledMma &mma, MmaOperand which);

} // namespace flydsl::layout
