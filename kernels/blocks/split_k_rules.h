// The workspace of a product whose K is shared by several blocks. No compiler is needed to ask.
#pragma once

#include <flydsl/dtype.h>

#include <cstddef>
#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The sums of the parts of a product: [part][row][column].
struct PartsShape {
  int parts;
  std::int64_t n; ///< columns of the product
  DType acc;      ///< f32 or i32

  /// Columns in memory: rows start at multiples of 16 bytes.
  std::int64_t columns() const { return (n + 3) / 4 * 4; }
  std::size_t bytes(std::int64_t m) const {
    return static_cast<std::size_t>(parts * m * columns() * acc.bytes());
  }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
