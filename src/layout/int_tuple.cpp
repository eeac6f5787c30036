#include "layout/int_tuple.h"

#include "layout/error.h"

#include <algorithm>

namespace flydsl::layout {

IntTuple IntTuple::tuple(std::vector<IntTuple> elements) {
  if (elements.empty())
    fail("a tuple has at least one element");
  IntTuple t;
  t.elements_ = std::make_shared<const std::vector<IntTuple>>(std::move(elements));
  return t;
}

IntTuple IntTuple::unwrapped(std::vector<IntTuple> elements) {
  if (elements.size() == 1)
    return std::move(elements.front());
  return tuple(std::move(elements));
}

const Int &IntTuple::leaf() const {
  if (!isLeaf())
    fail("a single integer is needed, but this is the tuple ", *this);
  return leaf_;
}

int IntTuple::depth() const {
  if (isLeaf())
    return 0;
  int deepest = 0;
  for (const IntTuple &e : *elements_)
    deepest = std::max(deepest, e.depth());
  return deepest + 1;
}

const IntTuple &IntTuple::at(int i) const {
  if (i < 0 || i >= rank())
    fail("mode ", i, " of ", *this, ", which has rank ", rank());
  return isLeaf() ? *this : (*elements_)[static_cast<size_t>(i)];
}

const IntTuple &IntTuple::at(const ModePath &path) const {
  const IntTuple *t = this;
  for (int32_t i : path)
    t = &t->at(i);
  return *t;
}

static IntTuple replacedFrom(const IntTuple &t, const ModePath &path, size_t depth,
                             const IntTuple &element) {
  if (depth == path.size())
    return element;
  t.at(path[depth]);
  if (t.isLeaf())
    return replacedFrom(t, path, depth + 1, element);
  std::vector<IntTuple> elements = t.elements();
  IntTuple &slot = elements[static_cast<size_t>(path[depth])];
  slot = replacedFrom(slot, path, depth + 1, element);
  return IntTuple::tuple(std::move(elements));
}

IntTuple IntTuple::replaced(const ModePath &path, const IntTuple &element) const {
  return replacedFrom(*this, path, 0, element);
}

std::vector<IntTuple> IntTuple::elements() const {
  return isLeaf() ? std::vector<IntTuple>{*this} : *elements_;
}

static void collectLeaves(const IntTuple &t, std::vector<Int> &out) {
  if (t.isLeaf()) {
    out.push_back(t.leaf());
    return;
  }
  for (int i = 0, n = t.rank(); i < n; ++i)
    collectLeaves(t.at(i), out);
}

std::vector<Int> IntTuple::leaves() const {
  std::vector<Int> out;
  collectLeaves(*this, out);
  return out;
}

/// The number of leaves that satisfy the predicate.
template <class P> static int countLeaves(const IntTuple &t, P &&predicate) {
  if (t.isLeaf())
    return predicate(t.leaf()) ? 1 : 0;
  int n = 0;
  for (int i = 0, r = t.rank(); i < r; ++i)
    n += countLeaves(t.at(i), predicate);
  return n;
}

int IntTuple::leafCount() const {
  return countLeaves(*this, [](const Int &) { return true; });
}

int IntTuple::dynamicLeafCount() const {
  return countLeaves(*this, [](const Int &v) { return v.isDynamic(); });
}

bool IntTuple::isStatic() const { return dynamicLeafCount() == 0; }

bool IntTuple::hasWildcard() const {
  return countLeaves(*this, [](const Int &v) { return v.isWildcard(); }) != 0;
}

bool IntTuple::hasBasis() const {
  return countLeaves(*this, [](const Int &v) { return v.hasBasis(); }) != 0;
}

IntTuple IntTuple::mapLeaves(const std::function<Int(const Int &)> &fn) const {
  if (isLeaf())
    return fn(leaf_);
  std::vector<IntTuple> out;
  out.reserve(elements_->size());
  for (const IntTuple &e : *elements_)
    out.push_back(e.mapLeaves(fn));
  return tuple(std::move(out));
}

bool IntTuple::operator==(const IntTuple &other) const {
  if (isLeaf() || other.isLeaf())
    return isLeaf() && other.isLeaf() && leaf_ == other.leaf_;
  return elements_ == other.elements_ || *elements_ == *other.elements_;
}

size_t IntTuple::hash() const {
  if (isLeaf())
    return leaf_.hash();
  size_t h = elements_->size() + 0x51ed27;
  for (const IntTuple &e : *elements_)
    h = h * 1000003 + e.hash();
  return h;
}

void appendText(std::string &out, const IntTuple &t) {
  if (t.isLeaf()) {
    out += t.leaf_.str();
    return;
  }
  char separator = '(';
  for (const IntTuple &e : *t.elements_) {
    out += separator;
    appendText(out, e);
    separator = ',';
  }
  out += ')';
}

std::string IntTuple::str() const {
  std::string out;
  appendText(out, *this);
  return out;
}

bool isCongruent(const IntTuple &a, const IntTuple &b) {
  if (a.isLeaf() || b.isLeaf())
    return a.isLeaf() && b.isLeaf();
  if (a.rank() != b.rank())
    return false;
  for (int i = 0, n = a.rank(); i < n; ++i)
    if (!isCongruent(a.at(i), b.at(i)))
      return false;
  return true;
}

bool isWeaklyCongruent(const IntTuple &a, const IntTuple &b) {
  if (a.isLeaf())
    return true;
  if (b.isLeaf() || a.rank() != b.rank())
    return false;
  for (int i = 0, n = a.rank(); i < n; ++i)
    if (!isWeaklyCongruent(a.at(i), b.at(i)))
      return false;
  return true;
}

IntTuple evaluate(const IntTuple &t, const SymbolValues &symbols) {
  return t.mapLeaves([&](const Int &v) {
    return v.isDynamic() ? Int(evaluate(v, symbols)).withBasis(v.basis()) : v;
  });
}

} // namespace flydsl::layout
