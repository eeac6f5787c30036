// Groups over communicators, by a library that stands in for librccl.
#include "collective/ranks.h"
#include "collective/stand_in_rccl.h"

#include <flydsl/host/rccl.h>

#include <cstdio>
#include <dlfcn.h>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace collective_tests;

namespace {

/// A library that stands in for librccl, as the process has loaded it.
class Library {
public:
  Library(const char *path, int how) : handle_(dlopen(path, RTLD_NOW | how)) {}
  explicit operator bool() const { return handle_ != nullptr; }
  template <class F> F *function(const char *name) const {
    return reinterpret_cast<F *>(dlsym(handle_, name));
  }
  /// The one that is found by its path alone.
  static const Library &local() {
    static const Library library(STAND_IN_RCCL, RTLD_LOCAL);
    REQUIRE(library);
    return library;
  }

private:
  void *handle_;
};

/// Communicators of the stand-in, a rank for each device.
class Communicators {
  template <class F, class... Args> auto call(const char *name, Args... args) const {
    return library_.function<F>(name)(args...);
  }

public:
  explicit Communicators(const std::vector<int> &devices, StandIn behaviour = StandIn::blocks,
                         const Library &library = Library::local())
      : library_(library), made_(devices.size()) {
    call<decltype(standInComms)>("standInComms", made_.data(), static_cast<int>(devices.size()),
                                 devices.data(), behaviour);
  }
  ~Communicators() {
    for (ncclComm *one : made_)
      call<decltype(standInDestroy)>("standInDestroy", one);
  }
  Communicators(const Communicators &) = delete;
  Communicators &operator=(const Communicators &) = delete;
  ncclComm *operator[](std::size_t rank) const { return made_[rank]; }
  void behave(std::size_t rank, StandIn behaviour) const {
    call<decltype(standInBehaviour)>("standInBehaviour", made_[rank], behaviour);
  }
  /// Whether the all-gather of a rank that has given up has found its memory when it came to its end.
  bool endsWell(std::size_t rank) const {
    return call<decltype(standInEnd)>("standInEnd", made_[rank]) == 0;
  }
  static void tellVersion(int version) {
    Library::local().function<decltype(standInVersion)>("standInVersion")(version);
  }

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
  const Library &library_;
  std::vector<ncclComm *> made_;
};

/// What messageOf returns if nothing is thrown.
const std::string kNoError = messageOf([] {});
constexpr fx::GroupOptions kOptions{.capacity = 1 << 16};
/// Of ranks that wait in vain.
constexpr fx::GroupOptions kShort{.capacity = 1 << 16, .timeout = std::chrono::milliseconds(200)};

fx::Group groupOf(ncclComm *communicator, const fx::GroupOptions &options = kOptions) {
  return fx::group_of_communicator(communicator, options, STAND_IN_RCCL);
}

/// Whether a group is made in a process of its own, which has loaded the library so and gives no path.
bool isFound(const char *path, int how, bool isGlobal) {
  const pid_t child = fork();
  if (child == 0) {
    const Library library(path, how);
    bool right = library && (dlsym(RTLD_DEFAULT, "ncclCommCount") != nullptr) == isGlobal;
    if (right) {
      const Communicators two({0, 1}, StandIn::blocks, library);
      for (const std::string &message : Communicators::each({0, 1}, [&](std::size_t rank) {
             (void)fx::group_of_communicator(two[rank], kOptions);
           })) {
        right &= message == kNoError;
        std::fprintf(stderr, "%s\n", message.c_str());
      }
    }
    _exit(right ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

} // namespace

// Each case forks before it uses the library, whose devices a child would not have otherwise.
TEST_CASE("a group over a communicator finds librccl among the symbols of the process") {
  CHECK(isFound(STAND_IN_RCCL, RTLD_GLOBAL, true));
}
TEST_CASE("a group over a communicator finds a librccl that a library of the process has loaded") {
  CHECK(isFound(STAND_IN_LIBRCCL, RTLD_LOCAL, false));
}

TEST_CASE("a group over a communicator sums up") {
  const StandIn behaviour = GENERATE(StandIn::blocks, StandIn::goes_on);
  const Communicators communicators({0, 1}, behaviour);
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
  SECTION("a communicator that is not ready") {
    const Communicators two({0, 1}, StandIn::not_ready);
    expectPart(messageOf([&] { (void)groupOf(two[0]); }),
               "RCCL is still at work while asking for a communicator's ranks: wait until "
               "ncclCommGetAsyncError gives ncclSuccess");
  }
  // The rank that refuses does not leave the other one waiting.
  SECTION("another device than the current one") {
    const Communicators two({0, 1});
    const auto messages =
        Communicators::each({0, 2}, [&](std::size_t rank) { (void)groupOf(two[rank]); });
    expectPart(messages[1], "the communicator has device 1, and the current device is 2");
    expectPart(messages[0], "what rank 1 tells the group can't be used: it has refused to take "
                            "part, and its own error says why");
  }
  SECTION("options of one rank that no group has") {
    const Communicators two({0, 1}, StandIn::goes_on);
    const auto messages = Communicators::each({0, 1}, [&](std::size_t rank) {
      (void)groupOf(two[rank], {.capacity = 1024, .timeout = std::chrono::seconds(30 * rank)});
    });
    expectPart(messages[0], "a group's timeout is 0 ms");
    expectPart(messages[1], "what rank 0 tells the group can't be used: it has refused");
  }
  SECTION("ranks on one device") {
    const Communicators two({0, 0});
    for (const std::string &message :
         Communicators::each({0, 0}, [&](std::size_t rank) { (void)groupOf(two[rank]); }))
      expectPart(message, "each rank has a device of its own");
  }
  SECTION("two of four ranks on one device") {
    const Communicators four({0, 1, 1, 2});
    for (const std::string &message :
         Communicators::each({0, 1, 1, 2}, [&](std::size_t rank) { (void)groupOf(four[rank]); }))
      expectPart(message, "it has device 1 of its process, as rank 1 does");
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

TEST_CASE("a rank that comes late finds the window of one that has given up, and waits in vain") {
  const Communicators two({0, 1}, StandIn::goes_on);
  const CollectiveProblem problem{.kind = CollectiveKind::all_reduce, .type = fx::f32, .ranks = 2};
  const fk::CollectivePlan plan(problem, fk::choose(problem, 64));
  fx::Device(0).make_current();
  expectPart(messageOf([&] { (void)groupOf(two[0], kShort); }),
             "rank 0 of a communicator of 2 has waited 200 ms for the others in vain");
  fx::Device(1).make_current();
  const fx::Group late = groupOf(two[1], {.capacity = 1 << 16, .timeout = std::chrono::seconds(2)});
  CHECK(two.endsWell(0));
  fx::DeviceArray<float> x({64});
  x.fill(0);
  const fx::Stream stream;
  plan({.x = x.tensor(), .y = x.tensor(), .group = &late}, stream);
  stream.synchronize();
  expectPart(messageOf([&] { late.check(); }), "has waited 2000 ms for rank 0 in vain");
  fx::Device(0).make_current();
}

TEST_CASE("an exchange that RCCL goes on with keeps its memory when its rank has an error") {
  const auto messageOfFirst = [](const Communicators &two, StandIn behaviour) {
    two.behave(0, behaviour);
    return Communicators::each(
        {0, 1}, [&](std::size_t rank) { (void)groupOf(two[rank], {.capacity = 1024}); })[0];
  };
  const Communicators two({0, 1}, StandIn::goes_on);
  SECTION("at once") {
    expectPart(messageOfFirst(two, StandIn::fails_at_once),
               "RCCL reports an error while exchanging the offers of a group: internal error");
  }
  SECTION("later") {
    expectPart(messageOfFirst(two, StandIn::fails_later),
               "RCCL reports an error while exchanging the offers of a group: remote process");
  }
  SECTION("because it calls inside of a group of RCCL's calls") {
    fx::Device(0).make_current();
    two.behave(0, StandIn::in_group);
    expectPart(messageOf([&] { (void)groupOf(two[0]); }),
               "has not brought the rank's own bytes; between ncclGroupStart and ncclGroupEnd");
    two.behave(1, StandIn::in_group);
    fx::Device(1).make_current();
    expectPart(messageOf([&] { (void)groupOf(two[1]); }), "has not brought the rank's own bytes");
    const auto ends = Communicators::each({0, 1}, [&](std::size_t rank) {
      if (!two.endsWell(rank))
        throw fx::Error("its memory was no more there");
    });
    CHECK(ends == std::vector<std::string>(2, kNoError));
    fx::Device(0).make_current();
    return;
  }
  CHECK(two.endsWell(0));
}

TEST_CASE("ranks that have sent nothing are told so") {
  fx::GroupOffer offer(0, 2, kOptions);
  const std::span<const std::byte> own = offer.bytes();
  std::vector<std::byte> all(2 * own.size());
  std::copy(own.begin(), own.end(), all.begin());
  expectPart(messageOf([&] { (void)std::move(offer).join(all); }),
             "what rank 1 tells the group can't be used: its bytes are 0, because nothing of it "
             "has come");
}
