// Layouts: functions from coordinates to offsets.
//
// A layout is a pair of congruent tuples, shape and stride, written `shape:stride`. It is a
// function of a coordinate: with shape (4,8) and stride (8,1), the coordinate (2,3) goes to 2*8 +
// 3*1 = 19. The same function takes a single number: 14 is first spread over the shape, where the
// first mode runs fastest, as (14 % 4, 14 / 4) = (2,3), and goes to 19 too. So a layout is a
// function on [0, size) whatever its nesting; the nesting only says which coordinates it takes. All
// of the algebra is about that function:
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
// Strides may be multiples of coordinate axes (`1E0`, `4E1`). The layout's values are then
// coordinates, and (4,8):(1E0,1E1) is the identity on coordinates. Shapes and strides may be
// dynamic; an operation then gives expressions, or reports which part must be static.
//
// A composed layout `inner o offset o outer` is the function c -> inner(offset + outer(c)). It
// describes what a single layout can't: a swizzle after a layout, or a layout that starts at an
// offset.
//
// The operations are in coord.h (indices and coordinates), algebra.h (coalesce, composition,
// inverses), divide.h, product.h, make.h (layouts from shapes) and tiled.h (thread-value layouts of
// tiled copies and matrix products); text.h reads their text and picture.h draws them.
// docs/layout-algebra.md works through examples.
#pragma once

#include "layout/int_tuple.h"
#include "layout/swizzle.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace flydsl::layout {

/// A layout shape:stride. It is immutable; a copy shares its parts.
class Layout {
public:
  /// The layout 1:0.
  Layout() : shape_(1) {}
  /// Throws a LayoutError unless `shape` and `stride` are congruent, and shapes are not negative
  /// and have neither wildcards nor basis modes.
  Layout(IntTuple shape, IntTuple stride);

  const IntTuple &shape() const { return shape_; }
  const IntTuple &stride() const { return stride_; }

  bool isLeaf() const { return shape_.isLeaf(); }
  bool isStatic() const { return shape_.isStatic() && stride_.isStatic(); }
  int rank() const { return shape_.rank(); }
  int depth() const { return shape_.depth(); }
  /// Mode `i`; for a layout with a single leaf, mode 0 is the layout itself.
  Layout at(int i) const;
  Layout at(const ModePath &path) const;
  Layout operator[](int i) const { return at(i); }
  int dynamicLeafCount() const { return shape_.dynamicLeafCount() + stride_.dynamicLeafCount(); }

  bool operator==(const Layout &) const = default;
  size_t hash() const { return shape_.hash() * 31 + stride_.hash(); }
  /// The layout as text: `(4,8):(8,1)`.
  std::string str() const { return shape_.str() + ":" + stride_.str(); }

private:
  friend Layout concat(std::vector<Layout> modes);
  IntTuple shape_, stride_;
};

/// Makes one layout whose modes are the given layouts: concat({4:1, 8:4}) = (4,8):(1,4). An empty
/// list is a LayoutError.
Layout concat(std::vector<Layout> modes);

class ComposedLayout;
/// A function that maps coordinates to offsets or coordinates.
using AnyLayout = std::variant<Layout, ComposedLayout>;
/// A function that may be the inner function of a composed layout.
using InnerFunction = std::variant<Layout, Swizzle, CoordSwizzle, ComposedLayout>;

/// `inner o offset o outer`: c -> inner(offset + outer(c)). It is immutable; a copy shares its
/// parts.
class ComposedLayout {
public:
  ComposedLayout(InnerFunction inner, IntTuple offset, AnyLayout outer);

  const InnerFunction &inner() const;
  const IntTuple &offset() const;
  const AnyLayout &outer() const;

  bool isStatic() const;
  /// Rank, depth and modes are those of the outer layout.
  int rank() const;
  int depth() const;
  ComposedLayout at(int i) const;
  ComposedLayout at(const ModePath &path) const;
  /// The shape of the outer layout, through any nesting.
  const IntTuple &shape() const;
  int dynamicLeafCount() const;

  bool operator==(const ComposedLayout &other) const;
  size_t hash() const;
  /// The layout as text: `S<3,4,3> o 0 o (8,8):(8,1)`; a composed outer layout is written in square
  /// brackets.
  std::string str() const;

private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

/// The same questions, for layouts and composed layouts alike.
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
/// The same layout with the values of all dynamic leaves.
Layout evaluate(const Layout &layout, const SymbolValues &symbols);
ComposedLayout evaluate(const ComposedLayout &layout, const SymbolValues &symbols);
AnyLayout evaluate(const AnyLayout &layout, const SymbolValues &symbols);

/// The same nesting with fn(leaf) in place of each leaf. Leaves are visited in the order in which
/// they are printed, which is also the order of dynamic operands: shape and stride of a layout;
/// inner function, offset and outer layout of a composed layout.
Layout mapLeaves(const Layout &layout, const std::function<Int(const Int &)> &fn);
ComposedLayout mapLeaves(const ComposedLayout &layout, const std::function<Int(const Int &)> &fn);
AnyLayout mapLeaves(const AnyLayout &layout, const std::function<Int(const Int &)> &fn);
InnerFunction mapLeaves(const InnerFunction &function, const std::function<Int(const Int &)> &fn);

} // namespace flydsl::layout
