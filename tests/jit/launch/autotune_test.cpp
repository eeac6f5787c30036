// Autotuning as a whole on the emulator: kernels are compiled and ranked by the estimate of their
// cycles, and the winner is kept.
#include <flydsl/flydsl.h>
#include <flydsl/host/autotune.h>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>

#include <unistd.h>

namespace fx = flydsl;
using Outcome = fx::Trial::Outcome;
using Source = fx::AutotuneResult::Source;

namespace {
constexpr int block = 64;
constexpr std::int64_t n = 64 * 64 * 16;

struct Directories {
  std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("flydsl_tune_" + std::to_string(::getpid()));
  Directories() {
    setenv("FLYDSL_AUTOTUNE_CACHE_DIR", (root / "cache").c_str(), 1);
    setenv("FLYDSL_DUMP_DIR", (root / "dump").c_str(), 1); // the reproducer of what fails
  }
  ~Directories() {
    std::filesystem::remove_all(root);
    for (const char *name : {"FLYDSL_AUTOTUNE_CACHE_DIR", "FLYDSL_AUTOTUNE_CONFIG_DIR",
                             "FLYDSL_AUTOTUNE", "FLYDSL_DUMP_DIR"})
      unsetenv(name);
  }
};

/// Copies 64 elements a thread, all loaded before the first is stored. `step` elements lie between
/// a thread's own: 1 makes neighbouring threads far apart, `block` makes them neighbours in memory.
auto copyKernel(int registers) {
  return fx::Kernel{"copy64",
                    [](fx::Tensor x, fx::Tensor y, fx::Constexpr<int> step) {
                      const int across = step == 1 ? 64 : 1;
                      auto first = fx::block_idx().x * (block * 64) + fx::thread_idx().x * across;
                      std::vector<fx::Numeric> held;
                      for (int k = 0; k < 64; ++k)
                        held.push_back(x(first + k * step));
                      for (int k = 0; k < 64; ++k)
                        y(first + k * step) = held[std::size_t(63 - k)];
                    },
                    {.max_registers = unsigned(registers)}};
}

/// The same with a little too much shared memory.
const fx::Kernel greedy{"greedy", [](fx::Tensor x, fx::Tensor y) {
                          auto shared =
                              fx::SharedAllocator().allocate<fx::Array<fx::Float32, 20000>>();
                          auto i = fx::thread_idx().x;
                          auto view = shared.view();
                          view(i * 200) = x(i);
                          fx::gpu::barrier();
                          y(i) = view((i + 1) % block * 200);
                        }};
} // namespace

TEST_CASE("a search on the emulator ranks by estimated cycles, skips what is unfit, and is kept") {
  Directories directories;
  auto x = fx::DeviceArray<float>::random({n}, 1);
  fx::DeviceArray<float> y({n});
  int builds = 0;
  std::mutex mutex;
  auto build = [&](const fx::Config &config) {
    {
      std::lock_guard lock(mutex);
      ++builds;
    }
    const std::string &what = config.text("what");
    if (what == "throws")
      throw fx::Error("this one is not for today");
    if (what == "greedy") {
      auto compiled = greedy(x, y).compile({.block = block});
      return fx::Candidate{compiled, [](fx::StreamRef, int) {}};
    }
    const int step = int(config.integer("step"));
    auto compiled = copyKernel(what == "spills" ? 8 : 0)(x, y, step).compile({.block = block});
    auto run = [=, &x, &y](fx::StreamRef stream, int) {
      compiled(x, y, step).launch({.grid = n / (block * 64), .block = block, .stream = stream});
    };
    return fx::Candidate{compiled, run};
  };
  const std::vector<fx::Config> configs = {{{"what", "throws"}, {"step", 1}},
                                           {{"what", "copy"}, {"step", 1}},
                                           {{"what", "spills"}, {"step", block}},
                                           {{"what", "greedy"}, {"step", 1}},
                                           {{"what", "copy"}, {"step", block}}};
  fx::AutotuneOptions options;
  std::vector<std::size_t> done;
  options.progress = [&](const fx::Trial &, std::size_t at, std::size_t total) {
    CHECK(total == configs.size());
    done.push_back(at);
  };
  const fx::Config key{{"n", int(n)}};
  fx::AutotuneResult found = fx::autotune("copy64", configs, key, build, options);
  CHECK(found.source == Source::search);
  CHECK(found.config == configs[4]);
  CHECK(done == std::vector<std::size_t>{1, 2, 3, 4, 5});
  REQUIRE(found.trials.size() == configs.size());
  CHECK(found.trials[0].outcome == Outcome::failed);
  CHECK_THAT(found.trials[0].reason, Catch::Contains("not for today"));
  CHECK(found.trials[1].outcome == Outcome::measured);
  CHECK(found.trials[2].outcome == Outcome::spills);
  CHECK(found.trials[3].outcome == Outcome::failed);
  CHECK_THAT(found.trials[3].reason, Catch::Contains("65536"));
  CHECK(found.trials[4].outcome == Outcome::measured);
  // An estimate, and one with a meaning: memory in lines of its own is dearer.
  CHECK(found.trials[4].milliseconds > 0);
  // The launch itself, which both have, is most of what they take.
  CHECK(found.trials[1].milliseconds - found.trials[4].milliseconds > 0.001);
  CHECK(found.milliseconds == found.trials[4].milliseconds);

  builds = 0;
  fx::AutotuneResult kept = fx::autotune("copy64", configs, key, build, options);
  CHECK(kept.source == Source::cache);
  CHECK(kept.config == configs[4]);
  CHECK(builds == 0);

  // Offline: an artifact is written by a forced search and read where the cache knows nothing.
  const std::string shipped = (directories.root / "shipped").string();
  setenv("FLYDSL_AUTOTUNE_CONFIG_DIR", shipped.c_str(), 1);
  setenv("FLYDSL_AUTOTUNE", "1", 1);
  CHECK(fx::autotune("copy64", configs, key, build, options).source == Source::search);
  CHECK(builds == int(configs.size()));
  unsetenv("FLYDSL_AUTOTUNE");
  setenv("FLYDSL_AUTOTUNE_CACHE_DIR", (directories.root / "empty").c_str(), 1);
  fx::AutotuneResult artifact = fx::autotune("copy64", configs, key, build, options);
  CHECK(artifact.source == Source::artifact);
  CHECK(artifact.config == configs[4]);
}

