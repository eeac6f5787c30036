// Dynamic parts: random leaves are replaced by symbols, an operation runs on them, its expressions
// are evaluated for the numbers that stood there, and the result is compared with the static one.
// Types must not depend on expressions, and the divisibility that a type states must hold.
#include "layout/divide.h"
#include "layout/make.h"
#include "layout/operations.h"
#include "layout/product.h"
#include "layout/text.h"
#include "layout/tiled.h"
#include "property.h"

#include <catch2/catch.hpp>

using namespace flydsl::layout;
using namespace property;

namespace {

/// Replaces numbers by symbols of random width and divisibility, and remembers their values.
class Symbols {
public:
  Symbols(Random &random, int64_t oneIn) : random_(random), oneIn_(oneIn) {}

  Int operator()(const Int &v) {
    if (!v.isStatic() || !random_.oneIn(oneIn_))
      return v;
    int64_t divisor = 1;
    for (int64_t d : {2, 4, 8, 3})
      if (v.value() != 0 && v.value() % (divisor * d) == 0 && random_.oneIn(2))
        divisor *= d;
    uint64_t id = values.size();
    values[id] = v.value();
    return Int::symbol(id, random_.oneIn(3) ? 64 : 32, divisor, ValueRange::nonNegative())
        .withBasis(v.basis());
  }
  IntTuple operator()(const IntTuple &t) {
    return t.mapLeaves([&](const Int &v) { return (*this)(v); });
  }
  Layout operator()(const Layout &l) { return Layout((*this)(l.shape()), (*this)(l.stride())); }
  /// Dynamic shapes alone, or strides alone.
  Layout shapes(const Layout &l) { return Layout((*this)(l.shape()), l.stride()); }
  Layout strides(const Layout &l) { return Layout(l.shape(), (*this)(l.stride())); }

  SymbolValues values;

private:
  Random &random_;
  int64_t oneIn_;
};

/// The same types without expressions.
Int anonymous(const Int &v) { return v.withExpr(nullptr); }
Layout anonymous(const Layout &l) {
  return mapLeaves(l, [](const Int &v) { return anonymous(v); });
}
IntTuple anonymous(const IntTuple &t) {
  return t.mapLeaves([](const Int &v) { return anonymous(v); });
}

/// What the types say of the leaves is true under the values.
void requireTrueTypes(const IntTuple &t, const SymbolValues &values) {
  for (const Int &v : t.leaves())
    if (v.isDynamic()) {
      int64_t value = evaluate(v, values);
      require(value % v.divisibility() == 0, v.str() + " is worth " + std::to_string(value));
      const ValueRange &range = v.expr()->range();
      require(range.lo <= value && value <= range.hi, v.expr()->str() + " leaves its range");
      require(value % v.expr()->divisor() == 0, v.expr()->str() + " is not divisible as said");
    }
}

/// The dynamic result under the values is the same function as the static one.
void requireSameFunction(const Layout &dynamic, const Layout &expected,
                         const SymbolValues &values) {
  requireTrueTypes(dynamic.shape(), values);
  requireTrueTypes(dynamic.stride(), values);
  Layout result = evaluate(dynamic, values);
  require(valuesOf(result) == valuesOf(expected),
          dynamic.str() + " is worth " + result.str() + ", not " + expected.str());
}

void requireSameValue(const IntTuple &dynamic, const IntTuple &expected,
                      const SymbolValues &values) {
  requireTrueTypes(dynamic, values);
  require(evaluate(dynamic, values) == expected, dynamic.str() + " is worth " +
                                                     evaluate(dynamic, values).str() + ", not " +
                                                     expected.str());
}

struct Tally {
  int answered = 0;
  int refused = 0;
};

/// What is wrong on these choices, or nothing.
std::optional<std::string> failureOf(const std::function<void(Random &)> &body,
                                     const std::vector<int64_t> &choices) {
  Random random(choices);
  try {
    body(random);
  } catch (const LayoutError &) {
  } catch (const std::string &message) {
    return message;
  }
  return std::nullopt;
}

/// Runs `body` on `count` random inputs; LayoutErrors count as refused. A failure names the seed's
/// case, and what is wrong with the simplest one that fails.
Tally repeat(int count, uint64_t seed, const std::function<void(Random &)> &body) {
  Tally tally;
  for (int i = 0; i < count; ++i) {
    Random random(seed * 1000003 + static_cast<uint64_t>(i));
    try {
      body(random);
      ++tally.answered;
    } catch (const LayoutError &) {
      ++tally.refused;
    } catch (const std::string &message) {
      auto simplest = shrink(random.choices(), [&](const std::vector<int64_t> &choices) {
        return failureOf(body, choices).has_value();
      });
      FAIL("case " << i << ": " << failureOf(body, simplest).value_or(message));
    }
  }
  return tally;
}

Limits small() {
  Limits limits = powersOfTwo();
  limits.maxSize = 64;
  return limits;
}

} // namespace

