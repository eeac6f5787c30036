// A process for each rank. Each case forks before it uses the library, whose devices a child would not
// have otherwise.
#include "collective/experts.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace collective_tests;

namespace {

constexpr std::int64_t kElements = 8 * 200;

/// Where the ranks of a case meet, in a folder that is removed in the end.
class Meeting {
public:
  Meeting() {
    folder_ = std::filesystem::temp_directory_path() / "flydsl-group-XXXXXX";
    std::string text = folder_.string();
    REQUIRE(mkdtemp(text.data()));
    folder_ = text;
  }
  ~Meeting() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::filesystem::path file() const { return folder_ / "ranks"; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

private:
  std::filesystem::path folder_;
};

/// Runs the ranks but the first in children; they tell by their statuses whether all was right.
class Processes {
public:
  Processes(int size, const std::function<bool(int rank)> &work) {
    for (int rank = 1; rank < size; ++rank) {
      const pid_t process = fork();
      if (process == 0) {
        bool right = false;
        try {
          right = work(rank);
        } catch (const std::exception &error) {
          std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        }
        _exit(right ? 0 : 1);
      }
      children_.push_back(process);
    }
  }
  const std::vector<pid_t> &children() const { return children_; }
  bool allRight() const {
    bool right = true;
    for (const pid_t child : children_) {
      int status = 0;
      right &= waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
    }
    return right;
  }

private:
  std::vector<pid_t> children_;
};

/// Processes meet in the end, because a rank's window must stay until all have ended their calls.
class End {
public:
  explicit End(int size) : size_(size) {
    void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    come_ = new (memory) std::atomic<int>(0);
  }
  /// Returns false if the others do not come within a minute.
  bool meet() const {
    ++*come_;
    for (int turn = 0; turn < 60'000 && *come_ < size_; ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return *come_ >= size_;
  }

private:
  int size_;
  std::atomic<int> *come_;
};

CollectiveConfig configOf(CollectiveStages stages) {
  return {.stages = stages, .block = 64, .blocks = 3};
}

/// What a rank does: some all-reduces, each of other values.
bool reduces(const fx::Group &group, const fx::Stream &stream, CollectiveStages stages, int calls) {
  const CollectiveProblem problem{.type = fx::bf16, .ranks = group.size()};
  const fk::CollectivePlan plan(problem, configOf(stages));
  const Vector x(fx::bf16, kElements), y(fx::bf16, kElements);
  for (int call = 0; call < calls; ++call) {
    std::vector<Bytes> values;
    for (int rank = 0; rank < group.size(); ++rank)
      values.push_back(valuesOf(problem, kElements, rank, static_cast<std::uint64_t>(call)));
    fx::DeviceArray<std::uint8_t> &memory = const_cast<Vector &>(x).memory;
    memory.copy_from(values[static_cast<std::size_t>(group.rank())]);
    plan({.x = x.tensor(), .y = y.tensor(), .group = &group}, stream);
    stream.synchronize();
    group.check();
    if (y.memory.to_host() != expectedOf(problem, values, group.rank(), 0))
      return false;
  }
  return true;
}

} // namespace

TEST_CASE("ranks of four processes find each other by a file") {
  const Meeting meeting;
  const End end(4);
  const auto work = [&](int rank) {
    const fx::Group group = fx::Group::join(meeting.file(), rank, 4, {.capacity = 1 << 16});
    const fx::Stream stream;
    const bool right = reduces(group, stream, CollectiveStages::two, 5) &&
                       reduces(group, stream, CollectiveStages::write, 5);
    return end.meet() && right;
  };
  const Processes others(4, work);
  CHECK(work(0));
  CHECK(others.allRight());
  CHECK(meeting.files() == 4); // what each has seen
}

TEST_CASE("ranks of two processes find each other by bytes") {
  const End end(2);
  int toChild[2], toParent[2];
  REQUIRE((pipe(toChild) == 0 && pipe(toParent) == 0));
  const auto work = [&](int rank) {
    fx::GroupOffer offer(rank, 2, {.capacity = 1 << 16});
    const std::span<const std::byte> own = offer.bytes();
    if (write(rank ? toParent[1] : toChild[1], own.data(), own.size()) !=
        static_cast<ssize_t>(own.size()))
      return false;
    std::vector<std::byte> all(2 * own.size());
    std::byte *mine = all.data() + (rank ? own.size() : 0),
              *other = all.data() + (rank ? 0 : own.size());
    std::memcpy(mine, own.data(), own.size());
    if (read(rank ? toChild[0] : toParent[0], other, own.size()) !=
        static_cast<ssize_t>(own.size()))
      return false;
    const fx::Group group = std::move(offer).join(all);
    const fx::Stream stream;
    const bool right = reduces(group, stream, CollectiveStages::one, 5);
    return end.meet() && right;
  };
  const Processes others(2, work);
  CHECK(work(0));
  CHECK(others.allRight());
}

namespace {

/// What a rank does: a dispatch, and a combine of what was brought, which is the sum of each token's
/// slots, one for each expert that it has.
class Exchange {
public:
  static constexpr std::int64_t kTokens = 9, kN = 64;
  static inline const ExpertDispatchProblem kGive{
      .n = kN, .experts = 8, .topk = 2, .ranks = 2, .tokens = kTokens, .unit = 16};
  static inline const ExpertCombineProblem kTake{
      .n = kN, .experts = 8, .topk = 2, .ranks = 2, .tokens = kTokens, .weights = true};

