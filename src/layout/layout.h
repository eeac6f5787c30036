// Layouts: functions from coordinates to offsets.
//
// A layout is a pair of congruent tuples, shape and stride, written `shape:stride`. It is a
// function of a coordinate: with shape (4,8) and stride (8,1), the coordinate (2,3) goes to 2*8 +
// 3*1 = 19. The same function takes a single number: 14 is first spread over the shape, the first
// mode running fastest, as (14 % 4, 14 / 4) = (2,3), and goes to 19 too. So a layout is a function
// on [0, size), whatever its nesting, and the nesting only says which coordinates may be written
// for it. All of the algebra is about that function:
//
//   size       how many inputs it has                       size(4,8):(8,1) = 32
//   cosize     one more than its largest output             cosize = 3*8 + 7*1 + 1 = 32
//   coalesce   the same function with as few modes as can be
//   composition(A, B)      c -> A(B(c)), with B's nesting
//   complement(A, M)       the layout that reaches, in order, what A leaves out below M
//   right_inverse(A)       R with A(R(i)) = i;  left_inverse(A): L with L(A(i)) = i
//   logical_divide(A, B)   A(B, complement(B)): mode 0 walks inside a tile B of A, mode 1 from
//                          tile to tile
//   logical_product(A, B)  A, and mode 1 repeats it as B says
//
// Strides may be multiples of coordinate axes (`1E0`, `4E1`); the layout's values are then
// coordinates, and (4,8):(1E0,1E1) is the identity on coordinates. Shapes and strides may be
// dynamic; an operation then gives expressions, or says which part it needs to be static.
//
// A composed layout `inner o offset o outer` is c -> inner(offset + outer(c)), for what a single
// layout can't be: a swizzle after a layout, or a layout that starts at an offset.
//
// The operations are in coord.h (indices and coordinates), algebra.h (coalesce, composition,
// inverses), divide.h, product.h, make.h (layouts from shapes), tiled.h (who holds what in tiled
// copies and matrix products), their text in text.h, pictures in picture.h. docs/layout-algebra.md
// works through examples.
#pragma once

#include "layout/int_tuple.h"
#include "layout/swizzle.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace flydsl::layout {

/// shape:stride. Immutable; a copy shares its parts.
class Layout {
public:
  /// 1:0.
  Layout() : shape_(1) {}
  /// `shape` and `stride` are congruent, shapes are not negative and have neither wildcards nor
  /// basis modes; a LayoutError otherwise.
  Layout(IntTuple shape, IntTuple stride);

  const IntTuple &shape() const { return shape_; }
  const IntTuple &stride() const { return stride_; }

  bool isLeaf() const { return shape_.isLeaf(); }
  bool isStatic() const { return shape_.isStatic() && stride_.isStatic(); }
  int rank() const { return shape_.rank(); }
  int depth() const { return shape_.depth(); }
  /// Mode `i`; of a layout with a single leaf, mode 0 is the layout itself.
  Layout at(int i) const;
  Layout at(const ModePath &path) const;
  Layout operator[](int i) const { return at(i); }
  int dynamicLeafCount() const { return shape_.dynamicLeafCount() + stride_.dynamicLeafCount(); }

  bool operator==(const Layout &) const = default;
  size_t hash() const { return shape_.hash() * 31 + stride_.hash(); }
  /// `(4,8):(8,1)`.
  std::string str() const { return shape_.str() + ":" + stride_.str(); }

private:
  friend Layout concat(std::vector<Layout> modes);
  IntTuple shape_, stride_;
};

/// The layouts as modes of one: concat({4:1, 8:4}) = (4,8):(1,4). None at all is a LayoutError.
Layout concat(std::vector<Layout> modes);

class ComposedLayout;
/// What maps coordinates to offsets or coordinates.
using AnyLayout = std::variant<Layout, ComposedLayout>;
/// What may stand as the inner function of a composed layout.
using InnerFunction = std::variant<Layout, Swizzle, CoordSwizzle, ComposedLayout>;

/// `inner o offset o outer`: c -> inner(offset + outer(c)). Immutable; a copy shares its parts.
class ComposedLayout {
public:
  ComposedLayout(InnerFunction inner, IntTuple offset, AnyLayout outer);

  const InnerFunction &inner() const;
  const IntTuple &offset() const;
  const AnyLayout &outer() const;

  bool isStatic() const;
  /// Rank, depth and modes are the outer layout's.
  int rank() const;
  int depth() const;
  ComposedLayout at(int i) const;
  ComposedLayout at(const ModePath &path) const;
  /// The outer layout's shape, through any nesting.
  const IntTuple &shape() const;
  int dynamicLeafCount() const;

  bool operator==(const ComposedLayout &other) const;
  size_t hash() const;
  /// `S<3,4,3> o 0 o (8,8):(8,1)`; a composed outer layout stands in brackets.
  std::string str() const;

private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

/// Layouts and composed layouts alike.
const IntTuple &shapeOf(const AnyLayout &layout);
bool isStatic(const AnyLayout &layout);
bool isStatic(const InnerFunction &function);
int rank(const AnyLayout &layout);
int depth(const AnyLayout &layout);
AnyLayout at(const AnyLayout &layout, int i);
AnyLayout at(const AnyLayout &layout, const ModePath &path);
size_t hashOf(const AnyLayout &layout);
size_t hashOf(const InnerFunction &function);
std::string str(const AnyLayout &layout);
std::string str(const InnerFunction &function);
/// The same with every dynamic leaf's value.
Layout evaluate(const Layout &layout, const SymbolValues &symbols);
ComposedLayout evaluate(const ComposedLayout &layout, const SymbolValues &symbols);
AnyLayout evaluate(const AnyLayout &layout, const SymbolValues &symbols);

/// The same nesting over fn(leaf), leaves in the order in which they are printed, that of dynamic
/// operands too: of a layout shape then stride, of a composed layout inner, offset, outer.
Layout mapLeaves(const Layout &layout, const std::function<Int(const Int &)> &fn);
ComposedLayout mapLeaves(const ComposedLayout &layout, const std::function<Int(const Int &)> &fn);
AnyLayout mapLeaves(const AnyLayout &layout, const std::function<Int(const Int &)> &fn);
InnerFunction mapLeaves(const InnerFunction &function, const std::function<Int(const Int &)> &fn);

} // namespace flydsl::layout
