// Pieces of windows that a kernel reads and writes as vectors and as rows. The group's parameters are
// those of bytes (groupParams with u8).
#pragma once

#include "blocks/rows/row.h"
#include "collective/group_call.h"

#include <flydsl/flydsl.h>

#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// In the place of a turn: registered memory, which follows the two turns.
inline constexpr std::int32_t kRegisteredTurn = 2;

/// Where the windows of this turn are, and what they hold from a byte on.
class WindowRows {
public:
  WindowRows(const GroupParams<OnDevice> &params, int ranks, const Int32 &turn)
      : p_(params), ranks_(ranks), turn_(turn) {}

  /// Elements of a rank's window, from byte `first` on: (count).
  Tensor vector(int rank, DType type, std::int64_t first, std::int64_t count) const {
    return Strided<OnDevice, 0>{.address = at(window(rank), first), .stride = {}}.view(
        type, count, kPieceOfWindow); // (count)
  }
  /// Rows of the window of a rank that the kernel knows, from byte `first` on: (count, n).
  Tensor rows(const Int32 &rank, DType type, std::int64_t first, std::int64_t count,
              const RowShape &shape) const {
    std::vector<Int64> chosen{Int64(window(0).data.address)};
    for (int other = 1; other < ranks_; ++other)
      chosen.push_back(Int64(select(rank == other, window(other).data.address, chosen.back())));
    return rowsFrom(chosen.back(), type, first, count, shape);
  }
  /// The same of the own window.
  Tensor ownRows(DType type, std::int64_t first, std::int64_t count, const RowShape &shape) const {
    return rowsFrom(Int64(p_.own.data.address), type, first, count, shape);
  }
  /// Elements of the own window: (count).
  Tensor ownVector(DType type, std::int64_t first, std::int64_t count) const {
    return Strided<OnDevice, 0>{.address = at(p_.own, first), .stride = {}}.view(
        type, count,
        kPieceOfWindow); // (count)
  }

private:
  const WindowParams<OnDevice> &window(int rank) const {
    return p_.windows[static_cast<std::size_t>(rank)];
  }
  /// The turns of all windows have the same size.
  Int64 offset(std::int64_t first) const { return Int64(turn_ * p_.own.data.stride[0] + first); }
  Int64 at(const WindowParams<OnDevice> &window, std::int64_t first) const {
    return Int64(window.data.address + offset(first));
  }
  Tensor rowsFrom(const Int64 &window, DType type, std::int64_t first, std::int64_t count,
                  const RowShape &shape) const {
    const std::int64_t stride = windowRowBytes(type, shape.n) * 8 / type.memory_bits();
    return rowsOf(
        Strided<OnDevice, 1>{.address = Int64(window + offset(first)), .stride = {Int64(stride)}},
        type, Int32(static_cast<std::int32_t>(count)), shape); // (count, n)
  }

  const GroupParams<OnDevice> &p_;
  const int ranks_;
  const Int32 turn_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
