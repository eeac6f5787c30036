// Group norms, between their host file and their kernel.
#pragma once

#include "blocks/rows/row_rules.h"
#include "frame/family.h"

#include <flydsl/kernels/rows/group_norm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Images are (n, pixels, channels) or (n, channels, pixels).
template <class Side> struct GroupNormParams {
  Strided<Side, 2> x, y;
  Strided<Side, 0> weight, bias; // (channels)
  Param<Side, Int32> images;
  Param<Side, Int32> pixels; // with channels first in pieces of an access
};
inline constexpr KernelOf<GroupNormParams> kGroupNorm{"group_norm"};

/// How a group is read.
struct GroupShape {
  explicit GroupShape(const GroupNormProblem &problem)
      : isLast(problem.layout == ImageLayout::channels_last),
        channels(problem.channels / problem.groups) {
    const int natural = isLast ? naturalAlign(problem.channels) : 1,
              align = problem.row_align ? problem.row_align : natural;
    access = std::min(16 / std::max(problem.x.bytes(), problem.y.bytes()), align);
    if (isLast)
      access = std::min(access, naturalAlign(channels));
  }
  bool isLast;
  int channels; ///< of a group
  int access;   ///< elements that are read together: channels of a pixel, or pixels of a channel
  /// With channels last: accesses of a pixel's channels of a group.
  int pieces() const { return channels / access; }
};

template <> struct Family<GroupNormProblem> : FamilyDefaults<GroupNormProblem, &GroupNormArgs::x> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kGroupNorm}; }
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
