// How rows of elements lie in shared memory (shared_rows.h), and the bytes that they take.
#pragma once

#include "blocks/facts/lds_layout.h"

#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What the rows of a matrix instruction's operand are, and where the lanes of the next column read.
enum class RowsRead : std::uint8_t {
  neighbours, ///< 16 neighbouring rows; the next column is the next chunk
  /// Rows 8 b + a, a and b below 4, the next column is the next chunk; and 16 lanes that read
  /// neighbouring chunks of one row, the next 16 lanes of the row 8 rows after it.
  groups,
  /// Neighbouring rows as above; and rows 8 b + a with the next column four chunks further.
  transposed,
  /// As groups; and two lanes that read the halves of a chunk, the next two of the next row, over 16 rows.
  turned,
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
  //                    and with odd numbers deal them to those four. `turned`: rows 0 to 7 of 16 are at
  //                    even places, and the xor with 9 puts the others at odd ones.
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
    case RowsRead::turned: // by LDS of 64 banks alone
      return {16, 2, 9, 0};
    }
    return {};
  }
  /// Elements of a chunk.
  static int chunk(DType type) { return 16 / type.bytes(); }
  /// The elements from the start of a row to the start of the next one.
  int distance(int elements, DType type) const {
    const int multiple = whole * chunk(type);
    return (elements + multiple - 1) / multiple * multiple + extra * chunk(type);
  }
  /// The bytes of rows.
  std::int64_t bytes(int rows, int elements, DType type) const {
    return std::int64_t(rows) * distance(elements, type) * type.bytes();
  }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
