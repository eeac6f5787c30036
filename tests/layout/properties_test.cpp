// The algebra on random layouts: each operation is compared with its definition, applied as a
// function to every coordinate, and the laws that connect operations are checked.
#include "layout/divide.h"
#include "layout/make.h"
#include "layout/product.h"
#include "layout/text.h"
#include "layout/tiled.h"
#include "property.h"

#include <catch2/catch.hpp>

#include <set>

using namespace flydsl::layout;
using namespace property;

namespace {

int64_t number(const IntTuple &t) { return t.leaf().value(); }

/// Both are the same function on [0, size).
void requireSame(const char *what, const Layout &a, const Layout &b) {
  require(sizeOf(a) == sizeOf(b), std::string(what) + ": sizes of " + a.str() + " and " + b.str());
  require(valuesOf(a) == valuesOf(b),
          std::string(what) + ": values of " + a.str() + " and " + b.str());
}

Generate one(Layout (*make)(Random &, const Limits &), Limits limits = {}) {
  return [=](Random &r) { return Case{{make(r, limits)}, {}}; };
}

Generate two(Layout (*first)(Random &, const Limits &), Layout (*second)(Random &, const Limits &),
             Limits a = {}, Limits b = {}) {
  return [=](Random &r) {
    Layout l = first(r, a);
    return Case{{l, second(r, b)}, {}};
  };
}

/// Runs a property; `maxRefused` is the share of cases (in percent) that the operation may refuse.
void runProperty(int count, uint64_t seed, const Generate &generate, const Check &holds,
                 int maxRefused) {
  Report report = check(count, seed, generate, holds);
  if (report.failure)
    FAIL(*report.failure);
  INFO(report.refused << " of " << report.cases << " cases refused, " << report.skipped
                      << " skipped");
  CHECK(report.cases == count);
  CHECK(int64_t(report.skipped) * 100 <= int64_t(95) * report.cases);
  CHECK(int64_t(report.refused) * 100 <= int64_t(maxRefused) * (report.cases - report.skipped));
}

} // namespace

TEST_CASE("the shrinker finds a small counterexample", "[layout][property]") {
  Report report = check(1000, 1, one(randomLayout), [](const Case &c) {
    require(sizeOf(c.layouts[0]) < 12, "size 12 or more");
    return Outcome::Holds;
  });
  REQUIRE(report.failure);
  Layout small = parseLayout(report.failure->substr(0, report.failure->find('\n')));
  CHECK(sizeOf(small) >= 12);
  CHECK(sizeOf(small) <= 15);
  for (const Int &d : small.stride().leaves())
    CHECK(d == Int(0));
}

TEST_CASE("layouts print as they are read", "[layout][property]") {
  runProperty(
      10000, 2, one(randomLayout),
      [](const Case &c) {
        require(parseLayout(c.layouts[0].str()) == c.layouts[0], "read back differently");
        return Outcome::Holds;
      },
      0);
}

TEST_CASE("crd2idx is the definition", "[layout][property]") {
  runProperty(
      15000, 3, one(randomLayout),
      [](const Case &c) {
        const Layout &l = c.layouts[0];
        int64_t largest = 0;
        for (int64_t i = 0; i < sizeOf(l); ++i) {
          int64_t value = valueAt(l, i);
          largest = std::max(largest, value);
          require(number(crd2idx(i, l)) == value, "at index " + std::to_string(i));
          IntTuple coord = idx2crdColMajor(i, l.shape());
          require(isCongruent(coord, l.shape()), "coordinate " + coord.str());
          require(number(crd2idx(coord, l)) == value, "at coordinate " + coord.str());
          require(number(crd2idxColMajor(coord, l.shape())) == i, "position of " + coord.str());
        }
        require(size(l).value() == sizeOf(l), "size");
        require(cosize(l).value() == largest + 1, "cosize");
        return Outcome::Holds;
      },
      0);
}

