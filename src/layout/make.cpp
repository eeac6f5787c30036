#include "layout/make.h"

#include "layout/checked.h"
#include "layout/product.h"

#include <algorithm>
#include <functional>

namespace flydsl::layout {

static IntTuple compactFrom(const IntTuple &shape, Int &current) {
  if (shape.isLeaf()) {
    Int stride = current;
    current = current * shape.leaf();
    return stride;
  }
  std::vector<IntTuple> out;
  for (int i = 0; i < shape.rank(); ++i)
    out.push_back(compactFrom(shape.at(i), current));
  return IntTuple::tuple(std::move(out));
}

IntTuple compactColMajor(const IntTuple &shape, const Int &start) {
  Int current = start;
  return compactFrom(shape, current);
}

Layout makeLayout(const IntTuple &shape) { return Layout(shape, compactColMajor(shape)); }

namespace {

/// True if a mode of order `a` (number i from the left) runs faster than one of order `b` (number
/// j).
bool runsFaster(const Int &a, size_t i, const Int &b, size_t j) {
  if (a.isStatic() && b.isStatic())
    return a.value() < b.value();
  if (a.isDynamic() && b.isDynamic())
    return i < j;
  return a.isStatic();
}

void collectExtents(const IntTuple &shape, const IntTuple &order, std::vector<Int> &out) {
  if (order.isLeaf()) {
    out.push_back(product(shape));
    return;
  }
  if (shape.isLeaf() || shape.rank() != order.rank())
    fail("ordered layout: the order ", order, " does not fit the shape ", shape);
  for (int i = 0; i < order.rank(); ++i)
    collectExtents(shape.at(i), order.at(i), out);
}

} // namespace

Layout makeOrderedLayout(const IntTuple &shape, const IntTuple &order) {
  std::vector<Int> orders = order.leaves();
  for (const Int &o : orders)
    if (o.isWildcard() || o.hasBasis())
      fail("ordered layout: an order holds numbers, but this one is ", order);
  std::vector<Int> extents;
  collectExtents(shape, order, extents);

  size_t next = 0;
  std::function<IntTuple(const IntTuple &, const IntTuple &)> strides =
      [&](const IntTuple &s, const IntTuple &o) -> IntTuple {
    if (!o.isLeaf()) {
      std::vector<IntTuple> out;
      for (int i = 0; i < o.rank(); ++i)
        out.push_back(strides(s.at(i), o.at(i)));
      return IntTuple::tuple(std::move(out));
    }
    const size_t self = next++;
    Int start = 1;
    for (size_t i = 0; i < orders.size(); ++i)
      if (runsFaster(orders[i], i, orders[self], self))
        start = start * extents[i];
    return compactColMajor(s, start);
  };
  return Layout(shape, strides(shape, order));
}

Layout makeLayoutLike(const Layout &layout) {
  IntTuple moving = filterZero(layout.stride(), layout.shape());
  return Layout(layout.shape(), makeOrderedLayout(moving, layout.stride()).stride());
}

static IntTuple basisLike(const IntTuple &profile, ModePath &path) {
  if (profile.isLeaf())
    return Int(1).withBasis(path);
  std::vector<IntTuple> out;
  for (int i = 0; i < profile.rank(); ++i) {
    path.push_back(i);
    out.push_back(basisLike(profile.at(i), path));
    path.pop_back();
  }
  return IntTuple::tuple(std::move(out));
}

Layout makeIdentityLayout(const IntTuple &shape) {
  ModePath path;
  return Layout(shape, basisLike(shape, path));
}

/// The order of strides. Of strides along different axes, the shorter one runs faster; of equally
/// long ones, the one along the first axis does. If equal ones had the same order, two coordinates
/// would share a register.
static IntTuple orderOf(const IntTuple &strides) {
  auto before = [](const Int &a, const Int &b) {
    return a.value() != b.value() ? a.value() < b.value() : a.basis() < b.basis();
  };
  std::vector<Int> known = strides.leaves();
  std::erase_if(known, [](const Int &d) { return !d.isStatic(); });
  std::ranges::sort(known, before);
  known.erase(std::ranges::unique(known).begin(), known.end());
  return strides.mapLeaves([&](const Int &d) {
    return d.isStatic() ? Int(std::ranges::lower_bound(known, d, before) - known.begin())
                        : d.withoutBasis();
  });
}

Layout makeFragmentLayout(const Layout &layout) {
  if (!layout.shape().isStatic())
    fail("a fragment's layout needs a static shape, but this one is like ", layout);
  if (layout.rank() == 1)
    return makeLayout(layout.shape());
  Layout values = layout.at(0);
  Layout first(values.shape(), compactColMajor(filterZero(values.stride(), values.shape())));
  Layout rest = take(layout, 1, -1);
  return tiledProduct(first, makeOrderedLayout(rest.shape(), orderOf(rest.stride())));
}

// --- Recast ---

namespace {

/// A layout with the results of fn(shape leaf, stride leaf) in place of its leaves.
template <class F> Layout transformLeaves(const Layout &layout, F &&fn) {
  if (layout.isLeaf()) {
    auto [shape, stride] = fn(layout.shape().leaf(), layout.stride().leaf());
    return Layout(shape, stride);
  }
  std::vector<Layout> modes;
  for (int i = 0; i < layout.rank(); ++i)
    modes.push_back(transformLeaves(layout.at(i), fn));
  return concat(std::move(modes));
}

int32_t log2Of(const char *what, int64_t n) {
  if (n <= 0 || (n & (n - 1)) != 0)
    fail("recast of the swizzle ", what, " by ", n, ", which is not a power of two");
  return __builtin_ctzll(static_cast<uint64_t>(n));
}

/// The bit position of a swizzle after a move by `shift` (negative: to larger elements).
int32_t moveBit(const std::string &what, int32_t bit, int32_t shift) {
  if (bit + shift < 0)
    fail("recast of the swizzle ", what, ": it acts below the new element's size");
  return bit + shift;
}

InnerFunction recastInner(const InnerFunction &inner, int64_t n, bool up) {
  return std::visit(
      [&](const auto &f) -> InnerFunction {
        using F = std::decay_t<decltype(f)>;
        if constexpr (std::is_same_v<F, Layout>) {
          return up ? upcast(f, n) : downcast(f, n);
        } else if constexpr (std::is_same_v<F, ComposedLayout>) {
          return up ? recastLayout(f, 1, n) : recastLayout(f, n, 1);
        } else {
          const std::string text = f.str();
          const int32_t shift = (up ? -1 : 1) * log2Of(text.c_str(), n);
          if constexpr (std::is_same_v<F, Swizzle>)
            return Swizzle(f.mask, moveBit(text, f.base, shift), f.shift);
          else
            return CoordSwizzle(f.mask, moveBit(text, f.baseRow, shift), f.modeRow,
                                moveBit(text, f.baseCol, shift), f.modeCol);
        }
      },
      inner);
}

ComposedLayout recastStep(const ComposedLayout &layout, int64_t n, bool up) {
  auto outer = std::visit(
      [&](const auto &l) -> AnyLayout {
        if constexpr (std::is_same_v<std::decay_t<decltype(l)>, Layout>)
          return up ? upcast(l, n) : downcast(l, n);
        else
          return recastStep(l, n, up);
      },
      layout.outer());
  Int offset = layout.offset().leaf();
  return ComposedLayout(recastInner(layout.inner(), n, up),
                        up ? exactDiv(offset, n) : offset * Int(n), outer);
}

template <class L, class Up, class Down>
L recast(const L &layout, int64_t oldBits, int64_t newBits, Up &&up, Down &&down) {
  if (oldBits <= 0 || newBits <= 0)
    fail("recast_layout from ", oldBits, " to ", newBits, " bits: both are positive");
  const int64_t g = gcdOf(oldBits, newBits);
  const int64_t larger = newBits / g, smaller = oldBits / g;
  L result = larger == 1 ? layout : up(layout, larger);
  return smaller == 1 ? result : down(result, smaller);
}

} // namespace

Layout upcast(const Layout &layout, int64_t n) {
  if (n <= 0)
    fail("upcast by ", n);
  if (n == 1)
    return layout;
  return transformLeaves(layout, [&](const Int &shape, const Int &stride) -> std::pair<Int, Int> {
    if (stride.hasBasis())
      fail("upcast of ", layout, ": strides along axes are not counted in elements");
    if (stride.isStatic(0))
      return {shape, stride};
    if (!stride.isStatic())
      return {shape, exactDiv(stride, n)};
    const int64_t step = checkedAbs(stride.value());
    if (step % n != 0 && n % step != 0)
      fail("upcast of ", layout, " by ", n, ": the stride ", stride, " crosses elements");
    Int newShape = ceilDiv(shape, Int(step >= n ? 1 : n / step));
    int64_t newStep = step >= n ? step / n : 1;
    return {newShape, stride.value() < 0 ? -newStep : newStep};
  });
}

Layout downcast(const Layout &layout, int64_t n) {
  if (n <= 0)
    fail("downcast by ", n);
  if (n == 1)
    return layout;
  // Finds the contiguous mode. A mode of size 1 may have any stride, so it counts only if there is
  // no other.
  auto isContiguous = [](const Int &d) { return d.isStatic(1) || d.isStatic(-1); };
  std::vector<Int> shapes = layout.shape().leaves(), strides = layout.stride().leaves();
  bool moving = false;
  for (size_t i = 0; i < shapes.size(); ++i)
    moving |= isContiguous(strides[i]) && !shapes[i].isStatic(1);
  return transformLeaves(layout, [&](const Int &shape, const Int &stride) -> std::pair<Int, Int> {
    if (stride.hasBasis())
      fail("downcast of ", layout, ": strides along axes are not counted in elements");
    if (isContiguous(stride) && moving && shape.isStatic(1))
      return {shape, stride};
    if (isContiguous(stride))
      return {shape * Int(n), stride};
    return {shape, stride * Int(n)};
  });
}

Layout recastLayout(const Layout &layout, int64_t oldBits, int64_t newBits) {
  return recast(layout, oldBits, newBits, upcast, downcast);
}

ComposedLayout recastLayout(const ComposedLayout &layout, int64_t oldBits, int64_t newBits) {
  return recast(
      layout, oldBits, newBits,
      [](const ComposedLayout &l, int64_t n) { return recastStep(l, n, true); },
      [](const ComposedLayout &l, int64_t n) { return recastStep(l, n, false); });
}

AnyLayout recastLayout(const AnyLayout &layout, int64_t oldBits, int64_t newBits) {
  return std::visit([&](const auto &l) -> AnyLayout { return recastLayout(l, oldBits, newBits); },
                    layout);
}

} // namespace flydsl::layout
