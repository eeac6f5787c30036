#include "layout/operations.h"

#include "layout/algebra.h"
#include "layout/coord.h"
#include "layout/divide.h"
#include "layout/error.h"
#include "layout/make.h"
#include "layout/product.h"

#include <algorithm>

namespace flydsl::layout {

//===----------------------------------------------------------------------===//
// Values and kinds
//===----------------------------------------------------------------------===//

std::string str(const Value &value) {
  return std::visit([](const auto &v) { return v.str(); }, value);
}

namespace {

template <class... Ts> bool holds(const Value &value) {
  return (std::holds_alternative<Ts>(value) || ...);
}

Value valueOf(const AnyLayout &layout) {
  return std::visit([](const auto &l) { return Value(l); }, layout);
}
Value valueOf(IntTuple tuple) { return tuple; }

} // namespace

bool fits(const Value &value, Kind kind) {
  switch (kind) {
  case Kind::tuple:
    return holds<IntTuple>(value);
  case Kind::layout:
    return holds<Layout>(value);
  case Kind::any_layout:
    return holds<Layout, ComposedLayout>(value);
  case Kind::tuple_or_any:
    return holds<IntTuple, Layout, ComposedLayout>(value);
  case Kind::tuple_or_plain:
    return holds<IntTuple, Layout>(value);
  case Kind::tiler:
    return holds<Layout, Tile>(value);
  case Kind::function:
    return holds<Layout, ComposedLayout, Swizzle, CoordSwizzle>(value);
  case Kind::composed:
    return holds<ComposedLayout>(value);
  }
  return false;
}

std::string_view text(Kind kind) {
  switch (kind) {
  case Kind::tuple:
    return "a tuple";
  case Kind::layout:
    return "a plain layout";
  case Kind::any_layout:
    return "a layout";
  case Kind::tuple_or_any:
    return "a tuple or a layout";
  case Kind::tuple_or_plain:
    return "a tuple or a plain layout";
  case Kind::tiler:
    return "a plain layout or a tile";
  case Kind::function:
    return "a layout or a swizzle";
  case Kind::composed:
    return "a composed layout";
  }
  return "a value";
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {

template <class T> const T &operand(std::span<const Value> values, unsigned i, Kind kind) {
  if (i >= values.size())
    fail("operand ", i, " is missing; expected ", text(kind));
  if (auto *value = std::get_if<T>(&values[i]))
    return *value;
  fail("expected ", text(kind), " for operand ", i, ", found ", str(values[i]));
}

} // namespace

const IntTuple &Arguments::tuple(unsigned i) const {
  return operand<IntTuple>(values, i, Kind::tuple);
}
const Layout &Arguments::layout(unsigned i) const {
  return operand<Layout>(values, i, Kind::layout);
}
const ComposedLayout &Arguments::composed(unsigned i) const {
  return operand<ComposedLayout>(values, i, Kind::composed);
}
AnyLayout Arguments::any(unsigned i) const {
  if (has(i))
    if (auto *composed = std::get_if<ComposedLayout>(&values[i]))
      return *composed;
  return operand<Layout>(values, i, Kind::any_layout);
}
InnerFunction Arguments::function(unsigned i) const {
  if (has(i)) {
    if (auto *swizzle = std::get_if<Swizzle>(&values[i]))
      return *swizzle;
    if (auto *swizzle = std::get_if<CoordSwizzle>(&values[i]))
      return *swizzle;
    if (auto *composed = std::get_if<ComposedLayout>(&values[i]))
      return *composed;
  }
  return operand<Layout>(values, i, Kind::function);
}
bool Arguments::isTuple(unsigned i) const { return has(i) && holds<IntTuple>(values[i]); }
const Tile *Arguments::tile(unsigned i) const {
  return has(i) ? std::get_if<Tile>(&values[i]) : nullptr;
}
std::int32_t Arguments::number(unsigned i) const {
  if (i >= numbers.size())
    fail("number ", i, " is missing");
  return numbers[i];
}

//===----------------------------------------------------------------------===//
// The rows
//===----------------------------------------------------------------------===//

namespace {

/// Applies `fn` to a tuple, or to the layout that takes the coordinate in the operand at place 0.
template <class Fn> Value onModes(const Arguments &a, Fn fn) {
  if (a.isTuple(0))
    return valueOf(fn(a.tuple(0)));
  return valueOf(mapOutermost(a.any(0), [&](const Layout &l) { return fn(l); }));
}

/// Applies `fn` to the layout that takes the coordinate, with a layout or a tile.
template <class Fn> Value byTiler(const Arguments &a, Fn fn) {
  return valueOf(mapOutermost(a.any(0), [&](const Layout &l) {
    const Tile *tile = a.tile(1);
    return tile ? fn(l, *tile) : fn(l, a.layout(1));
  }));
}

constexpr Operation binary(std::string_view name, std::string_view help,
                           Value (*apply)(const Arguments &)) {
  return {name, 2, 2, {Kind::tuple, Kind::tuple}, Numbers::none, Answer::value, help, apply};
}
constexpr Operation comparison(std::string_view name, std::string_view help,
                               Value (*apply)(const Arguments &)) {
  return {name, 2, 2, {Kind::tuple, Kind::tuple}, Numbers::none, Answer::truth, help, apply};
}
/// The row of an operation with one operand.
constexpr Operation unary(std::string_view name, Kind kind, std::string_view help,
                          Value (*apply)(const Arguments &)) {
  return {name, 1, 1, {kind}, Numbers::none, Answer::value, help, apply};
}
constexpr Operation regroup(std::string_view name, Numbers numbers, std::string_view help,
                            Value (*apply)(const Arguments &)) {
  return {name, 1, 1, {Kind::tuple_or_any}, numbers, Answer::view, help, apply};
}
constexpr Operation extend(std::string_view name, std::string_view help,
                           Value (*apply)(const Arguments &)) {
  return {name,         2,    2,    {Kind::tuple_or_any, Kind::tuple_or_plain}, Numbers::rank,
          Answer::view, help, apply};
}
constexpr Operation compose(std::string_view name, std::string_view help,
                            Value (*apply)(const Arguments &)) {
  return {name, 2, 2, {Kind::any_layout, Kind::tiler}, Numbers::none, Answer::view, help, apply};
}
constexpr Operation divide(std::string_view name, std::string_view help,
                           Value (*apply)(const Arguments &)) {
  Operation row = compose(name, help, apply);
  row.bounds = Bounds::tile;
  return row;
}
constexpr Operation productRow(std::string_view name, std::string_view help,
                               Value (*apply)(const Arguments &)) {
  return {name, 2, 2, {Kind::any_layout, Kind::layout}, Numbers::none, Answer::view, help, apply};
}
constexpr Operation index(std::string_view name, std::string_view help,
                          Value (*apply)(const Arguments &)) {
  return {
      name,         2, 2, {Kind::tuple, Kind::layout}, Numbers::none, Answer::value, help, apply,
      Bounds::index};
}

constexpr std::array kOperations = {
    extend("append", "one mode more at the end, or as many as make the rank",
           [](const Arguments &a) {
             if (a.isTuple(0))
               return Value(append(a.tuple(0), a.tuple(1), a.rank()));
             return valueOf(mapOutermost(
                 a.any(0), [&](const Layout &l) { return append(l, a.layout(1), a.rank()); }));
           }),
    productRow("blocked_product", "((B0,T0),...)",
               [](const Arguments &a) { return valueOf(blockedProduct(a.any(0), a.layout(1))); }),
    binary("ceil_div", "quotients of shapes, rounded up",
           [](const Arguments &a) { return Value(ceilDiv(a.tuple(0), a.tuple(1))); }),
    Operation{"coalesce",
              1,
              2,
              {Kind::any_layout, Kind::tuple},
              Numbers::none,
              Answer::view,
              "the same function in the fewest modes, of a profile if one is given",
              [](const Arguments &a) {
                return valueOf(
                    coalesce(a.any(0), a.has(1) ? std::optional(a.tuple(1)) : std::nullopt));
              }},
    Operation{"complement",
              1,
              2,
              {Kind::layout, Kind::tuple},
              Numbers::none,
              Answer::value,
              "what the layout leaves out of its codomain, or of one of a given size",
              [](const Arguments &a) {
                // A codomain of several modes stands for the product of its numbers.
                return Value(complement(a.layout(0), a.has(1) ? std::optional(product(a.tuple(1)))
                                                              : std::nullopt));
              }},
    unary("composed_get_inner", Kind::composed, "the function that is applied last",
          [](const Arguments &a) {
            return std::visit([](const auto &f) { return Value(f); }, a.composed(0).inner());
          }),
    unary("composed_get_offset", Kind::composed, "what is added in between",
          [](const Arguments &a) { return Value(a.composed(0).offset()); }),
    unary("composed_get_outer", Kind::composed, "the layout that takes the coordinate",
          [](const Arguments &a) { return valueOf(a.composed(0).outer()); }),
    compose("composition", "the first after the second",
            [](const Arguments &a) {
              return byTiler(a, [](const Layout &l, const auto &by) { return composition(l, by); });
            }),
    unary("coprofile", Kind::any_layout, "the nesting of its values",
          [](const Arguments &a) { return Value(coprofile(outermost(a.any(0)))); }),
    unary("coshape", Kind::any_layout, "the largest value along each axis + 1",
          [](const Arguments &a) { return Value(coshape(outermost(a.any(0)))); }),
    unary("cosize", Kind::any_layout, "the largest value + 1",
          [](const Arguments &a) { return Value(IntTuple(cosize(outermost(a.any(0))))); }),
    Operation{"crd2idx",
              2,
              2,
              {Kind::tuple, Kind::function},
              Numbers::none,
              Answer::value,
              "the value at a coordinate or an index",
              [](const Arguments &a) { return Value(crd2idx(a.tuple(0), a.function(1))); },
              Bounds::coordinate},
    Operation{"dice",
              2,
              2,
              {Kind::tuple_or_plain, Kind::tuple},
              Numbers::none,
              Answer::value,
              "the modes that are not under *",
              [](const Arguments &a) {
                return onModes(a, [&](const auto &x) { return dice(x, a.tuple(1)); });
              }},
    comparison(
        "elem_less", "whether each leaf is less than the other's",
        [](const Arguments &a) { return Value(IntTuple(elemLess(a.tuple(0), a.tuple(1)))); }),
    comparison("equal", "whether all leaves are equal",
               [](const Arguments &a) { return Value(IntTuple(equal(a.tuple(0), a.tuple(1)))); }),
    divide("flat_divide", "(T0,...,R0,...)",
           [](const Arguments &a) {
             return byTiler(a, [](const Layout &l, const auto &by) { return flatDivide(l, by); });
           }),
    productRow("flat_product", "(B0,...,T0,...)",
               [](const Arguments &a) { return valueOf(flatProduct(a.any(0), a.layout(1))); }),
    regroup("get", Numbers::path, "the mode at a path",
            [](const Arguments &a) {
              return onModes(a, [&](const auto &x) { return x.at(a.path()); });
            }),
    index("get_1d_coord", "the coordinate of a value as one number",
          [](const Arguments &a) { return Value(get1dCoord(a.tuple(0), a.layout(1))); }),
    index("get_flat_coord", "the coordinate of a value, one number a mode",
          [](const Arguments &a) { return Value(getFlatCoord(a.tuple(0), a.layout(1))); }),
    unary("get_layout", Kind::any_layout, "the layout of a tensor",
          [](const Arguments &a) { return valueOf(a.any(0)); }),
    unary("get_shape", Kind::any_layout, "the extents of the modes",
          [](const Arguments &a) { return Value(shapeOf(a.any(0))); }),
    unary("get_stride", Kind::any_layout, "the steps of the modes",
          [](const Arguments &a) {
            const AnyLayout any = a.any(0);
            if (auto *plain = std::get_if<Layout>(&any))
              return Value(plain->stride());
            fail("a composed layout has no stride: ", str(any));
          }),
    regroup("group", Numbers::range, "the modes of a range as one mode",
            [](const Arguments &a) {
              return onModes(a, [&](const auto &x) { return group(x, a.number(0), a.number(1)); });
            }),
    index("idx2crd", "the coordinate of a value",
          [](const Arguments &a) { return Value(idx2crd(a.tuple(0), a.layout(1))); }),
    binary("int_tuple_add", "sums, leaf by leaf",
           [](const Arguments &a) { return Value(add(a.tuple(0), a.tuple(1))); }),
    binary("int_tuple_div", "quotients, leaf by leaf",
           [](const Arguments &a) { return Value(div(a.tuple(0), a.tuple(1))); }),
    binary("int_tuple_mod", "remainders, leaf by leaf",
           [](const Arguments &a) { return Value(mod(a.tuple(0), a.tuple(1))); }),
    binary("int_tuple_mul", "products, leaf by leaf",
           [](const Arguments &a) { return Value(mul(a.tuple(0), a.tuple(1))); }),
    unary("int_tuple_product", Kind::tuple, "the product of all leaves",
          [](const Arguments &a) { return Value(IntTuple(product(a.tuple(0)))); }),
    unary("int_tuple_product_each", Kind::tuple, "the product of each mode",
          [](const Arguments &a) { return Value(productEach(a.tuple(0))); }),
    binary("int_tuple_product_like", "products where the second has leaves",
           [](const Arguments &a) { return Value(productLike(a.tuple(0), a.tuple(1))); }),
    binary("int_tuple_sub", "differences, leaf by leaf",
           [](const Arguments &a) { return Value(sub(a.tuple(0), a.tuple(1))); }),
    unary("left_inverse", Kind::layout, "L with L(layout(i)) = i",
          [](const Arguments &a) { return Value(leftInverse(a.layout(0))); }),
    divide("logical_divide", "((T0,R0),...)",
           [](const Arguments &a) {
             return byTiler(a,
                            [](const Layout &l, const auto &by) { return logicalDivide(l, by); });
           }),
    productRow("logical_product", "((B0,...),(T0,...))",
               [](const Arguments &a) { return valueOf(logicalProduct(a.any(0), a.layout(1))); }),
    Operation{"make_composed_layout",
              3,
              3,
              {Kind::function, Kind::tuple, Kind::any_layout},
              Numbers::none,
              Answer::value,
              "c to inner(offset + outer(c))",
              [](const Arguments &a) {
                return Value(ComposedLayout(a.function(0), a.tuple(1), a.any(2)));
              }},
    unary("make_fragment_layout_like", Kind::any_layout, "compact registers, mode 0 first",
          [](const Arguments &a) { return Value(makeFragmentLayout(outermost(a.any(0)))); }),
    unary("make_identity_layout", Kind::tuple, "each coordinate to itself",
          [](const Arguments &a) { return Value(makeIdentityLayout(a.tuple(0))); }),
    Operation{"make_layout",
              1,
              2,
              {Kind::tuple, Kind::tuple},
              Numbers::none,
              Answer::value,
              "of a shape and strides; compact without strides",
              [](const Arguments &a) {
                return Value(a.has(1) ? Layout(a.tuple(0), a.tuple(1)) : makeLayout(a.tuple(0)));
              }},
    unary("make_layout_like", Kind::layout, "compact, the strides in the same order",
          [](const Arguments &a) { return Value(makeLayoutLike(a.layout(0))); }),
    binary("make_ordered_layout", "of a shape, compact, its modes growing in an order",
           [](const Arguments &a) { return Value(makeOrderedLayout(a.tuple(0), a.tuple(1))); }),
    extend("prepend", "one mode more at the front, or as many as make the rank",
           [](const Arguments &a) {
             if (a.isTuple(0))
               return Value(prepend(a.tuple(0), a.tuple(1), a.rank()));
             return valueOf(mapOutermost(
                 a.any(0), [&](const Layout &l) { return prepend(l, a.layout(1), a.rank()); }));
           }),
    productRow("raked_product", "((T0,B0),...)",
               [](const Arguments &a) { return valueOf(rakedProduct(a.any(0), a.layout(1))); }),
    Operation{"recast_layout",
              1,
              1,
              {Kind::any_layout},
              Numbers::bits,
              Answer::value,
              "the same memory counted in elements of other bits",
              [](const Arguments &a) {
                return valueOf(recastLayout(a.any(0), a.number(1), a.number(0)));
              }},
    unary("right_inverse", Kind::layout, "R with layout(R(i)) = i",
          [](const Arguments &a) { return Value(rightInverse(a.layout(0))); }),
    regroup("select", Numbers::modes, "modes in a given order",
            [](const Arguments &a) {
              return onModes(a, [&](const auto &x) { return select(x, a.path()); });
            }),
    binary("shape_div", "quotients of shapes that divide",
           [](const Arguments &a) { return Value(shapeDiv(a.tuple(0), a.tuple(1))); }),
    unary("size", Kind::tuple_or_any, "how many coordinates there are",
          [](const Arguments &a) {
            return Value(IntTuple(a.isTuple(0) ? product(a.tuple(0)) : size(a.any(0))));
          }),
    Operation{"slice",
              2,
              2,
              {Kind::tuple_or_any, Kind::tuple},
              Numbers::none,
              Answer::view,
              "the modes under *",
              [](const Arguments &a) {
                if (a.isTuple(0))
                  return Value(slice(a.tuple(0), a.tuple(1)));
                return valueOf(slice(a.any(0), a.tuple(1)));
              },
              Bounds::slice},
    regroup("take", Numbers::range, "the modes of a range",
            [](const Arguments &a) {
              return onModes(a, [&](const auto &x) { return take(x, a.number(0), a.number(1)); });
            }),
    Operation{
        "tile_to_shape",
        3,
        3,
        {Kind::any_layout, Kind::tuple, Kind::tuple},
        Numbers::none,
        Answer::view,
        "the block repeated to fill a shape, in an order",
        [](const Arguments &a) { return valueOf(tileToShape(a.any(0), a.tuple(1), a.tuple(2))); }},
    divide("tiled_divide", "((T0,...),R0,...)",
           [](const Arguments &a) {
             return byTiler(a, [](const Layout &l, const auto &by) { return tiledDivide(l, by); });
           }),
    productRow("tiled_product", "((B0,...),T0,...)",
               [](const Arguments &a) { return valueOf(tiledProduct(a.any(0), a.layout(1))); }),
    divide("zipped_divide", "((T0,...),(R0,...))",
           [](const Arguments &a) {
             return byTiler(a, [](const Layout &l, const auto &by) { return zippedDivide(l, by); });
           }),
    productRow("zipped_product", "((B0,...),(T0,...))",
               [](const Arguments &a) { return valueOf(zippedProduct(a.any(0), a.layout(1))); }),
};

constexpr bool inOrder() {
  for (std::size_t i = 1; i < kOperations.size(); ++i)
    if (!(kOperations[i - 1].name < kOperations[i].name))
      return false;
  return true;
}
static_assert(inOrder(), "operations are found by a binary search over their names");

void expectNumbers(const Operation &operation, std::size_t given) {
  auto expect = [&](std::size_t least, std::size_t most) {
    if (given < least || given > most)
      fail(operation.name, ": it was given ", given, " numbers, not ", least,
           least == most ? "" : " or more");
  };
  constexpr std::size_t any = SIZE_MAX;
  switch (operation.numbers) {
  case Numbers::none:
    return expect(0, 0);
  case Numbers::path:
  case Numbers::modes:
    return expect(0, any);
  case Numbers::range:
  case Numbers::bits:
    return expect(2, 2);
  case Numbers::rank:
    return expect(0, 1);
  }
}

} // namespace

Value Operation::operator()(const Arguments &arguments) const {
  const std::size_t given = arguments.values.size();
  if (given < least || given > most)
    fail(name, ": it was given ", given, " operands, not ", least,
         least == most ? std::string() : " to " + std::to_string(most));
  for (unsigned i = 0; i < given; ++i)
    if (!fits(arguments.values[i], operands[i]))
      fail("expected ", text(operands[i]), " for operand ", i, ", found ",
           str(arguments.values[i]));
  expectNumbers(*this, arguments.numbers.size());
  return apply(arguments);
}

std::span<const Operation> operations() { return kOperations; }

const Operation *findOperation(std::string_view name) {
  auto row = std::lower_bound(kOperations.begin(), kOperations.end(), name,
                              [](const Operation &o, std::string_view n) { return o.name < n; });
  return row != kOperations.end() && row->name == name ? &*row : nullptr;
}

} // namespace flydsl::layout
