// Layouts are functions from coordinates to indices; this header has them and the algebra over
// them.
//
// Every function here works outside kernels on static values, and inside a kernel on static and
// dynamic values alike. What is static is computed while tracing and makes no operation. If
// the operands do not admit an operation (a tile does not divide, profiles differ), it throws a
// TraceError that prints them. The profile of a tuple or layout is the way in which it is nested.
#pragma once

#include <flydsl/detail/algebra_op.h>
#include <flydsl/layout/int_tuple.h>

FLYDSL_NAMESPACE_BEGIN

class Tensor;
class Layout;
class ComposedLayout;

namespace detail {
FLYDSL_API Handle sliceOf(const Handle &source, const Handle &coord, Loc loc);
FLYDSL_API int rankOf(const Handle &handle, Loc loc);
FLYDSL_API int depthOf(const Handle &handle, Loc loc);

template <class T>
concept AnyLayout = std::derived_from<T, Layout> || std::derived_from<T, ComposedLayout>;
template <class T>
concept LayoutLike = AnyLayout<T> || std::derived_from<T, Tensor>;
template <class T>
concept TupleLike = LayoutLike<T> || std::derived_from<T, IntTuple>;
/// The eDSL's type of the result of an operation on a T (an element of a slice is an IntTuple).
template <class T>
using Kin =
    std::conditional_t<std::derived_from<T, IntTuple>, IntTuple,
                       std::conditional_t<std::derived_from<T, Layout>, Layout,
                                          std::conditional_t<std::derived_from<T, ComposedLayout>,
                                                             ComposedLayout, T>>>;

/// `f(c0, c1, ...)` for up to six modes. It reads at a coordinate, or slices if the coordinate
/// contains an `fx::_`.
template <class Self, class Point> class Indexed {
public:
  template <class A> auto operator()(const A &a, Loc loc = Loc::current()) const {
    if constexpr (isSlicing<A>)
      return index(SliceCoord(IntTuple(a).handle()), loc);
    else
      return index(tupleMode(a, loc), loc);
  }
  template <class A, class B>
  auto operator()(const A &a, const B &b, Loc loc = Loc::current()) const {
    return index(makeTuple<CoordOf<A, B>>(loc, a, b), loc);
  }
  template <class A, class B, class C>
  auto operator()(const A &a, const B &b, const C &c, Loc loc = Loc::current()) const {
    return index(makeTuple<CoordOf<A, B, C>>(loc, a, b, c), loc);
  }
  template <class A, class B, class C, class D>
  auto operator()(const A &a, const B &b, const C &c, const D &d, Loc loc = Loc::current()) const {
    return index(makeTuple<CoordOf<A, B, C, D>>(loc, a, b, c, d), loc);
  }
  template <class A, class B, class C, class D, class E>
  auto operator()(const A &a, const B &b, const C &c, const D &d, const E &e,
                  Loc loc = Loc::current()) const {
    return index(makeTuple<CoordOf<A, B, C, D, E>>(loc, a, b, c, d, e), loc);
  }
  template <class A, class B, class C, class D, class E, class F>
  auto operator()(const A &a, const B &b, const C &c, const D &d, const E &e, const F &f,
                  Loc loc = Loc::current()) const {
    return index(makeTuple<CoordOf<A, B, C, D, E, F>>(loc, a, b, c, d, e, f), loc);
  }

private:
  Self index(const SliceCoord &coord, Loc loc) const {
    return Self(sliceOf(static_cast<const Self *>(this)->handle(), coord.handle(), loc));
  }
  Point index(const IntTuple &coord, Loc loc) const {
    return static_cast<const Self *>(this)->point(coord, loc);
  }
};
} // namespace detail

/// A shape and a stride of the same profile. The coordinate (c0, c1, ...) maps to the index c0*d0 +
/// c1*d1 + ..., where d0, d1, ... are the strides.
class FLYDSL_API Layout : public Value,
                          public detail::Indexed<Layout, IntTuple>,
                          public detail::StaticParam<Layout> {
public:
  using Value::Value;
  /// The extents of the modes.
  IntTuple shape(Loc loc = Loc::current()) const;
  /// The step of the index along each mode; it has the profile of the shape.
  IntTuple stride(Loc loc = Loc::current()) const;
  /// The number of top-level modes.
  int rank(Loc loc = Loc::current()) const { return detail::rankOf(handle_, loc); }
  /// The depth of nesting: 1 for a flat layout.
  int depth(Loc loc = Loc::current()) const { return detail::depthOf(handle_, loc); }
  /// One mode.
  Layout operator[](const detail::ModeIndex &mode) const;
  /// The index of a coordinate; `layout(c0, c1)` is the short form.
  IntTuple point(const IntTuple &coord, Loc loc) const;
};

