// The functions of layout.h that are not templates.
#include <flydsl/layout/layout.h>

#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "builder/trace/types.h"

FLYDSL_NAMESPACE_BEGIN

using detail::algebra;
using detail::AlgebraOp;
using detail::Handle;
using detail::hostHandle;

//===-- Members -----------------------------------------------------------===//

IntTuple Layout::shape(Loc loc) const {
  return IntTuple(algebra(AlgebraOp::get_shape, {&handle_}, loc));
}
IntTuple Layout::stride(Loc loc) const {
  return IntTuple(algebra(AlgebraOp::get_stride, {&handle_}, loc));
}
Layout Layout::operator[](const detail::ModeIndex &mode) const {
  return get(*this, mode.index, mode.loc);
}
IntTuple Layout::point(const IntTuple &coord, Loc loc) const { return crd2idx(coord, *this, loc); }

IntTuple ComposedLayout::shape(Loc loc) const {
  return IntTuple(algebra(AlgebraOp::get_shape, {&handle_}, loc));
}
IntTuple ComposedLayout::offset(Loc loc) const {
  return IntTuple(algebra(AlgebraOp::composed_get_offset, {&handle_}, loc));
}
Layout ComposedLayout::outer(Loc loc) const {
  return Layout(algebra(AlgebraOp::composed_get_outer, {&handle_}, loc));
}
IntTuple ComposedLayout::point(const IntTuple &coord, Loc loc) const {
  return crd2idx(coord, *this, loc);
}

Swizzle::Swizzle(int mask, int base, int shift, Loc loc)
    : Value(builder::layoutErrorsAt(
          loc, [&] { return hostHandle(layout::Swizzle(mask, base, shift)); })) {}

static layout::Tile tileMode(const Value &mode, Loc loc) {
  detail::HostValue view = detail::hostView(mode.handle(), loc);
  if (auto *t = std::get_if<layout::IntTuple>(&view))
    return t->isLeaf() ? layout::Tile(t->leaf()) : layout::Tile::fromSizes(*t);
  if (auto *l = std::get_if<layout::Layout>(&view))
    return *l;
  if (auto *t = std::get_if<layout::Tile>(&view))
    return *t;
  throw TraceError(
      "a mode of a tile is a length or a layout that is known while tracing, or fx::_, "
      "not " +
          detail::describe(mode.handle()) + "; pass a length of the host's as an fx::Constexpr",
      loc);
}

Tile::Tile(std::initializer_list<Mode> modes, Loc loc)
    : Value(builder::layoutErrorsAt(loc, [&] {
        std::vector<layout::Tile> tiles;
        for (const Mode &m : modes)
          tiles.push_back(tileMode(m, loc));
        return hostHandle(tiles.size() == 1 ? tiles[0] : layout::Tile::list(std::move(tiles)));
      })) {}

static layout::Tile tileOf(const Handle &handle, Loc loc) {
  detail::HostValue view = detail::hostView(handle, loc);
  if (auto *t = std::get_if<layout::Tile>(&view))
    return *t;
  throw TraceError("expected a static tile, got " + detail::describe(handle), loc);
}

int Tile::rank(Loc loc) const { return tileOf(handle_, loc).rank(); }

IntTuple Tile::operator[](const detail::ModeIndex &mode) const {
  return builder::layoutErrorsAt(mode.loc, [&] {
    return IntTuple(hostHandle(layout::sizesOf(tileOf(handle_, mode.loc).at(mode.index))));
  });
}

//===-- Making layouts ----------------------------------------------------===//

Layout make_layout(const IntTuple &shape, const IntTuple &stride, Loc loc) {
  return Layout(algebra(AlgebraOp::make_layout, {&shape.handle(), &stride.handle()}, loc));
}

Layout make_layout(const IntTuple &shape, Loc loc) { return make_ordered_layout(shape, 0, loc); }

Layout make_ordered_layout(const IntTuple &shape, const IntTuple &order, Loc loc) {
  return Layout(algebra(AlgebraOp::make_ordered_layout, {&shape.handle(), &order.handle()}, loc));
}

Layout make_layout_like(const Layout &layout, Loc loc) {
  return Layout(algebra(AlgebraOp::make_layout_like, {&layout.handle()}, loc));
}

Layout make_identity_layout(const IntTuple &shape, Loc loc) {
  return Layout(algebra(AlgebraOp::make_identity_layout, {&shape.handle()}, loc));
}

