// All-reduces with a norm, between their host file and their kernel.
#pragma once

#include "collective/group_call.h"
#include "norm/norm_family.h"

#include <flydsl/kernels/collective_norm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct CollectiveNormParams {
  Param<Side, NormParams<OnDevice>> norm;
  Param<Side, GroupParams<OnDevice>> group;
};
inline constexpr KernelOf<CollectiveNormParams> kCollectiveNorm{"collective_norm"};

/// Elements from a row of a window to the next: each begins where its widest access may.
inline std::int64_t windowStride(const NormProblem &problem) {
  return windowRowBytes(problem.x, problem.n) / problem.x.bytes();
}

template <>
struct Family<CollectiveNormProblem>
    : FamilyDefaults<CollectiveNormProblem, &CollectiveNormArgs::x> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kCollectiveNorm}; }
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

/// What a rank's launch takes, but for the norm's operands.
inline GroupParams<OnHost> collectiveNormGroup(const CollectiveNormProblem &problem,
                                               const CollectiveNormConfig &config,
                                               const Group &group, std::int64_t m) {
  constexpr std::int64_t kKind = 0x100; // no CollectiveKind
  return groupParams(
      group, problem.norm.x,
      {kKind, config.rows.threads, config.rows.block, config.blocks, problem.norm.n, m});
}
/// The blocks of a launch.
inline std::int64_t collectiveNormBlocks(const CollectiveNormConfig &config, std::int64_t m) {
  const std::int64_t rows = config.rows.block / config.rows.threads;
  return std::min<std::int64_t>((m + rows - 1) / rows, config.blocks);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