/// A function on indices: it XORs the `mask` bits of an index that start at bit `base + shift` into
/// the `mask` bits that start at bit `base`.
class FLYDSL_API Swizzle : public Value, public detail::StaticParam<Swizzle> {
public:
  using Value::Value;
  Swizzle(int mask, int base, int shift, Loc loc = Loc::current());
};

/// The function coordinate -> inner(offset + outer(coordinate)). `inner` is a swizzle, a layout or
/// a composed layout.
class FLYDSL_API ComposedLayout : public Value,
                                  public detail::Indexed<ComposedLayout, IntTuple>,
                                  public detail::StaticParam<ComposedLayout> {
public:
  using Value::Value;
  /// The extents of the outer layout.
  IntTuple shape(Loc loc = Loc::current()) const;
  /// The offset, which is added to the outer layout's result before `inner` is applied.
  IntTuple offset(Loc loc = Loc::current()) const;
  /// The outer layout. Throws TraceError if it is itself composed.
  Layout outer(Loc loc = Loc::current()) const;
  /// The number of the outer layout's top-level modes.
  int rank(Loc loc = Loc::current()) const { return detail::rankOf(handle_, loc); }
  /// The index of a coordinate; `layout(c0, c1)` is the short form.
  IntTuple point(const IntTuple &coord, Loc loc) const;
};

/// One tiler per mode: a length, a Layout, or `fx::_` for a mode that stays as it is.
class FLYDSL_API Tile : public Value, public detail::StaticParam<Tile> {
public:
  using Value::Value;
  /// The tiler of one mode.
  class FLYDSL_API Mode : public Value {
  public:
    template <detail::HostInt T>
    Mode(T length, Loc loc = Loc::current()) : Value(detail::staticLeafOf(length, loc)) {}
    template <detail::IntConstant C> Mode(const C &constant) : Mode(constant.value()) {}
    Mode(Wildcard) : Value(detail::wildcardLeaf()) {}
    /// A length that is known while tracing, or a tuple of lengths.
    Mode(const IntTuple &length) : Value(length.handle()) {}
    Mode(const Layout &layout) : Value(layout.handle()) {}
    Mode(const Tile &tile) : Value(tile.handle()) {}
  };
  Tile(std::initializer_list<Mode> modes, Loc loc = Loc::current());
  /// The number of modes.
  int rank(Loc loc = Loc::current()) const;
  /// A mode that is a length or a tuple of lengths. Throws TraceError if it is a Layout.
  IntTuple operator[](const detail::ModeIndex &mode) const;
};

namespace detail {
/// The first of several modes, with the source location of the call.
struct FirstTileMode {
  Tile::Mode mode;
  Loc loc;
  template <class T> FirstTileMode(const T &m, Loc l = Loc::current()) : mode(of(m, l)), loc(l) {}
  template <class T> static Tile::Mode of(const T &m, Loc l) {
    if constexpr (HostInt<T>)
      return Tile::Mode(m, l);
    else
      return Tile::Mode(m);
  }
};
} // namespace detail

/// Makes a tile; each argument is the tiler of one mode: an integer, a Layout or `fx::_`. A single
/// integer or Layout tiles the layout as a whole, whereas `make_tile(make_shape(16))` tiles the
/// first of several modes.
template <class... T> Tile make_tile(const detail::FirstTileMode &first, const T &...rest) {
  return Tile({first.mode, detail::FirstTileMode::of(rest, first.loc)...}, first.loc);
}

/// The divisor of a layout: a Tile divides mode by mode, a Layout divides the layout as a whole.
class FLYDSL_API Tiler : public Value {
public:
  Tiler(const Tile &tile) : Value(tile.handle()) {}
  Tiler(const Layout &layout) : Value(layout.handle()) {}
  template <detail::HostInt T> Tiler(T length) : Value(Tile({length}).handle()) {}
  Tiler(std::initializer_list<Tile::Mode> modes, Loc loc = Loc::current())
      : Value(Tile(modes, loc).handle()) {}
};

//===-- Making layouts ----------------------------------------------------===//

/// The layout shape:stride; both have the same profile.
FLYDSL_API Layout make_layout(const IntTuple &shape, const IntTuple &stride,
                              Loc loc = Loc::current());
