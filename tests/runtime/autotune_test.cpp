#include "fake.h"
#include "fake_params.h"
#include "time_limit.h"

#include <flydsl/host/autotune.h>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include <unistd.h>

namespace fx = flydsl;
using Catch::Contains;

namespace {
/// Winners go into directories of this test.
struct Directories {
  std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("flydsl_autotune_" + std::to_string(::getpid()));
  Directories() {
    setenv("FLYDSL_AUTOTUNE_CACHE_DIR", (root / "cache").c_str(), 1);
    unsetenv("FLYDSL_AUTOTUNE_CONFIG_DIR");
    unsetenv("FLYDSL_AUTOTUNE");
  }
  ~Directories() {
    std::filesystem::remove_all(root);
    for (const char *name :
         {"FLYDSL_AUTOTUNE_CACHE_DIR", "FLYDSL_AUTOTUNE_CONFIG_DIR", "FLYDSL_AUTOTUNE"})
      unsetenv(name);
  }
};

const std::vector<fx::Config> configs{{{"block", 64}}, {{"block", 128}}, {{"block", 256}}};

/// Launches with the block of a configuration; the fake's clock says how long it takes.
fx::Candidate candidate(const fx::Config &config) {
  const std::int64_t block = config.integer("block");
  fx::Kernel kernel{"tuned", [](FakeInt32) {}};
  auto compiled = kernel(1).compile({.block = block});
  return {compiled, [=](fx::StreamRef stream, int iteration) {
            compiled(iteration).launch({.grid = 1, .block = block, .stream = stream});
          }};
}

/// The block of the last launch decides the elapsed time: 128 is the fastest.
void clockByBlock() {
  fake().elapsed = [] {
    std::lock_guard<std::mutex> lock(fake().mutex);
    const unsigned block = fake().launches.back().block[0];
    return block == 128 ? 1.0f : 2.0f;
  };
}
} // namespace

TEST_CASE("a search finds the fastest, and the next call knows it") {
  Directories directories;
  clockByBlock();
  std::set<std::size_t> done;
  fx::AutotuneOptions options;
  options.progress = [&](const fx::Trial &trial, std::size_t n, std::size_t total) {
    CHECK(trial.outcome == fx::Trial::Outcome::measured);
    CHECK(total == 3);
    done.insert(n);
  };
  auto first = fx::autotune("search", configs, {{"N", 512}}, candidate, options);
  CHECK(first.source == fx::AutotuneResult::Source::search);
  CHECK(first.config == configs[1]);
  CHECK(first.milliseconds == 1.0);
  CHECK(first.trials.size() == 3);
  CHECK(done == std::set<std::size_t>{1, 2, 3});

  auto never = [](const fx::Config &) -> fx::Candidate { throw std::logic_error("built"); };
  auto second = fx::autotune("search", configs, {{"N", 512}}, never);
  CHECK(second.source == fx::AutotuneResult::Source::cache);
  CHECK(second.config == configs[1]);
  // Another key, another name: not known.
  CHECK_THROWS_WITH(fx::autotune("search", configs, {{"N", 513}}, never), Contains("built"));
  CHECK_THROWS_WITH(fx::autotune("other", configs, {{"N", 512}}, never),
                    Contains("no configuration"));
}

TEST_CASE("what fails or spills is skipped and told") {
  Directories directories;
  clockByBlock();
  auto builder = [](const fx::Config &config) {
    if (config.integer("block") == 128)
      throw fx::CompileError("out of luck");
    fakeBuild().spills = config.integer("block") == 64 ? 7 : 0;
    fx::Candidate made = candidate(config);
    fakeBuild().spills = 0;
    return made;
  };
  fx::AutotuneOptions options;
  options.threads = 1;
  auto result = fx::autotune("skips", configs, {}, builder, options);
  CHECK(result.config == configs[2]);
  CHECK(result.trials[0].outcome == fx::Trial::Outcome::spills);
  CHECK(result.trials[0].reason == "7 registers spilled");
  CHECK(result.trials[1].outcome == fx::Trial::Outcome::failed);
  CHECK(result.trials[1].reason == "out of luck");
}