TEST_CASE("idx2crd inverts compact layouts", "[layout][property]") {
  runProperty(
      10000, 4, one(randomCompact),
      [](const Case &c) {
        const Layout &l = c.layouts[0];
        for (int64_t i = 0; i < sizeOf(l); ++i) {
          require(number(crd2idx(idx2crd(i, l), l)) == i, "index " + std::to_string(i));
          require(valueAt(l, number(get1dCoord(i, l))) == i, "1d coordinate");
          require(number(crd2idx(getFlatCoord(i, l), l)) == i, "flat coordinate");
        }
        return Outcome::Holds;
      },
      0);
}

TEST_CASE("coalesce keeps the function", "[layout][property]") {
  runProperty(
      15000, 5, one(randomLayout),
      [](const Case &c) {
        const Layout &l = c.layouts[0];
        Layout flat = coalesce(l);
        requireSame("coalesce", l, flat);
        require(coalesce(flat) == flat, "not done at once: " + flat.str());
        std::vector<Int> s = flat.shape().leaves(), d = flat.stride().leaves();
        for (size_t i = 0; i + 1 < s.size(); ++i)
          require(s[i] != Int(1) && s[i] * d[i] != d[i + 1], "modes left to join: " + flat.str());
        IntTuple profile = l.shape();
        if (!l.isLeaf()) {
          profile = IntTuple::tuple(std::vector<IntTuple>(static_cast<size_t>(l.rank()), 0));
          Layout byMode = coalesce(l, profile);
          require(byMode.rank() == l.rank(), "by mode: rank of " + byMode.str());
          for (int i = 0; i < l.rank(); ++i)
            requireSame("coalesce by mode", l.at(i), byMode.at(i));
        }
        return Outcome::Holds;
      },
      0);
}

static Outcome compositionHolds(const Case &c) {
  const Layout &a = c.layouts[0], &b = c.layouts[1];
  Layout r = composition(a, b);
  require(sizeOf(r) == sizeOf(b), "size of " + r.str());
  // One leaf walks on past A's end; of several, the sum is only defined inside.
  for (int64_t i = 0; i < sizeOf(b); ++i)
    if (b.shape().leafCount() == 1 || valueAt(b, i) < sizeOf(a))
      require(valueAt(r, i) == valueAt(a, valueAt(b, i)),
              r.str() + " at " + std::to_string(i) + " is " + std::to_string(valueAt(r, i)));
  return Outcome::Holds;
}

TEST_CASE("composition is A after B", "[layout][property]") {
  SECTION("any layouts: right or refused") {
    runProperty(30000, 6, two(randomLayout, randomLayout), compositionHolds, 60);
  }
  SECTION("powers of two are always admissible") {
    runProperty(20000, 7, two(randomLayout, randomCompact, powersOfTwo(), powersOfTwo()),
                compositionHolds, 0);
    // A second layout whose modes overlap may carry.
    runProperty(10000, 7, two(randomLayout, randomLayout, powersOfTwo(), powersOfTwo()),
                compositionHolds, 5);
  }
  SECTION("by mode") {
    runProperty(
        8000, 8, two(randomLayout, randomLayout, powersOfTwo(), powersOfTwo()),
        [](const Case &c) {
          const Layout &a = c.layouts[0];
          Layout b = flatten(c.layouts[1]);
          std::vector<Tile> modes;
          for (int i = 0; i < std::min(a.rank(), b.rank()); ++i)
            modes.push_back(i % 2 ? Tile(b.at(i)) : Tile(b.shape().at(i).leaf()));
          Layout r = composition(a, Tile::list(modes));
          for (int64_t i = 0; a.rank() > 1 && i < static_cast<int64_t>(modes.size()); ++i)
            requireSame("mode", r.at(int(i)),
                        composition(a.at(int(i)), modes[size_t(i)].toLayout()));
          return Outcome::Holds;
        },
        0);
  }
}