/// The compact layout of a shape; the first mode is the fastest.
FLYDSL_API Layout make_layout(const IntTuple &shape, Loc loc = Loc::current());
/// The compact layout whose strides grow in the order of `order`; the mode with the smallest entry
/// is the fastest.
FLYDSL_API Layout make_ordered_layout(const IntTuple &shape, const IntTuple &order,
                                      Loc loc = Loc::current());
/// A compact layout of the same shape whose strides grow in the same order.
FLYDSL_API Layout make_layout_like(const Layout &layout, Loc loc = Loc::current());
/// The layout shape:(1E0, 1E1, ...), which maps each coordinate to itself.
FLYDSL_API Layout make_identity_layout(const IntTuple &shape, Loc loc = Loc::current());
/// The function coordinate -> inner(offset + outer(coordinate)).
FLYDSL_API ComposedLayout make_composed_layout(const Swizzle &inner, const IntTuple &offset,
                                               const Layout &outer, Loc loc = Loc::current());
FLYDSL_API ComposedLayout make_composed_layout(const Layout &inner, const IntTuple &offset,
                                               const Layout &outer, Loc loc = Loc::current());
/// The function coordinate -> inner(outer(coordinate)).
FLYDSL_API ComposedLayout make_composed_layout(const Swizzle &inner, const Layout &outer,
                                               Loc loc = Loc::current());
FLYDSL_API ComposedLayout make_composed_layout(const Layout &inner, const Layout &outer,
                                               Loc loc = Loc::current());

//===-- Tuples ------------------------------------------------------------===//

/// The number of top-level modes; 1 for a leaf.
template <detail::TupleLike T> int rank(const T &x, Loc loc = Loc::current()) {
  return detail::rankOf(x.handle(), loc);
}
/// The number of levels of nesting; 0 for a leaf.
template <detail::TupleLike T> int depth(const T &x, Loc loc = Loc::current()) {
  return detail::depthOf(x.handle(), loc);
}
/// The mode with the given number, or the mode at a path of mode numbers (outermost first).
template <detail::TupleLike T> detail::Kin<T> get(const T &x, int mode, Loc loc = Loc::current()) {
  return detail::Kin<T>(detail::algebra(detail::AlgebraOp::get, {&x.handle()}, loc, {mode}));
}
template <detail::TupleLike T>
detail::Kin<T> get(const T &x, std::initializer_list<int> path, Loc loc = Loc::current()) {
  return detail::Kin<T>(detail::algebra(detail::AlgebraOp::get, {&x.handle()}, loc, path));
}
/// The modes [begin, end).
template <detail::TupleLike T>
detail::Kin<T> take(const T &x, int begin, int end, Loc loc = Loc::current()) {
  return detail::Kin<T>(detail::algebra(detail::AlgebraOp::take, {&x.handle()}, loc, {begin, end}));
}
/// The modes with the given numbers, in the given order.
template <detail::TupleLike T>
detail::Kin<T> select(const T &x, std::initializer_list<int> modes, Loc loc = Loc::current()) {
  return detail::Kin<T>(detail::algebra(detail::AlgebraOp::select, {&x.handle()}, loc, modes));
}
/// Makes the modes [begin, end) one nested mode.
template <detail::TupleLike T>
detail::Kin<T> group(const T &x, int begin, int end, Loc loc = Loc::current()) {
  return detail::Kin<T>(
      detail::algebra(detail::AlgebraOp::group, {&x.handle()}, loc, {begin, end}));
}
/// Adds `elem` after (`append`) or before (`prepend`) the modes of `x`: once, or with `rank` as
/// often as it takes to reach that rank.
FLYDSL_API IntTuple append(const IntTuple &x, const IntTuple &elem, Loc loc = Loc::current());
FLYDSL_API IntTuple append(const IntTuple &x, const IntTuple &elem, int rank,
                           Loc loc = Loc::current());
FLYDSL_API IntTuple prepend(const IntTuple &x, const IntTuple &elem, Loc loc = Loc::current());
FLYDSL_API IntTuple prepend(const IntTuple &x, const IntTuple &elem, int rank,
                            Loc loc = Loc::current());
