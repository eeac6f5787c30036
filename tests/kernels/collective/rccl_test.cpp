// Groups over communicators, by a library that stands in for librccl.
#include "collective/ranks.h"

#include <flydsl/host/rccl.h>

#include <dlfcn.h>
#include <functional>
#include <thread>

using namespace collective_tests;

namespace {

/// Communicators of the stand-in, a rank for each device.
class Communicators {
public:
  explicit Communicators(const std::vector<int> &devices) : made_(devices.size()) {
    function<void(ncclComm **, int, const int *)>("standInComms")(
        made_.data(), static_cast<int>(devices.size()), devices.data());
  }
  ~Communicators() {
    for (ncclComm *one : made_)
      function<void(ncclComm *)>("standInDestroy")(one);
  }
  Communicators(const Communicators &) = delete;
  Communicators &operator=(const Communicators &) = delete;
  ncclComm *operator[](std::size_t rank) const { return made_[rank]; }
  static void tellVersion(int version) { function<void(int)>("standInVersion")(version); }

  /// Calls `make` for each rank, in a thread of its own on device `current[rank]`; returns what it threw.
  static std::vector<std::string> each(const std::vector<int> &current,
                                       const std::function<void(std::size_t)> &make) {
    std::vector<std::string> messages(current.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < current.size(); ++rank)
      threads.emplace_back([&, rank] {
        fx::Device(current[rank]).make_current();
        messages[rank] = messageOf([&] { make(rank); });
      });
    for (std::thread &thread : threads)
      thread.join();
    return messages;
  }

private:
  template <class F> static F *function(const char *name) {
    static void *const library = dlopen(STAND_IN_RCCL, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library);
    return reinterpret_cast<F *>(dlsym(library, name));
  }
  std::vector<ncclComm *> made_;
};

/// What messageOf returns if nothing is thrown.
const std::string kNoError = messageOf([] {});
constexpr fx::GroupOptions kOptions{.capacity = 1 << 16};

fx::Group groupOf(ncclComm *communicator, const fx::GroupOptions &options = kOptions) {
  return fx::group_of_communicator(communicator, options, STAND_IN_RCCL);
}

} // namespace

TEST_CASE("a group over a communicator sums up") {
  const Communicators communicators({0, 1});
  const CollectiveProblem problem{.kind = CollectiveKind::all_reduce, .type = fx::f32, .ranks = 2};
  const std::int64_t m = 64;
  const fk::CollectivePlan plan(problem, fk::choose(problem, m));
  std::vector<std::optional<fx::Group>> groups(2);
  const auto messages = Communicators::each(
      {0, 1}, [&](std::size_t rank) { groups[rank].emplace(groupOf(communicators[rank])); });
  REQUIRE(messages == std::vector<std::string>(2, kNoError));
  std::vector<fx::Stream> streams;
  std::vector<fx::DeviceArray<float>> x;
  for (int rank = 0; rank < 2; ++rank) {
    const fx::Group &group = *groups[std::size_t(rank)];
    CHECK(group.rank() == rank);
    CHECK(group.size() == 2);
    CHECK(group.device().ordinal() == rank);
    group.device().make_current();
    streams.emplace_back(group.device());
    x.push_back(fx::DeviceArray<float>::from_host(
        std::vector<float>(std::size_t(m), rank == 0 ? 1.5f : 2.0f), {m}));
    plan({.x = x.back().tensor(), .y = x.back().tensor(), .group = &group}, streams.back());
  }
  for (std::size_t rank = 0; rank < 2; ++rank) {
    streams[rank].synchronize();
    groups[rank]->check();
    CHECK(x[rank].to_host() == std::vector<float>(std::size_t(m), 3.5f));
  }
  fx::Device(0).make_current();
}

TEST_CASE("groups over communicators: what is refused") {
  SECTION("a process without librccl") {
    const Communicators two({0, 1});
    expectPart(messageOf([&] { (void)fx::group_of_communicator(two[0]); }),
               "this process has no librccl");
  }
  SECTION("a path that is no library") {
    expectPart(
        messageOf([] { (void)fx::group_of_communicator(nullptr, {}, "/nowhere/librccl.so"); }),
        "librccl can't be loaded: /nowhere/librccl.so");
  }
  SECTION("a library without its functions") {
    expectPart(messageOf([] { (void)fx::group_of_communicator(nullptr, {}, "libm.so.6"); }),
               "librccl has no function ncclGetVersion");
  }
  SECTION("other versions") {
    for (const int version : {2708, 30001}) {
      Communicators::tellVersion(version);
      expectPart(messageOf([] { (void)groupOf(nullptr); }),
                 "librccl has version " + std::to_string(version));
    }
    Communicators::tellVersion(22304);
  }
  SECTION("no communicator, and sizes that no group has") {
    expectPart(messageOf([] { (void)groupOf(nullptr); }), "the communicator of a group is null");
    const Communicators three({0, 1, 2});
    expectPart(messageOf([&] { (void)groupOf(three[0]); }), "a group of 3 ranks; it has 2, 4 or 8");
  }
  // The rank that refuses does not leave the other one waiting.
  SECTION("another device than the current one") {
    const Communicators two({0, 1});
    const auto messages =
        Communicators::each({0, 2}, [&](std::size_t rank) { (void)groupOf(two[rank]); });
    expectPart(messages[1], "the communicator has device 1, and the current device is 2");
    expectPart(messages[0], "what rank 1 tells the group can't be used");
  }
  SECTION("ranks on one device") {
    const Communicators two({0, 0});
    for (const std::string &message :
         Communicators::each({0, 0}, [&](std::size_t rank) { (void)groupOf(two[rank]); }))
      expectPart(message, "each rank has a device of its own");
  }
  SECTION("ranks whose options differ") {
    const Communicators two({0, 1});
    const auto messages = Communicators::each({0, 1}, [&](std::size_t rank) {
      (void)groupOf(two[rank], {.capacity = std::size_t(1024) << rank});
    });
    expectPart(messages[0], "its capacity is 2048 bytes, here it is 1024");
    expectPart(messages[1], "its capacity is 1024 bytes, here it is 2048");
  }
}
