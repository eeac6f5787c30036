// Tiles: what a divide or composition takes apart mode by mode.
#pragma once

#include "layout/layout.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace flydsl::layout {

/// One mode (a size, meaning size:1; a layout; `*`, which leaves the mode alone) or a list `[8|64]`
/// of tiles, one per mode. Immutable; a copy shares its parts.
class Tile {
public:
  /// A size or, given a wildcard, a mode left alone. A LayoutError for basis modes and for sizes
  /// below 1.
  Tile(Int mode);
  Tile(int64_t size) : Tile(Int(size)) {}
  Tile(int size) : Tile(Int(size)) {}
  Tile(Layout mode) : value_(std::move(mode)) {}
  /// `[a|b|...]`; an empty list is a LayoutError.
  static Tile list(std::vector<Tile> modes);
  /// `[8|64]` from (8,64), `[8|*]` from (8,*).
  static Tile fromSizes(const IntTuple &sizes);

  bool isList() const { return value_.index() == 2; }
  bool isWildcard() const { return isInt() && asInt().isWildcard(); }
  bool isInt() const { return value_.index() == 0; }
  bool isLayout() const { return value_.index() == 1; }
  const Int &asInt() const;
  const Layout &asLayout() const;
  /// Modes of a list; 1 otherwise.
  int rank() const;
  /// Mode `i`; of a single mode, 0 is the tile itself.
  const Tile &at(int i) const;

  /// The layout that the mode stands for, size:1 for a size; a LayoutError for `*` and lists.
  Layout toLayout() const;
  bool isStatic() const;

  bool operator==(const Tile &other) const;
  size_t hash() const;
  /// `[8|64]`, `[8|*|(4,2):(1,8)]`.
  std::string str() const;

private:
  using List = std::shared_ptr<const std::vector<Tile>>;
  explicit Tile(List list) : value_(std::move(list)) {}
  std::variant<Int, Layout, List> value_;
};

/// How many elements each mode takes: (8,64) of [8|64]. `*` stays a wildcard.
IntTuple sizesOf(const Tile &tile);

} // namespace flydsl::layout
