#include "builder/algebra_host.h"

#include "layout/algebra.h"
#include "layout/divide.h"
#include "layout/error.h"
#include "layout/make.h"
#include "layout/product.h"

#include "llvm/ADT/StringMap.h"

namespace flydsl::builder {
namespace {

using detail::HostValue;
using layout::AnyLayout;
using layout::IntTuple;
using layout::Layout;
using layout::Tile;

struct Args {
  llvm::ArrayRef<HostValue> values;
  llvm::ArrayRef<int> numbers;

  template <class T> const T *as(unsigned i) const {
    return i < values.size() ? std::get_if<T>(&values[i]) : nullptr;
  }
  const IntTuple &tuple(unsigned i) const { return get<IntTuple>(i, "a tuple"); }
  const Layout &plain(unsigned i) const { return get<Layout>(i, "a layout"); }
  AnyLayout any(unsigned i) const {
    if (auto *c = as<layout::ComposedLayout>(i))
      return *c;
    return plain(i);
  }
  bool isTuple(unsigned i) const { return as<IntTuple>(i); }
  int number(unsigned i, int otherwise) const {
    return i < numbers.size() ? numbers[i] : otherwise;
  }
  layout::ModePath path() const { return {numbers.begin(), numbers.end()}; }
  template <class T> const T &get(unsigned i, const char *expected) const {
    if (auto *v = as<T>(i))
      return *v;
    layout::fail("operand ", i, " is not ", expected);
  }
};

HostValue host(const AnyLayout &l) {
  return std::visit([](const auto &v) { return HostValue(v); }, l);
}
HostValue host(IntTuple t) { return t; }

/// fn on a composed or plain layout, whichever operand 0 is, through the layout that takes the
/// coordinate.
template <class Fn> HostValue onOutermost(const Args &a, Fn fn) {
  return host(layout::mapOutermost(a.any(0), fn));
}

/// The same structural operation on tuples and layouts.
template <class Fn> HostValue onEither(const Args &a, Fn fn) {
  if (a.isTuple(0))
    return fn(a.tuple(0));
  return onOutermost(a, fn);
}

template <class Fn> HostValue divide(const Args &a, Fn fn) {
  return onOutermost(a, [&](const Layout &l) {
    if (auto *tile = a.as<Tile>(1))
      return fn(l, *tile);
    return fn(l, a.plain(1));
  });
}

layout::InnerFunction inner(const Args &a, unsigned i) {
  if (auto *s = a.as<layout::Swizzle>(i))
    return *s;
  if (auto *c = a.as<layout::ComposedLayout>(i))
    return *c;
  return a.plain(i);
}

using Fn = HostValue (*)(const Args &);

#define TUPLES(name, fn)                                                                           \
  {name, [](const Args &a) { return host(layout::fn(a.tuple(0), a.tuple(1))); }}
#define DIVIDE(name, fn)                                                                           \
  {name, [](const Args &a) {                                                                       \
     return divide(a, [](const Layout &l, const auto &tile) { return layout::fn(l, tile); });      \
   }}
#define PRODUCT(name, fn)                                                                          \
  {name, [](const Args &a) { return host(layout::fn(a.any(0), a.plain(1))); }}

const llvm::StringMap<Fn> &table() {
  // Not destroyed: programs compute layouts while they exit.
  static const auto &functions = *new llvm::StringMap<Fn>{
      TUPLES("int_tuple_add", add),
      TUPLES("int_tuple_sub", sub),
      TUPLES("int_tuple_mul", mul),
      TUPLES("int_tuple_div", div),
      TUPLES("int_tuple_mod", mod),
      TUPLES("shape_div", shapeDiv),
      TUPLES("ceil_div", ceilDiv),
      TUPLES("int_tuple_product_like", productLike),
      {"int_tuple_product", [](const Args &a) { return host(layout::product(a.tuple(0))); }},
      {"int_tuple_product_each",
       [](const Args &a) { return host(layout::productEach(a.tuple(0))); }},

      {"make_layout", [](const Args &a) { return HostValue(Layout(a.tuple(0), a.tuple(1))); }},
      {"make_ordered_layout",
       [](const Args &a) { return HostValue(layout::makeOrderedLayout(a.tuple(0), a.tuple(1))); }},
      {"make_layout_like",
       [](const Args &a) { return HostValue(layout::makeLayoutLike(a.plain(0))); }},
      {"make_identity_layout",
       [](const Args &a) { return HostValue(layout::makeIdentityLayout(a.tuple(0))); }},
      {"make_fragment_layout_like",
       [](const Args &a) { return HostValue(layout::makeFragmentLayout(a.plain(0))); }},
      {"make_composed_layout",
       [](const Args &a) {
         return HostValue(layout::ComposedLayout(inner(a, 0), a.tuple(1), a.any(2)));
       }},
      {"composed_get_offset",
       [](const Args &a) {
         return host(a.get<layout::ComposedLayout>(0, "a composed layout").offset());
       }},
      {"composed_get_outer",
       [](const Args &a) {
         return host(a.get<layout::ComposedLayout>(0, "a composed layout").outer());
       }},
      {"get_shape", [](const Args &a) { return host(layout::shapeOf(a.any(0))); }},
      {"get_stride", [](const Args &a) { return host(a.plain(0).stride()); }},
      {"get_layout", [](const Args &a) { return host(a.any(0)); }},

      {"get",
       [](const Args &a) {
         return a.isTuple(0) ? host(a.tuple(0).at(a.path())) : host(layout::at(a.any(0), a.path()));
       }},
      {"take",
       [](const Args &a) {
         return onEither(
             a, [&](const auto &x) { return layout::take(x, a.numbers[0], a.numbers[1]); });
       }},
      {"select",
       [](const Args &a) {
         return onEither(a, [&](const auto &x) { return layout::select(x, a.path()); });
       }},
      {"group",
       [](const Args &a) {
         return onEither(
             a, [&](const auto &x) { return layout::group(x, a.numbers[0], a.numbers[1]); });
       }},
      {"append",
       [](const Args &a) {
         if (a.isTuple(0))
           return host(layout::append(a.tuple(0), a.tuple(1), a.number(0, -1)));
         return onOutermost(
             a, [&](const Layout &l) { return layout::append(l, a.plain(1), a.number(0, -1)); });
       }},
      {"prepend",
       [](const Args &a) {
         if (a.isTuple(0))
           return host(layout::prepend(a.tuple(0), a.tuple(1), a.number(0, -1)));
         return onOutermost(
             a, [&](const Layout &l) { return layout::prepend(l, a.plain(1), a.number(0, -1)); });
       }},
      {"slice",
       [](const Args &a) {
         return a.isTuple(0) ? host(layout::slice(a.tuple(0), a.tuple(1)))
                             : host(layout::slice(a.any(0), a.tuple(1)));
       }},
      {"dice",
       [](const Args &a) {
         return a.isTuple(0) ? host(layout::dice(a.tuple(0), a.tuple(1)))
                             : HostValue(layout::dice(a.plain(0), a.tuple(1)));
       }},

      {"size",
       [](const Args &a) {
         return host(a.isTuple(0) ? layout::product(a.tuple(0)) : layout::size(a.any(0)));
       }},
      {"cosize", [](const Args &a) { return host(layout::cosize(layout::outermost(a.any(0)))); }},
      {"coshape", [](const Args &a) { return host(layout::coshape(layout::outermost(a.any(0)))); }},
      {"coprofile",
       [](const Args &a) { return host(layout::coprofile(layout::outermost(a.any(0)))); }},
      {"crd2idx", [](const Args &a) { return host(layout::crd2idx(a.tuple(0), inner(a, 1))); }},
      {"idx2crd", [](const Args &a) { return host(layout::idx2crd(a.tuple(0), a.plain(1))); }},
      {"get_flat_coord",
       [](const Args &a) { return host(layout::getFlatCoord(a.tuple(0), a.plain(1))); }},
      {"get_1d_coord",
       [](const Args &a) { return host(layout::get1dCoord(a.tuple(0), a.plain(1))); }},

      {"coalesce",
       [](const Args &a) {
         auto pattern = a.values.size() > 1 ? std::optional(a.tuple(1)) : std::nullopt;
         return host(layout::coalesce(a.any(0), pattern));
       }},
      {"composition",
       [](const Args &a) {
         auto *tile = a.as<Tile>(1);
         return host(tile ? layout::composition(a.any(0), *tile)
                          : layout::composition(a.any(0), a.plain(1)));
       }},
      {"complement",
       [](const Args &a) {
         std::optional<layout::Int> codomain;
         if (a.values.size() > 1)
           codomain = layout::product(a.tuple(1));
         return HostValue(layout::complement(a.plain(0), codomain));
       }},
      {"right_inverse", [](const Args &a) { return HostValue(layout::rightInverse(a.plain(0))); }},
      {"left_inverse", [](const Args &a) { return HostValue(layout::leftInverse(a.plain(0))); }},
      DIVIDE("logical_divide", logicalDivide),
      DIVIDE("zipped_divide", zippedDivide),
      DIVIDE("tiled_divide", tiledDivide),
      DIVIDE("flat_divide", flatDivide),
      PRODUCT("logical_product", logicalProduct),
      PRODUCT("zipped_product", zippedProduct),
      PRODUCT("tiled_product", tiledProduct),
      PRODUCT("flat_product", flatProduct),
      PRODUCT("blocked_product", blockedProduct),
      PRODUCT("raked_product", rakedProduct),
      {"recast_layout",
       [](const Args &a) {
         return host(layout::recastLayout(a.any(0), a.numbers[1], a.numbers[0]));
       }},
      {"tile_to_shape",
       [](const Args &a) { return host(layout::tileToShape(a.any(0), a.tuple(1), a.tuple(2))); }},
  };
  return functions;
}

} // namespace

HostValue evaluateHost(llvm::StringRef name, llvm::ArrayRef<HostValue> operands,
                       llvm::ArrayRef<int> numbers) {
  auto entry = table().find(name);
  return entry == table().end() ? HostValue() : entry->second(Args{operands, numbers});
}

} // namespace flydsl::builder
