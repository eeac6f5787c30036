// Dispatch and combine with the caches of each device between kernels and memory, and what happens
// without the accesses that order them. Run by itself, with FLYDSL_EMULATOR_MEMORY_MODEL=weak.
#include "collective/experts.h"
#include "collective/order.h"
#include "expert_combine/expert_combine_body.h"
#include "expert_dispatch/expert_dispatch_body.h"

using namespace collective_tests;

namespace {

namespace impl = fk::impl;

constexpr fk::RowConfig kRows{.threads = 32, .block = 64};
constexpr std::int64_t kTokens = 40;

/// A family's body that may lack something.
template <class P> struct Planted {
  impl::Spec<P> spec;
  impl::CollectiveOrder order;
};

const fx::Kernel plantedGive{
    "planted_dispatch", [](impl::DispatchGiveParams<fx::OnDevice> params,
                           fx::Constexpr<Planted<ExpertDispatchProblem>> planted) {
      impl::DispatchGive(params, planted.value().spec, planted.value().order).run();
    }};
const fx::Kernel plantedCombine{
    "planted_combine", [](impl::ExpertCombineParams<fx::OnDevice> params,
                          fx::Constexpr<Planted<ExpertCombineProblem>> planted) {
      impl::ExpertCombineBody(params, planted.value().spec, planted.value().order).run();
    }};

/// How many of some calls brought the slots of all ranks to each rank.
int rightDispatches(const impl::CollectiveOrder &order, int calls) {
  const ExpertDispatchProblem problem{
      .n = 64, .experts = 6, .topk = 2, .ranks = 2, .tokens = kTokens, .unit = 16};
  const fk::ExpertDispatchConfig config{.rows = kRows, .blocks = 2, .sort = {.block = 64}};
  const std::int64_t slots = impl::slotsOfRank(problem);
  const GroupRanks ranks(2);
  std::vector<RankTokens> all = tokensOf(problem, {kTokens, kTokens}, 0);
  std::vector<DispatchOperands> operands;
  std::vector<fx::DeviceArray<std::int32_t>> tables;
  std::vector<fx::DeviceArray<float>> weights;
  ranks.each([&](int rank) {
    operands.emplace_back(problem, config, all[at(rank)], fk::expert_dispatch_places(problem));
    tables.push_back(numbers<std::int32_t>(2 * slots));
    weights.push_back(numbers<float>(2 * slots));
  });
  int right = 0;
  for (int call = 0; call < calls; ++call) {
    all = tokensOf(problem, {kTokens, kTokens}, static_cast<std::uint64_t>(call));
    for (std::size_t rank = 0; rank < 2; ++rank)
      operands[rank].fill(all[rank]);
    ranks.run([&](int rank, const fx::Stream &stream) {
      const fk::ExpertDispatchArgs args = operands[at(rank)].args(ranks.group(rank));
      impl::DispatchGiveParams<fx::OnHost> params{};
      params.x = fx::strided<1>(args.x);
      params.ids = fx::strided<0>(args.ids);
      params.weights = fx::strided<0>(*args.weights);
      params.m = static_cast<std::int32_t>(kTokens);
      params.tableIds = fx::strided<0>(tables[at(rank)].tensor());
      params.tableWeights = fx::strided<0>(weights[at(rank)].tensor());
      params.group = impl::dispatchGroup(problem, config, ranks.group(rank));
      plantedGive(params, Planted<ExpertDispatchProblem>{{problem, config}, order})
          .launch({.grid = impl::meetingBlocks(config.rows, config.blocks, problem.tokens),
                   .block = kRows.block,
                   .stream = stream});
    });
    bool same = true;
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<std::int32_t> ids;
      std::vector<float> shares;
      for (const RankTokens &from : all) {
        for (const std::int32_t id : from.ids) {
          const std::int64_t here = id - rank * problem.local();
          ids.push_back(id >= 0 && here >= 0 && here < problem.local()
                            ? static_cast<std::int32_t>(here)
                            : -1);
        }
        shares.insert(shares.end(), from.weights.begin(), from.weights.end());
      }
      same &= tables[at(rank)].to_host() == ids && weights[at(rank)].to_host() == shares;
    }
    right += same;
  }
  return right;
}