TEST_CASE("dynamic indices and coordinates agree with their static forms", "[layout][dynamic]") {
  Tally tally = repeat(20000, 1, [](Random &r) {
    Layout l = randomLayout(r, {});
    Symbols symbols(r, 2);
    Layout d = symbols(l);
    int64_t i = r.between(0, sizeOf(l) - 1);
    IntTuple index = symbols(IntTuple(i));
    IntTuple plain = idx2crdColMajor(i, l.shape());
    IntTuple coord = symbols(plain);
    requireSameValue(crd2idx(index, d), crd2idx(i, l), symbols.values);
    requireSameValue(crd2idx(coord, d), crd2idx(plain, l), symbols.values);
    require(crd2idx(coord, d) == crd2idx(anonymous(coord), anonymous(d)), "type of " + d.str());
    requireSameValue(idx2crdColMajor(index, d.shape()), plain, symbols.values);
    requireSameValue(crd2idxColMajor(coord, d.shape()), i, symbols.values);
    requireSameValue(size(d), size(l), symbols.values);
    requireSameValue(cosize(d), cosize(l), symbols.values);
  });
  CHECK(tally.refused == 0);
}

TEST_CASE("dynamic idx2crd agrees with its static form", "[layout][dynamic]") {
  Tally tally = repeat(15000, 2, [](Random &r) {
    Layout l = randomCompact(r, {});
    Symbols symbols(r, 2);
    Layout d = symbols(l);
    int64_t i = r.between(0, sizeOf(l) - 1);
    IntTuple index = symbols(IntTuple(i));
    IntTuple coord = idx2crd(index, d);
    requireTrueTypes(coord, symbols.values);
    require(crd2idx(evaluate(coord, symbols.values), l).isLeaf(i), "index " + std::to_string(i));
    requireSameValue(get1dCoord(index, d), get1dCoord(i, l), symbols.values);
    require(idx2crd(index, d) == idx2crd(anonymous(index), anonymous(d)), "type");
  });
  CHECK(tally.refused == 0);
}

TEST_CASE("dynamic swizzles agree with their static forms", "[layout][dynamic]") {
  repeat(10000, 3, [](Random &r) {
    Layout l = randomCompact(r, powersOfTwo());
    Symbols symbols(r, 2);
    Swizzle s(int32_t(r.between(0, 3)), int32_t(r.between(0, 3)), int32_t(r.between(0, 4)));
    ComposedLayout plain(s, r.between(0, 63), l);
    ComposedLayout dynamic(s, symbols(plain.offset()), symbols(l));
    int64_t i = r.between(0, sizeOf(l) - 1);
    requireSameValue(crd2idx(symbols(IntTuple(i)), dynamic), crd2idx(i, plain), symbols.values);
    CoordSwizzle cs(int32_t(r.between(0, 3)), int32_t(r.between(0, 3)), {0},
                    int32_t(r.between(0, 3)), {1, 0});
    IntTuple coord = tup(r.between(0, 63), tup(r.between(0, 63), r.between(0, 63)));
    requireSameValue(cs.apply(symbols(coord)), cs.apply(coord), symbols.values);
  });
}

TEST_CASE("dynamic coalesce agrees with its static form", "[layout][dynamic]") {
  Tally tally = repeat(10000, 4, [](Random &r) {
    Layout l = randomLayout(r, {});
    Symbols symbols(r, 3);
    Layout d = symbols(l);
    requireSameFunction(coalesce(d), l, symbols.values);
    require(coalesce(d) == coalesce(anonymous(d)), "type");
  });
  CHECK(tally.refused == 0);
}

TEST_CASE("dynamic composition agrees with its static form", "[layout][dynamic]") {
  Tally tally = repeat(20000, 5, [](Random &r) {
    // Powers of two divide in every mode, and B counts, so that nothing carries.
    Layout a = randomLayout(r, powersOfTwo()), b = randomCompact(r, small());
    if (sizeOf(b) > sizeOf(a))
      return;
    Symbols symbols(r, 3);
    Layout da = symbols(a), db = r.oneIn(2) ? symbols(b) : b;
    Layout result = composition(da, db);
    requireSameFunction(result, composition(a, b), symbols.values);
    require(result == composition(anonymous(da), anonymous(db)), "type of " + result.str());
  });
  CHECK(tally.refused == 0);
}

