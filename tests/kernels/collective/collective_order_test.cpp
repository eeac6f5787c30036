// Collectives with the caches of each device between kernels and memory, and what happens without the
// accesses that order them. Run by itself, with FLYDSL_EMULATOR_MEMORY_MODEL=weak.
#include "collective/collective_body.h"
#include "collective/ranks.h"

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
int rightCalls(const CollectiveConfig &config, const impl::CollectiveOrder &order, int calls) {
  const CollectiveProblem problem{.type = fx::bf16, .ranks = 2};
  const std::int64_t m = 8 * 200;
  Ranks ranks(problem, m);
  int right = 0;
  for (int call = 0; call < calls; ++call) {
    const std::vector<Bytes> values = ranks.fill(static_cast<std::uint64_t>(call));
    ranks.each([&](int rank) {
      const auto at = static_cast<std::size_t>(rank);
      auto params = impl::collectiveParams(problem, config, ranks.groups[at], m, 0);
      params.x = fx::strided<0>(ranks.x[at].tensor());
      params.y = fx::strided<0>(ranks.y[at].tensor());
      planted(params, Planted{{problem, config}, order})
          .launch({.grid = impl::collectiveBlocks(config, params.part),
                   .block = config.block,
                   .stream = ranks.streams[at]});
    });
    ranks.synchronize();
    right += ranks.isRight(values);
  }
  return right;
}

} // namespace

TEST_CASE("collectives are right behind caches, whatever these hold", "[.weak]") {
  for (const CollectiveConfig &config : kConfigs) {
    INFO(fx::to_config(config).str());
    CHECK(rightCalls(config, {}, 4) == 4);
    CHECK(rightCalls(config, {.looksAhead = true}, 4) == 4);
  }
}

TEST_CASE("collectives need each of the accesses that order them", "[.weak]") {
  for (const CollectiveConfig &config : kConfigs) {
    INFO(fx::to_config(config).str());
    CHECK(rightCalls(config, {.releases = false}, 4) < 4);
    CHECK(rightCalls(config, {.acquires = false, .looksAhead = true}, 4) < 4);
    CHECK(rightCalls(config, {.scope = fx::MemoryScope::agent, .looksAhead = true}, 4) < 4);
    CHECK(rightCalls(config, {.waits = false}, 4) < 4);
  }
}