/// Whether s:d walks through A's modes (all but the last bounded) in whole steps: at each mode the
/// stride divides the shape or the shape the stride, and the steps that fit divide those that are
/// left.
static bool isAdmissible(const Layout &a, int64_t s, int64_t d) {
  Layout flat = coalesce(a);
  std::vector<Int> shapes = flat.shape().leaves();
  for (size_t i = 0; i + 1 < shapes.size() && s != 1; ++i) {
    const int64_t extent = shapes[i].value();
    if (extent % d != 0 && d % extent != 0)
      return false;
    const int64_t fits = std::max<int64_t>(1, extent / d);
    if (fits < s && s % fits != 0)
      return false;
    s /= std::min(fits, s);
    d = std::max<int64_t>(1, d / extent);
  }
  return true;
}

TEST_CASE("admissible compositions are not refused", "[layout][property]") {
  Limits leaf;
  leaf.maxLeaves = 1;
  leaf.maxDepth = 0;
  int admissible = 0;
  Report report = check(20000, 9, two(randomLayout, randomLayout, {}, leaf), [&](const Case &c) {
    const Layout &b = c.layouts[1];
    const int64_t d = b.stride().leaf().value();
    if (d == 0 || valueAt(b, sizeOf(b) - 1) >= sizeOf(c.layouts[0]) ||
        !isAdmissible(c.layouts[0], sizeOf(b), d))
      return Outcome::Skipped;
    ++admissible;
    try {
      composition(c.layouts[0], b);
    } catch (const LayoutError &e) {
      throw std::string(e.what());
    }
    return Outcome::Holds;
  });
  if (report.failure)
    FAIL(*report.failure);
  CHECK(admissible > 5000);
}

TEST_CASE("composition associates", "[layout][property]") {
  runProperty(
      15000, 10,
      [](Random &r) {
        Layout a = randomLayout(r, powersOfTwo()), b = randomCompact(r, powersOfTwo());
        return Case{{a, b, randomLayout(r, powersOfTwo())}, {}};
      },
      [](const Case &c) {
        const Layout &a = c.layouts[0], &b = c.layouts[1], &d = c.layouts[2];
        // Inside the domains; past them a layout goes on in its last mode only.
        for (int64_t v : valuesOf(d))
          if (v >= sizeOf(b))
            return Outcome::Skipped;
        requireSame("association", composition(composition(a, b), d),
                    composition(a, composition(b, d)));
        return Outcome::Holds;
      },
      60);
}

TEST_CASE("a complement is disjoint, ordered and fills up", "[layout][property]") {
  auto holds = [](const Case &c) {
    const Layout &a = c.layouts[0];
    const int64_t codomain = c.numbers[0] + 1;
    Layout rest = complement(a, codomain);
    std::vector<int64_t> values = valuesOf(rest);
    for (size_t i = 1; i < values.size(); ++i)
      require(values[i] > values[i - 1], "not ordered: " + rest.str());
    std::vector<int64_t> inputs = valuesOf(a);
    std::set<int64_t> own(inputs.begin(), inputs.end()), all;
    for (int64_t x : own)
      for (int64_t y : values)
        require(all.insert(x + y).second, "hits a value twice: " + rest.str());
    return Outcome::Holds;
  };
  auto fillsUp = [holds](const Case &c) {
    holds(c);
    const Layout &a = c.layouts[0];
    std::set<int64_t> all;
    for (int64_t x : valuesOf(a))
      for (int64_t y : valuesOf(complement(a, c.numbers[0] + 1)))
        all.insert(x + y);
    require(*all.rbegin() + 1 == int64_t(all.size()), "leaves values out");
    require(int64_t(all.size()) > c.numbers[0], "does not reach the codomain");
    return Outcome::Holds;
  };
  auto generate = [](Layout (*make)(Random &, const Limits &)) {
    return [make](Random &r) {
      Limits small;
      small.maxSize = 48;
      Layout l = make(r, small);
      return Case{{l}, {r.between(0, 150)}};
    };
  };
  SECTION("any layout: right or refused") {
    runProperty(15000, 11, generate(randomLayout), holds, 70);
  }
  SECTION("layouts that hit each value once") {
    runProperty(10000, 12, generate(randomInjective), fillsUp, 0);
  }
}

