#include "collective_norm/collective_norm_family.h"

#include "blocks/quant/quant_rules.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using CollectiveNorm = Family<CollectiveNormProblem>;
using Norm = Family<NormProblem>;

} // namespace

Support CollectiveNorm::supported(const CollectiveNormProblem &problem, const Target &target) {
  const Support basic =
      firstRefusal({Norm::supported(problem.norm, target), ranksSupported(problem.ranks)});
  if (!basic)
    return basic;
  if (!problem.norm.residual)
    return Support::no("norm.residual is false; the sum of the ranks goes to residual_out");
  if (problem.norm.statistics)
    return Support::no("norm.statistics is true; they are of training, which has a norm by itself");
  if (problem.norm.gate != NormGate::none)
    return Support::no(
        "norm.gate is not none; gates are of the norms of heads, which no rank sums up");
  if (problem.norm.rows)
    return Support::no("norm.rows is true; all ranks of an all-reduce have the rows of the call");
  if (problem.norm.modulation)
    return Support::no(
        "norm.modulation is true; an all-reduce with a norm has neither gain nor shift");
  return {};
}

Support CollectiveNorm::supported(const CollectiveNormProblem &problem,
                                  const CollectiveNormConfig &config, const Target &target) {
  return firstRefusal({Norm::supported(problem.norm, config.rows, target),
                       rangeSupported("blocks", config.blocks, 1, GroupMemory::most_blocks)});
}

CollectiveNormConfig CollectiveNorm::choose(const CollectiveNormProblem &problem, std::int64_t m,
                                            const Target &target) {
  return {.rows = Norm::choose(problem.norm, m, target), .blocks = kBlocksOfGroupCall};
}

std::vector<CollectiveNormConfig> CollectiveNorm::candidates(const CollectiveNormProblem &problem,
                                                             std::int64_t m, const Target &target) {
  std::vector<CollectiveNormConfig> found;
  for (const RowConfig &rows : Norm::candidates(problem.norm, m, target))
    found.push_back({.rows = rows, .blocks = kBlocksOfGroupCall});
  return found;
}

void CollectiveNorm::launch(const Call<CollectiveNormProblem> &call) {
  const auto &[problem, config, args, launches, stream, where] = call;
  const Arguments arguments(FamilyOf<CollectiveNormProblem>::name, where);
  const Group &group = expectGroup(arguments, args.group, problem.ranks);
  CollectiveNormParams<OnHost> params{};
  params.norm = Norm::checked(problem.norm,
                              {.x = args.x,
                               .weight = args.weight,
                               .bias = args.bias,
                               .residual = args.residual,
                               .smooth = args.smooth,
                               .y = args.y,
                               .residual_out = args.residual_out,
                               .scale = args.scale},
                              arguments);
  group.enter(stream, where);
  const std::int64_t m = params.norm.m;
  if (m == 0)
    return;
  expectRoom(arguments, group, m * windowStride(problem.norm) * problem.norm.x.bytes());
  params.group = collectiveNormGroup(problem, config, group, m);
  launches.at(0, kCollectiveNorm)(call.on(collectiveNormBlocks(config, m), config.rows.block),
                                  where, params);
}

CollectiveNormArgs CollectiveNorm::args(const CollectiveNormProblem &problem,
                                        const CollectiveNormConfig &config, std::int64_t m,
                                        const Sampler &sampler) {
  const NormArgs norm = Norm::args(problem.norm, config.rows, m, sampler);
  // The group is the caller's to add: operands alone make no call of a collective.
  return {.x = norm.x,
          .weight = norm.weight,
          .bias = norm.bias,
          .residual = *norm.residual,
          .smooth = norm.smooth,
          .y = norm.y,
          .residual_out = *norm.residual_out,
          .scale = norm.scale};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(CollectiveNormProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
