// Products with the experts of slots, whose weights are in ggml's block formats, against references in
// double precision of the same weights.
#include "reference/ggml.h"
#include "support/size_sweep.h"
#include "support/structure.h"

#include <flydsl/kernels/experts/ggml_experts.h>

using namespace kernel_tests;

namespace {

using fk::Activation, fk::GgmlExpertsConfig, fk::GgmlExpertsProblem, fk::GgmlFormat,
    fk::GgmlGemmConfig, fk::GgmlGemmProblem, fk::GgmlLayout;
namespace reference = fk::reference;

const std::vector<GgmlFormat> kFormats = fk::host::ggmlFormats();

std::int64_t someK(GgmlFormat format) { return fk::ggml_block(format).weights == 256 ? 512 : 96; }

/// A configuration by threads that read blocks, of `rows` slots together.
GgmlExpertsConfig byThreads(int unit, int rows = 1) {
  return {.unit = unit, .product = {.tile_m = rows, .lanes = 4, .rows = 2, .threads = 64}};
}
GgmlExpertsConfig byMatrix(int unit, int rows = 16) {
  return {.unit = unit,
          .product = {.matrix = true,
                      .tile_m = rows,
                      .tile_n = 64,
                      .threads = 4 * fx::Device::current().target().wave_size()}};
}

struct Gaps {
  std::int64_t a = 0, c = 0;
};
/// Compares a call with the experts `ids` of the slots of ids.size() / topk tokens. Slots of other experts
/// keep what c holds.
void expectExperts(const GgmlExpertsProblem &problem, const GgmlExpertsConfig &config,
                   const std::vector<double> &ids, bool exact = false, Gaps gaps = {}) {
  INFO(fx::to_config(problem).str() << " | " << fx::to_config(config).str());
  const std::int64_t m = std::int64_t(ids.size()) / problem.topk, n = problem.n, k = problem.k;
  const std::vector<double> a = exact ? integers(m * k, 1, -4, 4) : uniform(problem.a, m * k, 1);
  const auto weights = [&](std::uint64_t seed) {
    const std::int64_t blocks = problem.experts * n * k / fk::ggml_block(problem.format).weights;
    return randomBlocks(problem.format, blocks, seed, exact ? 1 : 0);
  };
  const auto operand = [&](const std::vector<std::uint8_t> &raw) {
    std::vector<std::uint8_t> out(raw.size());
    fk::prepare_weight(problem.weight(), raw.data(), out.data());
    return Operand::input(fx::u8, 1, std::int64_t(out.size()),
                          std::vector<double>(out.begin(), out.end()));
  };
  const std::vector<std::uint8_t> b = weights(2), up = weights(5);
  const Operand inA = Operand::input(problem.a, m, k, a, gaps.a), inB = operand(b),
                inUp = operand(up), inIds = Operand::input(fx::i32, m, problem.topk, ids),
                before = Operand::output(problem.c, m, problem.topk * n, gaps.c),
                c = Operand::output(problem.c, m, problem.topk * n, gaps.c);
  const fk::GgmlExpertsPlan plan(problem, config);
  const auto bytes = std::int64_t(plan.workspace_bytes(m));
  const Operand workspace = Operand::output(fx::u8, 1, std::max<std::int64_t>(bytes, 16));
  const fx::Stream stream;
  fk::GgmlExpertsArgs args{.a = inA.tensor(),
                           .b = {problem.weight(), inB.vector()},
                           .ids = inIds.tensor(),
                           .c = fx::tensor(c.tensor().data(), problem.c, {m, problem.topk, n},
                                           {problem.topk * n + gaps.c, n, std::int64_t(1)}),
                           .workspace = workspace.vector()};
  if (problem.gated)
    args.up = {problem.weight(), inUp.vector()};
  plan(args, stream);
  stream.synchronize();
  workspace.expectUntouched();
  std::vector<double> experts = ids;
  for (double &expert : experts)
    if (expert >= double(problem.experts))
      expert = -1;
  const reference::GgmlValues values(problem.format, b), upValues(problem.format, up);
  const reference::Expected expected = reference::ggmlProduct(
      problem.multiplied(config.unit), config.product.matrix,
      reference::ggmlSlots(problem.topk, experts), a, values, problem.gated ? &upValues : nullptr);
  const std::vector<double> got = c.values();
  std::vector<double> values1, bound, compared;
  const std::vector<std::uint8_t> blank = before.bytes(), now = c.bytes();
  const std::size_t size = std::size_t(problem.c.bytes());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (experts[i / std::size_t(n)] < 0) {
      INFO("slot " << i / std::size_t(n));
      REQUIRE(std::equal(now.begin() + std::ptrdiff_t(i * size),
                         now.begin() + std::ptrdiff_t((i + 1) * size),
                         blank.begin() + std::ptrdiff_t(i * size)));
      continue;
    }
    compared.push_back(got[i]);
    values1.push_back(expected.values[i]);
    bound.push_back(exact ? 0 : expected.bound[i]);
  }
  REQUIRE(!compared.empty());
  expectWithin(compared, values1, bound);
}

