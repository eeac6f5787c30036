// Collectives with the caches of each device between kernels and memory, and what happens without the
// accesses that order them. Run by itself, with FLYDSL_EMULATOR_MEMORY_MODEL=weak.
#include "collective/collective_body.h"
#include "collective/order.h"
#include "collective/ranks.h"
#include "collective_norm/collective_norm_body.h"

#include <flydsl/host/autotune.h>

using namespace collective_tests;

namespace {

namespace impl = fk::impl;

/// A collective that may lack something.
struct Planted {
  impl::Spec<CollectiveProblem> spec;
  impl::CollectiveOrder order;
};

const fx::Kernel planted{
    "planted_collective",
    [](impl::CollectiveParams<fx::OnDevice> params, fx::Constexpr<Planted> planted) {
      impl::CollectiveBody(params, planted.value().spec, planted.value().order).run();
    }};

constexpr CollectiveConfig kConfigs[] = {
    {.stages = CollectiveStages::one, .block = 64, .blocks = 2},
    {.stages = CollectiveStages::two, .block = 64, .blocks = 2},
    {.stages = CollectiveStages::write, .block = 64, .blocks = 2}};

/// How many of some calls gave what they must.
int rightCalls(const CollectiveProblem &problem, const CollectiveConfig &config,
               const impl::CollectiveOrder &order, int calls) {
  const std::int64_t m = 8 * 200;
  Ranks ranks(problem, m);
  int right = 0;
  for (int call = 0; call < calls; ++call) {
    const std::vector<Bytes> values = ranks.fill(static_cast<std::uint64_t>(call));
    ranks.run([&](int rank, const fx::Stream &stream) {
      const auto at = static_cast<std::size_t>(rank);
      auto params = impl::collectiveParams(problem, config, ranks.groups[at], m, 0);
      params.x = fx::strided<0>(ranks.x[at].tensor());
      params.y = fx::strided<0>(ranks.y[at].tensor());
      planted(params, Planted{{problem, config}, order})
          .launch({.grid = impl::collectiveBlocks(config, params.part),
                   .block = config.block,
                   .stream = stream});
    });
    right += ranks.isRight(values, 0, config.stages);
  }
  return right;
}

/// The same of an all-reduce with a norm.
struct PlantedNorm {
  impl::Spec<fk::CollectiveNormProblem> spec;
  impl::CollectiveOrder order;
};

const fx::Kernel plantedNorm{
    "planted_collective_norm",
    [](impl::CollectiveNormParams<fx::OnDevice> params, fx::Constexpr<PlantedNorm> planted) {
      impl::CollectiveNormBody(params, planted.value().spec, planted.value().order).run();
    }};

int rightNorms(const impl::CollectiveOrder &order, int calls) {
  constexpr std::int64_t m = 6, n = 256;
  const fk::CollectiveNormProblem problem{
      {.x = fx::bf16, .weight = fx::bf16, .y = fx::bf16, .n = n, .residual = true}, 2};
  const fk::CollectiveNormConfig config{.rows = {.threads = 32, .block = 64}, .blocks = 2};
  Ranks ranks({.type = fx::bf16, .ranks = 2}, m * n);
  std::vector<Vector> residual, weight, sum;
  ranks.each([&](int) {
    residual.emplace_back(fx::bf16, m * n);
    weight.emplace_back(fx::bf16, n);
    sum.emplace_back(fx::bf16, m * n);
    residual.back().memory.fill(0); // so that residual_out is the sum of the ranks
    weight.back().memory.fill(0);
    sum.back().memory.fill(0);
  });
  int right = 0;
  for (int call = 0; call < calls; ++call) {
    const std::vector<Bytes> values = ranks.fill(static_cast<std::uint64_t>(call));
    ranks.run([&](int rank, const fx::Stream &stream) {
      const auto at = static_cast<std::size_t>(rank);
      const auto rows = [](const Vector &of) {
        return fx::strided<1>(fx::TensorArg(of.memory.data(), fx::bf16, fx::Extents{m, n}));
      };
      impl::CollectiveNormParams<fx::OnHost> params{};
      params.norm.x = rows(ranks.x[at]);
      params.norm.y = rows(ranks.y[at]);
      params.norm.residual = rows(residual[at]);
      params.norm.residualOut = rows(sum[at]);
      params.norm.weight = fx::strided<0>(weight[at].tensor());
      params.norm.m = m;
      params.group = impl::collectiveNormGroup(problem, config, ranks.groups[at], m);
      plantedNorm(params, PlantedNorm{{problem, config}, order})
          .launch({.grid = impl::collectiveNormBlocks(config, m),
                   .block = config.rows.block,
                   .stream = stream});
    });
    bool same = true;
    for (const Vector &of : sum)
      same &= of.memory.to_host() == expectedOf({.type = fx::bf16, .ranks = 2}, values, 0, 0);
    right += same;
  }
  return right;
}

} // namespace

TEST_CASE("collectives need each of the accesses that order them", "[.weak]") {
  const CollectiveProblem all{.type = fx::bf16, .ranks = 2};
  CollectiveProblem narrow = all;
  narrow.wire = fx::f8E4M3FN;
  const auto expect = [](const CollectiveProblem &problem, const CollectiveConfig &config) {
    INFO(fx::to_config(problem).str() << " " << fx::to_config(config).str());
    expectNeeded([&](const impl::CollectiveOrder &order, int calls) {
      return rightCalls(problem, config, order, calls);
    });
  };
  for (const CollectiveConfig &config : kConfigs)
    expect(all, config);
  expect(narrow, kConfigs[1]);
}

TEST_CASE("an all-reduce with a norm needs each of the accesses that order it", "[.weak]") {
  expectNeeded(rightNorms);
}