TEST_CASE("inverses invert", "[layout][property]") {
  auto right = [](const Case &c) {
    Layout r = rightInverse(c.layouts[0]);
    for (int64_t i = 0; i < sizeOf(r); ++i)
      require(valueAt(c.layouts[0], valueAt(r, i)) == i, r.str() + " at " + std::to_string(i));
    return Outcome::Holds;
  };
  auto left = [](const Case &c) {
    Layout l = leftInverse(c.layouts[0]);
    for (int64_t i = 0; i < sizeOf(c.layouts[0]); ++i)
      require(valueAt(l, valueAt(c.layouts[0], i)) == i, l.str() + " at " + std::to_string(i));
    return Outcome::Holds;
  };
  SECTION("right, any layout") { runProperty(15000, 13, one(randomLayout), right, 0); }
  SECTION("left, any layout: right or refused") {
    runProperty(15000, 14, one(randomLayout), left, 90);
  }
  SECTION("left, layouts that hit each value once") {
    runProperty(8000, 15, one(randomInjective), left, 0);
  }
  SECTION("of a bijection, both are its inverse") {
    runProperty(
        8000, 16, one(randomCompact),
        [](const Case &c) {
          const Layout &l = c.layouts[0];
          require(sizeOf(rightInverse(l)) == sizeOf(l), "size " + rightInverse(l).str());
          requireSame("right and left", rightInverse(l), leftInverse(l));
          return Outcome::Holds;
        },
        0);
  }
}

TEST_CASE("a divide is composition with tile and complement", "[layout][property]") {
  auto holds = [](const Case &c) {
    const Layout &a = c.layouts[0], &t = c.layouts[1];
    Layout d = logicalDivide(a, t);
    Layout rest = complement(t, size(a));
    require(d.rank() == 2, "rank of " + d.str());
    require(sizeOf(d.at(0)) == sizeOf(t) && sizeOf(d.at(1)) == sizeOf(rest), "sizes of " + d.str());
    for (int64_t i = 0; i < sizeOf(t); ++i)
      for (int64_t j = 0; j < sizeOf(rest); ++j)
        if (int64_t at = valueAt(t, i) + valueAt(rest, j); at < sizeOf(a))
          require(number(crd2idx(tup(i, j), d)) == valueAt(a, at),
                  d.str() + " at (" + std::to_string(i) + "," + std::to_string(j) + ")");
    requireSame("zipped", d, zippedDivide(a, t));
    requireSame("tiled", d, tiledDivide(a, t));
    requireSame("flat", d, flatDivide(a, t));
    return Outcome::Holds;
  };
  SECTION("any layouts: right or refused") {
    runProperty(12000, 17, two(randomLayout, randomInjective), holds, 90);
  }
  SECTION("powers of two") {
    Limits small = powersOfTwo();
    small.maxSize = 16;
    runProperty(10000, 18, two(randomLayout, randomCompact, powersOfTwo(), small), holds, 0);
  }
}

TEST_CASE("a divide by mode regroups the same elements", "[layout][property]") {
  runProperty(
      8000, 19,
      [](Random &r) {
        Limits limits = powersOfTwo();
        limits.maxLeaves = 6;
        Case c{{randomLayout(r, limits)}, {}};
        for (int i = 0; i < 3; ++i)
          c.numbers.push_back(r.of(std::vector<int64_t>{1, 2, 4, 8}));
        return c;
      },
      [](const Case &c) {
        const Layout &a = c.layouts[0];
        std::vector<Tile> modes;
        for (int i = 0; i < std::min(a.rank(), 3); ++i)
          if (c.numbers[size_t(i)] > 0)
            modes.push_back(Tile(c.numbers[size_t(i)]));
        if (a.rank() < 2 || modes.size() < 2)
          return Outcome::Skipped;
        Tile tile = Tile::list(modes);
        Layout logical = logicalDivide(a, tile), zipped = zippedDivide(a, tile);
        require(tiledDivide(a, tile) == expand(zipped, {1}), "tiled and zipped");
        require(flatDivide(a, tile) == expand(zipped, {0, 1}), "flat and zipped");
        for (int i = 0; i < a.rank(); ++i) {
          if (i >= tile.rank()) {
            require(zipped.at(1).at(i) == a.at(i), "mode left alone: " + zipped.str());
            continue;
          }
          require(logical.at(i).at(0) == zipped.at(0).at(i), "tile " + zipped.str());
          require(logical.at(i).at(1) == zipped.at(1).at(i), "rest " + zipped.str());
          require(logical.at(i) == logicalDivide(a.at(i), tile.at(i)), "by mode");
        }
        return Outcome::Holds;
      },
      0);
}

