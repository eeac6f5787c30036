// Rows of elements in shared memory, written and read in chunks of 16 bytes, such that the lanes
// that LDS serves together (lds_layout.h) find their chunks in different banks.
//
// Rows are some chunks longer than their elements, so that neighbouring rows lie in other banks.
// Rows that would fall into the same banks again have their chunks in another order: the number of a
// chunk is xored with one that follows from bits 3 and 4 of the row's number.
#pragma once

#include "blocks/facts/row_placement.h"

#include <flydsl/flydsl.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class SharedRows {
public:
  SharedRows(const Pointer &start, DType type, int elements, const RowPlacement &placement)
      : type_(type), placement_(placement), distance_(placement.distance(elements, type)),
        start_(start.recast(type)) {}

  /// `count` elements of a row from lane + constant on. `like`: a row of the same group of 8 rows.
  /// The two numbers have no bits in common.
  Vector load(const Int32 &row, const Int32 &like, const Int32 &lane, int constant,
              int count) const {
    const int size = std::min(count, chunk());
    const auto part = [&](int i) { return at(row, like, lane, constant + i * size).load(size); };
    if (count == size)
      return part(0);
    const Tensor all =
        make_rmem_tensor(IntTuple({size, count / size}), type_); // (size, count / size)
    for (int i = 0; i < count / size; ++i)
      all(_, i).store(part(i)); // (size)
    return all.load();
  }
  /// Where the elements of a row from lane + constant on are; as in `load`.
  Pointer place(const Int32 &row, const Int32 &like, const Int32 &lane, int constant) const {
    return at(row, like, lane, constant);
  }
  /// Writes whole chunks of a row from `element` on, which is a multiple of what is written.
  void store(const Int32 &row, const Int32 &element, const Vector &values) const {
    const int count = static_cast<int>(values.size());
    const Tensor all =
        make_rmem_tensor(IntTuple({chunk(), count / chunk()}), type_); // (chunk, count / chunk)
    all.store(values);
    for (int i = 0; i < count / chunk(); ++i)
      at(row, row, element, i * chunk()).store(all(_, i).load()); // (chunk)
  }

private:
  int chunk() const { return RowPlacement::chunk(type_); }
  /// What is xored with the number of an element in a row of the group of 8 rows of `like`.
  Int32 turned(const Int32 &like) const {
    const auto bit = [&](int rows, int chunks) { return like / rows % 2 * (chunks * chunk()); };
    if (!placement_.by16)
      return bit(8, placement_.by8);
    if (!placement_.by8)
      return bit(16, placement_.by16);
    return bit(8, placement_.by8) ^ bit(16, placement_.by16);
  }
  Pointer at(const Int32 &row, const Int32 &like, const Int32 &lane, int constant) const {
    const int mask = (placement_.by8 | placement_.by16) * chunk();
    if (!mask)
      return start_ + (row * distance_ + lane + constant);
    // The constant's bits that no xor changes are added; they become the instruction's offset.
    const Int32 own =
        lane ^ (constant & mask ? Int32(turned(like) ^ (constant & mask)) : turned(like));
    return start_ + (row * distance_ + own + (constant & ~mask));
  }

  DType type_;
  RowPlacement placement_;
  int distance_;
  Pointer start_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