static ComposedLayout composed(const Value &inner, const IntTuple &offset, const Layout &outer,
                               Loc loc) {
  return ComposedLayout(algebra(AlgebraOp::make_composed_layout,
                                {&inner.handle(), &offset.handle(), &outer.handle()}, loc));
}

ComposedLayout make_composed_layout(const Swizzle &inner, const IntTuple &offset,
                                    const Layout &outer, Loc loc) {
  return composed(inner, offset, outer, loc);
}
ComposedLayout make_composed_layout(const Layout &inner, const IntTuple &offset,
                                    const Layout &outer, Loc loc) {
  return composed(inner, offset, outer, loc);
}
ComposedLayout make_composed_layout(const Swizzle &inner, const Layout &outer, Loc loc) {
  return composed(inner, coprofile(outer, loc), outer, loc);
}
ComposedLayout make_composed_layout(const Layout &inner, const Layout &outer, Loc loc) {
  return composed(inner, coprofile(outer, loc), outer, loc);
}

//===-- Tuples ------------------------------------------------------------===//

IntTuple append(const IntTuple &x, const IntTuple &elem, Loc loc) {
  return IntTuple(algebra(AlgebraOp::append, {&x.handle(), &elem.handle()}, loc));
}
IntTuple append(const IntTuple &x, const IntTuple &elem, int rank, Loc loc) {
  return IntTuple(algebra(AlgebraOp::append, {&x.handle(), &elem.handle()}, loc, {rank}));
}
IntTuple prepend(const IntTuple &x, const IntTuple &elem, Loc loc) {
  return IntTuple(algebra(AlgebraOp::prepend, {&x.handle(), &elem.handle()}, loc));
}
IntTuple prepend(const IntTuple &x, const IntTuple &elem, int rank, Loc loc) {
  return IntTuple(algebra(AlgebraOp::prepend, {&x.handle(), &elem.handle()}, loc, {rank}));
}
IntTuple product(const IntTuple &x, Loc loc) {
  return IntTuple(algebra(AlgebraOp::int_tuple_product, {&x.handle()}, loc));
}
IntTuple product_each(const IntTuple &x, Loc loc) {
  return IntTuple(algebra(AlgebraOp::int_tuple_product_each, {&x.handle()}, loc));
}
IntTuple product_like(const IntTuple &x, const IntTuple &profile, Loc loc) {
  return IntTuple(
      algebra(AlgebraOp::int_tuple_product_like, {&x.handle(), &profile.handle()}, loc));
}
IntTuple shape_div(const IntTuple &a, const IntTuple &b, Loc loc) {
  return IntTuple(detail::tupleBinary(detail::TupleOp::shapeDiv, a.handle(), b.handle(), loc));
}
IntTuple ceil_div(const IntTuple &a, const IntTuple &b, Loc loc) {
  return IntTuple(detail::tupleBinary(detail::TupleOp::ceilDiv, a.handle(), b.handle(), loc));
}

//===-- Layouts as functions ----------------------------------------------===//

IntTuple crd2idx(const IntTuple &index, const Swizzle &swizzle, Loc loc) {
  return IntTuple(algebra(AlgebraOp::crd2idx, {&index.handle(), &swizzle.handle()}, loc));
}
IntTuple idx2crd(const IntTuple &index, const Layout &layout, Loc loc) {
  return IntTuple(algebra(AlgebraOp::idx2crd, {&index.handle(), &layout.handle()}, loc));
}
IntTuple get_flat_coord(const IntTuple &index, const Layout &layout, Loc loc) {
  return IntTuple(algebra(AlgebraOp::get_flat_coord, {&index.handle(), &layout.handle()}, loc));
}
IntTuple get_1d_coord(const IntTuple &index, const Layout &layout, Loc loc) {
  return IntTuple(algebra(AlgebraOp::get_1d_coord, {&index.handle(), &layout.handle()}, loc));
}
Layout complement(const Layout &x, const IntTuple &codomain, Loc loc) {
  return Layout(algebra(AlgebraOp::complement, {&x.handle(), &codomain.handle()}, loc));
}
Layout complement(const Layout &x, Loc loc) {
  return Layout(algebra(AlgebraOp::complement, {&x.handle()}, loc));
}
Layout right_inverse(const Layout &x, Loc loc) {
  return Layout(algebra(AlgebraOp::right_inverse, {&x.handle()}, loc));
}
Layout left_inverse(const Layout &x, Loc loc) {
  return Layout(algebra(AlgebraOp::left_inverse, {&x.handle()}, loc));
}

FLYDSL_NAMESPACE_END
