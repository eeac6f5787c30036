// Examples of the pages docs/kernels/collective.md and docs/kernels/expert-parallel.md. They need
// two devices.
#include "example.h"

#include <flydsl/kernels/collective.h>
#include <flydsl/kernels/collective_norm.h>
#include <flydsl/kernels/expert_parallel.h>
#include <flydsl/kernels/experts/moe_ranks.h>
#include <flydsl/kernels/grouped_gemm.h>

#include <cmath>

namespace fk = flydsl::kernels;

namespace {

/// An array on the current device whose elements are all `value`.
fx::DeviceArray<fx::bfloat16_t> filled(const std::vector<std::int64_t> &shape, float value) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape)
    count *= extent;
  return fx::DeviceArray<fx::bfloat16_t>::from_host(
      std::vector<fx::bfloat16_t>(std::size_t(count), fx::bfloat16_t(value)), shape);
}

} // namespace

TEST_CASE("an all-reduce of two devices", "[.devices]") {
  constexpr std::int64_t m = 1024;
  std::vector<fx::DeviceArray<float>> arrays;
  // region: of
  std::vector<fx::Group> ranks = fx::Group::of({fx::Device(0), fx::Device(1)});

  const fk::CollectiveProblem problem{
      .kind = fk::CollectiveKind::all_reduce, .type = fx::f32, .ranks = 2};
  const fk::CollectivePlan all_reduce(problem, fk::choose(problem, m));

  std::vector<fx::Stream> streams;
  for (const fx::Group &rank : ranks) {
    rank.device().make_current();
    streams.emplace_back(rank.device());
    arrays.push_back(fx::DeviceArray<float>::from_host(std::vector<float>(m, 1.5f), {m}));
    all_reduce({.x = arrays.back(), .y = arrays.back(), .group = &rank}, streams.back());
  }
  for (const fx::Stream &stream : streams)
    stream.synchronize();
  for (const fx::Group &rank : ranks)
    rank.check(); // throws if a rank has waited for another in vain
  // endregion
  for (const auto &array : arrays)
    CHECK(array.to_host() == std::vector<float>(m, 3.0f));
  fx::Device(0).make_current();
}

TEST_CASE("an all-reduce with a norm", "[.devices]") {
  constexpr std::int64_t m = 2, n = 1024;
  struct Rank {
    fx::Stream stream;
    fx::DeviceArray<float> x, residual, weight, y{{m, n}};
    explicit Rank(const fx::Device &device)
        : stream(device), x(fx::DeviceArray<float>::from_host(std::vector(m * n, 1.5f), {m, n})),
          residual(fx::DeviceArray<float>::from_host(std::vector(m * n, 1.0f), {m, n})),
          weight(fx::DeviceArray<float>::from_host(std::vector(n, 2.0f), {n})) {}
  };
  const std::vector<fx::Group> groups = fx::Group::of({fx::Device(0), fx::Device(1)});
  std::vector<Rank> ranks;
  // region: norm
  const fk::CollectiveNormProblem problem{
      .norm = {.x = fx::f32, .weight = fx::f32, .y = fx::f32, .n = n, .residual = true},
      .ranks = 2};
  const fk::CollectiveNormPlan plan(problem, fk::choose(problem, m));
  for (const fx::Group &group : groups) {
    group.device().make_current();
    Rank &rank = ranks.emplace_back(group.device());
    plan({.x = rank.x,
          .weight = rank.weight,
          .residual = rank.residual,
          .y = rank.y,
          .residual_out = rank.residual, // its place has the sum from now on
          .group = &group},
         rank.stream);
  }
  // endregion
  for (const Rank &rank : ranks) {
    rank.stream.synchronize();
    CHECK(rank.residual.to_host() == std::vector(m * n, 4.0f));
    for (const float y : rank.y.to_host())
      CHECK(std::fabs(y - 2.0f) < 1e-5f);
  }
  fx::Device(0).make_current();
}