/// Experts of 11 tokens with two slots each: one has most, one has none, and two slots have no expert.
const std::vector<double> kIds{1, 0, 1, 3, 1, 0, -1, 1, 0, 1, 1, 3, 1, 0, 1, 3, 0, 9, 1, 3, 3, 1};
constexpr std::int64_t kExperts = 4;

} // namespace

TEST_CASE("experts with each format, one slot at a time", "[run]") {
  for (GgmlFormat format : kFormats)
    expectExperts({.format = format,
                   .layout = int(format) % 2 ? GgmlLayout::planes : GgmlLayout::blocks,
                   .experts = kExperts,
                   .topk = 2,
                   .n = 37,
                   .k = someK(format)},
                  byThreads(0), kIds);
}

TEST_CASE("experts with each format, by matrix instructions", "[run]") {
  for (GgmlFormat format : kFormats)
    expectExperts({.format = format,
                   .layout = int(format) % 2 ? GgmlLayout::blocks : GgmlLayout::planes,
                   .experts = kExperts,
                   .topk = 2,
                   .n = 70,
                   .k = someK(format)},
                  byMatrix(16), kIds);
}

TEST_CASE("experts with each format in Q8_1", "[run]") {
  for (GgmlFormat format : kFormats)
    if (fk::impl::ggmlRow(format).factors)
      for (const GgmlExpertsConfig &config : {byThreads(0), byThreads(4, 2)})
        expectExperts({.format = format,
                       .layout = int(format) % 2 ? GgmlLayout::planes : GgmlLayout::blocks,
                       .experts = kExperts,
                       .topk = 2,
                       .n = 19,
                       .k = someK(format),
                       .q8_1 = true},
                      config, kIds);
}

TEST_CASE("experts whose sums are exact", "[run]") {
  for (GgmlFormat format : {GgmlFormat::f16, GgmlFormat::q8_0, GgmlFormat::q4_1})
    for (const GgmlExpertsConfig &config :
         {byThreads(0), byThreads(8, 4), byMatrix(16), byMatrix(64, 32)})
      expectExperts({.format = format, .experts = kExperts, .topk = 2, .n = 66, .k = 160}, config,
                    kIds, /*exact=*/true);
}

TEST_CASE("experts: gated ones, types, gaps between tokens", "[run]") {
  for (const fx::DType type : {fx::DType(fx::f16), fx::DType(fx::bf16)}) {
    const GgmlExpertsProblem problem{.format = GgmlFormat::q4_1,
                                     .a = type,
                                     .c = type,
                                     .product = type,
                                     .experts = kExperts,
                                     .topk = 2,
                                     .n = 68,
                                     .k = 96,
                                     .activation = Activation::silu,
                                     .gated = true};
    for (const GgmlExpertsConfig &config : {byThreads(0), byThreads(16, 2), byMatrix(16)})
      expectExperts(problem, config, kIds, false, {8, 4});
  }
  expectExperts({.format = GgmlFormat::q8_0,
                 .experts = kExperts,
                 .topk = 2,
                 .n = 34,
                 .k = 64,
                 .activation = Activation::relu},
                byMatrix(32), kIds, false, {4, 2});
}

TEST_CASE("experts of slots with rows of their own, as chosen", "[run]") {
  // 40 slots of 3 experts: several units of each.
  std::vector<double> ids;
  for (int i = 0; i < 40; ++i)
    ids.push_back(i * 7 % 5 ? i % 2 : 2);
  for (const bool q8_1 : {false, true}) {
    const GgmlExpertsProblem problem{
        .format = GgmlFormat::q4_k, .experts = 3, .n = 48, .k = 256, .q8_1 = q8_1};
    expectExperts(problem, fk::choose(problem, 40), ids);
    expectExperts(problem, fk::choose(problem, 1), {2});
  }
}

TEST_CASE("slots that the caller sorted are multiplied like those that are sorted here", "[run]") {
  SweepCounts counts;
  for (const int unit : {0, 4, 16, 64})
    for (const bool gated : {false, true}) {
      const GgmlGemmProblem problem{.format = GgmlFormat::q5_0,
                                    .layout = GgmlLayout::planes,
                                    .n = 37,
                                    .k = 96,
                                    .activation = gated ? Activation::silu : Activation::none,
                                    .gated = gated,
                                    .experts = 5,
                                    .topk = 3,
                                    .unit = unit};
      for (std::int64_t m : {1, 9, 70})
        runOnce(problem, fk::choose(problem, m), m, counts);
    }
  CHECK(counts.compared == 24);
}

