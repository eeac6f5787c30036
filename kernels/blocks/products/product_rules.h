// What products ask of the matrix that they write.
#pragma once

#include "blocks/products/stored_together.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Why rows of operands start at multiples of 16 bytes.
inline constexpr const char *kLoadedPieces = "16 bytes are loaded at a time";
inline constexpr const char *kStoredGroups = "as many of n are moved at a time";

/// C, (m, n), of whose rows a tile has as many as `tile` says.
inline Expected productRows(DType dtype, std::int64_t m, std::int64_t n, const Reach &tile) {
  return {.name = "c",
          .dtype = dtype,
          .shape = {"m, n", m, n},
          .free = 1,
          .use = Use::written,
          .align = storedTogether(n),
          .reason = kStoredGroups,
          .reach = tile};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
