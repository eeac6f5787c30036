// What products read, for the sizes of real models: proved on the host for each configuration that
// is chosen or listed, and run for some of them.
#include "support/loop_class.h"
#include "support/product.h"
#include "support/product_reach.h"
#include "support/product_sizes.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <sstream>

using namespace kernel_tests;
using Layout = fk::OperandLayout;

namespace {

/// One of each class of rows, and both sides of the limits between them.
const std::vector<std::int64_t> kRows{1,   2,   8,   15,  16,   17,   31,   32,   33,
                                      48,  63,  64,  65,  96,   127,  128,  129,  255,
                                      256, 257, 512, 777, 1024, 2048, 4096, 16384};

/// The problems of a size on a target, with weights that are prepared and that are not.
std::vector<GemmProblem> problemsOf(const ProductSize &size, const fx::Target &target) {
  const fx::DType byte = target.has(fx::feature::ocp_fp8) ? fx::f8E4M3FN : fx::f8E4M3FNUZ;
  std::vector<GemmProblem> all;
  const auto add = [&](fx::DType type, GemmProblem problem) {
    problem.a = problem.b = type;
    problem.c = fx::bf16;
    problem.n = size.n;
    problem.k = size.k;
    if (fk::supported(problem, target))
      all.push_back(problem);
  };
  // A size is a model's, whatever type its weights were published in.
  add(fx::bf16, {});
  add(fx::bf16, {.b_layout = Layout::rows});
  add(fx::bf16, {.b_layout = Layout::columns});
  add(fx::bf16, {.a_layout = Layout::columns, .b_layout = Layout::rows});
  add(fx::bf16, {.activation = Activation::silu, .gated = true});
  if (size.has("i8"))
    add(fx::i8, {.scale_a = Scales::per_row, .scale_b = Scales::per_row});
  if (size.has("f8") || size.has("f4"))
    for (OperandLayout layout : {Layout::prepared, Layout::rows})
      add(byte, {.b_layout = layout, .scale_a = Scales::per_row, .scale_b = Scales::per_row});
  if (size.has("f8b") || size.has("f4"))
    for (fx::DType scale : {fx::DType(fx::f32), fx::DType(fx::f8E8M0FNU)}) {
      GemmProblem problem{.scale_a = Scales::per_block, .scale_b = Scales::per_block};
      problem.scale = scale;
      add(byte, problem);
      problem.gated = true;
      add(byte, problem);
    }
  return all;
}

/// Whether there is such a call: columns of a have a multiple of 8 rows.
bool isCall(const GemmProblem &problem, std::int64_t m) {
  return problem.a_layout != Layout::columns || m % 8 == 0;
}

/// Proves configurations. Those whose loops are alike are proved once.
class Prover {
public:
  explicit Prover(const fx::Target &target) : target_(target) {}

  void prove(const GemmProblem &problem, const GemmConfig &config, std::int64_t m) {
    // A call refuses columns of a that span more than a buffer.
    if (problem.a_layout == Layout::columns &&
        (problem.k / config.split_k + config.tile_k) * m * problem.a.bytes() >=
            fi::kMostBufferBytes)
      return;
    ++asked_;
    const fi::LoopShape shape =
        fi::loopShape(problem, config, *fi::gemmForm(problem, config, target_));
    std::ostringstream key;
    key << problem.k << ' ' << problem.a.name() << ' ' << problem.gated << int(problem.a_layout)
        << int(problem.b_layout) << int(problem.scale_a) << ' ' << config.tile_m << ' '
        << config.tile_n << ' ' << config.tile_k << ' ' << config.threads << ' ' << int(config.loop)
        << config.waves_k << ' ' << config.waves_m << config.stages << config.dma << ' '
        << config.split_k;
    std::string mistake;
    if (proved_.insert(key.str()).second)
      mistake = mistakeOfLoop(problem, config, shape);
    if (mistake.empty())
      mistake = mistakeOfBuffers(problem, config, shape, m);
    if (mistake.empty())
      return;
    INFO(target_.name() << ": " << fx::to_config(problem).str() << " m=" << m << " "
                        << fx::to_config(config).str());
    CHECK(mistake == "");
  }
  /// Proves what is chosen, with and without the promise of a workspace that is zero.
  void proveChoice(GemmProblem problem, std::int64_t m) {
    if (!isCall(problem, m))
      return;
    for (const bool isZeroed : {false, true}) {
      problem.zeroed_workspace = isZeroed;
      prove(problem, fk::choose(problem, m, target_), m);
    }
  }
  std::size_t asked() const { return asked_; }
  std::size_t loops() const { return proved_.size(); }

private:
  fx::Target target_;
  std::set<std::string> proved_;
  std::size_t asked_ = 0;
};

/// Runs what is chosen, a tile of c and a part of the next ones. What is proved for each K on the host (Prover)
/// is run once for each configuration and way of its loop.
class CutRuns {
public:
  /// Takes part `index` of `count` alone.
  explicit CutRuns(std::size_t index = 0, std::size_t count = 1) : index_(index), count_(count) {}

