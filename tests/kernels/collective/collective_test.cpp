// Collectives of devices of one process, bit by bit against their definition.
#include "collective/ranks.h"

#include <flydsl/host/autotune.h>

#include <flydsl/host/peers.h>

#include <thread>

using namespace collective_tests;

namespace {

constexpr CollectiveKind kKinds[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                     CollectiveKind::all_gather, CollectiveKind::broadcast,
                                     CollectiveKind::all_to_all};
/// Few threads, so that small vectors have several blocks and some threads have several accesses.
constexpr CollectiveConfig kSmall{.block = 64, .blocks = 3};

std::string nameOf(const CollectiveProblem &problem, const CollectiveConfig &config) {
  return fx::to_config(problem).str() + " " + fx::to_config(config).str();
}

/// Some calls in a row, with other values in each: a window's turns come again.
void expectRight(const CollectiveProblem &problem, const CollectiveConfig &config, std::int64_t m,
                 int calls = 3, int root = 0) {
  INFO(nameOf(problem, config) << " m=" << m);
  Ranks ranks(problem, m);
  const fk::CollectivePlan plan(problem, config);
  for (int call = 0; call < calls; ++call) {
    const std::vector<Bytes> values = ranks.fill(static_cast<std::uint64_t>(call));
    ranks.run([&](int rank, const fx::Stream &stream) { plan(ranks.args(rank, root), stream); });
    REQUIRE(ranks.isRight(values, root));
  }
}

CollectiveConfig with(CollectiveStages stages) {
  CollectiveConfig config = kSmall;
  config.stages = stages;
  return config;
}

} // namespace

TEST_CASE("collectives of two ranks", "[run]") {
  for (const CollectiveKind kind : kKinds)
    expectRight({.kind = kind, .type = fx::bf16, .ranks = 2}, kSmall, 2 * 8 * 200, 3, 1);
}

TEST_CASE("collectives of four and of eight ranks") {
  for (const CollectiveKind kind : kKinds)
    expectRight({.kind = kind, .type = fx::f16, .ranks = 4}, kSmall, 4 * 8 * 70, 3, 2);
  for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_to_all})
    expectRight({.kind = kind, .type = fx::f32, .ranks = 8}, kSmall, 8 * 4 * 9, 2);
}

TEST_CASE("an all-reduce by parts, read and written", "[run]") {
  for (const CollectiveStages stages : {CollectiveStages::two, CollectiveStages::write})
    expectRight({.type = fx::bf16, .ranks = 2}, with(stages), 8 * 301);
}

TEST_CASE("parts that are not equally long") {
  for (const CollectiveStages stages : {CollectiveStages::two, CollectiveStages::write})
    for (const std::int64_t accesses : {1, 3, 9, 517})
      expectRight({.type = fx::f16, .ranks = 4}, with(stages), 8 * accesses, 2);
  expectRight({.type = fx::f32, .ranks = 8}, with(CollectiveStages::write), 4 * 101, 2);
}

TEST_CASE("all ranks get the same bits, whatever the stages") {
  std::vector<Bytes> results;
  for (const CollectiveStages stages :
       {CollectiveStages::one, CollectiveStages::two, CollectiveStages::write}) {
    const CollectiveProblem problem{.type = fx::f32, .ranks = 4};
    Ranks ranks(problem, 4 * 64);
    ranks.fill(1);
    const fk::CollectivePlan plan(problem, with(stages));
    ranks.run([&](int rank, const fx::Stream &stream) { plan(ranks.args(rank), stream); });
    for (const Vector &y : ranks.y)
      results.push_back(y.memory.to_host());
  }
  for (const Bytes &result : results)
    CHECK(result == results.front());
}

TEST_CASE("y may be x, and calls of different sizes and kinds follow one another") {
  const CollectiveProblem problem{.type = fx::bf16, .ranks = 2};
  Ranks ranks(problem, 8 * 300);
  const fk::CollectivePlan one(problem, kSmall), two(problem, with(CollectiveStages::two)),
      cast({.kind = CollectiveKind::broadcast, .type = fx::bf16, .ranks = 2}, kSmall);
  for (int turn = 0; turn < 4; ++turn) {
    std::vector<Bytes> values = ranks.fill(static_cast<std::uint64_t>(turn));
    const std::int64_t m = 8 * (turn % 2 ? 300 : 5);
    ranks.each([&](int rank) {
      fk::CollectiveArgs args = ranks.args(rank);
      args.x = fx::TensorArg(args.x.data(), fx::bf16, fx::Extents{m});
      args.y = args.x;
      const fx::Stream &stream = ranks.stream(rank);
      (turn < 2 ? one : two)(args, stream);
      cast(args, stream);
    });
    ranks.synchronize();
    for (Bytes &value : values)
      value.resize(static_cast<std::size_t>(m) * 2);
    for (const Vector &x : ranks.x) {
      Bytes found = x.memory.to_host();
      found.resize(static_cast<std::size_t>(m) * 2);
      CHECK(found == expectedOf(problem, values, 0, 0));
    }
  }
}

