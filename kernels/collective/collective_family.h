// Collectives, between their host file and their kernel.
#pragma once

#include "frame/arguments.h"
#include "frame/family.h"

#include <flydsl/kernels/collective.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN

/// A group has memory of its own, which PlanOptions::check_memory has nothing to say of. (The frame
/// finds this function by the group's namespace.)
inline void expectInMemory(std::string_view, std::string_view, const Group *,
                           const std::source_location &) {}

namespace kernels::impl {

/// What a thread moves at a time.
inline constexpr int kAccessBytes = 16;

/// What a rank's launch has of each rank's window.
template <class Side> struct WindowParams {
  Strided<Side, 0> signals; // (most_ranks, most_blocks)
  Strided<Side, 2> data;    // (2 turns, 2 regions, accesses, elements)
};

template <class Side> struct CollectiveParams {
  Strided<Side, 0> x, y;       // (accesses, elements)
  Param<Side, Int32> accesses; ///< of the longer one of x and y
  Param<Side, Int32> part;     ///< accesses of a part
  Param<Side, Int32> rank, root;
  Param<Side, Int32> call; ///< differs between different calls
  std::array<Param<Side, WindowParams<OnDevice>>, GroupMemory::most_ranks> windows;
  Param<Side, WindowParams<OnDevice>> own;
  Strided<Side, 0> counts; // (most_blocks): the calls of this rank
  Strided<Side, 0> status; // (1)
  Param<Side, Int64> timeout;
};
inline constexpr KernelOf<CollectiveParams> kCollective{"collective"};

/// The elements of an access.
inline int elementsOf(const CollectiveProblem &problem) {
  return kAccessBytes / problem.type.bytes();
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
  const std::int64_t accesses = m / elementsOf(problem), ranks = problem.ranks;
  const bool isShared = hasParts(problem) || config.stages != CollectiveStages::one;
  return isShared ? (accesses + ranks - 1) / ranks : accesses;
}
/// Accesses of a region of a window that a call touches.
inline std::int64_t windowAccesses(const CollectiveProblem &problem, const CollectiveConfig &config,
                                   std::int64_t m) {
  const std::int64_t part = partAccesses(problem, config, m);
  return config.stages == CollectiveStages::one ? m / elementsOf(problem) : part * problem.ranks;
}
/// The blocks of a launch.
inline std::int64_t collectiveBlocks(const CollectiveConfig &config, std::int64_t part) {
  return std::min<std::int64_t>((part + config.block - 1) / config.block, config.blocks);
}
/// A number that differs, as a rule, between calls that do not go together.
inline std::int32_t callNumber(const CollectiveProblem &problem, const CollectiveConfig &config,
                               std::int64_t m, int root) {
  std::uint32_t hash = 0x811c9dc5; // FNV-1a
  const auto add = [&](std::int64_t value) {
    hash = (hash ^ static_cast<std::uint32_t>(value)) * 0x01000193;
  };
  add(static_cast<std::int64_t>(problem.kind));
  add(problem.type == f32 ? 0 : problem.type == f16 ? 1 : 2);
  add(static_cast<std::int64_t>(config.stages));
  add(config.block);
  add(config.blocks);
  add(root);
  add(m);
  return static_cast<std::int32_t>(hash);
}
/// What a rank's launch takes, but for its operands.
inline CollectiveParams<OnHost> collectiveParams(const CollectiveProblem &problem,
                                                 const CollectiveConfig &config, const Group &group,
                                                 std::int64_t m, int root) {
  const GroupMemory &memory = group.memory();
  CollectiveParams<OnHost> params{};
  params.accesses = static_cast<std::int32_t>(m / elementsOf(problem));
  params.part = static_cast<std::int32_t>(partAccesses(problem, config, m));
  params.rank = group.rank();
  params.root = root;
  params.call = callNumber(problem, config, m, root);
  params.status.address = address(memory.status);
  params.timeout = memory.timeout_ticks;
  const auto turn = static_cast<std::int64_t>(memory.turn_bytes) / problem.type.bytes();
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(problem.ranks); ++rank) {
    const std::int64_t window = address(memory.windows[rank]);
    params.windows[rank].signals.address = window;
    params.windows[rank].data = {.address = window + std::int64_t{GroupMemory::turns_at},
                                 .stride = {turn, turn / 2}};
  }
  const auto own = static_cast<std::size_t>(group.rank());
  params.own = params.windows[own];
  params.counts.address = params.own.signals.address + std::int64_t{GroupMemory::counts_at};
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