TEST_CASE("a product repeats the block", "[layout][property]") {
  Limits small;
  small.maxSize = 24;
  Limits smallPowers = powersOfTwo();
  smallPowers.maxSize = 16;
  auto holds = [](const Case &c) {
    const Layout &a = c.layouts[0], &b = c.layouts[1];
    Layout p = logicalProduct(a, b);
    Layout free = complement(a, size(a) * cosize(b));
    require(p.rank() == 2, "rank of " + p.str());
    requireSame("block", p.at(0), a);
    for (int64_t j = 0; j < sizeOf(b); ++j)
      require(valueAt(p.at(1), j) == valueAt(free, valueAt(b, j)),
              p.str() + " at repetition " + std::to_string(j));
    requireSame("zipped", p, zippedProduct(a, b));
    requireSame("tiled", p, tiledProduct(a, b));
    requireSame("flat", p, flatProduct(a, b));
    Layout blocked = blockedProduct(a, b), raked = rakedProduct(a, b);
    for (int i = 0; i < blocked.rank() && std::max(a.rank(), b.rank()) > 1; ++i)
      requireSame("blocked and raked swap", blocked.at(i),
                  concat({raked.at(i).at(1), raked.at(i).at(0)}));
    return Outcome::Holds;
  };
  SECTION("any layouts: right or refused") {
    runProperty(10000, 20, two(randomInjective, randomLayout, small, small), holds, 80);
  }
  SECTION("powers of two") {
    runProperty(10000, 21, two(randomCompact, randomLayout, smallPowers, smallPowers), holds, 0);
  }
}

TEST_CASE("blocked and raked products hit each value of a compact pair once",
          "[layout][property]") {
  Limits small;
  small.maxSize = 12;
  runProperty(
      8000, 22, two(randomCompact, randomCompact, small, small),
      [](const Case &c) {
        for (const Layout &p : {blockedProduct(c.layouts[0], c.layouts[1]),
                                rakedProduct(c.layouts[0], c.layouts[1])}) {
          std::vector<int64_t> values = valuesOf(p);
          std::sort(values.begin(), values.end());
          require(sizeOf(p) == sizeOf(c.layouts[0]) * sizeOf(c.layouts[1]), "size of " + p.str());
          for (size_t i = 0; i < values.size(); ++i)
            require(values[i] == int64_t(i), "values of " + p.str());
        }
        return Outcome::Holds;
      },
      0);
}

TEST_CASE("a slice and what it fixes make up the layout", "[layout][property]") {
  runProperty(
      10000, 23,
      [](Random &r) {
        Layout l = randomLayout(r, {});
        return Case{{l}, {r.between(0, 255), r.between(0, sizeOf(l) - 1)}};
      },
      [](const Case &c) {
        const Layout &l = c.layouts[0];
        if (sizeOf(l) <= c.numbers[1])
          return Outcome::Skipped;
        IntTuple at = idx2crdColMajor(c.numbers[1], l.shape());
        int64_t bits = c.numbers[0];
        IntTuple open = at.mapLeaves([&](const Int &v) {
          bool keep = bits & 1;
          bits >>= 1;
          return keep ? Int::wildcard() : v;
        });
        if (!open.hasWildcard())
          return Outcome::Skipped;
        Layout rest = slice(l, open);
        std::vector<Int> fixed = at.leaves(), pattern = open.leaves();
        std::vector<IntTuple> coord;
        for (size_t i = 0; i < fixed.size(); ++i)
          if (pattern[i].isWildcard())
            coord.emplace_back(fixed[i]);
        Layout flat = flatten(rest);
        require(number(crd2idx(open, l)) + number(crd2idx(IntTuple::unwrapped(coord), flat)) ==
                    number(crd2idx(at, l)),
                "slice " + open.str() + " gives " + rest.str());
        return Outcome::Holds;
      },
      30);
}