TEST_CASE("collectives in graphs, replayed with other values") {
  const CollectiveProblem problem{.type = fx::f16, .ranks = 2};
  Ranks ranks(problem, 8 * 100);
  const fk::CollectivePlan plan(problem, with(CollectiveStages::two));
  const std::vector<fx::Graph> graphs =
      ranks.captured([&](int rank, const fx::Stream &stream) { plan(ranks.args(rank), stream); });
  for (std::uint64_t replay = 0; replay < 4; ++replay) {
    const std::vector<Bytes> values = ranks.fill(replay);
    ranks.run(graphs);
    REQUIRE(ranks.isRight(values));
  }
}

TEST_CASE("a rank that does not come is an error on the others, in time") {
  const CollectiveProblem problem{.type = fx::f16, .ranks = 4};
  Ranks ranks(problem, 8 * 100, {.capacity = 1 << 16, .timeout = std::chrono::milliseconds(200)});
  const fk::CollectivePlan plan(problem, kSmall);
  ranks.fill(1);
  ranks.run([&](int rank, const fx::Stream &stream) {
    if (rank != 2)
      plan(ranks.args(rank), stream);
  });
  for (const int rank : {0, 1, 3}) {
    const fx::Group &group = ranks.group(rank);
    expectPart(messageOf([&] { group.check(); }),
               "rank " + std::to_string(rank) +
                   " of a group of 4 has waited 200 ms for rank 2 in "
                   "vain: it has died, makes fewer calls");
    group.device().make_current();
    expectPart(messageOf([&] { plan(ranks.args(rank), ranks.stream(rank)); }),
               "make another group");
  }
  ranks.groups[2].check(); // it knows nothing of it
}

TEST_CASE("ranks that make different calls are told so") {
  const CollectiveProblem problem{.type = fx::f16, .ranks = 2};
  Ranks ranks(problem, 8 * 100, {.capacity = 1 << 16, .timeout = std::chrono::seconds(2)});
  const fk::CollectivePlan plan(problem, kSmall);
  ranks.fill(1);
  ranks.each([&](int rank) {
    fk::CollectiveArgs args = ranks.args(rank);
    if (rank) {
      args.x = fx::TensorArg(args.x.data(), fx::f16, fx::Extents{8 * 99});
      args.y = fx::TensorArg(args.y.data(), fx::f16, fx::Extents{8 * 99});
    }
    plan(args, ranks.stream(rank));
  });
  ranks.synchronize();
  const std::string first = messageOf([&] { ranks.groups[0].check(); }),
                    second = messageOf([&] { ranks.groups[1].check(); });
  // One rank is told so; the other one may wait for it in vain.
  expectPart(first + "\n" + second, "made different calls at one place of their order");
}

TEST_CASE("a group's calls go into one stream") {
  const CollectiveProblem problem{.type = fx::f16, .ranks = 2};
  Ranks ranks(problem, 8 * 100);
  const fk::CollectivePlan plan(problem, kSmall);
  std::vector<Bytes> values = ranks.fill(1);
  ranks.each([&](int rank) { plan(ranks.args(rank), ranks.stream(rank)); });
  const fx::Stream other(ranks.groups[0].device());
  expectPart(messageOf([&] { plan(ranks.args(0), other); }),
             "go into another stream than this one: two calls at a time would use one window");
  expectPart(messageOf([&] { plan(ranks.args(0), ranks.streams[1]); }),
             "which has device 0, goes into a stream of device 1");
  expectPart(messageOf([&] { ranks.groups[0].move_to(ranks.streams[1]); }),
             "which has device 0, goes into a stream of device 1");
  ranks.groups[0].move_to(other);
  ranks.each([&](int rank) { plan(ranks.args(rank), rank ? ranks.streams[1] : other); });
  other.synchronize();
  ranks.synchronize();
  CHECK(ranks.isRight(values));
}

