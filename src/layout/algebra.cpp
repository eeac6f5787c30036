#include "layout/algebra.h"

#include "layout/checked.h"

#include <utility>

namespace flydsl::layout {

namespace {

/// One leaf of a layout, with shape and stride.
struct Mode {
  Int shape;
  Int stride;
};

/// Sorts by key(x), rising and stable. Insertion sort suffices, because layouts have few modes.
template <class T, class Key> void sortBy(std::vector<T> &items, Key &&key) {
  for (size_t i = 1; i < items.size(); ++i)
    for (size_t j = i; j > 0 && key(items[j]) < key(items[j - 1]); --j)
      std::swap(items[j], items[j - 1]);
}

std::vector<Mode> modesOf(const Layout &layout) {
  std::vector<Int> shapes = layout.shape().leaves(), strides = layout.stride().leaves();
  std::vector<Mode> modes;
  modes.reserve(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i)
    modes.push_back({std::move(shapes[i]), std::move(strides[i])});
  return modes;
}

/// The layout of a flat list of modes; a single mode becomes a leaf, no mode becomes 1:0.
Layout layoutOf(const std::vector<Mode> &modes) {
  if (modes.empty())
    return Layout(1, 0);
  if (modes.size() == 1)
    return Layout(modes.front().shape, modes.front().stride);
  std::vector<IntTuple> shape, stride;
  shape.reserve(modes.size());
  stride.reserve(modes.size());
  for (const Mode &m : modes) {
    shape.emplace_back(m.shape);
    stride.emplace_back(m.stride);
  }
  return Layout(IntTuple::tuple(std::move(shape)), IntTuple::tuple(std::move(stride)));
}

/// True if `next` continues where `mode` ends, as far as static numbers tell.
bool continues(const Mode &mode, const Mode &next) {
  if (!mode.shape.isStatic() || !mode.stride.isStatic() || !next.shape.isStatic() ||
      !next.stride.isStatic() || mode.stride.basis() != next.stride.basis())
    return false;
  int64_t end;
  return !__builtin_mul_overflow(mode.shape.value(), mode.stride.value(), &end) &&
         end == next.stride.value();
}

/// Joins modes. With `keepEnd`, a last mode of size 1 survives with size 2, so that the result
/// still says where an index past the end goes.
std::vector<Mode> joinModes(const std::vector<Mode> &modes, bool keepEnd) {
  std::vector<Mode> out;
  for (size_t i = 0; i < modes.size(); ++i) {
    Mode m = modes[i];
    if (m.shape.isStatic(1)) {
      if (!keepEnd || i + 1 != modes.size())
        continue;
      m.shape = 2;
    }
    if (!out.empty() && continues(out.back(), m))
      out.back().shape = out.back().shape * m.shape;
    else
      out.push_back(std::move(m));
  }
  return out;
}

/// Coalesces the modes under the leaves of a profile and keeps their ends (see joinModes).
Layout coalesceOpenEnded(const Layout &layout, const IntTuple &profile) {
  if (profile.isLeaf())
    return layoutOf(joinModes(modesOf(layout), true));
  if (layout.rank() < profile.rank())
    fail("composition: the layout ", layout, " has no mode for each axis of ", profile);
  std::vector<Layout> modes;
  for (int i = 0; i < layout.rank(); ++i)
    modes.push_back(i < profile.rank() ? coalesceOpenEnded(layout.at(i), profile.at(i))
                                       : layout.at(i));
  return concat(std::move(modes));
}

/// A, or the mode of A that an axis selects, in the form in which composition walks through it.
struct Domain {
  Layout whole;            ///< the layout as given
  std::vector<Mode> modes; ///< the layout coalesced, its last mode open
  /// The number of steps that B's leaves together take in each mode. If there were one more than
  /// fit, they would carry into the next mode, where the sum of the leaves' values would not be the
  /// value of their sum.
  std::vector<int64_t> taken;
};

/// Composes A with B leaf by leaf.
class Composer {
public:
  Composer(const Layout &a, const IntTuple &profile)
      : a_(a), open_(coalesceOpenEnded(a, profile)) {}