template <detail::AnyLayout L> L append(const L &x, const Layout &elem, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::append, {&x.handle(), &elem.handle()}, loc));
}
template <detail::AnyLayout L>
L append(const L &x, const Layout &elem, int rank, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::append, {&x.handle(), &elem.handle()}, loc, {rank}));
}
template <detail::AnyLayout L> L prepend(const L &x, const Layout &elem, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::prepend, {&x.handle(), &elem.handle()}, loc));
}
template <detail::AnyLayout L>
L prepend(const L &x, const Layout &elem, int rank, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::prepend, {&x.handle(), &elem.handle()}, loc, {rank}));
}
/// The modes where `coord` has `fx::_`. A layout loses the offset of the other modes; a tensor
/// keeps it.
template <detail::TupleLike T>
detail::Kin<T> slice(const T &x, const IntTuple &coord, Loc loc = Loc::current()) {
  return detail::Kin<T>(
      detail::algebra(detail::AlgebraOp::slice, {&x.handle(), &coord.handle()}, loc));
}
/// The modes where `coord` has no `fx::_`.
template <class T>
  requires std::derived_from<T, IntTuple> || std::derived_from<T, Layout>
detail::Kin<T> dice(const T &x, const IntTuple &coord, Loc loc = Loc::current()) {
  return detail::Kin<T>(
      detail::algebra(detail::AlgebraOp::dice, {&x.handle(), &coord.handle()}, loc));
}

/// The product of all leaves.
FLYDSL_API IntTuple product(const IntTuple &x, Loc loc = Loc::current());
/// The product of each mode.
FLYDSL_API IntTuple product_each(const IntTuple &x, Loc loc = Loc::current());
/// For each leaf of `profile`, the product of the part of `x` that stands in its place.
FLYDSL_API IntTuple product_like(const IntTuple &x, const IntTuple &profile,
                                 Loc loc = Loc::current());
/// Quotients of shapes, rounded up. Throws TraceError if both sides are static and neither divides
/// the other.
FLYDSL_API IntTuple shape_div(const IntTuple &a, const IntTuple &b, Loc loc = Loc::current());
/// Quotients of shapes, rounded up. A tuple is divided by a tuple mode by mode; a number divides a
/// tuple from the left: each mode uses up a part of it.
FLYDSL_API IntTuple ceil_div(const IntTuple &a, const IntTuple &b, Loc loc = Loc::current());

//===-- Layouts as functions ----------------------------------------------===//

/// The number of coordinates: the product of the shape.
template <detail::TupleLike T> IntTuple size(const T &x, Loc loc = Loc::current()) {
  return IntTuple(detail::algebra(detail::AlgebraOp::size, {&x.handle()}, loc));
}
/// The size of one mode.
template <detail::TupleLike T> IntTuple size(const T &x, int mode, Loc loc = Loc::current()) {
  return size(get(x, mode, loc), loc);
}
/// One more than the largest index.
template <detail::LayoutLike L> IntTuple cosize(const L &x, Loc loc = Loc::current()) {
  return IntTuple(detail::algebra(detail::AlgebraOp::cosize, {&x.handle()}, loc));
}
/// The smallest shape that holds all indices: a number, or a tuple if the strides are along
/// coordinates.
template <detail::LayoutLike L> IntTuple coshape(const L &x, Loc loc = Loc::current()) {
  return IntTuple(detail::algebra(detail::AlgebraOp::coshape, {&x.handle()}, loc));
}
/// Zeros with the profile of the indices.
template <detail::LayoutLike L> IntTuple coprofile(const L &x, Loc loc = Loc::current()) {
  return IntTuple(detail::algebra(detail::AlgebraOp::coprofile, {&x.handle()}, loc));
}
/// The index of a coordinate.
template <detail::AnyLayout L>
IntTuple crd2idx(const IntTuple &coord, const L &layout, Loc loc = Loc::current()) {
  return IntTuple(
      detail::algebra(detail::AlgebraOp::crd2idx, {&coord.handle(), &layout.handle()}, loc));
}
FLYDSL_API IntTuple crd2idx(const IntTuple &index, const Swizzle &swizzle,
                            Loc loc = Loc::current());
/// The coordinate that the layout maps to this index, in the layout's profile.
FLYDSL_API IntTuple idx2crd(const IntTuple &index, const Layout &layout, Loc loc = Loc::current());
/// The same coordinate with one number per top-level mode.
FLYDSL_API IntTuple get_flat_coord(const IntTuple &index, const Layout &layout,
                                   Loc loc = Loc::current());
/// The same coordinate as one number: its position among all coordinates, first mode fastest.
FLYDSL_API IntTuple get_1d_coord(const IntTuple &index, const Layout &layout,
                                 Loc loc = Loc::current());

//===-- The algebra -------------------------------------------------------===//