TEST_CASE("dynamic complement agrees with its static form", "[layout][dynamic]") {
  Tally tally = repeat(10000, 6, [](Random &r) {
    Layout l = randomInjective(r, small());
    // That a mode has size 1, and so does not stand in the way of others, can't be known of a
    // dynamic one.
    for (const Int &s : l.shape().leaves())
      if (s == Int(1))
        return;
    int64_t codomain = r.between(1, 200);
    Symbols symbols(r, 3);
    Layout d = symbols(l);
    Int end = symbols(Int(codomain));
    Layout result = complement(d, end);
    requireTrueTypes(result.shape(), symbols.values);
    // A size that is not known to be 1 may round the end up.
    std::vector<int64_t> values = valuesOf(evaluate(result, symbols.values));
    std::vector<int64_t> expected = valuesOf(complement(l, codomain));
    require(values.size() >= expected.size() &&
                std::equal(expected.begin(), expected.end(), values.begin()),
            result.str() + " for " + l.str());
    require(result == complement(anonymous(d), anonymous(end)), "type");
  });
  CHECK(tally.answered > 4000);
}

TEST_CASE("dynamic divides agree with their static forms", "[layout][dynamic]") {
  Tally tally = repeat(15000, 7, [](Random &r) {
    Layout a = flatten(randomLayout(r, powersOfTwo()));
    Symbols symbols(r, 2);
    Layout d = symbols(a);
    std::vector<Tile> modes;
    for (int i = 0; i < a.rank(); ++i)
      modes.push_back(r.of(std::vector<int64_t>{1, 2, 4}));
    Tile tile = Tile::list(modes);
    Layout expected = flatDivide(a, tile), result = flatDivide(d, tile);
    require(result.rank() == expected.rank(), "rank of " + result.str());
    for (int i = 0; i < result.rank(); ++i)
      requireSameFunction(result.at(i), expected.at(i), symbols.values);
    require(result == flatDivide(anonymous(d), tile), "type of " + result.str());
    Layout whole = zippedDivide(d, Layout(4, 1));
    requireSameFunction(whole, zippedDivide(a, Layout(4, 1)), symbols.values);
  });
  CHECK(tally.refused == 0);
}

TEST_CASE("dynamic products agree with their static forms", "[layout][dynamic]") {
  Tally tally = repeat(10000, 8, [](Random &r) {
    Layout a = randomCompact(r, small()), b = randomCompact(r, small());
    Symbols symbols(r, 3);
    // A block of a single mode, or with static strides.
    Layout da = r.oneIn(2) ? symbols.shapes(a) : a;
    Layout db = symbols(b);
    requireSameFunction(logicalProduct(da, db), logicalProduct(a, b), symbols.values);
    Layout blocked = blockedProduct(da, db);
    requireSameFunction(blocked, blockedProduct(a, b), symbols.values);
    require(blocked == blockedProduct(anonymous(da), anonymous(db)), "type");
  });
  // Dynamic modes of size 1 may stand in the way of others.
  CHECK(tally.refused * 50 < tally.answered);
}

TEST_CASE("dynamic shapes make the layouts of their static forms", "[layout][dynamic]") {
  Tally tally = repeat(10000, 9, [](Random &r) {
    IntTuple shape = randomShape(r, {});
    int64_t n = r.between(0, 7);
    IntTuple order = shape.mapLeaves([&](const Int &) { return Int(n++ * 5 % 8); });
    Symbols symbols(r, 2);
    IntTuple d = symbols(shape);
    requireSameFunction(makeOrderedLayout(d, order), makeOrderedLayout(shape, order),
                        symbols.values);
    requireSameFunction(makeLayout(d), makeLayout(shape), symbols.values);
    IntTuple target = shape.mapLeaves([&](const Int &s) { return s * Int(r.between(1, 3)); });
    IntTuple dynamicTarget = symbols(target);
    requireSameFunction(
        tileToShape(makeLayout(shape), dynamicTarget, idx2crdColMajor(0, productEach(shape))),
        tileToShape(makeLayout(shape), target, idx2crdColMajor(0, productEach(shape))),
        symbols.values);
  });
  CHECK(tally.refused == 0);
}

