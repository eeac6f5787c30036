// Examples of the page docs/kernels/collective.md. They need two devices.
#include "example.h"

#include <flydsl/kernels/collective.h>

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
