#include "layout/tiled.h"

#include "layout/divide.h"
#include "layout/error.h"
#include "layout/make.h"
#include "layout/product.h"

#include <array>

namespace flydsl::layout {

const Layout &MmaAtom::operand(MmaOperand which) const {
  switch (which) {
  case MmaOperand::A:
    return a;
  case MmaOperand::B:
    return b;
  case MmaOperand::C:
  case MmaOperand::D:
    break;
  }
  return c;
}

namespace {

/// The two modes among (M,N,K) that the operand has.
std::array<int, 2> modesOf(MmaOperand which) {
  switch (which) {
  case MmaOperand::A:
    return {0, 2};
  case MmaOperand::B:
    return {1, 2};
  case MmaOperand::C:
  case MmaOperand::D:
    break;
  }
  return {0, 1};
}

void check(const TiledMma &mma) {
  if (mma.atom.shapeMNK.rank() != 3 || !mma.atom.shapeMNK.isStatic())
    fail("a matrix instruction's shape is a static (M,N,K), not ", mma.atom.shapeMNK);
  if (mma.atomLayoutMNK.rank() != 3 || !mma.atomLayoutMNK.isStatic())
    fail("a tiled matrix product places its atoms by a static layout over (M,N,K), not ",
         mma.atomLayoutMNK);
}

/// The tiler of mode i: the permutation's or, if there is none, the number of elements that the
/// atoms cover.
Tile tileOfMode(const TiledMma &mma, int i) {
  const Tile &p = mma.permutationMNK;
  if (i < p.rank() && !p.at(i).isWildcard())
    return p.at(i);
  return Tile(product(mma.atom.shapeMNK.at(i)) * size(mma.atomLayoutMNK.at(i)));
}

} // namespace

Layout thrLayoutVMNK(const TiledMma &mma) {
  check(mma);
  return tiledProduct(mma.atom.thr, mma.atomLayoutMNK);
}

IntTuple tileSizeMNK(const TiledMma &mma) {
  check(mma);
  return tup(product(sizesOf(tileOfMode(mma, 0))), product(sizesOf(tileOfMode(mma, 1))),
             product(sizesOf(tileOfMode(mma, 2))));
}

Layout thrValView(const TiledMma &mma, MmaOperand which, const Layout &tensor) {
  check(mma);
  const auto [first, second] = modesOf(which);
  const IntTuple &shape = mma.atom.shapeMNK;
  Layout permuted =
      logicalDivide(tensor, Tile::list({tileOfMode(mma, first), tileOfMode(mma, second)}));
  // ((first, second) in the atom, (rest, rest))
  Tile atomTile = Tile::list({product(shape.at(first)), product(shape.at(second))});
  Layout byAtom = zippedDivide(permuted, atomTile);
  Layout tv = composition(byAtom.at(0), mma.atom.operand(which));
  // ((atom, atom) over threads, (rest, rest))
  Tile groupTile =
      Tile::list({size(mma.atomLayoutMNK.at(first)), size(mma.atomLayoutMNK.at(second))});
  Layout byGroup = zippedDivide(byAtom.at(1), groupTile);
  return concat({concat({tv.at(0), byGroup.at(0)}), concat({tv.at(1), byGroup.at(1)})});
}

IntTuple threadCoord(const TiledMma &mma, MmaOperand which, const IntTuple &thread) {
  IntTuple vmnk = getFlatCoord(thread, thrLayoutVMNK(mma));
  const auto [first, second] = modesOf(which);
  return tup(vmnk.at(0), tup(vmnk.at(first + 1), vmnk.at(second + 1)));
}

Partition partition(const TiledMma &mma, MmaOperand which, const AnyLayout &tensor,
                    const IntTuple &thread) {
  Layout view = thrValView(mma, which, outermost(tensor));
  IntTuple coord = threadCoord(mma, which, thread);
  Layout values = expand(view.at(1), {1});
  if (std::holds_alternative<ComposedLayout>(tensor)) {
    Layout byMode = concat({view.at(0), values});
    return {slice(withOutermost(tensor, byMode), tup(coord, Int::wildcard())), 0};
  }
  return {values, crd2idx(coord, view.at(0))};
}

IntTuple partitionShape(const TiledMma &mma, MmaOperand which, const IntTuple &shape) {
  return expand(thrValView(mma, which, makeLayout(shape)).at(1), {1}).shape();
}

Layout fragmentLayout(const TiledMma &mma, MmaOperand which, const Layout &tensor, int stages) {
  if (stages < 0)
    fail("a fragment has a positive number of stages, not ", stages);
  Layout part = tensor;
  if (stages > 0) {
    if (tensor.rank() < 2)
      fail("a fragment with stages is made from two modes, but the tensor is ", tensor);
    // The stages follow one another, after everything else.
    part = concat({tensor.at(0), tensor.at(1), Layout(stages, Int::dynamic())});
  }
  return makeFragmentLayout(expand(thrValView(mma, which, part).at(1), {1}));
}

Layout tiledLayout(const TiledMma &mma, MmaOperand which) {
  IntTuple sizes = tileSizeMNK(mma);
  const auto [first, second] = modesOf(which);
  Layout tile = makeLayout(tup(sizes.at(first), sizes.at(second)));
  Layout view = thrValView(mma, which, tile);
  Layout vmnk = thrLayoutVMNK(mma);

  Layout threads = view.at(0);
  if (which == MmaOperand::A || which == MmaOperand::B) {
    // All atoms along the mode that the operand lacks hold the same elements.
    Layout shared(tup(vmnk.shape().at(1), vmnk.shape().at(2)),
                  which == MmaOperand::A ? tup(1, 0) : tup(0, 1));
    threads =
        composition(threads, Tile::list({Int::wildcard(), Tile::list({shared, Int::wildcard()})}));
  }
  // Maps a thread to its place among (V,M,N,K), counted first mode fastest.
  Layout place = rightInverse(concat({vmnk, complement(vmnk)}));
  Layout bounded = composition(Layout(tup(size(vmnk), 1), tup(1, 0)), place);
  return concat({composition(threads, bounded), view.at(1)});
}

TiledCopy makeTiledCopy(const CopyAtom &atom, const TiledMma &mma, MmaOperand which) {
  IntTuple sizes = tileSizeMNK(mma);
  const auto [first, second] = modesOf(which);
  Tile tile = Tile::list({Layout(sizes.at(first).leaf(), 1), Layout(sizes.at(second).leaf(), 1)});
  return {atom, tiledLayout(mma, which), tile};
}

} // namespace flydsl::layout