  /// Takes both forms of what is chosen: see Prover::proveChoice.
  void add(GemmProblem problem, std::int64_t m) {
    for (const bool isZeroed : {false, true}) {
      problem.zeroed_workspace = isZeroed;
      const GemmConfig config = fk::choose(problem, m);
      // The promise of a workspace changes nothing else.
      problem.zeroed_workspace = config.parts_sum == fk::PartsSum::last_block;
      add(problem, config, m);
    }
  }
  std::size_t runs() const { return done_.size(); }
  /// Those with a K of a model.
  std::size_t whole() const { return whole_; }

private:
  void add(GemmProblem problem, const GemmConfig &config, std::int64_t m) {
    // Where K is not the same, the loop may be.
    GemmProblem ofLoop = problem;
    ofLoop.n = 0;
    const std::string choice = fx::to_config(ofLoop).str() + fx::to_config(config).str();
    auto [shortest, isNew] = shortest_.try_emplace(choice, 0);
    if (isNew)
      shortest->second = shortestAlike(problem, config, here());
    const int across = problem.gated ? config.tile_n / 2 : config.tile_n;
    problem.n = std::min<std::int64_t>(problem.n, problem.gated ? 128 : across + 8);
    m = std::min<std::int64_t>(m, config.tile_m + 8);
    GemmProblem cut = problem;
    cut.k = shortest->second;
    if (!fk::supported(cut, config, here()))
      return; // columns that divide by less than a model's
    // The order of so few tiles is proved with all others.
    GemmConfig inOrder = config;
    inOrder.order = {};
    const std::string name = fx::to_config(cut).str() + fx::to_config(inOrder).str();
    const std::size_t hash = std::hash<std::string>()(name);
    if (hash % count_ != index_ || !done_.insert(name).second)
      return;
    // Some of them with the model's K.
    const bool isWhole = hash / count_ % kWholeEvery == 0 && problem.k <= kMostWhole;
    whole_ += isWhole;
    expectProduct(isWhole ? problem : cut, config, m);
  }

  static constexpr std::size_t kWholeEvery = 16;
  static constexpr std::int64_t kMostWhole = 32768;
  std::size_t index_, count_, whole_ = 0;
  std::map<std::string, std::int64_t> shortest_;
  std::set<std::string> done_;
};

} // namespace

TEST_CASE("what is chosen for sizes of real models is right, a tile of it", "[run]") {
  CutRuns runs;
  for (const auto &[n, k, m] : std::initializer_list<std::array<std::int64_t, 3>>{
           {640, 5120, 17}, {1024, 9216, 1}, {768, 2880, 40}})
    for (const GemmProblem &problem : problemsOf({n, k, "f8,f8b"}, here()))
      if (problem.b_layout == Layout::prepared)
        runs.add(problem, m);
  CHECK(runs.runs() >= 8);
}

TEST_CASE("what is chosen for all sizes of real models is right, a tile of each", "[.][sizes]") {
  constexpr std::size_t kParts = FLYDSL_SIZES_PARTS; // each is a test of its own
  // From the shortest K on, and from the most rows on, which fill the most of a tile.
  std::vector<ProductSize> sizes = publishedSizes();
  std::ranges::stable_sort(sizes, {}, &ProductSize::k);
  for (std::size_t index = 0; index < kParts; ++index)
    DYNAMIC_SECTION("part " << index) {
      CutRuns runs(index, kParts);
      for (const std::int64_t m : {512, 64, 17, 1})
        for (const ProductSize &size : sizes)
          for (const GemmProblem &problem : problemsOf(size, here()))
            if (isCall(problem, m))
              runs.add(problem, m);
      std::printf("products of models on %s, part %zu: %zu runs, %zu with the model's K\n",
                  here().name().c_str(), index, runs.runs(), runs.whole());
      CHECK(runs.runs() > 100 / kParts); // a part has its share of them, more or less
      CHECK(runs.whole() > 0);
    }
}