TEST_CASE("a mixture of experts of two devices", "[.devices]") {
  constexpr std::int64_t tokens = 16, hidden = 64, inner = 32, experts = 4, topk = 2;
  using Half = fx::bfloat16_t;
  const std::vector<fx::Group> groups = fx::Group::of({fx::Device(0), fx::Device(1)});
  // region: experts
  const fk::ExpertDispatchProblem dispatch{
      .n = hidden, .experts = experts, .topk = topk, .ranks = 2, .tokens = tokens, .unit = 16};
  const fk::GroupedGemmProblem gatesAndUps{.experts = dispatch.local(),
                                           .n = inner,
                                           .k = hidden,
                                           .unit = 16,
                                           .activation = fk::Activation::silu,
                                           .gated = fk::GatedPairs::halves};
  const fk::GroupedGemmProblem down{.experts = dispatch.local(),
                                    .n = hidden,
                                    .k = inner,
                                    .unit = 16,
                                    .weights = fk::RoutedWeights::output};
  const fk::ExpertCombineProblem combine{
      .n = hidden, .experts = experts, .topk = topk, .ranks = 2, .tokens = tokens};

  const std::int64_t places = fk::expert_dispatch_places(dispatch);
  const fk::ExpertDispatchPlan give(dispatch, fk::choose(dispatch, tokens));
  const fk::GroupedGemmPlan first(gatesAndUps, fk::choose(gatesAndUps, places)),
      second(down, fk::choose(down, places));
  const fk::ExpertCombinePlan takeBack(combine, fk::choose(combine, tokens));

  /// What a rank has: its tokens, its experts' weights, and what is between.
  struct Rank {
    fx::Stream stream;
    fx::DeviceArray<Half> x, w1, w2, rows, inside, results, y;
    fx::DeviceArray<int> ids, units, counts, offsets, totals, slotPlaces;
    fx::DeviceArray<float> weights, sortedWeights;
    fx::DeviceArray<std::uint8_t> workspace;
  };
  const auto layer = [&](const Rank &rank, const fx::Group &group) {
    give({.x = rank.x.tensor(),
          .ids = rank.ids.tensor(),
          .weights = rank.weights.tensor(),
          .y = rank.rows.tensor(),
          .sorted_weights = rank.sortedWeights.tensor(),
          .unit_experts = rank.units.tensor(),
          .counts = rank.counts.tensor(),
          .offsets = rank.offsets.tensor(),
          .totals = rank.totals.tensor(),
          .slot_places = rank.slotPlaces.tensor(),
          .workspace = rank.workspace.tensor(),
          .group = &group},
         rank.stream);
    first({.a = rank.rows.tensor(),
           .b = fk::PreparedWeight{gatesAndUps.weight(), rank.w1.tensor()},
           .c = rank.inside.tensor(),
           .unit_experts = rank.units.tensor(),
           .offsets = rank.offsets.tensor(),
           .counts = rank.counts.tensor()},
          rank.stream);
    second({.a = rank.inside.tensor(),
            .b = fk::PreparedWeight{down.weight(), rank.w2.tensor()},
            .c = rank.results.tensor(),
            .unit_experts = rank.units.tensor(),
            .offsets = rank.offsets.tensor(),
            .counts = rank.counts.tensor(),
            .weights = rank.sortedWeights.tensor()},
           rank.stream);
    takeBack({.x = rank.results.tensor(),
              .slot_places = rank.slotPlaces.tensor(),
              .ids = rank.ids.tensor(),
              .y = rank.y.tensor(),
              .group = &group},
             rank.stream);
  };
  // endregion
  std::vector<Rank> ranks;
  std::vector<int> chosen;
  for (int slot = 0; slot < tokens * topk; ++slot)
    chosen.push_back(slot % int(experts));
  for (const fx::Group &group : groups) {
    group.device().make_current();
    ranks.push_back(
        {.stream = fx::Stream(group.device()),
         .x = filled({tokens, hidden}, 1),
         .w1 = filled({gatesAndUps.weight().n * hidden}, 1),
         .w2 = filled({down.weight().n * inner}, 0.125f),
         .rows = filled({places, hidden}, 0),
         .inside = filled({places, inner}, 0),
         .results = filled({places, hidden}, 0),
         .y = filled({tokens, hidden}, 0),
         .ids = fx::DeviceArray<int>::from_host(chosen, {tokens, topk}),
         .units = fx::DeviceArray<int>({places / 16}),
         .counts = fx::DeviceArray<int>({dispatch.local()}),
         .offsets = fx::DeviceArray<int>({dispatch.local() + 1}),
         .totals = fx::DeviceArray<int>({3}),
         .slotPlaces = fx::DeviceArray<int>({2, tokens, topk}),
         .weights = fx::DeviceArray<float>::from_host(
             std::vector<float>(std::size_t(tokens * topk), 0.5f), {tokens, topk}),
         .sortedWeights = fx::DeviceArray<float>({places}),
         .workspace = fx::DeviceArray<std::uint8_t>({std::int64_t(give.workspace_bytes(tokens))})});
    layer(ranks.back(), group);
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].stream.synchronize();
    groups[rank].check();
    // Each gate and each up is 64, and their pair 64 * 64: 32 of them times 1/8, in halves of two
    // experts.
    for (const Half y : ranks[rank].y.to_host())
      CHECK(float(y) == 64.0f * 64 * 32 / 8);
  }
  fx::Device(0).make_current();
}