  Layout compose(const IntTuple &shape, const IntTuple &stride) {
    if (shape.isLeaf())
      return canonical(
          composeLeaf(domainOf(stride.leaf().basis()), shape.leaf(), stride.leaf().withoutBasis()));
    std::vector<Layout> modes;
    for (int i = 0; i < shape.rank(); ++i)
      modes.push_back(compose(shape.at(i), stride.at(i)));
    return concat(std::move(modes));
  }

private:
  Domain &domainOf(const ModePath &axis) {
    for (auto &[path, domain] : domains_)
      if (path == axis)
        return domain;
    Domain domain{a_.at(axis), modesOf(open_.at(axis)), {}};
    domain.taken.resize(domain.modes.size());
    return domains_.emplace_back(axis, std::move(domain)).second;
  }

  static Layout composeLeaf(Domain &a, const Int &shape, const Int &stride);
  static void take(Domain &a, size_t mode, const Int &shape, const Int &stride);

  const Layout &a_;
  Layout open_;
  std::vector<std::pair<ModePath, Domain>> domains_; // one domain, or one per axis of B
};

Layout Composer::composeLeaf(Domain &a, const Int &shape, const Int &stride) {
  if (stride.isStatic(0))
    return Layout(shape, stride);
  if (shape.isStatic(1))
    return Layout(1, 0);
  if (a.modes.size() == 1)
    return Layout(shape, a.modes.front().stride * stride);

  auto notAdmissible = [&](const auto &...why) {
    fail("composition of ", a.whole, " with ", shape, ":", stride, " is not a layout: ", why...);
  };
  Int restShape = shape, restStride = stride;
  std::vector<Mode> out;
  for (size_t i = 0; i + 1 < a.modes.size() && !restShape.isStatic(1); ++i) {
    const Mode &m = a.modes[i];
    const bool staticStep = m.shape.isStatic() && restStride.isStatic();
    if (m.shape.isStatic(0))
      notAdmissible("the mode ", m.shape, ":", m.stride, " has no elements");
    if (staticStep) {
      if (restStride.value() < 0)
        notAdmissible("a negative stride runs out of the domain");
      if (restStride.value() >= m.shape.value() && restStride.value() % m.shape.value() != 0)
        notAdmissible("the mode ", m.shape, ":", m.stride, " does not divide the stride ",
                      restStride, " that reaches it");
    }
    Int stepShape = ceilDiv(m.shape, restStride);
    Int nextStride = ceilDiv(restStride, m.shape);
    if (stepShape.isStatic(1)) {
      restStride = nextStride;
      continue;
    }
    Int newShape = min(stepShape, restShape);
    if (newShape.isStatic() && restShape.isStatic()) {
      if (newShape.value() == 0 || restShape.value() % newShape.value() != 0)
        notAdmissible("of ", restShape, " steps, ", newShape, " fit into the mode ", m.shape, ":",
                      m.stride);
      if (staticStep && newShape.value() < restShape.value() &&
          m.shape.value() % restStride.value() != 0)
        notAdmissible("steps of ", restStride, " leave the mode ", m.shape, ":", m.stride,
                      " in its middle");
    }
    take(a, i, newShape, restStride);
    out.push_back({newShape, restStride * m.stride});
    restShape = restShape / newShape;
    restStride = nextStride;
  }
  if (out.empty() || !restShape.isStatic(1))
    out.push_back({restShape, restStride * a.modes.back().stride});
  return layoutOf(out);
}

void Composer::take(Domain &a, size_t mode, const Int &shape, const Int &stride) {
  if (!shape.isStatic() || !stride.isStatic() || !a.whole.shape().isStatic())
    return;
  int64_t &taken = a.taken[mode];
  taken = checkedAdd(taken, checkedMul(shape.value() - 1, stride.value()));
  const Int &extent = a.modes[mode].shape;
  if (taken < extent.value())
    return;
  // Past A's own last mode the values are not used, so they may be wrong.
  Int reached = 1;
  for (size_t i = 0; i <= mode; ++i)
    reached = reached * a.modes[i].shape;
  if (reached.value() < size(a.whole).value())
    fail("composition of ", a.whole,
         " is not a layout: the modes of the other layout together take ", taken,
         " steps in the mode ", extent, ":", a.modes[mode].stride, " and carry into the next");
}

} // namespace

/// True if canonical() changes nothing.
static bool isCanonical(const IntTuple &shape, const IntTuple &stride) {
  if (shape.isLeaf())
    return !shape.isLeaf(1) || stride.isLeaf(0);
  for (int i = 0, n = shape.rank(); i < n; ++i)
    if (n == 1 || !isCanonical(shape.at(i), stride.at(i)))
      return false;
  return true;
}

Layout canonical(const Layout &layout) {
  if (isCanonical(layout.shape(), layout.stride()))
    return layout;
  if (layout.isLeaf())
    return Layout(1, 0);
  if (layout.rank() == 1)
    return canonical(layout.at(0));
  std::vector<Layout> modes;
  for (int i = 0; i < layout.rank(); ++i)
    modes.push_back(canonical(layout.at(i)));
  return concat(std::move(modes));
}

Layout coalesce(const Layout &layout) {
  std::vector<Mode> modes = modesOf(layout);
  if (modes.size() == 1 && !modes.front().shape.isStatic(1))
    return layout;
  return layoutOf(joinModes(modes, false));
}

Layout coalesce(const Layout &layout, const IntTuple &profile) {
  if (profile.isLeaf())
    return coalesce(layout);
  if (layout.rank() < profile.rank())
    fail("coalesce of ", layout, " by ", profile, ", which has more modes");
  std::vector<Layout> modes;
  for (int i = 0; i < layout.rank(); ++i)
    modes.push_back(i < profile.rank() ? coalesce(layout.at(i), profile.at(i)) : layout.at(i));
  return concat(std::move(modes));
}

AnyLayout coalesce(const AnyLayout &layout, const std::optional<IntTuple> &profile) {
  return mapOutermost(
      layout, [&](const Layout &l) { return profile ? coalesce(l, *profile) : coalesce(l); });
}

Layout composition(const Layout &a, const Layout &b) {
  return canonical(Composer(a, coprofile(b)).compose(b.shape(), b.stride()));
}

Layout composition(const Layout &a, const Tile &b) {
  if (b.isWildcard())
    return canonical(a);
  if (!b.isList())
    return composition(a, b.toLayout());
  if (b.rank() > a.rank())
    fail("composition of ", a, " with the tile ", b, ", which has more modes");
  std::vector<Layout> modes;
  for (int i = 0; i < a.rank(); ++i)
    modes.push_back(i < b.rank() ? composition(a.at(i), b.at(i)) : a.at(i));
  return canonical(concat(std::move(modes)));
}

AnyLayout composition(const AnyLayout &a, const Layout &b) {
  return mapOutermost(a, [&](const Layout &l) { return composition(l, b); });
}
AnyLayout composition(const AnyLayout &a, const Tile &b) {
  return mapOutermost(a, [&](const Layout &l) { return composition(l, b); });
}

Layout complement(const Layout &layout, const std::optional<Int> &codomain) {
  if (layout.stride().hasBasis())
    fail("complement of ", layout, ": strides along axes have none");
  if (codomain && (codomain->isWildcard() || codomain->hasBasis()))
    fail("complement of ", layout, " needs a number to reach, not ", *codomain);
  Layout moving(filterZero(layout.stride(), layout.shape()), layout.stride());
  std::vector<Mode> modes = joinModes(modesOf(moving), false);
  const Int end = codomain ? *codomain : cosize(layoutOf(modes));
  if (modes.empty())
    return Layout(end, 1);
  for (const Mode &m : modes) {
    if (!m.stride.isStatic() && modes.size() > 1)
      fail("complement of ", layout, ": the stride ", m.stride,
           " is dynamic, and its place among the others is not known");
    if (m.stride.isStatic() && m.stride.value() <= 0)
      fail("complement of ", layout, ": the stride ", m.stride, " is not positive");
  }
  if (modes.size() > 1)
    sortBy(modes, [](const Mode &m) { return m.stride.value(); });

  std::vector<Mode> out;
  Int reached = 1;
  for (const Mode &m : modes) {
    Int gap = m.stride / reached;
    if (gap.isStatic(0))
      fail("complement of ", layout, ": the mode ", m.shape, ":", m.stride, " starts below ",
           reached, ", where the modes before it still run");
    out.push_back({gap, reached});
    reached = m.stride * m.shape;
  }
  out.push_back({ceilDiv(end, reached), reached});
  return layoutOf(joinModes(out, false));
}

namespace {

/// A mode of the coalesced layout, with the advance of the index when the mode's coordinate
/// advances by one.
struct InverseMode {
  Mode mode;
  Int step;
};

std::vector<InverseMode> inverseModes(const char *what, const Layout &layout) {
  if (layout.stride().hasBasis())
    fail(what, " of ", layout, ": strides along axes have none");
  std::vector<InverseMode> modes;
  Int step = 1;
  for (const Mode &m : joinModes(modesOf(layout), false)) {
    modes.push_back({m, step});
    step = step * m.shape;
  }
  return modes;
}

void sortByStride(std::vector<InverseMode> &modes) {
  sortBy(modes, [](const InverseMode &m) { return m.mode.stride.value(); });
}

} // namespace

Layout rightInverse(const Layout &layout) {
  std::vector<InverseMode> modes = inverseModes("right_inverse", layout);
  std::erase_if(modes, [](const InverseMode &m) {
    return !m.mode.stride.isStatic() || !m.mode.shape.isStatic();
  });
  sortByStride(modes);
  std::vector<Mode> out;
  int64_t next = 1;
  for (const InverseMode &m : modes) {
    if (m.mode.stride.value() != next)
      continue;
    out.push_back({m.mode.shape, m.step});
    next = checkedMul(m.mode.shape.value(), next);
  }
  return layoutOf(joinModes(out, false));
}

Layout leftInverse(const Layout &layout) {
  std::vector<InverseMode> modes = inverseModes("left_inverse", layout);
  for (const InverseMode &m : modes)
    if (!m.mode.stride.isStatic() || m.mode.stride.value() <= 0)
      fail("left_inverse of ", layout, " needs static positive strides, not ", m.mode.stride);
  sortByStride(modes);
  // Mode i of the inverse covers the values between the strides of modes i - 1 and i.
  std::vector<Mode> out;
  Int reached = 1;
  Int step = 0;
  for (size_t i = 0; i < modes.size(); ++i) {
    const Mode &m = modes[i].mode;
    if (!m.stride.isDivisibleBy(reached.value()))
      fail("left_inverse of ", layout, ": the stride ", reached, " does not divide the stride ",
           m.stride);
    if (i > 0 && modes[i - 1].mode.shape.isStatic() &&
        checkedMul(modes[i - 1].mode.shape.value(), modes[i - 1].mode.stride.value()) >
            m.stride.value())
      fail("left_inverse of ", layout, ": the modes ", modes[i - 1].mode.shape, ":",
           modes[i - 1].mode.stride, " and ", m.shape, ":", m.stride, " hit values twice");
    out.push_back({m.stride / reached, step});
    reached = m.stride;
    step = modes[i].step;
  }
  if (!modes.empty())
    out.push_back({modes.back().mode.shape, step});
  return layoutOf(joinModes(out, false));
}

} // namespace flydsl::layout