TEST_CASE("ggml_experts: another run, a graph, a file", "[run]") {
  const GgmlExpertsProblem problem{
      .format = GgmlFormat::q4_k, .experts = 4, .topk = 2, .n = 36, .k = 256};
  expectStructure(problem, fk::choose(problem, 1), 1);
  expectStructure(problem, fk::choose(problem, 20), 20);
  GgmlExpertsConfig shared = fk::choose(problem, 20);
  shared.sort = {.block = 64, .blocks = 3};
  expectStructure(problem, shared, 20); // three kernels sort
}

TEST_CASE("no token, and a workspace that is larger or not needed", "[run]") {
  const GgmlExpertsProblem problem{.experts = 2, .n = 4, .k = 32};
  const Operand b = Operand::input(fx::u8, 1, 144, std::vector<double>(144)),
                workspace = Operand::output(fx::u8, 1, 4096);
  const fx::TensorArg none = fx::tensor(static_cast<void *>(nullptr), fx::f32, {0, 32});
  for (const GgmlExpertsConfig &config : {byThreads(0), byMatrix(16)}) {
    const fk::GgmlExpertsPlan plan(problem, config);
    CHECK(plan.workspace_bytes(0) == 0);
    for (const auto &given : {std::optional<fx::TensorArg>(), std::optional(workspace.vector())})
      plan({.a = none,
            .b = {problem.weight(), b.vector()},
            .ids = fx::tensor(static_cast<void *>(nullptr), fx::i32, {0, 1}),
            .c = fx::tensor(static_cast<void *>(nullptr), fx::f32, {0, 1, 4}),
            .workspace = given});
  }
  CHECK(fk::GgmlExpertsPlan(problem, byThreads(0)).workspace_bytes(9) == 0);
  CHECK(fk::GgmlExpertsPlan(problem, byMatrix(16)).workspace_bytes(9) > 0);
}

TEST_CASE("ggml_experts has a configuration for every problem that it supports") {
  std::vector<GgmlExpertsProblem> problems;
  for (GgmlFormat format : kFormats)
    for (std::int64_t n : {1, 63, 768})
      for (std::int64_t experts : {1, 8, 128})
        problems.push_back({.format = format,
                            .experts = experts,
                            .topk = int(std::min<std::int64_t>(experts, 8)),
                            .n = n,
                            .k = 2048,
                            .activation = n == 768 ? Activation::silu : Activation::none,
                            .gated = n == 768});
  problems.push_back(
      {.format = GgmlFormat::q4_k, .experts = 8, .topk = 2, .n = 63, .k = 58112, .q8_1 = true});
  expectTotal(problems);
}

TEST_CASE("ggml_experts spills no registers") {
  std::vector<GgmlExpertsProblem> problems;
  for (GgmlFormat format :
       {GgmlFormat::q4_1, GgmlFormat::q6_k, GgmlFormat::q5_k, GgmlFormat::q3_k, GgmlFormat::mxfp4})
    problems.push_back({.format = format,
                        .experts = 8,
                        .topk = 2,
                        .n = 1536,
                        .k = 768,
                        .activation = Activation::silu,
                        .gated = true});
  expectNoSpills(problems);
}