TEST_CASE("a default serves where nothing is known, and FLYDSL_AUTOTUNE=1 searches and ships") {
  Directories directories;
  clockByBlock();
  fx::AutotuneOptions options;
  options.default_config = configs[0];
  CHECK(fx::autotune("shipped", configs, {}, candidate, options).source ==
        fx::AutotuneResult::Source::default_config);

  setenv("FLYDSL_AUTOTUNE", "1", 1);
  setenv("FLYDSL_AUTOTUNE_CONFIG_DIR", (directories.root / "artifacts").c_str(), 1);
  CHECK(fx::autotune("shipped", configs, {}, candidate, options).config == configs[1]);
  unsetenv("FLYDSL_AUTOTUNE");
  std::filesystem::remove_all(directories.root / "cache");
  auto shipped = fx::autotune("shipped", configs, {}, candidate, options);
  CHECK(shipped.source == fx::AutotuneResult::Source::artifact);
  CHECK(shipped.config == configs[1]);

  // A damaged artifact, and one whose configuration is no choice any more, are passed over.
  const std::vector<fx::Config> others{{{"block", 64}}, {{"block", 512}}};
  CHECK(fx::autotune("shipped", others, {}, candidate, options).source ==
        fx::AutotuneResult::Source::default_config);
  for (const auto &entry : std::filesystem::directory_iterator(directories.root / "artifacts"))
    std::ofstream(entry.path()) << "{ not json";
  CHECK(fx::autotune("shipped", configs, {}, candidate, options).source ==
        fx::AutotuneResult::Source::default_config);
}

TEST_CASE("an artifact that can't be written is an error, and its winner is not kept") {
  Directories directories;
  clockByBlock();
  std::filesystem::create_directories(directories.root);
  std::ofstream(directories.root / "file") << "no directory";
  setenv("FLYDSL_AUTOTUNE", "1", 1);
  setenv("FLYDSL_AUTOTUNE_CONFIG_DIR", (directories.root / "file/below").c_str(), 1);
  CHECK_THROWS_WITH(fx::autotune("unwritten", configs, {}, candidate),
                    Contains("no artifact written"));
  CHECK_FALSE(std::filesystem::exists(directories.root / "cache"));
}

TEST_CASE("a winner that is a pipe, or that others may write, is searched for again") {
  namespace fs = std::filesystem;
  Directories directories;
  clockByBlock();
  const flydsl::testing::TimeLimit limit(60);
  auto source = [&] { return fx::autotune("guarded", configs, {}, candidate).source; };
  using Source = fx::AutotuneResult::Source;
  CHECK(source() == Source::search);
  CHECK(source() == Source::cache);
  const fs::path cache = directories.root / "cache";
  const fs::path file = fs::directory_iterator(cache)->path();
  CHECK(fs::status(cache).permissions() == fs::perms(0700));
  CHECK(fs::status(file).permissions() == fs::perms(0600));

  fs::remove(file);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  CHECK(source() == Source::search);
  CHECK(source() == Source::cache); // the pipe was replaced
  fs::resize_file(file, std::uintmax_t(1) << 40);
  CHECK(source() == Source::search);
  CHECK(source() == Source::cache);
  fs::permissions(file, fs::perms(0622));
  CHECK(source() == Source::search);
  CHECK(source() == Source::cache);
  fs::permissions(cache, fs::perms(0777));
  CHECK(source() == Source::search);
  CHECK(source() == Source::search); // nothing is kept there either
  fs::permissions(cache, fs::perms(0700));
  CHECK(source() == Source::cache);
}

TEST_CASE("configurations are read by name and type") {
  const fx::Config config{{"n", 3}, {"flag", true}, {"x", 0.5}, {"mode", "fast"}};
  CHECK(config.integer("n") == 3);
  CHECK(config.flag("flag"));
  CHECK(config.real("x") == 0.5);
  CHECK(config.text("mode") == "fast");
  CHECK(config.str() == "n=3 flag=true x=0.5 mode=fast");
  CHECK(fx::Config{{"eps", 1e-7}, {"scale", 0.1}}.str() == "eps=1e-07 scale=0.1");
  CHECK_THROWS_WITH(config.integer("m"), Contains("no value m in the configuration n=3"));
  CHECK_THROWS_WITH(config.flag("n"), Contains("the value n of a configuration is no flag"));
  CHECK_THROWS_WITH(fx::autotune("none", {}, {}, candidate), Contains("no configurations"));
}