// As engines do that have a thread for each device: a rank's thread calls and waits for its own stream, while
// the other's may have made no call yet.
TEST_CASE("each rank calls from a thread of its own and waits there") {
  const CollectiveProblem problem{.type = fx::bf16, .ranks = 2};
  Ranks ranks(problem, 8 * 100, {.capacity = 1 << 20, .timeout = std::chrono::seconds(20)});
  const fk::CollectivePlan plan(problem, kSmall);
  for (int call = 0; call < 8; ++call) {
    const std::vector<Bytes> values = ranks.fill(static_cast<std::uint64_t>(call));
    std::vector<std::string> told(2);
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < 2; ++rank)
        threads.emplace_back([&, rank] {
          told[static_cast<std::size_t>(rank)] = messageOf([&] {
            ranks.group(rank).device().make_current();
            plan(ranks.args(rank), ranks.stream(rank));
            ranks.stream(rank).synchronize();
            ranks.group(rank).check();
          });
        });
    }
    REQUIRE(told == std::vector<std::string>(2, "no error"));
    REQUIRE(ranks.isRight(values));
  }
}

// The emulator tells of the streams that nothing orders, so the case has a run of its own.
TEST_CASE("graphs of one group that run together are an error", "[.refusals]") {
  const CollectiveProblem problem{.type = fx::f16, .ranks = 2};
  // Both launches of rank 0 wait for rank 1, which does not come, and so they run together.
  Ranks ranks(problem, 8 * 100, {.capacity = 1 << 16, .timeout = std::chrono::milliseconds(800)});
  const fk::CollectivePlan plan(problem, kSmall);
  ranks.fill(1);
  const std::vector<fx::Graph> graphs =
      ranks.captured([&](int rank, const fx::Stream &stream) { plan(ranks.args(rank), stream); });
  const fx::Stream other(ranks.groups[0].device());
  graphs[0].launch(ranks.streams[0]);
  graphs[0].launch(other);
  other.synchronize();
  ranks.synchronize();
  expectPart(messageOf([&] { ranks.groups[0].check(); }),
             "rank 0 of a group of 2 had two launches under way together, which used one window");
}

TEST_CASE("wrong groups are refused") {
  const std::vector<fx::Device> all = fx::Device::all();
  expectPart(messageOf([&] {
               (void)fx::Group::of({all[0], all[1], all[2]});
             }),
             "a group of 3 ranks; it has 2, 4 or 8");
  expectPart(messageOf([&] {
               (void)fx::Group::of({all[1], all[1]});
             }),
             "a group has device 1 twice");
  expectPart(messageOf([&] {
               (void)fx::Group::of({all[0], all[1]}, {.capacity = 0});
             }),
             "a group's capacity is 0 bytes");
  expectPart(messageOf([&] {
               (void)fx::Group::of({all[0], all[1]}, {.timeout = std::chrono::milliseconds(0)});
             }),
             "a group's timeout is 0 ms");
  expectPart(messageOf([&] {
               (void)fx::Group::of({all[0], all[1]}, {.timeout = std::chrono::milliseconds::max()});
             }),
             "ms; it is up to 2147483647");
  expectPart(messageOf([] { const fx::GroupOffer offer(2, 2); }), "rank 2 of a group of 2");
}

// The emulator says a line for each of these refusals, so the case has a run of its own.
TEST_CASE("memory of several devices is refused where it is none", "[.refusals]") {
  CHECK(fx::can_access(fx::Device(0), fx::Device(1)));
  CHECK(fx::can_access(fx::Device(0), fx::Device(0)));
  fx::enable_access(fx::Device(0), fx::Device(1));
  fx::enable_access(fx::Device(0), fx::Device(1)); // changes nothing
  fx::enable_access(fx::Device(0), fx::Device(0));

  const fx::SharedMemory memory(4096);
  auto *inside = static_cast<std::byte *>(memory.data()) + 256;
  const int host = 0;
  const std::string asking = "asking for a handle of device memory";
  expectPart(messageOf([&] { (void)fx::memory_handle(inside); }), asking);
  expectPart(messageOf([&] { (void)fx::memory_handle(&host); }), asking);
  expectPart(messageOf([&] { (void)fx::memory_handle(nullptr); }), asking);

  const std::string opening = "opening memory of another process";
  expectPart(messageOf([] { const fx::OpenedMemory opened(fx::MemoryHandle{}); }), opening);
  const fx::MemoryHandle own = fx::memory_handle(memory.data());
  CHECK(own == fx::memory_handle(memory.data()));
  expectPart(messageOf([&] { const fx::OpenedMemory opened(own); }), opening);

  const fx::Stream stream;
  expectPart(messageOf([&] {
               (void)fx::Graph::capture(
                   stream, [](const fx::Stream &) { const fx::SharedMemory late(4096); });
             }),
             "make it before the capture");
}

