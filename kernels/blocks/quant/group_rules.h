// What the host says of rows whose values are quantised by groups of neighbours.
#pragma once

#include "blocks/quant/quant_rules.h"
#include "blocks/rows/row_rules.h"

#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Neighbours of a row that have a scale of their own, which the threads that have them make together.
struct QuantGroups {
  int size = 0; ///< 0: there are none
  DType scale = f32;
  BlockScale block = BlockScale::ceil; ///< of f8E8M0FNU
  bool prepared = false;               ///< whether scales lie as PreparedScales says
  explicit operator bool() const { return size != 0; }

  /// The threads of a group; each has one access.
  int lanes(const RowShape &row) const { return size / row.vector; }
};

/// The fewest and most values of a group.
inline constexpr int kFewestOfGroup = 16, kMostOfGroup = 1024;

/// Whether values of this type may have such scales.
inline Support groupTypeSupported(const char *name, DType type, const QuantGroups &groups) {
  if (groups.scale == f32)
    return quantisedSupported(name, type);
  if (groups.scale != f8E8M0FNU)
    return Support::no("group_scale is " + std::string(groups.scale.name()) +
                       "; f32 and f8E8M0FNU are supported");
  if (blockFormat(type))
    return {};
  if (!quantisedFormat(type))
    return Support::no(std::string(name) + " is quantised with powers of two and of type " +
                       std::string(type.name()) + "; floats of 8 bits and f4E2M1FN are supported");
  // OCP's rule is of OCP's types.
  if (groups.block == BlockScale::floor)
    return Support::no(std::string(name) + " is of type " + std::string(type.name()) +
                       ", which OCP's rule BlockScale::floor does not know; take ceil");
  return {};
}

/// Whether rows may have such groups on a target.
inline Support groupsSupported(const char *name, DType type, const QuantGroups &groups,
                               const RowShape &row, const Target &target) {
  if (groups.size < kFewestOfGroup || groups.size > kMostOfGroup ||
      !std::has_single_bit(static_cast<unsigned>(groups.size)))
    return Support::no("group is " + std::to_string(groups.size) + "; it is a power of two from " +
                       std::to_string(kFewestOfGroup) + " to " + std::to_string(kMostOfGroup) +
                       ", or 0 for a scale of the whole row");
  if (const Support typed = groupTypeSupported(name, type, groups); !typed)
    return typed;
  if (row.n % groups.size)
    return Support::no("n is " + std::to_string(row.n) + "; rows are whole groups of " +
                       std::to_string(groups.size));
  if (row.vector * type.bits() < 8)
    return Support::no("row_align is 1; two values of " + std::string(type.name()) +
                       " share a byte, which is a row's own");
  if (groups.lanes(row) > target.wave_size())
    return Support::no("a group of " + std::to_string(groups.size) + " with " +
                       std::to_string(row.vector) + " values a thread has " +
                       std::to_string(groups.lanes(row)) + " threads, and a wave " +
                       std::to_string(target.wave_size()) + "; take smaller groups" +
                       (row.vector < 4 ? ", or a larger row_align" : ""));
  return {};
}

/// Whether the threads of a configuration have whole groups.
inline Support groupsSupported(const QuantGroups &groups, const RowShape &row,
                               const RowConfig &config) {
  if (config.threads % groups.lanes(row))
    return Support::no("threads=" + std::to_string(config.threads) + ": a block of " +
                       std::to_string(groups.size) + " values has " +
                       std::to_string(groups.lanes(row)) +
                       " threads, and a row a number of blocks");
  return {};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