  // The first rank that needs a kernel compiles it, and no other one waits for that in a call.
  Exchange() : give_(kGive, fk::choose(kGive, kTokens)), take_(kTake, fk::choose(kTake, kTokens)) {}

  bool run(const fx::Group &group, const fx::Stream &stream, std::uint64_t seed) const {
    const std::vector<std::int64_t> m{kTokens, 5};
    std::vector<RankTokens> all = tokensOf(kGive, m, seed);
    // Small integers, whose weighted sums bf16 has exactly.
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      std::vector<double> values;
      for (std::int64_t i = 0; i < m[rank] * kN; ++i)
        values.push_back(double(pick(seed + rank, static_cast<std::uint64_t>(i), 8)));
      all[rank].x = fk::host::encode(fx::bf16, values);
      for (float &weight : all[rank].weights)
        weight = float(int(weight * 32) % 4);
    }
    const RankTokens &own = all[at(group.rank())];
    const std::int64_t places = fk::expert_dispatch_places(kGive);
    const DispatchOperands operands(kGive, give_.config(), own, places);
    const fk::ExpertDispatchArgs given = operands.args(group);
    give_(given, stream);
    const Vector y(fx::bf16, own.m * kN);
    const fx::Extents slots{own.m, kGive.topk};
    take_({.x = given.y,
           .slot_places = given.slot_places,
           .ids = shaped(operands.ids, slots),
           .weights = shaped(operands.weights, slots),
           .y = {const_cast<std::uint8_t *>(y.memory.data()), fx::bf16, fx::Extents{own.m, kN}},
           .group = &group},
          stream);
    stream.synchronize();
    group.check();
    const std::vector<double> x = fk::host::decode(fx::bf16, own.x),
                              found = fk::host::decode(fx::bf16, y.memory.to_host());
    for (std::int64_t token = 0; token < own.m; ++token) {
      double factor = 0;
      for (std::int64_t slot = token * kGive.topk; slot < (token + 1) * kGive.topk; ++slot)
        if (own.ids[at(slot)] >= 0)
          factor += double(own.weights[at(slot)]);
      for (std::int64_t i = 0; i < kN; ++i)
        if (found[at(token * kN + i)] != factor * x[at(token * kN + i)])
          return false;
    }
    return true;
  }

private:
  fk::ExpertDispatchPlan give_;
  fk::ExpertCombinePlan take_;
};

} // namespace

TEST_CASE("dispatch and combine of ranks that are processes") {
  const Meeting meeting;
  const End end(2);
  const auto work = [&](int rank) {
    const Exchange exchange;
    const fx::Group group = fx::Group::join(meeting.file(), rank, 2, {.capacity = 1 << 16});
    const fx::Stream stream;
    bool right = true;
    for (std::uint64_t call = 0; call < 4; ++call)
      right &= exchange.run(group, stream, call);
    return end.meet() && right;
  };
  const Processes others(2, work);
  CHECK(work(0));
  CHECK(others.allRight());
}

TEST_CASE("a process that dies between dispatch and combine is an error on the others, in time") {
  const Meeting meeting;
  const fx::GroupOptions options{.capacity = 1 << 16, .timeout = std::chrono::milliseconds(3000)};
  const auto work = [&](int rank) {
    const Exchange exchange;
    const fx::Group group = fx::Group::join(meeting.file(), rank, 2, options);
    const fx::Stream stream;
    if (!exchange.run(group, stream, 1))
      return false;
    if (rank == 1)
      (void)raise(SIGKILL);
    expectPart(messageOf([&] { (void)exchange.run(group, stream, 2); }),
               "has waited 3000 ms for rank 1 in vain");
    return true;
  };
  const Processes others(2, work);
  CHECK(work(0));
  CHECK_FALSE(others.allRight());
}

TEST_CASE("a process that dies is an error on the others, in time") {
  const Meeting meeting;
  const fx::GroupOptions options{.capacity = 1 << 16, .timeout = std::chrono::milliseconds(3000)};
  const auto work = [&](int rank) {
    // The first rank that needs a kernel compiles it, and no other one waits for that in a call.
    const fk::CollectivePlan compiled({.type = fx::bf16, .ranks = 2},
                                      configOf(CollectiveStages::one));
    const fx::Group group = fx::Group::join(meeting.file(), rank, 2, options);
    const fx::Stream stream;
    if (!reduces(group, stream, CollectiveStages::one, 1))
      return false;
    if (rank == 1)
      (void)raise(SIGKILL);
    expectPart(messageOf([&] { (void)reduces(group, stream, CollectiveStages::one, 1); }),
               "has waited 3000 ms for rank 1 in vain");
    return true;
  };
  const Processes others(2, work);
  CHECK(work(0));
  CHECK_FALSE(others.allRight());
}

TEST_CASE("a rank whose partner never starts says which one is missing") {
  const Meeting meeting;
  const std::string told = messageOf([&] {
    (void)fx::Group::join(meeting.file(), 0, 4,
                          {.capacity = 1 << 16, .timeout = std::chrono::milliseconds(50)});
  });
  expectPart(told, "has waited 50 ms");
  expectPart(told, "missing: rank 1, 2, 3");
}

TEST_CASE("bytes of other groups are refused") {
  fx::GroupOffer offer(0, 2, {.capacity = 1 << 16});
  const fx::GroupOffer same(1, 2, {.capacity = 1 << 16}), larger(1, 2, {.capacity = 1 << 17});
  const auto told = [](fx::GroupOffer offer, const fx::GroupOffer &first,
                       const fx::GroupOffer &second) {
    std::vector<std::byte> all(first.bytes().begin(), first.bytes().end());
    all.insert(all.end(), second.bytes().begin(), second.bytes().end());
    return messageOf([&] { (void)std::move(offer).join(all); });
  };
  const auto make = [] { return fx::GroupOffer(0, 2, {.capacity = 1 << 16}); };
  expectPart(told(make(), offer, same), "it is not what this rank has offered");
  expectPart(told(make(), same, offer), "it is of rank 1; ranks stand in their order");
  expectPart(messageOf([&] { (void)make().join(offer.bytes()); }),
             "those of all ranks in their order");
  std::vector<std::byte> all(offer.bytes().begin(), offer.bytes().end());
  all.insert(all.end(), larger.bytes().begin(), larger.bytes().end());
  expectPart(messageOf([&] { (void)std::move(offer).join(all); }),
             "its capacity is 131072 bytes, here it is 65536");
  const std::string used = "a GroupOffer that was joined or moved from is used";
  expectPart(messageOf([&] { (void)std::move(offer).join(all); }), used);
  expectPart(messageOf([&] { (void)offer.bytes(); }), used);
}