/// How many of some calls gave each rank the sums of its tokens.
int rightCombines(const impl::CollectiveOrder &order, int calls) {
  const ExpertCombineProblem problem{
      .x = fx::f32, .y = fx::f32, .n = 64, .experts = 6, .topk = 2, .ranks = 2, .tokens = kTokens};
  const ExpertDispatchProblem dispatch{
      .n = 64, .experts = 6, .topk = 2, .ranks = 2, .tokens = kTokens, .unit = 16};
  const fk::ExpertCombineConfig config{.rows = kRows, .blocks = 2};
  const std::int64_t places = fk::expert_dispatch_places(dispatch), n = problem.n;
  const GroupRanks ranks(2);
  std::vector<fx::DeviceArray<float>> x, y;
  std::vector<fx::DeviceArray<std::int32_t>> ids, slotPlaces;
  ranks.each([&](int) {
    x.push_back(numbers<float>(places * n));
    y.push_back(numbers<float>(kTokens * n));
    y.back().fill(0.0f);
    ids.push_back(numbers<std::int32_t>(kTokens * 2));
    slotPlaces.push_back(numbers<std::int32_t>(2 * kTokens * 2));
  });
  int right = 0;
  for (int call = 0; call < calls; ++call) {
    const std::vector<RankTokens> all =
        tokensOf(dispatch, {kTokens, kTokens}, static_cast<std::uint64_t>(call));
    std::vector<std::vector<float>> expected(2, std::vector<float>(at(kTokens * n), 0.0f));
    for (int rank = 0; rank < 2; ++rank) {
      // Small integers, so that sums are exact in any order.
      std::vector<float> results(at(places * n));
      for (std::size_t i = 0; i < results.size(); ++i)
        results[i] = static_cast<float>(pick(static_cast<std::uint64_t>(call * 2 + rank), i, 1000));
      const ExpectedPlaces found = expectedPlaces(dispatch, all, rank, places);
      for (std::size_t slot = 0; slot < found.slotPlaces.size(); ++slot)
        if (found.slotPlaces[slot] >= 0)
          for (std::int64_t j = 0; j < n; ++j)
            expected[slot / (kTokens * 2)][slot % (kTokens * 2) / 2 * at(n) + at(j)] +=
                results[at(found.slotPlaces[slot] * n + j)];
      x[at(rank)].copy_from(results);
      slotPlaces[at(rank)].copy_from(found.slotPlaces);
      ids[at(rank)].copy_from(all[at(rank)].ids);
    }
    ranks.run([&](int rank, const fx::Stream &stream) {
      impl::ExpertCombineParams<fx::OnHost> params{};
      params.x = fx::strided<1>(shaped(x[at(rank)], {places, n}));
      params.y = fx::strided<1>(shaped(y[at(rank)], {kTokens, n}));
      params.slotPlaces = fx::strided<0>(slotPlaces[at(rank)].tensor());
      params.ids = fx::strided<0>(ids[at(rank)].tensor());
      params.m = static_cast<std::int32_t>(kTokens);
      params.places = static_cast<std::int32_t>(places);
      params.group = impl::combineGroup(problem, config, ranks.group(rank));
      plantedCombine(params, Planted<ExpertCombineProblem>{{problem, config}, order})
          .launch({.grid = impl::meetingBlocks(config.rows, config.blocks, problem.tokens),
                   .block = kRows.block,
                   .stream = stream});
    });
    bool same = true;
    for (std::size_t rank = 0; rank < 2; ++rank)
      same &= y[rank].to_host() == expected[rank];
    right += same;
  }
  return right;
}

} // namespace

TEST_CASE("a dispatch needs each of the accesses that order it", "[.weak]") {
  expectNeeded(rightDispatches);
}

TEST_CASE("a combine needs each of the accesses that order it", "[.weak]") {
  expectNeeded(rightCombines);
}
