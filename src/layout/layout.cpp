#include "layout/layout.h"

#include "layout/error.h"

namespace flydsl::layout {

namespace {

void checkShape(const IntTuple &shape, const IntTuple &whole) {
  if (!shape.isLeaf()) {
    for (int i = 0, n = shape.rank(); i < n; ++i)
      checkShape(shape.at(i), whole);
    return;
  }
  const Int &s = shape.leaf();
  if (s.isWildcard() || s.hasBasis())
    fail("a layout's shape holds numbers, but this one is ", whole);
  if (s.isStatic() && s.value() < 0)
    fail("a layout's shape is not negative, but this one is ", whole);
}

} // namespace

Layout::Layout(IntTuple shape, IntTuple stride)
    : shape_(std::move(shape)), stride_(std::move(stride)) {
  if (!isCongruent(shape_, stride_))
    fail("shape and stride of a layout are nested alike, but here are shape ", shape_,
         " and stride ", stride_);
  checkShape(shape_, shape_);
  if (stride_.hasWildcard())
    fail("a layout's stride holds no wildcard, but this one is ", stride_);
}

Layout Layout::at(int i) const {
  if (i < 0 || i >= rank())
    fail("mode ", i, " of layout ", *this, ", which has rank ", rank());
  Layout r;
  r.shape_ = shape_.at(i);
  r.stride_ = stride_.at(i);
  return r;
}

Layout Layout::at(const ModePath &path) const {
  Layout r = *this;
  for (int32_t i : path)
    r = r.at(i);
  return r;
}

Layout concat(std::vector<Layout> modes) {
  // The parts are congruent and checked already, because they come from layouts.
  std::vector<IntTuple> shape, stride;
  shape.reserve(modes.size());
  stride.reserve(modes.size());
  for (Layout &m : modes) {
    shape.push_back(std::move(m.shape_));
    stride.push_back(std::move(m.stride_));
  }
  Layout r;
  r.shape_ = IntTuple::tuple(std::move(shape));
  r.stride_ = IntTuple::tuple(std::move(stride));
  return r;
}

struct ComposedLayout::Parts {
  InnerFunction inner;
  IntTuple offset;
  AnyLayout outer;
};

ComposedLayout::ComposedLayout(InnerFunction inner, IntTuple offset, AnyLayout outer) {
  if (offset.hasWildcard())
    fail("a composed layout's offset holds no wildcard, but this one is ", offset);
  parts_ =
      std::make_shared<const Parts>(Parts{std::move(inner), std::move(offset), std::move(outer)});
}

const InnerFunction &ComposedLayout::inner() const { return parts_->inner; }
const IntTuple &ComposedLayout::offset() const { return parts_->offset; }
const AnyLayout &ComposedLayout::outer() const { return parts_->outer; }

bool ComposedLayout::isStatic() const {
  return layout::isStatic(inner()) && offset().isStatic() && layout::isStatic(outer());
}
int ComposedLayout::rank() const { return shape().rank(); }
int ComposedLayout::depth() const { return shape().depth(); }
ComposedLayout ComposedLayout::at(int i) const {
  return ComposedLayout(inner(), offset(), layout::at(outer(), i));
}
ComposedLayout ComposedLayout::at(const ModePath &path) const {
  return ComposedLayout(inner(), offset(), layout::at(outer(), path));
}
const IntTuple &ComposedLayout::shape() const { return shapeOf(outer()); }

int ComposedLayout::dynamicLeafCount() const {
  auto count = [](const auto &x) -> int {
    if constexpr (requires { x.dynamicLeafCount(); })
      return x.dynamicLeafCount();
    else
      return 0;
  };
  return std::visit(count, inner()) + offset().dynamicLeafCount() + std::visit(count, outer());
}

bool ComposedLayout::operator==(const ComposedLayout &other) const {
  return parts_ == other.parts_ ||
         (inner() == other.inner() && offset() == other.offset() && outer() == other.outer());
}

size_t ComposedLayout::hash() const {
  return (hashOf(inner()) * 31 + offset().hash()) * 31 + hashOf(outer());
}

std::string ComposedLayout::str() const {
  std::string outerText = layout::str(outer());
  if (std::holds_alternative<ComposedLayout>(outer()))
    outerText = "[" + outerText + "]";
  return layout::str(inner()) + " o " + offset().str() + " o " + outerText;
}

const IntTuple &shapeOf(const AnyLayout &layout) {
  return std::visit([](const auto &l) -> const IntTuple & { return l.shape(); }, layout);
}
bool isStatic(const AnyLayout &layout) {
  return std::visit([](const auto &l) { return l.isStatic(); }, layout);
}
bool isStatic(const InnerFunction &function) {
  return std::visit(
      [](const auto &f) {
        if constexpr (requires { f.isStatic(); })
          return f.isStatic();
        else
          return true;
      },
      function);
}
int rank(const AnyLayout &layout) { return shapeOf(layout).rank(); }
int depth(const AnyLayout &layout) { return shapeOf(layout).depth(); }
AnyLayout at(const AnyLayout &layout, int i) {
  return std::visit([i](const auto &l) -> AnyLayout { return l.at(i); }, layout);
}
AnyLayout at(const AnyLayout &layout, const ModePath &path) {
  return std::visit([&](const auto &l) -> AnyLayout { return l.at(path); }, layout);
}
size_t hashOf(const AnyLayout &layout) {
  return std::visit([](const auto &l) { return l.hash(); }, layout) * 5 + layout.index();
}
size_t hashOf(const InnerFunction &function) {
  return std::visit([](const auto &f) { return f.hash(); }, function) * 5 + function.index();
}
std::string str(const AnyLayout &layout) {
  return std::visit([](const auto &l) { return l.str(); }, layout);
}
std::string str(const InnerFunction &function) {
  return std::visit([](const auto &f) { return f.str(); }, function);
}

static std::function<Int(const Int &)> evaluator(const SymbolValues &symbols) {
  return [&symbols](const Int &v) {
    return v.isDynamic() ? Int(evaluate(v, symbols)).withBasis(v.basis()) : v;
  };
}

Layout evaluate(const Layout &layout, const SymbolValues &symbols) {
  return mapLeaves(layout, evaluator(symbols));
}
ComposedLayout evaluate(const ComposedLayout &layout, const SymbolValues &symbols) {
  return mapLeaves(layout, evaluator(symbols));
}
AnyLayout evaluate(const AnyLayout &layout, const SymbolValues &symbols) {
  return mapLeaves(layout, evaluator(symbols));
}

Layout mapLeaves(const Layout &layout, const std::function<Int(const Int &)> &fn) {
  IntTuple shape = layout.shape().mapLeaves(fn);
  return Layout(std::move(shape), layout.stride().mapLeaves(fn));
}
ComposedLayout mapLeaves(const ComposedLayout &layout, const std::function<Int(const Int &)> &fn) {
  InnerFunction inner = mapLeaves(layout.inner(), fn);
  IntTuple offset = layout.offset().mapLeaves(fn);
  return ComposedLayout(std::move(inner), std::move(offset), mapLeaves(layout.outer(), fn));
}
AnyLayout mapLeaves(const AnyLayout &layout, const std::function<Int(const Int &)> &fn) {
  return std::visit([&](const auto &l) -> AnyLayout { return mapLeaves(l, fn); }, layout);
}
InnerFunction mapLeaves(const InnerFunction &function, const std::function<Int(const Int &)> &fn) {
  return std::visit(
      [&](const auto &f) -> InnerFunction {
        if constexpr (requires { f.shape(); })
          return mapLeaves(f, fn);
        else
          return f;
      },
      function);
}

} // namespace flydsl::layout
