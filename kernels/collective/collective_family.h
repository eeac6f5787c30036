// Collectives, between their host file and their kernel.
#pragma once

#include "collective/group_call.h"
#include "frame/family.h"

#include <flydsl/kernels/collective.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN

namespace kernels::impl {

/// What a thread moves at a time.
inline constexpr int kAccessBytes = 16;

template <class Side> struct CollectiveParams {
  Strided<Side, 0> x, y;       // (accesses, elements)
  Param<Side, Int32> accesses; ///< of the longer one of x and y
  Param<Side, Int32> part;     ///< accesses of a part
  Param<Side, Int32> root;
  Param<Side, GroupParams<OnDevice>> group;
};
inline constexpr KernelOf<CollectiveParams> kCollective{"collective"};

/// The elements of an access.
inline int elementsOf(const CollectiveProblem &problem) {
  return kAccessBytes / problem.type.bytes();
}

/// The accesses of a block of values that have one scale on their way.
inline int accessesOfBlock(const CollectiveProblem &problem) {
  return problem.wire ? kWireBlock / elementsOf(problem) : 1;
}

/// Whether x and y are made of parts.
inline bool hasParts(const CollectiveProblem &problem) {
  switch (problem.kind) {
  case CollectiveKind::reduce_scatter:
  case CollectiveKind::all_gather:
  case CollectiveKind::all_to_all:
    return true;
  case CollectiveKind::all_reduce:
  case CollectiveKind::broadcast:
    return false;
  }
  return false;
}
/// Accesses of a part of a vector; of the whole vector if the ranks do not share it.
inline std::int64_t partAccesses(const CollectiveProblem &problem, const CollectiveConfig &config,
                                 std::int64_t m) {
  const bool isShared = hasParts(problem) || config.stages != CollectiveStages::one;
  if (!isShared)
    return m / elementsOf(problem);
  // Parts are whole blocks.
  const std::int64_t unit = accessesOfBlock(problem), units = m / elementsOf(problem) / unit;
  return (units + problem.ranks - 1) / problem.ranks * unit;
}
/// Accesses of a region of a window that a call touches.
inline std::int64_t windowAccesses(const CollectiveProblem &problem, const CollectiveConfig &config,
                                   std::int64_t m) {
  const std::int64_t part = partAccesses(problem, config, m);
  return config.stages == CollectiveStages::one ? m / elementsOf(problem) : part * problem.ranks;
}
/// Bytes of a region of a window that a call touches: values, and the scales of blocks after them.
inline std::int64_t regionBytes(const CollectiveProblem &problem, const CollectiveConfig &config,
                                std::int64_t m) {
  const std::int64_t accesses = windowAccesses(problem, config, m);
  if (!problem.wire)
    return accesses * kAccessBytes;
  return accesses * elementsOf(problem) + accesses / accessesOfBlock(problem);
}
/// The blocks of a launch.
inline std::int64_t collectiveBlocks(const CollectiveConfig &config, std::int64_t part) {
  return std::min<std::int64_t>((part + config.block - 1) / config.block, config.blocks);
}
/// What a rank's launch takes, but for its operands.
inline CollectiveParams<OnHost> collectiveParams(const CollectiveProblem &problem,
                                                 const CollectiveConfig &config, const Group &group,
                                                 std::int64_t m, int root) {
  CollectiveParams<OnHost> params{};
  params.accesses = static_cast<std::int32_t>(m / elementsOf(problem));
  params.part = static_cast<std::int32_t>(partAccesses(problem, config, m));
  params.root = root;
  params.group = groupParams(
      group, problem.wire ? DType(u8) : problem.type,
      {static_cast<std::int64_t>(problem.kind), static_cast<std::int64_t>(problem.type.kind()),
       static_cast<std::int64_t>(problem.wire.kind()), static_cast<std::int64_t>(config.stages),
       config.block, config.blocks, root, m});
  return params;
}

template <> struct Family<CollectiveProblem> : FamilyDefaults<CollectiveProblem> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kCollective}; }
  static std::int64_t rows(const A &args);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