TEST_CASE("the loops of products are alike for a K and for the shortest one that is traced alike") {
  for (const char *name : kEmulatorTargets) {
    const fx::Target target = fx::Target::parse(name);
    std::int64_t shorter = 0;
    for (const ProductSize &size : publishedSizes())
      for (const GemmProblem &problem : problemsOf(size, target)) {
        const GemmConfig config = fk::choose(problem, 64, target);
        GemmProblem cut = problem;
        cut.k = shortestAlike(problem, config, target);
        INFO(name << ": " << fx::to_config(problem).str() << fx::to_config(config).str());
        // A step more is another end, or another turn.
        REQUIRE(cut.k <= problem.k);
        REQUIRE((problem.k - cut.k) % (config.tile_k * config.split_k) == 0);
        CHECK(shortestAlike(cut, config, target) == cut.k);
        shorter += cut.k < problem.k;
      }
    CHECK(shorter > 100);
  }
}

TEST_CASE("what is chosen for sizes of real models reads each operand to its end and no further") {
  REQUIRE(publishedSizes().size() > 300);
  for (const char *name : kEmulatorTargets) {
    const fx::Target target = fx::Target::parse(name);
    Prover prover(target);
    for (const ProductSize &size : publishedSizes())
      for (const GemmProblem &problem : problemsOf(size, target))
        for (std::int64_t m : kRows)
          prover.proveChoice(problem, m);
    INFO(name << ": " << prover.asked() << " configurations, " << prover.loops() << " loops");
    CHECK(prover.asked() > 10000);
    CHECK(prover.loops() > 500);
  }
}

TEST_CASE(
    "what is chosen for odd sizes and at limits reads each operand to its end and no further") {
  std::vector<ProductSize> sizes;
  const auto add = [&](std::int64_t n, std::int64_t k) {
    sizes.push_back({n, k, "bf16,i8,f8,f8b"});
  };
  // All numbers of steps, of waves that take them in turn and of parts, and a piece less and more.
  for (std::int64_t k = 128; k <= 16 * 1024; k += k < 4096 ? 128 : 1024)
    for (std::int64_t odd : {-16, 0, 16, 64})
      add(k % 3 ? 512 : 200, k + odd);
  for (std::int64_t k : {8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112})
    add(72, k);
  for (std::int64_t n : {1, 2, 4, 7, 8, 15, 16, 17, 31, 33, 63, 65, 100, 127, 129, 255, 257, 513})
    for (std::int64_t k : {96, 640, 5120, 13312})
      add(n, k);
  // The longest rows, of 4 MiB, and the most rows.
  for (std::int64_t k : {1 << 21, (1 << 21) - 16, 1 << 22, (1 << 22) - 16})
    for (std::int64_t n : {16, 96, 4096})
      add(n, k);
  add(1 << 28, 64);
  add((1 << 22) - 8, 4096);
  for (const char *name : kEmulatorTargets) {
    const fx::Target target = fx::Target::parse(name);
    Prover prover(target);
    for (const ProductSize &size : sizes)
      for (const GemmProblem &problem : problemsOf(size, target))
        for (std::int64_t m : {1, 16, 17, 32, 33, 64, 65, 128, 512})
          prover.proveChoice(problem, m);
    CHECK(prover.loops() > 500);
  }
}

TEST_CASE("what is listed for sizes of real models reads no operand past its end", "[.][configs]") {
  for (const char *name : kEmulatorTargets) {
    const fx::Target target = fx::Target::parse(name);
    Prover prover(target);
    for (const ProductSize &size : publishedSizes())
      for (const GemmProblem &problem : problemsOf(size, target))
        for (std::int64_t m : {1, 16, 17, 32, 33, 64, 128, 512, 4096})
          if (isCall(problem, m))
            for (const GemmConfig &config : fk::configs(problem, m, target))
              prover.prove(problem, config, m);
    CHECK(prover.asked() > 100000);
  }
}
