#include "collective/collective_family.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Collect = Family<CollectiveProblem>;
using Kind = CollectiveKind;
using Stages = CollectiveStages;

/// The bytes from which on an all-reduce has two stages, and from which on it writes. (FlyDSL: two
/// ranks have one stage; up to 4 ranks have two from 160 KB on, 8 from 80 KB; 8 ranks write above
/// 4 MB.)
constexpr std::int64_t kTwoOfFour = 160 << 10, kTwoOfEight = 80 << 10, kWriteOfEight = 4 << 20;

std::int64_t bytesOf(const CollectiveProblem &problem, std::int64_t m) {
  return m * (problem.wire ? problem.wire : problem.type).bytes();
}

bool sumsUp(const CollectiveProblem &problem) {
  return problem.kind == Kind::all_reduce || problem.kind == Kind::reduce_scatter;
}
Support wireSupported(const CollectiveProblem &problem) {
  if (!problem.wire)
    return {};
  if (problem.wire != f8E4M3FN && problem.wire != f8E5M2)
    return Support::no("wire is of type " + std::string(problem.wire.name()) +
                       "; f8E4M3FN and f8E5M2 are supported, or none for values as they are");
  if (!sumsUp(problem))
    return Support::no("wire is of all_reduce and reduce_scatter; other collectives move values as "
                       "they are");
  return {};
}

} // namespace

Support Collect::supported(const CollectiveProblem &problem, const Target &) {
  return firstRefusal(
      {floatSupported("x", problem.type), ranksSupported(problem.ranks), wireSupported(problem)});
}

Support Collect::supported(const CollectiveProblem &problem, const CollectiveConfig &config,
                           const Target &target) {
  if (const Support block = blockSupported(config.block, target); !block)
    return block;
  if (const Support blocks = rangeSupported("blocks", config.blocks, 1, GroupMemory::most_blocks);
      !blocks)
    return blocks;
  if (problem.kind != Kind::all_reduce && config.stages != Stages::one)
    return Support::no("stages are of all_reduce; other collectives have one");
  return {};
}

CollectiveConfig Collect::choose(const CollectiveProblem &problem, std::int64_t m, const Target &) {
  CollectiveConfig config{.blocks = kBlocksOfGroupCall};
  const std::int64_t bytes = bytesOf(problem, m);
  if (problem.kind != Kind::all_reduce || problem.ranks == 2)
    return config;
  if (problem.ranks == 8 && bytes > kWriteOfEight)
    config.stages = Stages::write;
  else if (bytes >= (problem.ranks == 4 ? kTwoOfFour : kTwoOfEight))
    config.stages = Stages::two;
  return config;
}

std::vector<CollectiveConfig> Collect::candidates(const CollectiveProblem &, std::int64_t,
                                                  const Target &) {
  std::vector<CollectiveConfig> found;
  for (const Stages stages : {Stages::one, Stages::two, Stages::write})
    for (const int block : {256, 512})
      found.push_back({.stages = stages, .block = block, .blocks = kBlocksOfGroupCall});
  return found;
}

std::int64_t Collect::rows(const CollectiveArgs &args) {
  const auto extent = [](const TensorArg &tensor) {
    return tensor.rank() == 1 ? tensor.shape()[0] : 0;
  };
  return std::max(extent(args.x), extent(args.y));
}

void Collect::launch(const Call<CollectiveProblem> &call) {
  const auto &[problem, config, args, launches, stream, where] = call;
  const Arguments arguments(FamilyOf<CollectiveProblem>::name, where);
  const int ranks = problem.ranks;
  const Group &group = expectGroup(arguments, args.group, ranks);
  if (args.root < 0 || args.root >= ranks)
    arguments.fail(is("root", args.root) + "; it is a rank, 0 to " + std::to_string(ranks - 1));
  const std::int64_t m = rows(args), each = elementsOf(problem);
  if (m > kMostRowsOfCall)
    arguments.fail(is("m", m) + "; a call has up to " + std::to_string(kMostRowsOfCall) +
                   " elements");
  const std::int64_t whole = problem.wire ? kWireBlock : each,
                     unit = hasParts(problem) ? whole * ranks : whole;
  if (m % unit)
    arguments.fail(is("m", m) + "; it is a multiple of " + std::to_string(unit) + ", which is " +
                   (problem.wire ? "a block" : "16 bytes") +
                   (hasParts(problem) ? " of each part" : ""));
  const auto expect = [&](const TensorArg &tensor, const char *name, Kind parted, Use use) {
    const bool isPart = problem.kind == parted;
    arguments.check(tensor, {.name = name,
                             .dtype = problem.type,
                             .shape = {isPart ? "m / ranks" : "m", isPart ? m / ranks : m},
                             .use = use,
                             .align = each,
                             .reason = "an access has 16 bytes"});
  };
  expect(args.x, "x", Kind::all_gather, Use::read);
  expect(args.y, "y", Kind::reduce_scatter, Use::written);
  if (args.x.data() != args.y.data() || args.x.shape()[0] != args.y.shape()[0])
    arguments.disjoint(args.y, "y", args.x, "x");
  group.enter(stream, where);
  if (m == 0)
    return;

  expectRoom(arguments, group, regionBytes(problem, config, m));

  CollectiveParams<OnHost> params = collectiveParams(problem, config, group, m, args.root);
  params.x = operandOf<0>(args.x);
  params.y = operandOf<0>(args.y);
  launches.at(0, kCollective)(call.on(collectiveBlocks(config, params.part), config.block), where,
                              params);
}

CollectiveArgs Collect::args(const CollectiveProblem &problem, const CollectiveConfig &,
                             std::int64_t m, const Sampler &sampler) {
  const auto extents = [&](Kind parted) {
    return Extents{problem.kind == parted ? m / problem.ranks : m};
  };
  // The group is the caller's to add: operands alone make no call of a collective.
  return {.x = sampler("x", problem.type, extents(Kind::all_gather), Role::input),
          .y = sampler("y", problem.type, extents(Kind::reduce_scatter), Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(CollectiveProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
