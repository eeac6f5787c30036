// Examples of the page docs/kernels/collective.md. They need two devices.
#include "example.h"

#include <flydsl/kernels/collective.h>
#include <flydsl/kernels/collective_norm.h>

#include <cmath>

namespace fk = flydsl::kernels;

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
