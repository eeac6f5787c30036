// Products whose K is shared by several blocks: each writes the sums of its part to memory, and a
// second kernel adds the parts, always in the same order, and finishes the result. So the result does
// not depend on which block comes first.
#pragma once

#include "blocks/epilogue.h"
#include "blocks/split_k_rules.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The sums of all parts, in the workspace.
class PartSums {
public:
  PartSums(const PartsShape &shape, const Int64 &address, const Int32 &m)
      : shape_(shape), address_(address), m_(m) {}

  /// The tile of a part's sums that starts at (row, column).
  TileMemory tile(const Int32 &part, const Int32 &row, const Int32 &column) const {
    const Int64 place =
        (part.to(i64) * m_.to(i64) + row.to(i64)) * shape_.columns() + column.to(i64);
    return {address_ + place * shape_.acc.bytes(), shape_.acc, Int64(shape_.columns())};
  }
  /// The sums of all parts, of a tile whose columns are those of the workspace from column `from`
  /// on.
  GroupSums total(const TileOfC &tile, std::int64_t from) const {
    std::vector<Pointer> buffers;
    for (int part = 0; part < shape_.parts; ++part)
      buffers.push_back(
          bufferOf(tile, this->tile(part, tile.firstRow(), tile.firstColumn() + Int32(from))));
    return [buffers, tile, shape = shape_](int i, int j) {
      const auto load = [&](std::size_t part) {
        const Int32 offset = (tile.row(i) * shape.columns() + tile.column(j)) * shape.acc.bytes();
        return loadGroup(buffers[part], offset, shape.acc, tile.group(), 4);
      };
      std::vector<Vector> sums{load(0)};
      for (std::size_t part = 1; part < buffers.size(); ++part)
        sums.push_back(sums.back() + load(part));
      return sums.back();
    };
  }

private:
  PartsShape shape_;
  Int64 address_;
  Int32 m_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
