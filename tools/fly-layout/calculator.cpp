#include "calculator.h"

#include "layout/divide.h"
#include "layout/error.h"
#include "layout/make.h"
#include "layout/picture.h"
#include "layout/product.h"
#include "layout/text.h"
#include "layout/tiled.h"

#include <functional>
#include <map>
#include <vector>

namespace flydsl::layout {

namespace {

std::string trimmed(std::string_view s) {
  size_t a = s.find_first_not_of(" \t\r\n");
  if (a == std::string_view::npos)
    return "";
  return std::string(s.substr(a, s.find_last_not_of(" \t\r\n") - a + 1));
}

/// Commas outside all brackets separate arguments.
std::vector<std::string> splitArguments(std::string_view s) {
  std::vector<std::string> out;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    const char c = i < s.size() ? s[i] : ',';
    if (c == '(' || c == '[' || c == '<' || c == '{')
      ++depth;
    else if (c == ')' || c == ']' || c == '>' || c == '}')
      --depth;
    else if (c == ',' && (depth == 0 || i == s.size())) {
      out.push_back(trimmed(s.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (out.size() == 1 && out[0].empty())
    out.clear();
  return out;
}

/// The arguments of one expression, read as an operation asks for them.
class Arguments {
public:
  explicit Arguments(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  size_t size() const { return texts_.size(); }

  AnyLayout any(size_t i) const { return parseAnyLayout(texts_[i]); }
  Layout layout(size_t i) const { return parseLayout(texts_[i]); }
  IntTuple tuple(size_t i) const { return parseIntTuple(texts_[i]); }
  Tile tile(size_t i) const { return parseTile(texts_[i]); }
  int64_t number(size_t i) const { return tuple(i).leaf().value(); }
  std::vector<int32_t> modes(size_t i) const {
    std::vector<int32_t> out;
    for (const Int &v : tuple(i).leaves())
      out.push_back(static_cast<int32_t>(v.value()));
    return out;
  }
  /// A layout has a colon outside of braces; an int tuple has none.
  bool isLayout(size_t i) const { return texts_[i].find(':') != std::string::npos; }
  bool isTile(size_t i) const { return !isLayout(i) || texts_[i][0] == '['; }

private:
  std::vector<std::string> texts_;
};

struct Operation {
  size_t least;
  size_t most;
  const char *help;
  std::function<std::string(const Arguments &, Rendering)> run;
};

using DivideByLayout = Layout (*)(const Layout &, const Layout &);
using DivideByTile = Layout (*)(const Layout &, const Tile &);

/// An operation of a layout, composed or not, and a tile or layout.
Operation divideBy(const char *help, DivideByLayout byLayout, DivideByTile byTile) {
  return {2, 2, help, [=](const Arguments &a, Rendering) {
            return str(mapOutermost(a.any(0), [&](const Layout &l) {
              return a.isTile(1) ? byTile(l, a.tile(1)) : byLayout(l, a.layout(1));
            }));
          }};
}

Operation productOf(const char *help, Layout (*op)(const Layout &, const Layout &)) {
  return {2, 2, help, [=](const Arguments &a, Rendering) {
            return str(mapOutermost(a.any(0), [&](const Layout &l) { return op(l, a.layout(1)); }));
          }};
}

Operation tupleOp(const char *help, IntTuple (*op)(const IntTuple &, const IntTuple &)) {
  return {2, 2, help,
          [=](const Arguments &a, Rendering) { return op(a.tuple(0), a.tuple(1)).str(); }};
}

Operation comparison(const char *help, Int (*op)(const IntTuple &, const IntTuple &)) {
  return {2, 2, help,
          [=](const Arguments &a, Rendering) { return op(a.tuple(0), a.tuple(1)).str(); }};
}

/// A structure operation on a tuple or on a layout's shape and stride.
template <class F> std::string onEither(const Arguments &a, F &&op) {
  if (!a.isLayout(0))
    return op(a.tuple(0)).str();
  return str(mapOutermost(a.any(0), [&](const Layout &l) { return op(l); }));
}

const std::map<std::string, Operation> &operations() {
  static const std::map<std::string, Operation> table = {
      {"size",
       {1, 1, "(layout | tuple)  number of coordinates",
        [](const Arguments &a, Rendering) {
          return (a.isLayout(0) ? size(a.any(0)) : product(a.tuple(0))).str();
        }}},
      {"cosize",
       {1, 1, "(layout)  largest value + 1",
        [](const Arguments &a, Rendering) { return cosize(outermost(a.any(0))).str(); }}},
      {"coshape",
       {1, 1, "(layout)  the same per axis",
        [](const Arguments &a, Rendering) { return coshape(outermost(a.any(0))).str(); }}},
      {"coprofile",
       {1, 1, "(layout)  nesting of its values",
        [](const Arguments &a, Rendering) { return coprofile(outermost(a.any(0))).str(); }}},
      {"crd2idx",
       {2, 2, "(coordinate, layout)  value at a coordinate or index",
        [](const Arguments &a, Rendering) { return crd2idx(a.tuple(0), a.any(1)).str(); }}},
      {"idx2crd",
       {2, 2, "(index, layout)  coordinate of a value",
        [](const Arguments &a, Rendering) { return idx2crd(a.tuple(0), a.layout(1)).str(); }}},
      {"get_flat_coord",
       {2, 2, "(index, layout)  the same, one number a mode",
        [](const Arguments &a, Rendering) { return getFlatCoord(a.tuple(0), a.layout(1)).str(); }}},
      {"get_1d_coord",
       {2, 2, "(index, layout)  the same, one number",
        [](const Arguments &a, Rendering) { return get1dCoord(a.tuple(0), a.layout(1)).str(); }}},
      {"coalesce",
       {1, 2, "(layout [, profile])  fewest modes",
        [](const Arguments &a, Rendering) {
          return str(coalesce(a.any(0), a.size() > 1 ? std::optional(a.tuple(1)) : std::nullopt));
        }}},
      {"composition",
       divideBy("(layout, layout | tile)  the first after the second", composition, composition)},
      {"complement",
       {1, 2, "(layout [, codomain])  what the layout leaves out",
        [](const Arguments &a, Rendering) {
          return complement(a.layout(0),
                            a.size() > 1 ? std::optional(product(a.tuple(1))) : std::nullopt)
              .str();
        }}},
      {"right_inverse",
       {1, 1, "(layout)  R with layout(R(i)) = i",
        [](const Arguments &a, Rendering) { return rightInverse(a.layout(0)).str(); }}},
      {"left_inverse",
       {1, 1, "(layout)  L with L(layout(i)) = i",
        [](const Arguments &a, Rendering) { return leftInverse(a.layout(0)).str(); }}},
      {"logical_divide",
       divideBy("(layout, layout | tile)  ((T0,R0),...)", logicalDivide, logicalDivide)},
      {"zipped_divide",
       divideBy("(layout, layout | tile)  ((T0,...),(R0,...))", zippedDivide, zippedDivide)},
      {"tiled_divide",
       divideBy("(layout, layout | tile)  ((T0,...),R0,...)", tiledDivide, tiledDivide)},
      {"flat_divide", divideBy("(layout, layout | tile)  (T0,...,R0,...)", flatDivide, flatDivide)},
      {"logical_product", productOf("(block, tiler)  ((B0,...),(T0,...))", logicalProduct)},
      {"zipped_product", productOf("(block, tiler)  the same", zippedProduct)},
      {"tiled_product", productOf("(block, tiler)  ((B0,...),T0,...)", tiledProduct)},
      {"flat_product", productOf("(block, tiler)  (B0,...,T0,...)", flatProduct)},
      {"blocked_product", productOf("(block, tiler)  ((B0,T0),...)", blockedProduct)},
      {"raked_product", productOf("(block, tiler)  ((T0,B0),...)", rakedProduct)},
      {"tile_to_shape",
       {3, 3, "(block, shape, order)  the block repeated to fill a shape",
        [](const Arguments &a, Rendering) {
          return str(tileToShape(a.any(0), a.tuple(1), a.tuple(2)));
        }}},
      {"recast_layout",
       {3, 3, "(layout, old bits, new bits)  counted in other elements",
        [](const Arguments &a, Rendering) {
          return str(recastLayout(a.any(0), a.number(1), a.number(2)));
        }}},
      {"make_layout",
       {1, 2, "(shape [, stride])  compact without stride",
        [](const Arguments &a, Rendering) {
          return (a.size() > 1 ? Layout(a.tuple(0), a.tuple(1)) : makeLayout(a.tuple(0))).str();
        }}},
      {"make_ordered_layout",
       {2, 2, "(shape, order)  compact in an order",
        [](const Arguments &a, Rendering) {
          return makeOrderedLayout(a.tuple(0), a.tuple(1)).str();
        }}},
      {"make_identity_layout",
       {1, 1, "(shape)  coordinates to themselves",
        [](const Arguments &a, Rendering) { return makeIdentityLayout(a.tuple(0)).str(); }}},
      {"make_layout_like",
       {1, 1, "(layout)  compact, strides in the same order",
        [](const Arguments &a, Rendering) { return makeLayoutLike(a.layout(0)).str(); }}},
      {"make_fragment_layout_like",
       {1, 1, "(layout)  compact registers, mode 0 first",
        [](const Arguments &a, Rendering) { return makeFragmentLayout(a.layout(0)).str(); }}},
      {"layout_tv",
       {2, 2, "(threads, values)  a tile and its thread-value layout",
        [](const Arguments &a, Rendering) {
          LayoutTV tv = makeLayoutTV(a.layout(0), a.layout(1));
          return tv.tile.str() + "  " + tv.layout.str();
        }}},
      {"slice",
       {2, 2, "(layout | tuple, coordinate)  the modes under *",
        [](const Arguments &a, Rendering) {
          if (!a.isLayout(0))
            return slice(a.tuple(0), a.tuple(1)).str();
          return str(slice(a.any(0), a.tuple(1)));
        }}},
      {"dice",
       {2, 2, "(layout | tuple, coordinate)  the modes not under *",
        [](const Arguments &a, Rendering) {
          return onEither(a, [&](const auto &x) { return dice(x, a.tuple(1)); });
        }}},
      {"get",
       {2, 2, "(layout | tuple, mode path)  one mode",
        [](const Arguments &a, Rendering) {
          return onEither(a, [&](const auto &x) { return x.at(ModePath(a.modes(1))); });
        }}},
      {"take",
       {3, 3, "(layout | tuple, begin, end)  modes of a range",
        [](const Arguments &a, Rendering) {
          return onEither(
              a, [&](const auto &x) { return take(x, int(a.number(1)), int(a.number(2))); });
        }}},
      {"select",
       {2, 2, "(layout | tuple, modes)  modes in a given order",
        [](const Arguments &a, Rendering) {
          return onEither(a, [&](const auto &x) { return select(x, a.modes(1)); });
        }}},
      {"group",
       {3, 3, "(layout | tuple, begin, end)  modes of a range as one",
        [](const Arguments &a, Rendering) {
          return onEither(
              a, [&](const auto &x) { return group(x, int(a.number(1)), int(a.number(2))); });
        }}},
      {"flatten",
       {1, 1, "(layout | tuple)  all leaves in one level",
        [](const Arguments &a, Rendering) {
          return onEither(a, [](const auto &x) { return flatten(x); });
        }}},
      {"add", tupleOp("(tuple, tuple)", add)},
      {"sub", tupleOp("(tuple, tuple)", sub)},
      {"mul", tupleOp("(tuple, tuple)", mul)},
      {"div", tupleOp("(tuple, tuple)", div)},
      {"mod", tupleOp("(tuple, tuple)", mod)},
      {"ceil_div", tupleOp("(tuple, tuple)  quotients of shapes, rounded up", ceilDiv)},
      {"shape_div", tupleOp("(tuple, tuple)  quotients of shapes that divide", shapeDiv)},
      {"product_each",
       {1, 1, "(tuple)  product of each mode",
        [](const Arguments &a, Rendering) { return productEach(a.tuple(0)).str(); }}},
      {"product_like", tupleOp("(tuple, guide)  products where the guide has leaves", productLike)},
      {"elem_less", comparison("(tuple, tuple)  0 or 1", elemLess)},
      {"equal", comparison("(tuple, tuple)  0 or 1", equal)},
      {"picture",
       {1, 2, "(layout [, shades])  its values in rows and columns",
        [](const Arguments &a, Rendering r) {
          return r == Rendering::Text ? pictureText(a.any(0))
                                      : pictureSvg(a.any(0), a.size() > 1 ? int(a.number(1)) : 8);
        }}},
      {"picture_tv",
       {2, 3, "(thread-value layout, tile [, shades])  who holds what",
        [](const Arguments &a, Rendering r) {
          return r == Rendering::Text ? picturePartitionText(a.layout(0), a.tuple(1))
                                      : picturePartitionSvg(a.layout(0), a.tuple(1),
                                                            a.size() > 2 ? int(a.number(2)) : 8);
        }}},
  };
  return table;
}

} // namespace

std::string calculate(std::string_view expression, Rendering rendering) {
  std::string text = trimmed(expression);
  size_t open = text.find('(');
  if (open == std::string::npos || text.back() != ')')
    fail("an expression is op(argument, ...), not: ", text);
  const std::string name = trimmed(std::string_view(text).substr(0, open));
  auto it = operations().find(name);
  if (it == operations().end())
    fail("no operation is called '", name, "'");
  Arguments arguments(
      splitArguments(std::string_view(text).substr(open + 1, text.size() - open - 2)));
  const Operation &op = it->second;
  if (arguments.size() < op.least || arguments.size() > op.most)
    fail(name, op.help, ": it was given ", arguments.size(), " arguments");
  return op.run(arguments, rendering);
}

std::string operationsHelp() {
  std::string out = "fly-layout [--svg] 'op(argument, ...)' ...\n"
                    "Without expressions, one is read from each line of standard input.\n\n";
  for (const auto &[name, op] : operations())
    out += "  " + name + op.help + "\n";
  return out;
}

} // namespace flydsl::layout
