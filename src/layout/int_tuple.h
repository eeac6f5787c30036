// Nested tuples of integers: shapes, strides, coordinates, orders, profiles.
#pragma once

#include "layout/int.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace flydsl::layout {

/// A leaf (an Int) or a tuple of at least one IntTuple. It is immutable; a copy shares its
/// elements. A tuple of one element differs from the element: `(4)` has rank 1 and depth 1, `4` has
/// rank 1 and depth 0.
class IntTuple {
public:
  /// The leaf 0.
  IntTuple() = default;
  IntTuple(Int leaf) : leaf_(std::move(leaf)) {}
  IntTuple(int64_t leaf) : leaf_(leaf) {}
  IntTuple(int leaf) : leaf_(leaf) {}

  /// A tuple of these elements; an empty list is a LayoutError.
  static IntTuple tuple(std::vector<IntTuple> elements);
  /// A tuple of these elements or, if there is only one, that element. Operations return lists of
  /// modes in this form.
  static IntTuple unwrapped(std::vector<IntTuple> elements);

  bool isLeaf() const { return elements_ == nullptr; }
  /// True for a leaf that is the static number `v` without basis modes.
  bool isLeaf(int64_t v) const { return isLeaf() && leaf_.isStatic(v); }
  bool isWildcard() const { return isLeaf() && leaf_.isWildcard(); }
  /// True for a leaf with basis modes.
  bool isBasis() const { return isLeaf() && leaf_.hasBasis(); }
  /// The leaf; a LayoutError for a tuple.
  const Int &leaf() const;

  /// The number of elements of a tuple; 1 for a leaf.
  int rank() const { return isLeaf() ? 1 : static_cast<int>(elements_->size()); }
  /// 0 for a leaf, otherwise 1 + the depth of the deepest element.
  int depth() const;
  /// Element `i`; for a leaf, element 0 is the leaf itself. Another index is a LayoutError.
  const IntTuple &at(int i) const;
  /// The element at the end of a path; for an empty path, the whole tuple.
  const IntTuple &at(const ModePath &path) const;
  const IntTuple &operator[](int i) const { return at(i); }
  /// The same tuple with another element at the end of a path.
  IntTuple replaced(const ModePath &path, const IntTuple &element) const;
  /// The elements; for a leaf, the leaf.
  std::vector<IntTuple> elements() const;

  /// All leaves from left to right.
  std::vector<Int> leaves() const;
  int leafCount() const;
  int dynamicLeafCount() const;
  /// True if no leaf is dynamic; a wildcard is not dynamic.
  bool isStatic() const;
  bool hasWildcard() const;
  bool hasBasis() const;
  /// The same nesting with fn(leaf) in place of each leaf.
  IntTuple mapLeaves(const std::function<Int(const Int &)> &fn) const;

  /// True if nesting and types of the leaves are the same; expressions are not compared.
  bool operator==(const IntTuple &other) const;
  size_t hash() const;
  /// The tuple as text: `8`, `(8,?{div=4})`, `(4,(2,*))`.
  std::string str() const;

private:
  friend void appendText(std::string &out, const IntTuple &t);
  Int leaf_;
  std::shared_ptr<const std::vector<IntTuple>> elements_;
};

/// IntTuple::tuple of the arguments: `tup(8, tup(2, 4))`.
template <class... Elements> IntTuple tup(Elements &&...elements) {
  std::vector<IntTuple> list;
  list.reserve(sizeof...(elements));
  (list.emplace_back(std::forward<Elements>(elements)), ...);
  return IntTuple::tuple(std::move(list));
}

/// True if the nesting is the same.
bool isCongruent(const IntTuple &a, const IntTuple &b);
/// True if `a` is nowhere deeper than `b`: where `a` has a leaf, `b` has a leaf or a tuple.
bool isWeaklyCongruent(const IntTuple &a, const IntTuple &b);

/// The same tuple with the value of every leaf for given values of the symbols; static and wildcard
/// leaves stay.
IntTuple evaluate(const IntTuple &t, const SymbolValues &symbols);

} // namespace flydsl::layout