TEST_CASE("validate is asked once for each configuration, after one run of it") {
  Directories directories;
  clockByBlock();
  fx::AutotuneOptions options;
  std::vector<std::pair<std::int64_t, unsigned>> asked;
  options.validate = [&](const fx::Config &config) {
    std::lock_guard<std::mutex> lock(fake().mutex);
    asked.emplace_back(config.integer("block"), fake().launches.back().block[0]);
    return config.integer("block") != 128; // the fastest is wrong
  };
  auto result = fx::autotune("validated", configs, {}, candidate, options);
  CHECK(asked == decltype(asked){{64, 64u}, {128, 128u}, {256, 256u}});
  CHECK(result.config != configs[1]);
  CHECK(result.trials[1].outcome == fx::Trial::Outcome::wrong);
  CHECK(result.trials[1].reason == "validate says that its results are wrong");

  auto nothing = [](const fx::Config &config) {
    return fx::Candidate{candidate(config).executable, {}};
  };
  CHECK_THROWS_WITH(fx::autotune("no_run", configs, {}, nothing),
                    Contains("the candidate has no function that runs it"));
  options.repeat = 0;
  CHECK_THROWS_WITH(fx::autotune("no_repeat", configs, {}, candidate, options),
                    Contains("0 measured runs after 3; one is the least"));
  options.repeat = 1;
  options.warmup = -1;
  CHECK_THROWS_WITH(fx::autotune("negative", configs, {}, candidate, options),
                    Contains("after -1"));
}

TEST_CASE("a configuration's numbers are of any integer type") {
  const std::int64_t n = std::int64_t(1) << 40;
  const std::size_t size = 7;
  const fx::Config config{
      {"n", n}, {"size", size}, {"small", short(-3)}, {"flag", true}, {"x", 0.5}};
  CHECK(config.integer("n") == n);
  CHECK(config.integer("size") == 7);
  CHECK(config.integer("small") == -3);
  CHECK(config.flag("flag"));
  CHECK(fx::Config{{"n", std::int64_t(3)}}.integer("n") == 3);
  CHECK_THROWS_WITH((fx::Config{{"n", ~std::size_t(0)}}),
                    Contains("18446744073709551615") && Contains("63 bits"));
}

namespace {
struct Stage {
  int count = 2;
  float slack = 0.5f;
};
enum class Order : std::uint8_t { rows, columns = 5 };
struct Tile {
  int m = 128;
  std::int8_t k = -8;
  fx::DType dtype = fx::f16;
  bool swizzled = true;
  std::string schedule = "direct";
  std::array<int, 2> waves = {2, 4};
  Stage stage;
  Order order = Order::columns;
};
} // namespace

TEST_CASE("a struct becomes a configuration and comes back") {
  const fx::Config config = fx::to_config(Tile{});
  CHECK(config.str() == "m=128 k=-8 dtype=f16 swizzled=true schedule=direct waves.0=2 waves.1=4 "
                        "stage.count=2 stage.slack=0.5 order=5");
  Tile other;
  other.m = 64;
  other.dtype = fx::bf16;
  other.swizzled = false;
  other.waves = {1, 8};
  other.stage.slack = 0.25f;
  other.order = Order::rows;
  const Tile back = fx::from_config<Tile>(fx::to_config(other));
  CHECK(fx::to_config(back) == fx::to_config(other));
  CHECK(back.dtype == fx::bf16);
  CHECK(back.waves[1] == 8);
  CHECK(back.stage.slack == 0.25f);
  CHECK(back.order == Order::rows);
}

TEST_CASE("a configuration that is no such struct's is refused") {
  const auto with = [](const std::string &name, fx::Config::Value value) {
    std::vector<fx::Config::Entry> entries;
    const fx::Config whole = fx::to_config(Tile{});
    for (const fx::Config::Entry &entry : whole.entries())
      entries.emplace_back(entry.name, entry.name == name ? value : entry.value);
    return fx::Config(entries);
  };
  const auto read = [](const fx::Config &config) { return fx::from_config<Tile>(config); };
  CHECK_THROWS_WITH(read(with("k", std::int64_t{200})),
                    Contains("the value k of the configuration") && Contains("k=200") &&
                        Contains("is not a number that the field holds"));
  CHECK_THROWS_WITH(read(with("order", std::int64_t{256})), Contains("order"));
  CHECK_THROWS_WITH(read(with("m", true)),
                    Contains("the value m of a configuration is no integer"));
  CHECK_THROWS_WITH(read(with("dtype", "f17")), Contains("the name of a dtype"));
  CHECK_THROWS_WITH(read(fx::Config{{"m", 1}}), Contains("no value k in the configuration"));
  std::vector<fx::Config::Entry> more = fx::to_config(Tile{}).entries();
  more.emplace_back("stages", 3);
  CHECK_THROWS_WITH(read(fx::Config(more)), Contains("has 11 values, where the struct has 10"));
}