TEST_CASE("a configuration whose results are wrong is out, however fast") {
  Directories directories;
  auto x = fx::DeviceArray<float>::random({n}, 1);
  fx::DeviceArray<float> y({n});
  const auto in = x.to_host();
  // Of the two that copy, the dearer one; the cheapest leaves out what it should do.
  const fx::Kernel part{"copy_a_part", [](fx::Tensor x, fx::Tensor y) {
                          auto i = fx::block_idx().x * block + fx::thread_idx().x;
                          y(i) = x(i);
                        }};
  auto build = [&](const fx::Config &config) {
    const bool all = config.flag("all");
    auto compiled = part(x, y).compile({.block = block});
    return fx::Candidate{compiled, [=, &x, &y](fx::StreamRef stream, int) {
                           compiled(x, y).launch({.grid = n / block / (all ? 1 : 8),
                                                  .block = block,
                                                  .stream = stream});
                         }};
  };
  const std::vector<fx::Config> configs = {{{"all", true}}, {{"all", false}}};
  CHECK(fx::autotune("unchecked", configs, {{"n", n}}, build).config == configs[1]);

  fx::AutotuneOptions options;
  std::vector<fx::Config> asked;
  options.validate = [&](const fx::Config &config) {
    asked.push_back(config);
    const auto out = y.to_host();
    y.poison();
    return out == in;
  };
  y.poison();
  fx::AutotuneResult found = fx::autotune("checked", configs, {{"n", n}}, build, options);
  CHECK(found.config == configs[0]);
  CHECK(asked == configs); // once each, in their order
  CHECK(found.trials[1].outcome == Outcome::wrong);
  CHECK_THAT(found.trials[1].reason, Catch::Contains("its results are wrong"));

  options.validate = [](const fx::Config &) -> bool { throw fx::Error("off by 3 at 17"); };
  CHECK_THROWS_WITH(fx::autotune("none_right", configs, {{"n", n}}, build, options),
                    Catch::Contains("no configuration can be measured") &&
                        Catch::Contains("off by 3 at 17"));
}

// Run by itself, with FLYDSL_EMULATOR_CHECK=race.
TEST_CASE("a finding of a check fails the candidate", "[.checks]") {
  Directories directories;
  fx::DeviceArray<float> x({128});
  x.fill(1);
  const fx::Kernel turn{"turn", [](fx::Tensor x, fx::Constexpr<bool> waits) {
                          auto i = fx::thread_idx().x;
                          auto s = fx::SharedAllocator().allocate<fx::Array<fx::Float32, 128>>();
                          s.view()(i) = x(i);
                          if (waits)
                            fx::gpu::barrier();
                          x(i) = s.view()(127 - i);
                        }};
  auto build = [&](const fx::Config &config) {
    const bool waits = config.flag("waits");
    auto compiled = turn(x, waits).compile({.block = 128});
    return fx::Candidate{compiled, [=, &x](fx::StreamRef stream, int) {
                           compiled(x, waits).launch({.stream = stream});
                         }};
  };
  const std::vector<fx::Config> configs = {{{"waits", false}}, {{"waits", true}}};
  fx::AutotuneResult found = fx::autotune("turn", configs, {}, build);
  CHECK(found.config == configs[1]);
  CHECK(found.trials[0].outcome == Outcome::wrong);
  CHECK_THAT(found.trials[0].reason, Catch::Contains("a check of the emulator found: "));
  CHECK(found.trials[1].outcome == Outcome::measured);
}

TEST_CASE("whatever a caller's functions throw, and what they leave out, is a reason") {
  Directories directories;
  const fx::Kernel nothing{"nothing_tuned", [](fx::Tensor x) { x(0) = 1.0f; }};
  fx::DeviceArray<float> x({64});
  const std::vector<fx::Config> one{{{"a", 1}}};
  auto build = [&](const fx::Config &) {
    return fx::Candidate{nothing(x).compile({.block = 1}), [](fx::StreamRef, int) {}};
  };
  using Catch::Contains;
  CHECK_THROWS_WITH(
      fx::autotune("throws", one, {}, [](const fx::Config &) -> fx::Candidate { throw 3; }),
      Contains("a=1: it threw what is no std::exception"));
  CHECK_THROWS_WITH(fx::autotune("launches nothing", one, {}, build),
                    Contains("a=1: its run launches nothing"));
  CHECK_THROWS_WITH(fx::autotune("validates", one, {}, build,
                                 {.validate = [](const fx::Config &) -> bool { throw 3; }}),
                    Contains("validate: it threw what is no std::exception"));
  CHECK_THROWS_WITH(fx::autotune("no build", one, {}, {}),
                    Contains("no function builds the configurations"));
  CHECK_THROWS_WITH(fx::autotune("twice", {{{"a", 1}, {"b", 2}, {"a", 2}}}, {}, build),
                    Contains("a=1 b=2 a=2 has two values for a"));
  CHECK_THROWS_WITH(fx::autotune("twice", one, {{"n", 1}, {"n", 2}}, build),
                    Contains("n=1 n=2 has two values for n"));
}