TEST_CASE("dynamic recasts agree with their static forms", "[layout][dynamic]") {
  Tally tally = repeat(10000, 10, [](Random &r) {
    Layout l = randomCompact(r, powersOfTwo());
    int64_t n = r.of(std::vector<int64_t>{2, 4, 8});
    Symbols symbols(r, 3);
    Layout d = symbols(l);
    // A dynamic mode of stride 1 is taken for the contiguous one.
    if (std::vector<Int> shapes = l.shape().leaves();
        std::find(shapes.begin(), shapes.end(), Int(1)) == shapes.end())
      requireSameFunction(downcast(symbols.shapes(l), n), downcast(l, n), symbols.values);
    Layout result = upcast(d, n); // refused where a stride isn't known to be divisible
    requireSameFunction(result, upcast(l, n), symbols.values);
  });
  CHECK(tally.answered > 1000);
}

TEST_CASE("dynamic tuples agree with their static forms", "[layout][dynamic]") {
  repeat(20000, 11, [](Random &r) {
    Limits limits;
    IntTuple shape = randomShape(r, limits);
    auto numbers = [&] {
      return shape.mapLeaves([&](const Int &) { return Int(r.between(1, 40)); });
    };
    IntTuple a = numbers(), b = numbers();
    Symbols symbols(r, 2);
    IntTuple da = symbols(a), db = symbols(b);
    for (auto op : {add, sub, mul, div, mod, min, max})
      requireSameValue(op(da, db), op(a, b), symbols.values);
    requireSameValue(ceilDiv(da, db), ceilDiv(a, b), symbols.values);
    requireSameValue(product(da), product(a), symbols.values);
    requireSameValue(productEach(da), productEach(a), symbols.values);
    requireSameValue(sum(da), sum(a), symbols.values);
    requireSameValue(innerProduct(da, db), innerProduct(a, b), symbols.values);
    requireSameValue(elemLess(da, db), elemLess(a, b), symbols.values);
    requireSameValue(equal(da, db), equal(a, b), symbols.values);
    requireSameValue(equal(da, da), 1, symbols.values);
    for (int i = 0; i < static_cast<int>(a.leafCount()); ++i)
      require(add(da, db) == add(anonymous(da), anonymous(db)), "type");
  });
}

TEST_CASE("a thread's part of a dynamic tensor is its elements", "[layout][dynamic]") {
  Layout tv(tup(1, 4), tup(1, 1));
  TiledCopy copy = makeTiledCopyTV({Layout(1, 1), tv, tv, tv}, Layout(tup(8, 16), tup(16, 1)),
                                   Layout(tup(1, 4), tup(1, 1)));
  Layout c(tup(tup(16, 4), tup(4, 1)), tup(tup(16, 4), tup(1, 16)));
  Layout ab(tup(tup(16, 4), 4), tup(tup(1, 64), 16));
  TiledMma mma{{tup(16, 16, 16), Layout(64, 1), ab, ab, c}, Layout(tup(2, 2, 1), tup(1, 2, 0))};
  Tally tally = repeat(5000, 12, [&](Random &r) {
    // Tensors of whole tiles with any pitch.
    int64_t m = 32 * r.between(1, 3), n = 64 * r.between(1, 3), pitch = n + 4 * r.between(0, 9);
    Layout plain(tup(m, n), tup(pitch, 1));
    Symbols symbols(r, 2);
    Layout d = symbols(plain);
    int64_t thread = r.between(0, 127);
    IntTuple t = symbols(IntTuple(thread));
    auto compare = [&](const Partition &dynamic, const Partition &expected) {
      const Layout &x = std::get<Layout>(dynamic.layout), &y = std::get<Layout>(expected.layout);
      for (int i = 0; i < y.rank(); ++i)
        requireSameFunction(x.at(i), y.at(i), symbols.values);
      requireSameValue(dynamic.offset, expected.offset, symbols.values);
    };
    compare(partitionSrc(copy, d, t), partitionSrc(copy, plain, thread));
    for (MmaOperand which : {MmaOperand::A, MmaOperand::B, MmaOperand::C})
      compare(partition(mma, which, d, t), partition(mma, which, plain, thread));
  });
  CHECK(tally.refused == 0);
}

