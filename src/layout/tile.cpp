#include "layout/tile.h"

#include "layout/error.h"
#include "layout/tuple_ops.h"

namespace flydsl::layout {

Tile::Tile(Int mode) : value_(std::move(mode)) {
  const Int &v = std::get<Int>(value_);
  if (v.hasBasis() || (v.isStatic() && v.value() < 1))
    fail("a tile's mode is a positive size, a layout or *, not ", v);
}

Tile Tile::list(std::vector<Tile> modes) {
  if (modes.empty())
    fail("a tile has at least one mode");
  return Tile(std::make_shared<const std::vector<Tile>>(std::move(modes)));
}

Tile Tile::fromSizes(const IntTuple &sizes) {
  if (sizes.isLeaf())
    return Tile(sizes.leaf());
  std::vector<Tile> modes;
  for (const IntTuple &e : sizes.elements())
    modes.push_back(fromSizes(e));
  return list(std::move(modes));
}

const Int &Tile::asInt() const {
  if (!isInt())
    fail("the tile ", *this, " is not a size");
  return std::get<Int>(value_);
}

const Layout &Tile::asLayout() const {
  if (!isLayout())
    fail("the tile ", *this, " is not a layout");
  return std::get<Layout>(value_);
}

int Tile::rank() const { return isList() ? static_cast<int>(std::get<List>(value_)->size()) : 1; }

const Tile &Tile::at(int i) const {
  if (i < 0 || i >= rank())
    fail("mode ", i, " of tile ", *this, ", which has rank ", rank());
  return isList() ? (*std::get<List>(value_))[static_cast<size_t>(i)] : *this;
}

Layout Tile::toLayout() const {
  if (isLayout())
    return asLayout();
  if (isWildcard() || isList())
    fail("the tile ", *this, " is not a single mode with a size");
  return Layout(asInt(), 1);
}

bool Tile::isStatic() const {
  if (isInt())
    return !asInt().isDynamic();
  if (isLayout())
    return asLayout().isStatic();
  for (int i = 0; i < rank(); ++i)
    if (!at(i).isStatic())
      return false;
  return true;
}

bool Tile::operator==(const Tile &other) const {
  if (value_.index() != other.value_.index())
    return false;
  if (!isList())
    return value_ == other.value_;
  return *std::get<List>(value_) == *std::get<List>(other.value_);
}

size_t Tile::hash() const {
  if (isInt())
    return asInt().hash();
  if (isLayout())
    return asLayout().hash() * 7 + 1;
  size_t h = 0x7113;
  for (int i = 0; i < rank(); ++i)
    h = h * 1000003 + at(i).hash();
  return h;
}

std::string Tile::str() const {
  if (isInt())
    return asInt().str();
  if (isLayout())
    return asLayout().str();
  std::string s = "[";
  for (int i = 0; i < rank(); ++i)
    s += (i ? "|" : "") + at(i).str();
  return s + "]";
}

IntTuple sizesOf(const Tile &tile) {
  if (tile.isInt())
    return tile.asInt();
  if (tile.isLayout())
    return product(tile.asLayout().shape());
  std::vector<IntTuple> sizes;
  for (int i = 0; i < tile.rank(); ++i)
    sizes.push_back(sizesOf(tile.at(i)));
  return IntTuple::tuple(std::move(sizes));
}

} // namespace flydsl::layout
