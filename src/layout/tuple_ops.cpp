#include "layout/tuple_ops.h"

#include "layout/error.h"

#include <algorithm>

namespace flydsl::layout {

IntTuple take(const IntTuple &t, int begin, int end) {
  if (end == -1)
    end = t.rank();
  if (begin < 0 || begin >= end || end > t.rank())
    fail("take of modes [", begin, ", ", end, ") of ", t, ", which has rank ", t.rank());
  std::vector<IntTuple> out;
  for (int i = begin; i < end; ++i)
    out.push_back(t.at(i));
  return IntTuple::unwrapped(std::move(out));
}

IntTuple select(const IntTuple &t, const std::vector<int32_t> &modes) {
  if (modes.empty())
    fail("select of no mode of ", t);
  std::vector<IntTuple> out;
  for (int32_t i : modes)
    out.push_back(t.at(i));
  return IntTuple::unwrapped(std::move(out));
}

IntTuple group(const IntTuple &t, int begin, int end) {
  if (t.isLeaf())
    return t;
  if (end == -1)
    end = t.rank();
  if (begin < 0 || begin > end || end > t.rank())
    fail("group of modes [", begin, ", ", end, ") of ", t, ", which has rank ", t.rank());
  std::vector<IntTuple> out, grouped;
  for (int i = 0; i < t.rank(); ++i) {
    if (i < begin || i >= end) {
      out.push_back(t.at(i));
      continue;
    }
    grouped.push_back(t.at(i));
    if (i == end - 1)
      out.push_back(IntTuple::tuple(std::move(grouped)));
  }
  return IntTuple::tuple(std::move(out));
}

/// The number of elements that `t` lacks to have the rank `rank`.
static int missingModes(const char *what, const IntTuple &t, int rank) {
  if (rank == -1)
    return 1;
  if (rank < t.rank())
    fail(what, " to rank ", rank, " of ", t, ", which has rank ", t.rank(), " already");
  if (rank - t.rank() > 4096)
    fail(what, " to rank ", rank, " of ", t, ": a rank is at most 4096");
  return rank - t.rank();
}

IntTuple append(const IntTuple &t, const IntTuple &element, int rank) {
  std::vector<IntTuple> out = t.elements();
  for (int n = missingModes("append", t, rank); n > 0; --n)
    out.push_back(element);
  return IntTuple::tuple(std::move(out));
}

IntTuple prepend(const IntTuple &t, const IntTuple &element, int rank) {
  std::vector<IntTuple> out;
  for (int n = missingModes("prepend", t, rank); n > 0; --n)
    out.push_back(element);
  for (const IntTuple &e : t.elements())
    out.push_back(e);
  return IntTuple::tuple(std::move(out));
}

/// Collects the modes of `t` whose leaf in `coord` is a wildcard (`wildcard` true) or is none
/// (false).
static void collectModes(const char *what, const IntTuple &t, const IntTuple &coord, bool wildcard,
                         std::vector<IntTuple> &out) {
  if (coord.isLeaf()) {
    if (coord.isWildcard() == wildcard)
      out.push_back(t);
    return;
  }
  if (coord.rank() != t.rank())
    fail(what, " of ", t, " by ", coord, ": their ranks differ");
  for (int i = 0; i < coord.rank(); ++i)
    collectModes(what, t.at(i), coord.at(i), wildcard, out);
}

static IntTuple selectByCoord(const char *what, const IntTuple &t, const IntTuple &coord,
                              bool wildcard) {
  std::vector<IntTuple> out;
  collectModes(what, t, coord, wildcard, out);
  if (out.empty())
    fail(what, " of ", t, " by ", coord, " leaves no mode");
  IntTuple result = IntTuple::unwrapped(std::move(out));
  if (!coord.isLeaf())
    while (!result.isLeaf() && result.rank() == 1)
      result = IntTuple(result.at(0));
  return result;
}

IntTuple slice(const IntTuple &t, const IntTuple &coord) {
  return selectByCoord("slice", t, coord, true);
}

IntTuple dice(const IntTuple &t, const IntTuple &coord) {
  return selectByCoord("dice", t, coord, false);
}

IntTuple flatten(const IntTuple &t) {
  if (t.isLeaf())
    return t;
  std::vector<IntTuple> out;
  for (Int &leaf : t.leaves())
    out.emplace_back(std::move(leaf));
  return IntTuple::tuple(std::move(out));
}

static IntTuple unflattenFrom(const std::vector<IntTuple> &flat, size_t &next,
                              const IntTuple &profile) {
  if (profile.isLeaf())
    return flat[next++];
  std::vector<IntTuple> out;
  for (int i = 0; i < profile.rank(); ++i)
    out.push_back(unflattenFrom(flat, next, profile.at(i)));
  return IntTuple::tuple(std::move(out));
}

IntTuple unflatten(const IntTuple &flat, const IntTuple &profile) {
  std::vector<IntTuple> elements = flat.elements();
  if (elements.size() != static_cast<size_t>(profile.leafCount()))
    fail("unflatten of ", flat, " like ", profile, ": ", elements.size(), " elements for ",
         profile.leafCount(), " leaves");
  size_t next = 0;
  return unflattenFrom(elements, next, profile);
}

IntTuple expand(const IntTuple &t, const std::vector<int32_t> &modes) {
  if (t.isLeaf() || modes.empty())
    return t;
  std::vector<IntTuple> out;
  for (int i = 0; i < t.rank(); ++i) {
    if (std::find(modes.begin(), modes.end(), i) == modes.end())
      out.push_back(t.at(i));
    else
      for (const IntTuple &e : t.at(i).elements())
        out.push_back(e);
  }
  return IntTuple::unwrapped(std::move(out));
}

IntTuple zip(const IntTuple &t) {
  if (t.isLeaf() || t.at(0).isLeaf())
    return t;
  const int inner = t.at(0).rank();
  for (const IntTuple &e : t.elements())
    if (e.rank() != inner)
      fail("zip of ", t, ": its modes have different ranks");
  std::vector<IntTuple> out;
  for (int j = 0; j < inner; ++j) {
    std::vector<IntTuple> row;
    for (int i = 0; i < t.rank(); ++i)
      row.push_back(t.at(i).at(j));
    out.push_back(IntTuple::tuple(std::move(row)));
  }
  return IntTuple::tuple(std::move(out));
}

IntTuple zip(const IntTuple &a, const IntTuple &b) { return zip(tup(a, b)); }

static std::pair<IntTuple, IntTuple> zipPair(const IntTuple &t, const IntTuple &guide) {
  if (guide.isLeaf()) {
    if (t.rank() != 2)
      fail("a pair is needed to zip, but this is ", t);
    return {t.at(0), t.at(1)};
  }
  if (t.rank() < guide.rank())
    fail("zip of ", t, " by ", guide, ", which has more modes");
  std::vector<IntTuple> firsts, seconds;
  for (int i = 0; i < guide.rank(); ++i) {
    auto [first, second] = zipPair(t.at(i), guide.at(i));
    firsts.push_back(std::move(first));
    seconds.push_back(std::move(second));
  }
  for (int i = guide.rank(); i < t.rank(); ++i)
    seconds.push_back(t.at(i));
  return {IntTuple::tuple(std::move(firsts)), IntTuple::tuple(std::move(seconds))};
}

IntTuple zip2By(const IntTuple &t, const IntTuple &guide) {
  auto [first, second] = zipPair(t, guide);
  return tup(std::move(first), std::move(second));
}

IntTuple filterZero(const IntTuple &guide, const IntTuple &t) {
  if (guide.isLeaf())
    return guide.isLeaf(0) ? t.mapLeaves([](const Int &) { return Int(1); }) : t;
  if (guide.rank() != t.rank())
    fail("filter_zero of ", t, " by ", guide, ": their ranks differ");
  std::vector<IntTuple> out;
  for (int i = 0; i < guide.rank(); ++i)
    out.push_back(filterZero(guide.at(i), t.at(i)));
  return IntTuple::tuple(std::move(out));
}

// --- Arithmetic ---

IntTuple basisToTuple(const IntTuple &axis) {
  const Int &leaf = axis.leaf();
  if (!leaf.hasBasis())
    return axis;
  IntTuple result = leaf.withoutBasis();
  const ModePath &modes = leaf.basis();
  for (auto it = modes.rbegin(); it != modes.rend(); ++it) {
    if (*it > 4095)
      fail("the axis ", leaf, " has a mode past 4095");
    std::vector<IntTuple> elements(static_cast<size_t>(*it), IntTuple(0));
    elements.push_back(std::move(result));
    result = IntTuple::tuple(std::move(elements));
  }
  return result;
}

/// Applies op to pairs of leaves; modes that only one side has are kept.
template <class Op>
static IntTuple zipLeaves(const char *what, const IntTuple &a, const IntTuple &b, Op &&op) {
  if (a.isLeaf() && b.isLeaf())
    return op(a.leaf(), b.leaf());
  if (a.isLeaf())
    fail(what, " of a number and a tuple: ", a, " and ", b);
  std::vector<IntTuple> out;
  const int common = std::min(a.rank(), b.rank());
  for (int i = 0; i < common; ++i)
    out.push_back(zipLeaves(what, a.at(i), b.at(i), op));
  for (int i = common; i < a.rank(); ++i)
    out.push_back(a.at(i));
  for (int i = common; i < b.rank(); ++i)
    out.push_back(b.at(i));
  return IntTuple::tuple(std::move(out));
}

IntTuple add(const IntTuple &a, const IntTuple &b) {
  if (a.isLeaf(0))
    return b;
  if (b.isLeaf(0))
    return a;
  if (a.isLeaf() && b.isLeaf() && !a.isBasis() && !b.isBasis())
    return a.leaf() + b.leaf();
  const IntTuple x = a.isLeaf() ? basisToTuple(a) : a;
  const IntTuple y = b.isLeaf() ? basisToTuple(b) : b;
  if (x.isLeaf() || y.isLeaf())
    fail("sum of a number and a coordinate: ", a, " + ", b);
  std::vector<IntTuple> out;
  const int common = std::min(x.rank(), y.rank());
  for (int i = 0; i < common; ++i)
    out.push_back(add(x.at(i), y.at(i)));
  for (int i = common; i < x.rank(); ++i)
    out.push_back(x.at(i));
  for (int i = common; i < y.rank(); ++i)
    out.push_back(y.at(i));
  return IntTuple::tuple(std::move(out));
}

IntTuple sub(const IntTuple &a, const IntTuple &b) {
  return zipLeaves("difference", a, b, [](const Int &x, const Int &y) { return x - y; });
}
IntTuple mul(const IntTuple &a, const IntTuple &b) {
  return zipLeaves("product", a, b, [](const Int &x, const Int &y) { return x * y; });
}
IntTuple div(const IntTuple &a, const IntTuple &b) {
  return zipLeaves("quotient", a, b, [](const Int &x, const Int &y) { return x / y; });
}
IntTuple mod(const IntTuple &a, const IntTuple &b) {
  return zipLeaves("remainder", a, b, [](const Int &x, const Int &y) { return x % y; });
}
IntTuple min(const IntTuple &a, const IntTuple &b) {
  return zipLeaves("minimum", a, b, [](const Int &x, const Int &y) { return min(x, y); });
}
IntTuple max(const IntTuple &a, const IntTuple &b) {
  return zipLeaves("maximum", a, b, [](const Int &x, const Int &y) { return max(x, y); });
}

IntTuple sum(const IntTuple &t) {
  if (t.isLeaf())
    return t;
  IntTuple result = sum(t.at(0));
  for (int i = 1; i < t.rank(); ++i)
    result = add(result, sum(t.at(i)));
  return result;
}

Int product(const IntTuple &t) {
  if (t.isLeaf())
    return t.leaf();
  Int result = product(t.at(0));
  for (int i = 1; i < t.rank(); ++i)
    result = result * product(t.at(i));
  return result;
}

IntTuple productEach(const IntTuple &t) {
  if (t.isLeaf())
    return t;
  std::vector<IntTuple> out;
  for (int i = 0; i < t.rank(); ++i)
    out.emplace_back(product(t.at(i)));
  return IntTuple::tuple(std::move(out));
}

IntTuple productLike(const IntTuple &t, const IntTuple &guide) {
  if (guide.isLeaf())
    return product(t);
  if (t.rank() != guide.rank())
    fail("product_like of ", t, " and ", guide, ": their ranks differ");
  std::vector<IntTuple> out;
  for (int i = 0; i < guide.rank(); ++i)
    out.push_back(productLike(t.at(i), guide.at(i)));
  return IntTuple::tuple(std::move(out));
}

IntTuple innerProduct(const IntTuple &a, const IntTuple &b) {
  if (a.isLeaf() && b.isLeaf())
    return a.leaf() * b.leaf();
  if (a.isLeaf() != b.isLeaf() || a.rank() != b.rank())
    fail("inner product of ", a, " and ", b, ", which are not nested alike");
  IntTuple result = innerProduct(a.at(0), b.at(0));
  for (int i = 1; i < a.rank(); ++i)
    result = add(result, innerProduct(a.at(i), b.at(i)));
  return result;
}

/// Divides shapes, with `divide` for the leaves. A number is used up from the left: after a leaf a,
/// divide(b, a) is left of the divisor b.
template <class Divide>
static IntTuple divideShapes(const IntTuple &a, const IntTuple &b, Divide &&divide) {
  if (a.isLeaf())
    return divide(a.leaf(), product(b));
  std::vector<IntTuple> out;
  if (b.isLeaf()) {
    Int rest = b.leaf();
    auto useUp = [&](auto &&self, const IntTuple &t) -> IntTuple {
      if (t.isLeaf()) {
        Int quotient = divide(t.leaf(), rest);
        rest = divide(rest, t.leaf());
        return quotient;
      }
      std::vector<IntTuple> parts;
      for (int i = 0; i < t.rank(); ++i)
        parts.push_back(self(self, t.at(i)));
      return IntTuple::tuple(std::move(parts));
    };
    return useUp(useUp, a);
  }
  const int common = std::min(a.rank(), b.rank());
  for (int i = 0; i < common; ++i)
    out.push_back(divideShapes(a.at(i), b.at(i), divide));
  for (int i = common; i < a.rank(); ++i)
    out.push_back(a.at(i));
  return IntTuple::tuple(std::move(out));
}

IntTuple ceilDiv(const IntTuple &a, const IntTuple &b) {
  return divideShapes(a, b, [](const Int &x, const Int &y) { return ceilDiv(x, y); });
}
IntTuple shapeDiv(const IntTuple &a, const IntTuple &b) {
  return divideShapes(a, b, [](const Int &x, const Int &y) { return shapeDiv(x, y); });
}

// --- Comparison ---

Int elemLess(const IntTuple &a, const IntTuple &b) {
  if (a.isLeaf() && b.isLeaf())
    return lessThan(a.leaf(), b.leaf());
  if (a.rank() > b.rank())
    return 0;
  Int result = elemLess(a.at(0), b.at(0));
  for (int i = 1; i < a.rank(); ++i)
    result = logicalAnd(result, elemLess(a.at(i), b.at(i)));
  return result;
}

Int equal(const IntTuple &a, const IntTuple &b) {
  if (a.isLeaf() && b.isLeaf())
    return equalTo(a.leaf(), b.leaf());
  if (a.isLeaf() != b.isLeaf() || a.rank() != b.rank())
    return 0;
  Int result = equal(a.at(0), b.at(0));
  for (int i = 1; i < a.rank(); ++i)
    result = logicalAnd(result, equal(a.at(i), b.at(i)));
  return result;
}

} // namespace flydsl::layout
