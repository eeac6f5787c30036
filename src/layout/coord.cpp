#include "layout/coord.h"

#include "layout/error.h"

namespace flydsl::layout {

// --- Sizes ---

Int size(const Layout &layout) { return product(layout.shape()); }
Int size(const AnyLayout &layout) { return product(shapeOf(layout)); }

IntTuple coshape(const Layout &layout) {
  IntTuple last = layout.shape().mapLeaves([](const Int &s) { return s - Int(1); });
  IntTuple largest = innerProduct(last, layout.stride());
  if (largest.isBasis())
    largest = basisToTuple(largest);
  return largest.mapLeaves([](const Int &c) { return c + Int(1); });
}

Int cosize(const Layout &layout) { return product(coshape(layout)); }

IntTuple coprofile(const Layout &layout) {
  IntTuple value = sum(layout.stride());
  if (value.isBasis())
    value = basisToTuple(value);
  return value.mapLeaves([](const Int &) { return Int(0); });
}

// --- From coordinates to values ---

/// The value of a number that is spread over the modes of a tuple.
static IntTuple spreadIdx(const Int &coord, const IntTuple &shape, const IntTuple &stride) {
  if (shape.isLeaf())
    return coord * stride.leaf();
  const int rank = shape.rank();
  if (rank == 1)
    return spreadIdx(coord, shape.at(0), stride.at(0));
  IntTuple result;
  Int rest = coord;
  for (int i = 0; i < rank; ++i) {
    Int part = rest;
    if (i + 1 < rank) {
      Int extent = product(shape.at(i));
      part = rest % extent;
      rest = rest / extent;
    }
    IntTuple value = spreadIdx(part, shape.at(i), stride.at(i));
    result = i == 0 ? value : add(result, value);
  }
  return result;
}

IntTuple crd2idx(const IntTuple &coord, const IntTuple &shape, const IntTuple &stride) {
  if (coord.isLeaf()) {
    if (coord.isWildcard())
      return 0;
    if (coord.isBasis())
      fail("crd2idx of the axis ", coord, " in shape ", shape);
    return spreadIdx(coord.leaf(), shape, stride);
  }
  if (shape.isLeaf() && coord.rank() == 1)
    return crd2idx(coord.at(0), shape, stride);
  if (shape.isLeaf() || coord.rank() != shape.rank())
    fail("crd2idx of the coordinate ", coord, " in shape ", shape, ": their ranks differ");
  IntTuple result = crd2idx(coord.at(0), shape.at(0), stride.at(0));
  for (int i = 1; i < coord.rank(); ++i)
    result = add(result, crd2idx(coord.at(i), shape.at(i), stride.at(i)));
  return result;
}

IntTuple crd2idx(const IntTuple &coord, const Layout &layout) {
  return crd2idx(coord, layout.shape(), layout.stride());
}

IntTuple crd2idx(const IntTuple &coord, const ComposedLayout &layout) {
  return crd2idx(add(layout.offset(), crd2idx(coord, layout.outer())), layout.inner());
}

IntTuple crd2idx(const IntTuple &coord, const AnyLayout &layout) {
  return std::visit([&](const auto &l) { return crd2idx(coord, l); }, layout);
}

IntTuple crd2idx(const IntTuple &coord, const InnerFunction &function) {
  return std::visit(
      [&](const auto &f) -> IntTuple {
        if constexpr (requires { f.apply(coord); })
          return f.apply(coord.isBasis() ? basisToTuple(coord) : coord);
        else
          return crd2idx(coord.isBasis() ? basisToTuple(coord) : coord, f);
      },
      function);
}

/// Returns false if a number lies outside of its extent; `path` is then the path of modes to it.
static bool isInside(const IntTuple &coord, const IntTuple &shape, ModePath &path) {
  if (coord.isLeaf()) {
    const Int &at = coord.leaf();
    if (!at.isStatic() || at.hasBasis())
      return true;
    const Int extent = product(shape);
    return at.value() >= 0 && (!extent.isStatic() || at.value() < extent.value());
  }
  if (shape.isLeaf() && coord.rank() == 1)
    return isInside(coord.at(0), shape, path);
  if (shape.isLeaf() || coord.rank() != shape.rank())
    return true; // the operation that takes the coordinate reports this
  for (int i = 0; i < coord.rank(); ++i) {
    path.push_back(i);
    if (!isInside(coord.at(i), shape.at(i), path))
      return false;
    path.pop_back();
  }
  return true;
}

void expectInside(const IntTuple &coord, const IntTuple &shape) {
  ModePath path;
  if (isInside(coord, shape, path))
    return;
  IntTuple at = coord;
  std::string mode;
  for (int i : path) {
    at = at.at(i);
    mode += (mode.empty() ? " of mode " : ".") + std::to_string(i);
  }
  while (!at.isLeaf()) // a tuple of one mode
    at = at.at(0);
  const IntTuple within = path.empty() ? shape : shape.at(path);
  fail("the coordinate ", coord, " is outside of the shape ", shape, ": ", at, mode,
       at.leaf().value() < 0 ? " is negative" : " is not below the extent ",
       at.leaf().value() < 0 ? "" : product(within).str());
}

IntTuple crd2idxColMajor(const IntTuple &coord, const IntTuple &shape) {
  if (coord.isLeaf())
    return coord;
  if (coord.rank() != shape.rank())
    fail("position of the coordinate ", coord, " in shape ", shape, ": their ranks differ");
  const int last = coord.rank() - 1;
  IntTuple result = crd2idxColMajor(coord.at(last), shape.at(last));
  for (int i = last - 1; i >= 0; --i) {
    Int extent = product(shape.at(i));
    result = add(crd2idxColMajor(coord.at(i), shape.at(i)), extent * result.leaf());
  }
  return result;
}

// --- From values to coordinates ---

IntTuple idx2crd(const IntTuple &index, const IntTuple &shape, const IntTuple &stride) {
  if (index.isLeaf() && shape.isLeaf()) {
    if (shape.isLeaf(1) || stride.isLeaf(0))
      return 0;
    return index.leaf() / stride.leaf() % shape.leaf();
  }
  if (!index.isLeaf() && index.rank() != shape.rank())
    fail("idx2crd of ", index, " in shape ", shape, ": their ranks differ");
  std::vector<IntTuple> out;
  for (int i = 0; i < shape.rank(); ++i)
    out.push_back(idx2crd(index.isLeaf() ? index : index.at(i), shape.at(i), stride.at(i)));
  return IntTuple::tuple(std::move(out));
}

IntTuple idx2crd(const IntTuple &index, const Layout &layout) {
  return idx2crd(index, layout.shape(), layout.stride());
}

IntTuple idx2crdColMajor(const IntTuple &index, const IntTuple &shape) {
  if (shape.isLeaf())
    return index;
  std::vector<IntTuple> out;
  Int rest = index.leaf();
  for (int i = 0; i < shape.rank(); ++i) {
    Int part = rest;
    if (i + 1 < shape.rank()) {
      Int extent = product(shape.at(i));
      part = rest % extent;
      rest = rest / extent;
    }
    out.push_back(idx2crdColMajor(part, shape.at(i)));
  }
  return IntTuple::tuple(std::move(out));
}

IntTuple crd2crd(const IntTuple &coord, const IntTuple &from, const IntTuple &to) {
  if (coord.isLeaf() || from.isLeaf() || to.isLeaf())
    return idx2crdColMajor(crd2idxColMajor(coord, from), to);
  if (coord.rank() != from.rank() || coord.rank() != to.rank())
    fail("crd2crd of ", coord, " from shape ", from, " to shape ", to, ": their ranks differ");
  std::vector<IntTuple> out;
  for (int i = 0; i < coord.rank(); ++i)
    out.push_back(crd2crd(coord.at(i), from.at(i), to.at(i)));
  return IntTuple::tuple(std::move(out));
}

IntTuple getFlatCoord(const IntTuple &index, const Layout &layout) {
  IntTuple coord = idx2crd(index, layout);
  if (layout.isLeaf())
    return coord;
  std::vector<IntTuple> out;
  for (int i = 0; i < layout.rank(); ++i)
    out.push_back(crd2idxColMajor(coord.at(i), layout.shape().at(i)));
  return IntTuple::tuple(std::move(out));
}

IntTuple get1dCoord(const IntTuple &index, const Layout &layout) {
  return crd2idxColMajor(idx2crd(index, layout), layout.shape());
}

// --- Parts of layouts ---

Layout slice(const Layout &layout, const IntTuple &coord) {
  return Layout(slice(layout.shape(), coord), slice(layout.stride(), coord));
}

ComposedLayout slice(const ComposedLayout &layout, const IntTuple &coord) {
  if (auto *outer = std::get_if<ComposedLayout>(&layout.outer()))
    return ComposedLayout(layout.inner(), layout.offset(), slice(*outer, coord));
  const Layout &outer = std::get<Layout>(layout.outer());
  return ComposedLayout(layout.inner(), add(layout.offset(), crd2idx(coord, outer)),
                        slice(outer, coord));
}

AnyLayout slice(const AnyLayout &layout, const IntTuple &coord) {
  return std::visit([&](const auto &l) -> AnyLayout { return slice(l, coord); }, layout);
}

Layout dice(const Layout &layout, const IntTuple &coord) {
  return Layout(dice(layout.shape(), coord), dice(layout.stride(), coord));
}

Layout take(const Layout &layout, int begin, int end) {
  return Layout(take(layout.shape(), begin, end), take(layout.stride(), begin, end));
}
Layout select(const Layout &layout, const std::vector<int32_t> &modes) {
  return Layout(select(layout.shape(), modes), select(layout.stride(), modes));
}
Layout group(const Layout &layout, int begin, int end) {
  return Layout(group(layout.shape(), begin, end), group(layout.stride(), begin, end));
}
Layout append(const Layout &layout, const Layout &element, int rank) {
  return Layout(append(layout.shape(), element.shape(), rank),
                append(layout.stride(), element.stride(), rank));
}
Layout prepend(const Layout &layout, const Layout &element, int rank) {
  return Layout(prepend(layout.shape(), element.shape(), rank),
                prepend(layout.stride(), element.stride(), rank));
}
Layout flatten(const Layout &layout) {
  return Layout(flatten(layout.shape()), flatten(layout.stride()));
}
Layout expand(const Layout &layout, const std::vector<int32_t> &modes) {
  return Layout(expand(layout.shape(), modes), expand(layout.stride(), modes));
}
Layout zip(const Layout &layout) { return Layout(zip(layout.shape()), zip(layout.stride())); }

Layout padToRank(const Layout &layout, int rank) {
  return rank <= layout.rank() ? layout : append(layout, Layout(1, 0), rank);
}

const Layout &outermost(const AnyLayout &layout) {
  const AnyLayout *l = &layout;
  while (auto *composed = std::get_if<ComposedLayout>(l))
    l = &composed->outer();
  return std::get<Layout>(*l);
}

AnyLayout withOutermost(const AnyLayout &layout, const Layout &outermost) {
  if (auto *composed = std::get_if<ComposedLayout>(&layout))
    return ComposedLayout(composed->inner(), composed->offset(),
                          withOutermost(composed->outer(), outermost));
  return outermost;
}

std::pair<Layout, IntTuple> decompose(const ComposedLayout &layout) {
  IntTuple offset = layout.offset();
  Layout linear = outermost(layout);
  if (auto *outer = std::get_if<ComposedLayout>(&layout.outer()))
    offset = add(offset, decompose(*outer).second);
  return {linear, crd2idx(offset, layout.inner())};
}

} // namespace flydsl::layout
