// Rows of elements in shared memory, written and read in chunks of 16 bytes, such that the lanes
// that LDS serves together (lds_layout.h) find their chunks in different banks.
//
// Rows are some chunks longer than their elements, so that neighbouring rows lie in other banks.
// Rows that would fall into the same banks again have their chunks in another order: the number of a
// chunk is xored with one that follows from bits 3 and 4 of the row's number.
#pragma once

#include "blocks/facts/lds_layout.h"

#include <flydsl/flydsl.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What the rows of a matrix instruction's operand are, and where the lanes of the next column read.
enum class RowsRead : std::uint8_t {
  neighbours, ///< 16 neighbouring rows; the next column is the next chunk
  /// Rows 8 b + a, a and b below 4, the next column is the next chunk; and 16 lanes that read
  /// neighbouring chunks of one row, the next 16 lanes of the row 8 behind it.
  groups,
  /// Neighbouring rows as above; and rows 8 b + a with the next column four chunks further.
  transposed,
};

/// How rows lie. Numbers of chunks; `by8` and `by16` are xored in rows with bit 3 and bit 4.
struct RowPlacement {
  int whole;     ///< a row has a multiple of so many chunks,
  int extra;     ///< and these besides
  int by8, by16; ///< below `whole`

  // In units of chunks, with row = 4 b + a of the instruction and column c, a row begins at
  //
  //   CDNA, 32 banks   (8 places) 2 row: even places; the rows that are read with them are in the
  //                    next column: odd ones. `transposed`: the column is four further, and the xor of
  //                    1 makes it odd.
  //   CDNA, 64 banks   (16 places) 2 row: of the four groups of four rows two begin at 0 and 8 and two,
  //                    in the other column, at 1 and 9. Rows 8 b fall into the same places: xors with 8
  //                    and with odd numbers deal them to those four.
  //   RDNA             (8 places, lanes in order) an odd number for each row; rows 8 b fall into the
  //                    same places, and the xor with 4 parts two groups.
  // tests/kernels counts the conflicts of the kernels that use them.
  static RowPlacement of(const Target &target, RowsRead reads) {
    if (target.wave_size() == 32)
      return {8, 1, reads == RowsRead::neighbours ? 0 : 4, 0};
    const bool wide = lds_banks(target) == 64;
    switch (reads) {
    case RowsRead::neighbours:
      return {8, 2, 0, 0};
    case RowsRead::groups:
      return wide ? RowPlacement{16, 2, 0, 8} : RowPlacement{8, 2, 0, 0};
    case RowsRead::transposed:
      return wide ? RowPlacement{16, 2, 9, 1} : RowPlacement{8, 2, 1, 0};
    }
    return {};
  }
};

class SharedRows {
public:
  SharedRows(const Pointer &start, DType type, int elements, const RowPlacement &placement)
      : type_(type), placement_(placement), distance_(distance(elements, type, placement)),
        start_(start.recast(type)) {}

  static std::int64_t bytes(int rows, int elements, DType type, const RowPlacement &placement) {
    return std::int64_t(rows) * distance(elements, type, placement) * type.bytes();
  }

  /// `count` elements of a row from lane + constant on. `like`: a row of the same group of 8 rows.
  /// The two numbers have no bits in common.
  Vector load(const Int32 &row, const Int32 &like, const Int32 &lane, int constant,
              int count) const {
    const int size = std::min(count, chunk());
    const auto part = [&](int i) { return at(row, like, lane, constant + i * size).load(size); };
    if (count == size)
      return part(0);
    const Tensor all = make_rmem_tensor(IntTuple({size, count / size}), type_);
    for (int i = 0; i < count / size; ++i)
      all(_, i).store(part(i));
    return all.load();
  }
  /// Writes whole chunks of a row from `element` on, which is a multiple of what is written.
  void store(const Int32 &row, const Int32 &element, const Vector &values) const {
    const int count = static_cast<int>(values.size());
    const Tensor all = make_rmem_tensor(IntTuple({chunk(), count / chunk()}), type_);
    all.store(values);
    for (int i = 0; i < count / chunk(); ++i)
      at(row, row, element, i * chunk()).store(all(_, i).load());
  }

private:
  static int chunkOf(DType type) { return 16 / type.bytes(); }
  static int distance(int elements, DType type, const RowPlacement &placement) {
    const int whole = placement.whole * chunkOf(type);
    return (elements + whole - 1) / whole * whole + placement.extra * chunkOf(type);
  }
  int chunk() const { return chunkOf(type_); }
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
