// What products ask of the matrix that they write.
#pragma once

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline constexpr const char *kStoredGroups = "as many of n are moved at a time";
/// The neighbours of a row of C that are stored together.
constexpr int storedTogether(std::int64_t n) { return n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1; }

/// Checks C, (m, n), whose rows do not overlap, and gives their distance.
inline std::int64_t productRows(const Arguments &arguments, const TensorArg &c, DType dtype,
                                std::int64_t m, std::int64_t n) {
  const std::int64_t apart =
      arguments.rowsApart(c, {"c", dtype, storedTogether(n), kStoredGroups}, m, n);
  if (apart < n) [[unlikely]]
    arguments.fail("c has rows " + std::to_string(apart) + " elements apart, which overlap");
  return apart;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