TEST_CASE("wrong calls are refused") {
  const CollectiveProblem problem{.type = fx::f16, .ranks = 2};
  Ranks ranks(problem, 8 * 100, {.capacity = 1024});
  const fk::CollectivePlan plan(problem, kSmall);
  const fk::CollectiveArgs right = ranks.args(0);
  const auto told = [&](const fk::CollectiveArgs &args) {
    return messageOf([&] { plan(args, ranks.streams[0]); });
  };
  expectPart(told(right), "1600 bytes do not fit the group's windows of 1024");
  fk::CollectiveArgs wrong = right;
  wrong.group = nullptr;
  expectPart(told(wrong), "group is null");
  wrong = right;
  wrong.x = fx::TensorArg(right.x.data(), fx::f16, fx::Extents{33});
  wrong.y = fx::TensorArg(right.y.data(), fx::f16, fx::Extents{33});
  expectPart(told(wrong), "m is 33; it is a multiple of 8, which is 16 bytes");
  wrong.x = fx::TensorArg(right.x.data(), fx::f16, fx::Extents{32});
  wrong.y = fx::TensorArg(right.y.data(), fx::bf16, fx::Extents{32});
  expectPart(told(wrong), "y");
  wrong = right;
  wrong.root = 2;
  expectPart(told(wrong), "root is 2; it is a rank, 0 to 1");
  const fk::CollectivePlan four({.type = fx::f16, .ranks = 4}, kSmall);
  expectPart(messageOf([&] { four(right, ranks.streams[0]); }),
             "ranks of the problem is 4, and the group has 2");
  CHECK(fk::supported(CollectiveProblem{.ranks = 3}).why == "ranks is 3; it is 2, 4 or 8");
  CHECK_FALSE(fk::supported(CollectiveProblem{.type = fx::i32}));
  CHECK_FALSE(fk::supported(CollectiveProblem{.kind = CollectiveKind::broadcast},
                            with(CollectiveStages::two)));
  CHECK_FALSE(fk::supported(problem, CollectiveConfig{.blocks = 129}));
}

TEST_CASE("the stages of an all-reduce go by its size") {
  const auto stages = [](int ranks, std::int64_t bytes) {
    return fk::choose(CollectiveProblem{.type = fx::f32, .ranks = ranks}, bytes / 4).stages;
  };
  CHECK(stages(2, 64 << 20) == CollectiveStages::one);
  CHECK(stages(4, 100 << 10) == CollectiveStages::one);
  CHECK(stages(4, 160 << 10) == CollectiveStages::two);
  CHECK(stages(8, 64 << 10) == CollectiveStages::one);
  CHECK(stages(8, 4 << 20) == CollectiveStages::two);
  CHECK(stages(8, 8 << 20) == CollectiveStages::write);
}

// The numbers of ranks are cases of their own, because each takes minutes.
namespace {
void expectThousand(int ranks) {
  for (const CollectiveStages stages :
       {CollectiveStages::one, CollectiveStages::two, CollectiveStages::write})
    expectRight({.type = fx::bf16, .ranks = ranks}, with(stages), 8 * 130, 1000);
  for (const CollectiveKind kind : kKinds)
    if (kind != CollectiveKind::all_reduce)
      expectRight({.kind = kind, .type = fx::bf16, .ranks = ranks}, kSmall, ranks * 8 * 65, 1000);
}
} // namespace

TEST_CASE("a thousand collectives of two ranks with other values each", "[.long]") {
  expectThousand(2);
}
TEST_CASE("a thousand collectives of four ranks with other values each", "[.long]") {
  expectThousand(4);
}
TEST_CASE("a thousand collectives of eight ranks with other values each", "[.long]") {
  expectThousand(8);
}