TEST_CASE("ggml_experts says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const auto &problem) { return fk::supported(problem, target).why; };
  CHECK(why(GgmlExpertsProblem{.n = 8, .k = 32}) == "experts is 0; it is 1 to 2048");
  CHECK(why(GgmlExpertsProblem{.experts = 4, .topk = 65, .n = 8, .k = 32}) ==
        "topk is 65; it is 1 to 64");
  CHECK(why(GgmlExpertsProblem{.experts = 4, .n = 8, .k = 40}) ==
        "k is 40; rows of Q4_0 are multiples of 32 weights");
  CHECK(why(GgmlExpertsProblem{.experts = 2048, .n = 1 << 20, .k = 32}) ==
        "n is 2147483648 and k is 32; they are at most 2^30 and 2^24");
  CHECK(why(GgmlExpertsProblem{.experts = 1, .topk = 64, .n = 1 << 25, .k = 32}) ==
        "topk * n is 2147483648; a token has at most 2147483647 results. Give each slot a row of "
        "its own, with topk = 1");
  CHECK(why(GgmlGemmProblem{.n = 8, .k = 32, .topk = 2}) ==
        "topk is 2 and unit is 0; without experts they are 1 and 0");
  CHECK(why(GgmlGemmProblem{.n = 8, .k = 32, .experts = 2, .unit = 257}) ==
        "unit is 257; it is 0 to 256");
  const GgmlExpertsProblem problem{.experts = 4, .topk = 2, .n = 8, .k = 32};
  const auto whyNot = [&](const GgmlExpertsConfig &config) {
    return fk::supported(problem, config, target).why;
  };
  CHECK(whyNot({.product = {.tile_m = 2}}) ==
        "unit is 0, so that each slot is multiplied by itself, which takes a configuration with "
        "tile_m = 1 and without matrix instructions");
  CHECK(whyNot({.unit = 12, .product = {.tile_m = 8}}) ==
        "tile_m is 8; the rows of a tile are of one unit, which has 12 places");
  CHECK(whyNot({.unit = 300, .product = {.tile_m = 1}}) == "unit is 300; it is 0 to 256");

  const Operand a = Operand::input(fx::f32, 3, 32, std::vector<double>(96)),
                b = Operand::input(fx::u8, 1, 576, std::vector<double>(576)),
                ids = Operand::input(fx::i32, 3, 2, std::vector<double>(6)),
                c = Operand::output(fx::f32, 3, 16);
  const auto of = [&](const Operand &operand, const std::vector<std::int64_t> &shape) {
    return fx::TensorArg(operand.tensor().data(), operand.dtype(), shape);
  };
  const fk::GgmlExpertsArgs right{.a = a.tensor(),
                                  .b = {problem.weight(), b.vector()},
                                  .ids = ids.tensor(),
                                  .c = of(c, {3, 2, 8})};
  for (const GgmlExpertsConfig &config : {byThreads(0), byMatrix(16)}) {
    const fk::GgmlExpertsPlan plan(problem, config);
    const auto refusal = [&](const auto &change) {
      fk::GgmlExpertsArgs args = right;
      change(args);
      return messageOf([&] { plan(args); });
    };
    CHECK(refusal([&](auto &args) {
            args.ids = of(ids, {3, 1});
          }).find("ggml_experts: ids has the shape (3, 1); (m, topk) = (3, 2) is expected") !=
          std::string::npos);
    CHECK(refusal([&](auto &args) {
            args.c = of(c, {3, 16});
          })
              .find("ggml_experts: c has the shape (3, 16); (m, topk, n) = (3, 2, 8) is "
                    "expected") != std::string::npos);
    CHECK(refusal([&](auto &args) {
            args.b.weight.n = 8;
          }).find("ggml_experts: b is weights (n, k) = (8, 32)") != std::string::npos);
    CHECK(refusal([&](auto &args) { args.up = args.b; }).find("ggml_experts: up is given") !=
          std::string::npos);
    // A call that has no workspace is told of that first.
    CHECK(refusal([&](auto &args) {
            args.c = of(a, {3, 2, 8});
          })
              .find(config.unit ? "ggml_experts: workspace is missing"
                                : "ggml_experts: c shares memory with a") != std::string::npos);
  }
  CHECK(messageOf([&] {
          fk::GgmlExpertsPlan(problem, byMatrix(16))(right);
        }).find("ggml_experts: workspace") != std::string::npos);
  // A product without experts has no slots, and one with a unit has them sorted.
  const GgmlGemmProblem plain{.n = 16, .k = 32};
  CHECK(messageOf([&] {
          fk::GgmlGemmPlan(plain, fk::choose(plain, 3))({.a = a.tensor(),
                                                         .b = {plain.weight(), of(b, {288})},
                                                         .ids = ids.tensor(),
                                                         .c = c.tensor()});
        }).find("ggml_gemm: ids is given") != std::string::npos);
  const GgmlGemmProblem sorted = problem.multiplied(4);
  const Operand places = Operand::input(fx::i32, 1, 6, std::vector<double>(6));
  const auto withPlaces = [&](std::int64_t count, std::int64_t units) {
    return messageOf([&] {
      fk::GgmlGemmPlan(sorted, fk::choose(sorted, 3))({.a = a.tensor(),
                                                       .b = {sorted.weight(), b.vector()},
                                                       .sorted_ids = of(places, {count}),
                                                       .unit_experts = of(ids, {units}),
                                                       .c = of(c, {3, 2, 8})});
    });
  };
  CHECK(withPlaces(6, 1).find("ggml_gemm: sorted_ids has 6 places; units have 4 each") !=
        std::string::npos);
  CHECK(withPlaces(4, 2).find("ggml_gemm: unit_experts has the shape (2); (places / unit) = (1) is "
                              "expected") != std::string::npos);
}