TEST_CASE("ordered layouts are bijections in the order's order", "[layout][property]") {
  runProperty(
      10000, 24,
      [](Random &r) {
        IntTuple shape = randomShape(r, {});
        int64_t n = 0;
        // Distinct orders, shuffled by a random multiplier.
        int64_t m = r.of(std::vector<int64_t>{1, 3, 5, 7});
        return Case{{Layout(shape, shape.mapLeaves([&](const Int &) { return Int(n++ * m % 8); }))},
                    {}};
      },
      [](const Case &c) {
        const IntTuple &order = c.layouts[0].stride();
        std::vector<Int> orders = order.leaves();
        if (std::set<int64_t> distinct =
                [&] {
                  std::set<int64_t> s;
                  for (const Int &o : orders)
                    s.insert(o.value());
                  return s;
                }();
            distinct.size() != orders.size())
          return Outcome::Skipped;
        Layout l = makeOrderedLayout(c.layouts[0].shape(), order);
        std::vector<int64_t> values = valuesOf(l);
        std::sort(values.begin(), values.end());
        for (size_t i = 0; i < values.size(); ++i)
          require(values[i] == int64_t(i), "values of " + l.str());
        std::vector<Int> d = l.stride().leaves(), s = l.shape().leaves();
        for (size_t i = 0; i < d.size(); ++i)
          for (size_t j = 0; j < d.size(); ++j)
            if (orders[i].value() < orders[j].value())
              require(d[i].value() <= d[j].value(), "order of " + l.str());
        return Outcome::Holds;
      },
      0);
}

TEST_CASE("layouts like another keep its order and take no more room", "[layout][property]") {
  runProperty(
      10000, 25, one(randomInjective),
      [](const Case &c) {
        const Layout &l = c.layouts[0];
        Layout like = makeLayoutLike(l);
        require(like.shape() == l.shape(), "shape of " + like.str());
        std::vector<int64_t> before = valuesOf(l), after = valuesOf(like);
        for (size_t i = 0; i < before.size(); ++i)
          for (size_t j = 0; j < i; ++j)
            require((before[i] < before[j]) == (after[i] < after[j]), "order of " + like.str());
        require(*std::max_element(after.begin(), after.end()) + 1 == sizeOf(l),
                "room of " + like.str());
        return Outcome::Holds;
      },
      0);
}

TEST_CASE("recasts keep the bits", "[layout][property]") {
  runProperty(
      10000, 26,
      [](Random &r) {
        Layout l = randomCompact(r, {});
        return Case{{l}, {r.of(std::vector<int64_t>{1, 2, 4, 8})}};
      },
      [](const Case &c) {
        const Layout &l = c.layouts[0];
        const int64_t n = c.numbers[0];
        if (n == 0)
          return Outcome::Skipped;
        Layout larger = upcast(l, n);
        std::set<int64_t> units;
        for (int64_t v : valuesOf(l))
          units.insert(v / n);
        std::vector<int64_t> values = valuesOf(larger);
        require(std::set<int64_t>(values.begin(), values.end()) == units, "upcast " + larger.str());
        requireSame("recast and upcast", larger, recastLayout(l, 8, 8 * n));
        // Down again, where elements were not cut: the same set of offsets.
        if (sizeOf(larger) * n == sizeOf(l)) {
          std::vector<int64_t> again = valuesOf(downcast(larger, n)), first = valuesOf(l);
          std::sort(again.begin(), again.end());
          std::sort(first.begin(), first.end());
          require(again == first || sizeOf(larger) == 1, "downcast " + downcast(larger, n).str());
        }
        return Outcome::Holds;
      },
      60);
}

