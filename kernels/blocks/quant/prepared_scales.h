// What calls expect of scales in the order of PreparedScales.
#pragma once

#include "frame/arguments.h"
#include "frame/expected.h"

#include <flydsl/kernels/weight.h>

#include <limits>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The scales of a matrix (rows, k), packed. `modes` are the names of the shape for messages.
inline Expected preparedScales(const char *name, const char *modes, std::int64_t rows,
                               std::int64_t k) {
  const auto [groups, blocks, bytes] = PreparedScales::shape(rows, k);
  return {.name = name, .dtype = f8E8M0FNU, .shape = {modes, groups, blocks, bytes}};
}
/// Prepared scales that the call writes, at offsets of 32 bits. `parts`: what the rows of the matrix are called.
inline Expected writtenPreparedScales(const Arguments &arguments, const char *name,
                                      const char *modes, std::int64_t rows, std::int64_t k,
                                      const char *parts) {
  const auto [groups, blocks, bytes] = PreparedScales::shape(rows, k);
  if (const std::int64_t all = groups * blocks * bytes;
      all > std::numeric_limits<std::int32_t>::max())
    arguments.fail(
        std::string(name) + " has " + std::to_string(all) +
        " bytes; prepared scales that a call writes have less than 2 GiB. Call the plan for "
        "parts of the " +
        std::string(parts));
  Expected scales = preparedScales(name, modes, rows, k);
  scales.use = Use::written;
  return scales;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