TEST_CASE("a mixture of experts of two devices by one plan", "[.devices]") {
  using Half = fx::bfloat16_t;
  constexpr std::int64_t m = 16, hidden = 64, inner = 32;
  const std::vector<fx::Group> groups = fx::Group::of({fx::Device(0), fx::Device(1)});
  // region: mixture
  const fk::MoeRanksProblem problem{
      .mixture = {.router = {.experts = 4, .topk = 2, .renormalise = true},
                  .hidden = hidden,
                  .inner = inner},
      .ranks = 2,
      .tokens = m}; // the most of a rank
  const fk::MoeRanksPlan plan(problem, fk::choose(problem, m));
  const fk::MoeForwardProblem own = problem.of_rank(); // whose weights a rank has

  struct Rank {
    fx::Stream stream;
    fx::DeviceArray<float> logits;
    fx::DeviceArray<Half> x, w1, w2, y;
    fx::DeviceArray<std::uint8_t> workspace;
  };
  const auto layer = [&](const Rank &rank, const fx::Group &group) {
    plan({.logits = rank.logits.tensor(),
          .x = rank.x.tensor(),
          .w1 = {own.weight1(), rank.w1.tensor()},
          .w2 = {own.weight2(), rank.w2.tensor()},
          .y = rank.y.tensor(),
          .workspace = rank.workspace.tensor(),
          .group = &group},
         rank.stream);
  };
  // endregion
  std::vector<Rank> ranks;
  for (const fx::Group &group : groups) {
    group.device().make_current();
    ranks.push_back(
        {.stream = fx::Stream(group.device()),
         .logits = fx::DeviceArray<float>::from_host(std::vector<float>(std::size_t(m * 4), 0.0f),
                                                     {m, 4}),
         .x = filled({m, hidden}, 1),
         .w1 = filled({own.weight1().n * hidden}, 1),
         .w2 = filled({own.weight2().n * inner}, 0.125f),
         .y = filled({m, hidden}, 0),
         .workspace = fx::DeviceArray<std::uint8_t>({std::int64_t(plan.workspace_bytes(m))})});
    layer(ranks.back(), group);
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].stream.synchronize();
    groups[rank].check();
    for (const Half y : ranks[rank].y.to_host())
      CHECK(float(y) == 64.0f * 64 * 32 / 8);
  }
  fx::Device(0).make_current();
}

TEST_CASE("ranks that find each other", "[.devices]") {
  const std::string file = example::scratchPath("group");
  // region: join
  /// One of several processes: rank `rank` of `size`, on the current device.
  const auto join = [&](int rank, int size) {
    return fx::Group::join(file, rank, size, {.capacity = 8 << 20});
  };
  // endregion
  CHECK(example::messageOf<fx::RuntimeError>([&] {
          (void)join(2, 2);
        }).find("rank 2 of a group of 2") != std::string::npos);
}
