#include "layout/product.h"

#include "layout/make.h"

#include <algorithm>

namespace flydsl::layout {

Layout logicalProduct(const Layout &block, const Layout &tiler) {
  Layout free = complement(block, size(block) * cosize(tiler));
  return canonical(concat({block, composition(free, tiler)}));
}

Layout zippedProduct(const Layout &block, const Layout &tiler) {
  return logicalProduct(block, tiler);
}
Layout tiledProduct(const Layout &block, const Layout &tiler) {
  return expand(logicalProduct(block, tiler), {1});
}
Layout flatProduct(const Layout &block, const Layout &tiler) {
  return expand(logicalProduct(block, tiler), {0, 1});
}

/// The product of block and tiler with their ranks made equal.
static Layout paddedProduct(const Layout &block, const Layout &tiler) {
  const int rank = std::max(block.rank(), tiler.rank());
  return logicalProduct(padToRank(block, rank), padToRank(tiler, rank));
}

/// Pairs the modes of two layouts of equal rank; for rank 1 the result is the pair of both.
static Layout interleave(const Layout &first, const Layout &second, int rank) {
  Layout pair = concat({first, second});
  return rank == 1 ? pair : zip(pair);
}

Layout blockedProduct(const Layout &block, const Layout &tiler) {
  Layout product = paddedProduct(block, tiler);
  return interleave(product.at(0), product.at(1), std::max(block.rank(), tiler.rank()));
}

Layout rakedProduct(const Layout &block, const Layout &tiler) {
  Layout product = paddedProduct(block, tiler);
  return interleave(product.at(1), product.at(0), std::max(block.rank(), tiler.rank()));
}

Layout tileToShape(const Layout &block, const IntTuple &shape, const IntTuple &order) {
  Layout padded = padToRank(block, shape.rank());
  IntTuple blocks = ceilDiv(productEach(shape), productEach(padded.shape()));
  return blockedProduct(padded, makeOrderedLayout(blocks, order));
}

AnyLayout logicalProduct(const AnyLayout &block, const Layout &tiler) {
  return mapOutermost(block, [&](const Layout &l) { return logicalProduct(l, tiler); });
}
AnyLayout zippedProduct(const AnyLayout &block, const Layout &tiler) {
  return mapOutermost(block, [&](const Layout &l) { return zippedProduct(l, tiler); });
}
AnyLayout tiledProduct(const AnyLayout &block, const Layout &tiler) {
  return mapOutermost(block, [&](const Layout &l) { return tiledProduct(l, tiler); });
}
AnyLayout flatProduct(const AnyLayout &block, const Layout &tiler) {
  return mapOutermost(block, [&](const Layout &l) { return flatProduct(l, tiler); });
}
AnyLayout blockedProduct(const AnyLayout &block, const Layout &tiler) {
  return mapOutermost(block, [&](const Layout &l) { return blockedProduct(l, tiler); });
}
AnyLayout rakedProduct(const AnyLayout &block, const Layout &tiler) {
  return mapOutermost(block, [&](const Layout &l) { return rakedProduct(l, tiler); });
}
AnyLayout tileToShape(const AnyLayout &block, const IntTuple &shape, const IntTuple &order) {
  return mapOutermost(block, [&](const Layout &l) { return tileToShape(l, shape, order); });
}

} // namespace flydsl::layout
