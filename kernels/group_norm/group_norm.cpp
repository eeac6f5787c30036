#include "group_norm/group_norm_family.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using GroupNorm = Family<GroupNormProblem>;

constexpr std::int64_t kMostOfGroup = 0x7fffffff;

} // namespace

Support GroupNorm::supported(const GroupNormProblem &problem, const Target &) {
  const Support basic = firstRefusal(
      {floatSupported("x", problem.x), floatSupported("weight", problem.weight),
       floatSupported("y", problem.y), rangeSupported("channels", problem.channels, 1, 65536),
       alignSupported(problem.row_align)});
  if (!basic)
    return basic;
  if (problem.groups < 1 || problem.channels % problem.groups)
    return Support::no(is("groups", problem.groups) + "; it divides the " +
                       std::to_string(problem.channels) + " channels");
  if (!(problem.eps >= 0) || !std::isfinite(static_cast<float>(problem.eps)))
    return Support::no("eps is " + std::to_string(problem.eps) +
                       "; it is a finite number of at least 0");
  return {};
}

Support GroupNorm::supported(const GroupNormProblem &, const GroupNormConfig &config,
                             const Target &target) {
  return powerBlockSupported(config.block, target);
}

GroupNormConfig GroupNorm::choose(const GroupNormProblem &, std::int64_t, const Target &) {
  // Groups are long, and there are few of them: 32 for each image as a rule.
  return {.block = 512};
}

std::vector<GroupNormConfig> GroupNorm::candidates(const GroupNormProblem &, std::int64_t,
                                                   const Target &) {
  std::vector<GroupNormConfig> all;
  for (int block : {64, 128, 256, 512, 1024})
    all.push_back({block});
  return all;
}

void GroupNorm::launch(const Call<GroupNormProblem> &call) {
  const GroupNormProblem &problem = call.problem;
  const GroupNormArgs &args = call.args;
  const Arguments arguments(FamilyOf<GroupNormProblem>::name, call.where);
  const GroupShape group(problem);
  if (args.x.rank() != 3) [[unlikely]]
    arguments.fail("x has " + std::to_string(args.x.rank()) +
                   " modes; it has 3, with the pixels of an image as one");
  const std::int64_t images = args.x.shape()[0], pixels = args.x.shape()[group.isLast ? 1 : 2],
                     channels = problem.channels;
  const auto ofImages = [&](const char *name, DType dtype, Use use) {
    return Expected{.name = name,
                    .dtype = dtype,
                    .shape = group.isLast ? Shape{"n, pixels, channels", images, pixels, channels}
                                          : Shape{"n, channels, pixels", images, channels, pixels},
                    .free = 2,
                    .use = use,
                    .align = group.access};
  };
  const auto ofChannels = [&](const char *name) {
    return Expected{.name = name,
                    .dtype = problem.weight,
                    .shape = {"channels", channels},
                    .align = group.isLast ? group.access : 1};
  };
  arguments.check(args.x, ofImages("x", problem.x, Use::read));
  arguments.check(args.y, ofImages("y", problem.y, Use::written));
  arguments.checkIf(problem.affine, args.weight, ofChannels("weight"));
  arguments.checkIf(problem.affine, args.bias, ofChannels("bias"));
  if (!group.isLast && pixels % group.access) [[unlikely]]
    arguments.fail("an image has " + std::to_string(pixels) + " pixels, no multiple of " +
                   std::to_string(group.access) +
                   "; the problem's row_align promises it, and a smaller one does not");
  arguments.expectApart({{"y", "x"}});
  if (images == 0 || pixels == 0)
    return;
  if (pixels > kMostOfGroup / group.channels || images > kMostOfGroup / problem.groups) [[unlikely]]
    arguments.fail("a group has " + std::to_string(group.channels) + " channels of " +
                   std::to_string(pixels) + " pixels, and there are " + std::to_string(images) +
                   " images of " + std::to_string(problem.groups) +
                   " groups; fewer than 2^31 elements and groups are supported");
  call.launches.at(0, kGroupNorm)(
      call.on(images * problem.groups, call.config.block), call.where,
      {.x = operandOf<2>(args.x),
       .y = operandOf<2>(args.y),
       .weight = operandOf<0>(args.weight),
       .bias = operandOf<0>(args.bias),
       .images = static_cast<std::int32_t>(images),
       .pixels = static_cast<std::int32_t>(group.isLast ? pixels : pixels / group.access)});
}

GroupNormArgs GroupNorm::args(const GroupNormProblem &problem, const GroupNormConfig &,
                              std::int64_t m, const Sampler &sampler) {
  const GroupShape group(problem);
  const std::int64_t pixels = 36 * std::int64_t(group.isLast ? 1 : group.access),
                     channels = problem.channels;
  const Extents images = group.isLast ? Extents{m, pixels, channels} : Extents{m, channels, pixels},
                ofChannels{channels};
  return {.x = sampler("x", problem.x, images, Role::input),
          .weight = sampleIf(problem.affine, sampler, "weight", problem.weight, ofChannels),
          .bias = sampleIf(problem.affine, sampler, "bias", problem.weight, ofChannels),
          .y = sampler("y", problem.y, images, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(GroupNormProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
