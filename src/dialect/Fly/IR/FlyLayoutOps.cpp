// The algebra of layouts: each operation is the function of that name in src/layout, on whatever of
// its operands has a layout. Of composed layouts and tensors it is the layout that takes the
// coordinate.
#include "dialect/Fly/IR/FlyOps.h"

#include "layout/algebra.h"
#include "layout/divide.h"
#include "layout/error.h"
#include "layout/make.h"
#include "layout/product.h"

#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyLayoutOps.cpp.inc"

namespace layout = flydsl::layout;
using layout::IntTuple;
using layout::Layout;
using layout::Tile;

namespace mlir::fly {

void FlyDialect::registerLayoutOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Fly/IR/FlyLayoutOps.cpp.inc"
      >();
}

using Results = SmallVectorImpl<AlgebraValue>;

/// The layout of an operand that takes the coordinate.
static Layout linear(const AlgebraArgs &args, unsigned i) {
  return layout::outermost(args.layout(i));
}

/// An operation on functions and not on their coordinates needs a plain layout.
static Layout plain(const AlgebraArgs &args, unsigned i) {
  layout::AnyLayout any = args.layout(i);
  if (auto *l = std::get_if<Layout>(&any))
    return *l;
  layout::fail("expected a plain layout, found ", layout::str(any));
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

void SizeOp::compute(const AlgebraArgs &args, Results &results) {
  if (auto *tuple = std::get_if<IntTuple>(&args.operands[0]))
    results.push_back(IntTuple(layout::product(*tuple)));
  else
    results.push_back(IntTuple(layout::size(linear(args, 0))));
}
void CoprofileOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(layout::coprofile(linear(args, 0)));
}
void CoshapeOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(layout::coshape(linear(args, 0)));
}
void CosizeOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(IntTuple(layout::cosize(linear(args, 0))));
}

//===----------------------------------------------------------------------===//
// Coordinates and indices
//===----------------------------------------------------------------------===//

void Crd2IdxOp::compute(const AlgebraArgs &args, Results &results) {
  const IntTuple &coord = args.get<IntTuple>(0);
  if (auto *swizzle = std::get_if<layout::Swizzle>(&args.operands[1]))
    results.push_back(swizzle->apply(coord));
  else if (auto *swizzle = std::get_if<layout::CoordSwizzle>(&args.operands[1]))
    results.push_back(swizzle->apply(coord));
  else
    results.push_back(layout::crd2idx(coord, args.layout(1)));
}
void Idx2CrdOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(layout::idx2crd(args.get<IntTuple>(0), args.get<Layout>(1)));
}
void GetFlatCoordOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(layout::getFlatCoord(args.get<IntTuple>(0), args.get<Layout>(1)));
}
void Get1DCoordOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(layout::get1dCoord(args.get<IntTuple>(0), args.get<Layout>(1)));
}

//===----------------------------------------------------------------------===//
// Functions of layouts
//===----------------------------------------------------------------------===//

void CoalesceOp::compute(const AlgebraArgs &args, Results &results) {
  Layout l = linear(args, 0);
  results.push_back(args.withLinear(0, args.has(1) ? layout::coalesce(l, args.get<IntTuple>(1))
                                                   : layout::coalesce(l)));
}
void ComplementOp::compute(const AlgebraArgs &args, Results &results) {
  std::optional<layout::Int> codomain;
  if (args.has(1))
    codomain = layout::product(args.get<IntTuple>(1));
  results.push_back(layout::complement(plain(args, 0), codomain));
}
void RightInverseOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(layout::rightInverse(plain(args, 0)));
}
void LeftInverseOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(layout::leftInverse(plain(args, 0)));
}

/// An operation on operand 0 by a layout or a tile.
template <class ByLayout, class ByTile>
static void byTiler(const AlgebraArgs &args, Results &results, ByLayout byLayout, ByTile byTile) {
  Layout l = linear(args, 0);
  if (auto *tile = std::get_if<Tile>(&args.operands[1]))
    results.push_back(args.withLinear(0, byTile(l, *tile)));
  else
    results.push_back(args.withLinear(0, byLayout(l, args.get<Layout>(1))));
}

using ByLayout = Layout (*)(const Layout &, const Layout &);
using ByTile = Layout (*)(const Layout &, const Tile &);

void CompositionOp::compute(const AlgebraArgs &args, Results &results) {
  byTiler<ByLayout, ByTile>(args, results, &layout::composition, &layout::composition);
}
void LogicalDivideOp::compute(const AlgebraArgs &args, Results &results) {
  byTiler<ByLayout, ByTile>(args, results, &layout::logicalDivide, &layout::logicalDivide);
}
void ZippedDivideOp::compute(const AlgebraArgs &args, Results &results) {
  byTiler<ByLayout, ByTile>(args, results, &layout::zippedDivide, &layout::zippedDivide);
}
void TiledDivideOp::compute(const AlgebraArgs &args, Results &results) {
  byTiler<ByLayout, ByTile>(args, results, &layout::tiledDivide, &layout::tiledDivide);
}
void FlatDivideOp::compute(const AlgebraArgs &args, Results &results) {
  byTiler<ByLayout, ByTile>(args, results, &layout::flatDivide, &layout::flatDivide);
}

static void product(ByLayout fn, const AlgebraArgs &args, Results &results) {
  results.push_back(args.withLinear(0, fn(linear(args, 0), args.get<Layout>(1))));
}
void LogicalProductOp::compute(const AlgebraArgs &args, Results &results) {
  product(&layout::logicalProduct, args, results);
}
void ZippedProductOp::compute(const AlgebraArgs &args, Results &results) {
  product(&layout::zippedProduct, args, results);
}
void TiledProductOp::compute(const AlgebraArgs &args, Results &results) {
  product(&layout::tiledProduct, args, results);
}
void FlatProductOp::compute(const AlgebraArgs &args, Results &results) {
  product(&layout::flatProduct, args, results);
}
void BlockedProductOp::compute(const AlgebraArgs &args, Results &results) {
  product(&layout::blockedProduct, args, results);
}
void RakedProductOp::compute(const AlgebraArgs &args, Results &results) {
  product(&layout::rakedProduct, args, results);
}

void RecastLayoutOp::compute(const AlgebraArgs &args, Results &results) {
  auto &props = args.props<RecastLayoutOp>();
  layout::AnyLayout recast = layout::recastLayout(args.layout(0), props.old_type_bits.getInt(),
                                                  props.new_type_bits.getInt());
  std::visit([&](const auto &l) { results.push_back(l); }, recast);
}

void TileToShapeOp::compute(const AlgebraArgs &args, Results &results) {
  results.push_back(args.withLinear(
      0, layout::tileToShape(linear(args, 0), args.get<IntTuple>(1), args.get<IntTuple>(2))));
}

} // namespace mlir::fly
