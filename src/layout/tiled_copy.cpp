#include "layout/tiled.h"

#include "layout/divide.h"
#include "layout/error.h"
#include "layout/make.h"
#include "layout/product.h"

namespace flydsl::layout {

CopyAtom CopyAtom::fromBits(const Layout &thr, const Layout &srcBits, const Layout &dstBits,
                            const Layout &refBits, int64_t valueBits) {
  return {thr, recastLayout(srcBits, 1, valueBits), recastLayout(dstBits, 1, valueBits),
          recastLayout(refBits, 1, valueBits)};
}

namespace {

/// Throws unless a TV layout is a static pair of modes.
void checkTV(const char *what, const Layout &tv) {
  if (!tv.isStatic() || tv.isLeaf() || tv.rank() != 2)
    fail(what, " is a static layout of (thread, value), not ", tv);
}

/// Maps the atom's (thread, value) of one operand to its place in the reference numbering.
Layout fromReference(const CopyAtom &atom, const Layout &operand) {
  checkTV("a copy atom's layout", atom.ref);
  checkTV("a copy atom's layout", operand);
  return composition(rightInverse(atom.ref), operand);
}

/// The layout (thread, value) of the tiled operation -> position in the tile, for an operand of the
/// atom.
Layout tileTV(const TiledCopy &copy, const Layout &operand) {
  checkTV("a tiled copy's layout", copy.layoutTV);
  const Layout &ref = copy.atom.ref;
  Layout toOperand = fromReference(copy.atom, operand);
  Tile atomTile = Tile::list({size(ref.at(0)), size(ref.at(1))});
  // ((thread, value) in the atom, (atoms over threads, atoms over values))
  Layout byAtom = zippedDivide(copy.layoutTV, atomTile);
  Layout perAtom = composition(byAtom.at(0), toOperand);
  Layout tv = zip(concat({perAtom, byAtom.at(1)}));
  return coalesce(tv, tup(1, tup(1, 1)));
}

/// A tensor that is already divided into (tile, rest), by thread: (thread, values, rest).
Layout viewByThread(const TiledCopy &copy, const Layout &operand, const Layout &divided) {
  Layout tv = composition(divided.at(0), tileTV(copy, operand));
  return expand(concat({tv, divided.at(1)}), {0});
}

Partition partitionBy(const AnyLayout &tensor, const IntTuple &thread, const Layout &view) {
  Layout byMode = expand(view, {2});
  std::vector<IntTuple> coord(static_cast<size_t>(byMode.rank()), Int::wildcard());
  coord[0] = thread;
  IntTuple at = IntTuple::tuple(std::move(coord));
  if (std::holds_alternative<ComposedLayout>(tensor))
    return {slice(withOutermost(tensor, byMode), at), 0};
  return {slice(byMode, at), crd2idx(thread, byMode.at(0))};
}

} // namespace

LayoutTV makeLayoutTV(const Layout &thr, const Layout &val) {
  if (!thr.isStatic() || !val.isStatic())
    fail("threads and values of a tile are static layouts, not ", thr, " and ", val);
  Layout tile = rakedProduct(thr, val);
  Layout counting = makeLayout(tup(size(thr), size(val)));
  return {Tile::fromSizes(productEach(tile.shape())), composition(rightInverse(tile), counting)};
}

TiledCopy makeTiledCopyTV(const CopyAtom &atom, const Layout &thr, const Layout &val) {
  LayoutTV tv = makeLayoutTV(thr, val);
  return {atom, tv.layout, tv.tile};
}

Layout thrValViewSrc(const TiledCopy &copy, const Layout &src) {
  return viewByThread(copy, copy.atom.src, zippedDivide(src, copy.tileMN));
}
Layout thrValViewDst(const TiledCopy &copy, const Layout &dst) {
  return viewByThread(copy, copy.atom.dst, zippedDivide(dst, copy.tileMN));
}

Partition partitionSrc(const TiledCopy &copy, const AnyLayout &src, const IntTuple &thread) {
  return partitionBy(src, thread, thrValViewSrc(copy, outermost(src)));
}
Partition partitionDst(const TiledCopy &copy, const AnyLayout &dst, const IntTuple &thread) {
  return partitionBy(dst, thread, thrValViewDst(copy, outermost(dst)));
}

Layout retile(const TiledCopy &copy, const Layout &fragment) {
  checkTV("a tiled copy's layout", copy.layoutTV);
  const Int atomValues = size(copy.atom.ref.at(1));
  const Int threads = size(copy.layoutTV.at(0));
  const Int values = size(fragment.at(0));
  if (!values.isStatic())
    fail("retile of ", fragment, ": the number of values per thread must be static");
  // Maps an element of the tile to its fragment. A fragment is `values` elements of each thread.
  Layout tileToTV = composition(rightInverse(copy.layoutTV), makeLayout(sizesOf(copy.tileMN)));
  Layout fragments = upcast(tileToTV, (threads * values).value());
  // The order in which the copy walks through a thread's values in the fragments.
  Layout walk = logicalProduct(Layout(values, 1), rightInverse(fragments));
  Layout order = zippedDivide(walk, Layout(atomValues, 1));

  Tile perFragment = Tile::fromSizes(prepend(productEach(fragments.shape()), values));
  Layout divided = zippedDivide(fragment, perFragment);
  std::vector<Layout> modes = {composition(divided.at(0), order)};
  Layout rest = divided.at(1);
  for (int i = 1; i < rest.rank(); ++i)
    modes.push_back(rest.at(i));
  return concat(std::move(modes));
}

static Layout tiledLayoutOf(const TiledCopy &copy, const Layout &operand) {
  Layout tile = makeLayout(sizesOf(copy.tileMN));
  Layout view = viewByThread(copy, operand, concat({tile, Layout(1, 0)}));
  return take(view, 0, 2);
}

Layout tiledLayoutSrc(const TiledCopy &copy) { return tiledLayoutOf(copy, copy.atom.src); }
Layout tiledLayoutDst(const TiledCopy &copy) { return tiledLayoutOf(copy, copy.atom.dst); }

} // namespace flydsl::layout