/// The same function with as few modes as possible. With a pattern, each mode of the pattern is
/// coalesced by itself.
template <detail::LayoutLike L> L coalesce(const L &x, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::coalesce, {&x.handle()}, loc));
}
template <detail::LayoutLike L>
L coalesce(const L &x, const IntTuple &pattern, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::coalesce, {&x.handle(), &pattern.handle()}, loc));
}
/// The function coordinate -> outer(inner(coordinate)). A Tile is composed mode by mode.
template <detail::LayoutLike L>
L composition(const L &outer, const Tiler &inner, Loc loc = Loc::current()) {
  return L(
      detail::algebra(detail::AlgebraOp::composition, {&outer.handle(), &inner.handle()}, loc));
}
/// A layout of the indices below `codomain` that `x` does not reach, to be used beside `x`. If the
/// codomain is a tuple, it is a shape and stands for its size, the product of its numbers; if it is
/// not given, it is the cosize of `x`.
FLYDSL_API Layout complement(const Layout &x, const IntTuple &codomain, Loc loc = Loc::current());
FLYDSL_API Layout complement(const Layout &x, Loc loc = Loc::current());
/// The layout R with x(R(i)) == i for all i below the size of R.
FLYDSL_API Layout right_inverse(const Layout &x, Loc loc = Loc::current());
/// The layout L with L(x(i)) == i for all coordinates i of `x`.
FLYDSL_API Layout left_inverse(const Layout &x, Loc loc = Loc::current());

/// Splits each mode into its tile and its rest: ((tile0, rest0), (tile1, rest1), ...).
template <detail::LayoutLike L>
L logical_divide(const L &x, const Tiler &tiler, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::logical_divide, {&x.handle(), &tiler.handle()}, loc));
}
/// The same modes in the order ((tile modes), (rest modes)).
template <detail::LayoutLike L>
L zipped_divide(const L &x, const Tiler &tiler, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::zipped_divide, {&x.handle(), &tiler.handle()}, loc));
}
/// The same modes in the order ((tile modes), rest0, rest1, ...).
template <detail::LayoutLike L>
L tiled_divide(const L &x, const Tiler &tiler, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::tiled_divide, {&x.handle(), &tiler.handle()}, loc));
}
/// The same modes in the order (tile0, tile1, ..., rest0, rest1, ...).
template <detail::LayoutLike L>
L flat_divide(const L &x, const Tiler &tiler, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::flat_divide, {&x.handle(), &tiler.handle()}, loc));
}

/// The block `x` repeated as `tiler` says: (modes of x, modes of the repetition). The variants nest
/// the same modes as the divides of the same name do.
template <detail::AnyLayout L>
L logical_product(const L &x, const Layout &tiler, Loc loc = Loc::current()) {
  return L(
      detail::algebra(detail::AlgebraOp::logical_product, {&x.handle(), &tiler.handle()}, loc));
}
template <detail::AnyLayout L>
L zipped_product(const L &x, const Layout &tiler, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::zipped_product, {&x.handle(), &tiler.handle()}, loc));
}
template <detail::AnyLayout L>
L tiled_product(const L &x, const Layout &tiler, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::tiled_product, {&x.handle(), &tiler.handle()}, loc));
}
template <detail::AnyLayout L>
L flat_product(const L &x, const Layout &tiler, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::flat_product, {&x.handle(), &tiler.handle()}, loc));
}
/// Mode by mode, the blocks of `x` one after another: ((x0, t0), (x1, t1), ...).
template <detail::AnyLayout L>
L blocked_product(const L &x, const Layout &tiler, Loc loc = Loc::current()) {
  return L(
      detail::algebra(detail::AlgebraOp::blocked_product, {&x.handle(), &tiler.handle()}, loc));
}
/// Mode by mode, the elements of the blocks interleaved: ((t0, x0), (t1, x1), ...).
template <detail::AnyLayout L>
L raked_product(const L &x, const Layout &tiler, Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::raked_product, {&x.handle(), &tiler.handle()}, loc));
}

/// The layout of the same memory, counted in elements of `newBits` instead of `oldBits` bits.
template <detail::AnyLayout L>
L recast_layout(const L &x, int oldBits, int newBits, Loc loc = Loc::current()) {
  return L(
      detail::algebra(detail::AlgebraOp::recast_layout, {&x.handle()}, loc, {newBits, oldBits}));
}
/// Repeats `block` to fill `target`; the copies follow one another in the order `order`.
template <detail::AnyLayout L>
L tile_to_shape(const L &block, const IntTuple &target, const IntTuple &order,
                Loc loc = Loc::current()) {
  return L(detail::algebra(detail::AlgebraOp::tile_to_shape,
                           {&block.handle(), &target.handle(), &order.handle()}, loc));
}

FLYDSL_NAMESPACE_END