TEST_CASE("tile_to_shape fills the shape", "[layout][property]") {
  runProperty(
      8000, 27,
      [](Random &r) {
        Limits flat;
        flat.maxDepth = 1;
        flat.maxSize = 16;
        Layout block = randomCompact(r, flat);
        return Case{{block}, {r.between(0, 1), r.between(1, 3), r.between(1, 3)}};
      },
      [](const Case &c) {
        const Layout &block = c.layouts[0];
        if (c.numbers[1] < 1 || c.numbers[2] < 1)
          return Outcome::Skipped;
        std::vector<IntTuple> shape, order;
        for (int i = 0; i < block.rank(); ++i) {
          shape.emplace_back(size(block.at(i)) * Int(c.numbers[i % 2 + 1]));
          order.emplace_back(c.numbers[0] ? block.rank() - i : i);
        }
        Layout whole = tileToShape(block, IntTuple::unwrapped(shape), IntTuple::unwrapped(order));
        std::vector<int64_t> values = valuesOf(whole);
        std::sort(values.begin(), values.end());
        for (size_t i = 0; i < values.size(); ++i)
          require(values[i] == int64_t(i), "values of " + whole.str());
        require(sizeOf(whole) == product(IntTuple::unwrapped(shape)).value(), "size");
        return Outcome::Holds;
      },
      0);
}

TEST_CASE("swizzles permute their period", "[layout][property]") {
  runProperty(
      10000, 28,
      [](Random &r) { return Case{{}, {r.between(0, 3), r.between(0, 3), r.between(0, 4)}}; },
      [](const Case &c) {
        Swizzle s(int32_t(c.numbers[0]), int32_t(c.numbers[1]), int32_t(c.numbers[2]));
        const int64_t period = s.period();
        std::set<int64_t> seen;
        for (int64_t i = 0; i < period; ++i) {
          int64_t v = s.apply(Int(i)).value();
          require(v >= 0 && v < period, "range");
          require((v & ((int64_t(1) << s.base) - 1)) == (i & ((int64_t(1) << s.base) - 1)),
                  "low bits move");
          seen.insert(v);
          if (s.shift >= s.mask)
            require(s.apply(Int(v)).value() == i, "not its own inverse");
        }
        if (s.shift >= s.mask)
          require(int64_t(seen.size()) == period, "not a permutation");
        return Outcome::Holds;
      },
      0);
}

TEST_CASE("tiled copies give each element to one thread", "[layout][property]") {
  runProperty(
      4000, 29,
      [](Random &r) {
        Limits thr = powersOfTwo(), val = powersOfTwo();
        thr.maxDepth = val.maxDepth = 1;
        thr.maxLeaves = val.maxLeaves = 2;
        thr.maxSize = 32;
        val.maxSize = 8;
        Layout t = randomCompact(r, thr);
        return Case{{t, randomCompact(r, val)}, {r.between(0, 3), r.between(1, 2)}};
      },
      [](const Case &c) {
        const int rank = std::max(c.layouts[0].rank(), c.layouts[1].rank());
        if (rank != 2 || c.numbers[1] == 0)
          return Outcome::Skipped;
        Layout thr = padToRank(c.layouts[0], 2), val = padToRank(c.layouts[1], 2);
        const int64_t atomValues = std::min(int64_t(1) << c.numbers[0], sizeOf(val));
        Layout tv(tup(1, atomValues), tup(1, 1));
        TiledCopy copy = makeTiledCopyTV({Layout(1, 1), tv, tv, tv}, thr, val);
        IntTuple sizes = sizesOf(copy.tileMN);
        Layout tensor =
            makeLayout(tup(sizes.at(0).leaf() * Int(c.numbers[1]), sizes.at(1).leaf() * Int(2)));
        std::set<int64_t> seen;
        for (int64_t t = 0; t < sizeOf(thr); ++t) {
          Partition part = partitionSrc(copy, tensor, t);
          for (int64_t v : valuesOf(std::get<Layout>(part.layout)))
            require(seen.insert(v + number(part.offset)).second, "element twice");
        }
        require(int64_t(seen.size()) == sizeOf(tensor), "elements left out");
        return Outcome::Holds;
      },
      90);
}
