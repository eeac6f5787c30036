// Thread-value layouts of copies and matrix products over a tile.
//
// A thread-value (TV) layout maps (thread, value) to a position in a tile, counted first mode
// fastest: it says which elements each thread of a group holds, and in which order. An atom is the
// work of one instruction, with a TV layout for each of its operands. A tiled copy or tiled matrix
// product repeats an atom over more threads and a larger tile. Partitioning a tensor by it gives
// each thread its part:
//
//   copy     (values of the atom's instruction and its repetitions in the tile,
//             tiles along mode 0, tiles along mode 1, ...)
//   product  (values of the atom's operand, atoms along the first mode, atoms along the second)
//
// TV layouts are static. Tensors may be dynamic, and a thread may be any coordinate.
#pragma once

#include "layout/tile.h"

#include <cstdint>

namespace flydsl::layout {

/// One copy instruction, counted in elements: `src` and `dst` say which (thread, value) reads and
/// writes which element of the atom. `ref` is the numbering in which tiled copies are written.
struct CopyAtom {
  Layout thr;
  Layout src;
  Layout dst;
  Layout ref;

  /// Makes an atom from TV layouts that count bits, as instructions are described; they are recast
  /// to elements of `valueBits`.
  static CopyAtom fromBits(const Layout &thr, const Layout &srcBits, const Layout &dstBits,
                           const Layout &refBits, int64_t valueBits);
};

/// A copy atom repeated over a tile. `layoutTV` maps (thread, value) to a position in the tile,
/// whose sizes are `tileMN`.
struct TiledCopy {
  CopyAtom atom;
  Layout layoutTV;
  Tile tileMN = 1;
};

/// A thread's part of a tensor: a layout and where it starts. The offset is to be added to the
/// tensor's pointer or coordinate; in a composed layout it is part of the layout, and 0 here.
struct Partition {
  AnyLayout layout;
  IntTuple offset;
};

/// The sizes and the TV layout of the tile that threads and values laid out over it cover. The tile
/// is the raked product of both, so that the values of each thread are neighbours. Thread i and
/// value j are counted along the layouts `thr` and `val`. makeLayoutTV((8,16):(16,1), (1,4):(1,1))
/// = [8|64], ((16,8),4):((32,1),8).
struct LayoutTV {
  Tile tile = 1;
  Layout layout;
};
LayoutTV makeLayoutTV(const Layout &thr, const Layout &val);
TiledCopy makeTiledCopyTV(const CopyAtom &atom, const Layout &thr, const Layout &val);

/// The whole tensor, by thread and value: (thread, values, (tiles along each mode)).
Layout thrValViewSrc(const TiledCopy &copy, const Layout &src);
Layout thrValViewDst(const TiledCopy &copy, const Layout &dst);
/// The part of thread `thread` as source or destination: (values, tiles along mode 0, ...).
Partition partitionSrc(const TiledCopy &copy, const AnyLayout &src, const IntTuple &thread);
Partition partitionDst(const TiledCopy &copy, const AnyLayout &dst, const IntTuple &thread);
/// The order of a fragment in which this copy moves it. The fragment, ((values), rest...), was made
/// for another tiled operation over the same tile; the result is ((values of the atom,
/// repetitions), rest...). The number of the fragment's values per thread must divide the tile
/// evenly.
Layout retile(const TiledCopy &copy, const Layout &fragment);
/// The layout (thread, value) -> position in the tile, for the source and for the destination.
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

/// A repeated atom. `atomLayoutMNK` places the atoms over (M,N,K) and numbers them as groups of
/// threads are numbered. `permutationMNK` permutes or widens the tile of each mode; with `*` the
/// tile has as many elements as the atoms cover.
struct TiledMma {
  MmaAtom atom;
  Layout atomLayoutMNK;
  Tile permutationMNK = Tile::list({Int::wildcard(), Int::wildcard(), Int::wildcard()});
};

/// The layout (thread in the atom, atom along M, along N, along K) -> thread.
Layout thrLayoutVMNK(const TiledMma &mma);
/// The number of elements of the tile along M, N and K.
IntTuple tileSizeMNK(const TiledMma &mma);
/// The whole operand, by thread and value: ((thread in atom, (atom, atom)), (values, (rest,
/// rest))). The two modes are (M,K) for A, (N,K) for B, (M,N) for C and D.
Layout thrValView(const TiledMma &mma, MmaOperand which, const Layout &tensor);
/// The coordinate of thread `thread` in mode 0 of that view.
IntTuple threadCoord(const TiledMma &mma, MmaOperand which, const IntTuple &thread);
/// The part of thread `thread`: (values, rest, rest).
Partition partition(const TiledMma &mma, MmaOperand which, const AnyLayout &tensor,
                    const IntTuple &thread);
/// The shape of a thread's part of an operand of this shape; it is the same for all threads.
IntTuple partitionShape(const TiledMma &mma, MmaOperand which, const IntTuple &shape);
/// The layout of registers for a thread's part of `tensor` (make.h, makeFragmentLayout). With
/// `stages` > 0 it has that many copies of the tensor's first two modes.
Layout fragmentLayout(const TiledMma &mma, MmaOperand which, const Layout &tensor, int stages = 0);
/// The layout (thread, value) -> position in the operand's tile.
Layout tiledLayout(const TiledMma &mma, MmaOperand which);
/// A copy with the threads and values of an operand, which moves tiles to or from a matrix product.
TiledCopy makeTiledCopy(const CopyAtom &atom, const TiledMma &mma, MmaOperand which);

} // namespace flydsl::layout