namespace {

/// Small enough that a product of two has few values.
Limits tiny() {
  Limits limits = powersOfTwo();
  limits.maxSize = 16;
  return limits;
}

/// Operands for a row: static ones, and the same with symbols for some of their numbers.
struct Operands {
  std::vector<Value> fixed, symbolic;
  std::vector<int32_t> numbers;
};

/// A coordinate with a wildcard here and there.
IntTuple randomCoordinate(Random &r, const IntTuple &shape) {
  return shape.mapLeaves([&](const Int &extent) {
    return r.oneIn(3) ? Int::wildcard()
                      : Int(r.between(0, std::max<int64_t>(extent.value() - 1, 0)));
  });
}

/// Operands that have a chance to fit: later ones are made from the first.
Operands randomOperands(Random &r, const Operation &operation, Symbols &symbols) {
  Operands out;
  const Layout first = randomCompact(r, tiny());
  const bool wildcards = operation.name == "slice" || operation.name == "dice";
  auto add = [&](const IntTuple &value) {
    out.fixed.push_back(value);
    out.symbolic.push_back(symbols(value));
  };
  auto addLayout = [&](const Layout &value) {
    out.fixed.push_back(value);
    // A mode whose extent is not known counts as one that moves, so an extent of 1 stays known.
    const IntTuple shape = value.shape().mapLeaves(
        [&](const Int &extent) { return extent.isStatic(1) ? extent : symbols(extent); });
    out.symbolic.push_back(Layout(shape, symbols(value.stride())));
  };
  const auto count = static_cast<unsigned>(r.between(operation.least, operation.most));
  for (unsigned i = 0; i < count; ++i) {
    const Kind kind = operation.operands[i];
    if (kind == Kind::tuple || (kind != Kind::tiler && fits(IntTuple(1), kind) && r.oneIn(2))) {
      if (wildcards && i == 1) {
        const IntTuple coordinate = randomCoordinate(r, first.shape());
        out.fixed.push_back(coordinate);
        out.symbolic.push_back(coordinate);
      } else if (operation.name == "make_ordered_layout" && i == 1) { // an order is not a number
        out.fixed.push_back(first.shape());
        out.symbolic.push_back(first.shape());
      } else {
        add(r.oneIn(2) ? first.shape() : randomShape(r, tiny()));
      }
    } else if (kind == Kind::tiler && r.oneIn(2)) {
      std::vector<Tile> sizes;
      for (int mode = 0; mode < first.rank(); ++mode)
        sizes.push_back(Tile(int64_t(1) << r.between(0, 3)));
      out.fixed.push_back(Tile::list(sizes));
      out.symbolic.push_back(Tile::list(sizes));
    } else {
      addLayout(i == 0 ? first : randomCompact(r, tiny()));
    }
  }
  switch (operation.numbers) {
  case Numbers::none:
    break;
  case Numbers::path:
  case Numbers::modes:
    for (int64_t n = r.between(0, 2); n > 0; --n)
      out.numbers.push_back(static_cast<int32_t>(r.between(0, 2)));
    break;
  case Numbers::range:
    out.numbers = {static_cast<int32_t>(r.between(0, 1)), static_cast<int32_t>(r.between(1, 3))};
    break;
  case Numbers::rank:
    if (r.oneIn(2))
      out.numbers = {static_cast<int32_t>(r.between(1, 5))};
    break;
  case Numbers::bits:
    out.numbers = {8 << r.between(0, 2), 8 << r.between(0, 2)};
    break;
  }
  return out;
}

} // namespace

TEST_CASE("every operation gives with symbols what it gives with numbers", "[layout][dynamic]") {
  for (const Operation &operation : operations()) {
    // An inverse leaves out modes that are not known, registers are laid out in the order of the
    // strides that are known, and a recast takes a stride that is not known for none of 1: other
    // layouts, as these operations say.
    const auto &name = operation.name;
    if (name == "right_inverse" || name == "make_fragment_layout_like" ||
        name == "make_layout_like" || name == "recast_layout")
      continue;
    INFO(operation.name);
    Tally tally = repeat(2000, 40, [&](Random &r) {
      Symbols symbols(r, 3);
      const Operands operands = randomOperands(r, operation, symbols);
      const Value fixed = operation({operands.fixed, operands.numbers});
      const Value symbolic = operation({operands.symbolic, operands.numbers});
      require(fixed.index() == symbolic.index(), str(fixed) + " became " + str(symbolic));
      if (auto *layout = std::get_if<Layout>(&symbolic)) {
        // A layout of coordinates has no list of values; it is the same form.
        if (std::get<Layout>(fixed).isStatic() && coprofile(std::get<Layout>(fixed)).isLeaf())
          requireSameFunction(*layout, std::get<Layout>(fixed), symbols.values);
      } else if (auto *tuple = std::get_if<IntTuple>(&symbolic)) {
        requireSameValue(*tuple, std::get<IntTuple>(fixed), symbols.values);
      }
    });
    // Operations of a composed layout alone are in operations_test.cpp.
    if (operation.operands[0] != Kind::composed)
      CHECK(tally.answered > 100);
  }
}
