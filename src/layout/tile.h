// Tiles: the divisor of a divide and the right side of a composition, mode by mode.
#pragma once

#include "layout/layout.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace flydsl::layout {

/// The tiler of one mode (a size, meaning size:1; a layout; or `*`, which leaves the mode alone),
/// or a list `[8|64]` of tiles, one per mode. It is immutable; a copy shares its parts.
class Tile {
public:
  /// Makes the tiler of one mode from a size or a wildcard. A LayoutError for basis modes and for
  /// sizes below 1.
  Tile(Int mode);
  Tile(int64_t size) : Tile(Int(size)) {}
  Tile(int size) : Tile(Int(size)) {}
  Tile(Layout mode) : value_(std::move(mode)) {}
  /// Makes `[a|b|...]`; an empty list is a LayoutError.
  static Tile list(std::vector<Tile> modes);
  /// Makes `[8|64]` from (8,64), `[8|*]` from (8,*).
  static Tile fromSizes(const IntTuple &sizes);

  bool isList() const { return value_.index() == 2; }
  bool isWildcard() const { return isInt() && asInt().isWildcard(); }
  bool isInt() const { return value_.index() == 0; }
  bool isLayout() const { return value_.index() == 1; }
  const Int &asInt() const;
  const Layout &asLayout() const;
  /// The number of modes of a list; 1 otherwise.
  int rank() const;
  /// Mode `i`; for a single mode, mode 0 is the tile itself.
  const Tile &at(int i) const;

  /// The layout of a single mode, which is size:1 for a size; a LayoutError for `*` and for lists.
  Layout toLayout() const;
  bool isStatic() const;

  bool operator==(const Tile &other) const;
  size_t hash() const;
  /// The tile as text: `[8|64]`, `[8|*|(4,2):(1,8)]`.
  std::string str() const;

private:
  using List = std::shared_ptr<const std::vector<Tile>>;
  explicit Tile(List list) : value_(std::move(list)) {}
  std::variant<Int, Layout, List> value_;
};

/// The number of elements that each mode takes: (8,64) for [8|64]. `*` stays a wildcard.
IntTuple sizesOf(const Tile &tile);

} // namespace flydsl::layout
