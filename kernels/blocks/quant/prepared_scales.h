// What calls expect of scales in the order of PreparedScales.
#pragma once

#include "frame/expected.h"

#include <flydsl/kernels/weight.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The scales of a matrix (rows, k), packed. `modes` are the names of the shape for messages.
inline Expected preparedScales(const char *name, const char *modes, std::int64_t rows,
                               std::int64_t k) {
  const auto [groups, blocks, bytes] = PreparedScales::shape(rows, k);
  return {.name = name, .dtype = f8E8M0FNU, .shape = {modes, groups, blocks, bytes}};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
