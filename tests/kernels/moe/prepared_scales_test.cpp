// Grouped products and mixtures whose scales of 32 elements are prepared, on gfx950: they give the bits that scales by
// rows give.
#include "support/size_sweep.h"
#include "support/structure.h"

#include <flydsl/kernels/moe_forward.h>

using namespace kernel_tests;

namespace {

using fk::GatedPairs, fk::GemmConfig, fk::GroupedGemmProblem, fk::GroupedRows, fk::GroupLayout,
    fk::MoeForwardProblem, fk::OperandLayout, fk::PreparedScales, fk::Scales;
using Bytes = std::vector<std::uint8_t>;

constexpr OperandLayout kPrepared = OperandLayout::prepared;

GroupedGemmProblem grouped(fx::DType a, fx::DType b, std::int64_t n, std::int64_t k) {
  return {.a = a,
          .b = b,
          .c = fx::bf16,
          .experts = 3,
          .n = n,
          .k = k,
          .scale_a = Scales::mx,
          .scale_b = Scales::mx,
          .scale = fx::f8E8M0FNU,
          .scale_b_layout = kPrepared};
}
/// A mixture of four bits, whose inner size ends inside of a block of 256 elements.
MoeForwardProblem mixture() {
  return {.router = {.experts = 6, .topk = 2, .renormalise = true},
          .x = fx::f4E2M1FN,
          .scales = Scales::mx,
          .scale = fx::f8E8M0FNU,
          .w_scale_layout = kPrepared,
          .hidden = 256,
          .inner = 96};
}

/// Scales of a call by rows: those of `experts` matrices (rows, k), or of one matrix (0).
template <class P> struct ScaleOperand {
  const char *name;
  std::optional<fx::TensorArg> fk::ArgsOf<P>::*field;
  std::int64_t experts, rows, k;
};

/// The scales of an operand as prepared ones. No result depends on those past the last row of a matrix, which are NaN.
template <class P> Bytes prepared(const ScaleOperand<P> &of, const Bytes &byRows) {
  const std::int64_t experts = std::max<std::int64_t>(of.experts, 1);
  Bytes all = fk::prepare_expert_scales(experts, of.rows, of.k, byRows);
  const std::size_t each = all.size() / std::size_t(experts);
  for (std::int64_t expert = 0; expert < experts; ++expert)
    for (std::int64_t row = of.rows; row % PreparedScales::kRows; ++row)
      for (std::int64_t scale = 0; scale < of.k / 32; ++scale)
        all[std::size_t(expert) * each + std::size_t(PreparedScales::place(row, scale, of.k))] =
            255;
  return all;
}

/// The results of one call.
Bytes resultsOf(const MoeForwardProblem &problem, const fk::MoeForwardConfig &config,
                std::int64_t m) {
  Operands<MoeForwardProblem> operands(problem, config, m);
  operands.fill(1);
  const fx::Stream stream;
  fk::MoeForwardPlan(problem, config)(operands.args(), stream);
  stream.synchronize();
  return operands.results();
}

/// Runs a problem with prepared scales, and the same one with scales by rows.
template <class P>
void expectSameBits(const P &problem, const P &byRows, std::int64_t m,
                    const std::vector<ScaleOperand<P>> &scales) {
  const fk::ConfigOf<P> config = fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  SampledMemory memory(256);
  auto args = fk::make_args(byRows, config, m, memory.sampler());
  const fx::Stream stream;
  const auto resultsOf = [&](const P &each) {
    fk::Plan<P>(each, config)(args, stream);
    stream.synchronize();
    CHECK(memory.writtenAround() == "");
    Bytes all;
    for (const auto &operand : memory.operands())
      if (operand.written()) {
        const Bytes own = operand.bytes();
        all.insert(all.end(), own.begin(), own.end());
      }
    return all;
  };
  memory.fill(1);
  const Bytes expected = resultsOf(byRows);
  memory.fill(2);
  CHECK(resultsOf(byRows) != expected);
  memory.fill(1);
  std::vector<fx::DeviceArray<std::uint8_t>> kept;
  for (const ScaleOperand<P> &scale : scales)
    for (const auto &operand : memory.operands())
      if (operand.name == scale.name) {
        const Bytes bytes = prepared(scale, operand.bytes());
        kept.emplace_back(fx::Extents{std::ssize(bytes)});
        kept.back().copy_from(bytes);
        const auto [groups, blocks, size] = PreparedScales::shape(scale.rows, scale.k);
        args.*scale.field =
            scale.experts ? fx::tensor(kept.back().data(), fx::f8E8M0FNU,
                                       {scale.experts, groups, blocks, size})
                          : fx::tensor(kept.back().data(), fx::f8E8M0FNU, {groups, blocks, size});
      }
  REQUIRE(kept.size() == scales.size());
  CHECK(resultsOf(problem) == expected);
}
void expectSameBits(const GroupedGemmProblem &problem, std::int64_t m) {
  using Args = fk::GroupedGemmArgs;
  GroupedGemmProblem byRows = problem;
  byRows.scale_a_layout = byRows.scale_b_layout = OperandLayout::rows;
  std::vector<ScaleOperand<GroupedGemmProblem>> scales;
  if (problem.scale_a_layout == kPrepared) {
    const std::int64_t places = problem.groups == GroupLayout::masked
                                    ? problem.experts * problem.capacity
                                    : (m + problem.unit - 1) / problem.unit * problem.unit;
    scales.push_back({"scale_a", &Args::scale_a, 0, places, problem.k});
  }
  if (problem.scale_b_layout == kPrepared)
    scales.push_back({"scale_b", &Args::scale_b, problem.experts, problem.columns(), problem.k});
  expectSameBits(problem, byRows, m, scales);
}

} // namespace

// Experts whose weights end inside of a group of 32 rows, K that ends inside of a block of 256 elements, rows that are
// gathered, pairs whose ups begin inside of a group, and both orders of pairs.
TEST_CASE("grouped products with prepared scales of weights give the bits of scales by rows",
          "[run]") {
  std::vector<std::pair<GroupedGemmProblem, std::int64_t>> cases;
  GroupedGemmProblem problem = grouped(fx::f4E2M1FN, fx::f4E2M1FN, 80, 384);
  cases.emplace_back(problem, 90);
  problem = grouped(fx::f4E2M1FN, fx::f4E2M1FN, 48, 352);
  problem.topk = 2;
  problem.a_rows = GroupedRows::tokens;
  problem.gated = GatedPairs::halves;
  problem.activation = fk::Activation::silu;
  cases.emplace_back(problem, 40);
  problem = grouped(fx::f8E4M3FN, fx::f4E2M1FN, 48, 512);
  problem.a_rows = GroupedRows::tokens;
  problem.gated = GatedPairs::interleaved;
  problem.bias = true;
  cases.emplace_back(problem, 200);
  problem = grouped(fx::f8E5M2, fx::f8E4M3FN, 64, 256);
  problem.groups = GroupLayout::offsets;
  problem.b_layout = OperandLayout::rows;
  cases.emplace_back(problem, 50);
  if (!fk::supported(problem, here())) {
    CHECK(here().name() != "gfx950");
    return; // a test below says which message it has
  }
  for (const auto &[each, m] : cases)
    expectSameBits(each, m);
}

TEST_CASE("grouped products with prepared scales of both operands give the bits of scales by rows",
          "[run]") {
  // Tiles that begin inside of a group of 32 places, and an expert's places that end inside of one.
  GroupedGemmProblem masked = grouped(fx::f4E2M1FN, fx::f4E2M1FN, 64, 512);
  masked.groups = GroupLayout::masked;
  masked.capacity = 48;
  masked.scale_a_layout = kPrepared;
  GroupedGemmProblem units = grouped(fx::f8E4M3FN, fx::f8E4M3FN, 32, 384);
  units.unit = 64;
  units.scale_a_layout = kPrepared;
  units.scale_b_layout = OperandLayout::rows;
  if (!fk::supported(masked, here())) {
    CHECK(here().name() != "gfx950");
    return;
  }
  expectSameBits(masked, 100);
  expectSameBits(units, 180);
}

TEST_CASE("mixtures with prepared scales of weights give the bits of scales by rows", "[run]") {
  const MoeForwardProblem problem = mixture();
  if (!fk::supported(problem, here())) {
    CHECK(here().name() != "gfx950");
    return;
  }
  using Args = fk::MoeForwardArgs;
  for (const GatedPairs gated : {GatedPairs::halves, GatedPairs::interleaved}) {
    MoeForwardProblem each = problem;
    each.gated = gated;
    MoeForwardProblem byRows = each;
    byRows.w_scale_layout = OperandLayout::rows;
    expectSameBits(each, byRows, 9,
                   {{"scale1", &Args::scale1, each.experts(), each.rows1(), each.hidden},
                    {"scale2", &Args::scale2, each.experts(), each.hidden, each.inner}});
  }
}

// What the first product writes, groups of places that have rows, is what the second one takes. Of 64 places of an
// expert, 32 have rows.
TEST_CASE("prepared scales of results are those of rows, in another order", "[run]") {
  GroupedGemmProblem problem = grouped(fx::f4E2M1FN, fx::f4E2M1FN, 256, 64);
  problem.experts = 2;
  problem.c = fx::f4E2M1FN;
  problem.scale_c = Scales::mx;
  problem.scale_c_layout = kPrepared;
  problem.unit = 64;
  problem.a_rows = GroupedRows::tokens;
  problem.gated = GatedPairs::halves;
  problem.activation = fk::Activation::silu;
  if (!fk::supported(problem, here())) {
    CHECK(here().name() != "gfx950");
    return;
  }
  SweepCounts counts;
  const GemmConfig configs[] = {
      fk::choose(problem, 128),
      {.tile_m = 32, .tile_n = 128, .tile_k = 256, .threads = 128, .waves_m = 1}};
  for (const GemmConfig &config : configs)
    runOnce(problem, config, 128, counts);
  CHECK(counts.compared == 2);
}

// The scales of gathered rows by the order of places, as moe_sort makes them: units that end inside of a group of 32
// places, and K that ends inside of a block of 256 elements.
TEST_CASE("mixtures whose scales of x are sorted along give the bits of scales by rows", "[run]") {
  MoeForwardProblem problem = mixture();
  problem.hidden = 352;
  if (!fk::supported(problem, here())) {
    CHECK(here().name() != "gfx950");
    return;
  }
  for (const auto &[x, layout, m] : {std::tuple(fx::DType(fx::f4E2M1FN), OperandLayout::rows, 9),
                                     {fx::f4E2M1FN, kPrepared, 50},
                                     {fx::f8E4M3FN, kPrepared, 9}}) {
    problem.x = x;
    problem.w = fx::f4E2M1FN;
    problem.w_scale_layout = layout;
    const auto configs = fk::configs(problem, m);
    const auto found =
        std::find_if(configs.begin(), configs.end(),
                     [](const fk::MoeForwardConfig &each) { return each.sorts_scales; });
    REQUIRE(found != configs.end());
    INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(*found).str());
    fk::MoeForwardConfig plain = *found;
    plain.sorts_scales = false;
    CHECK(resultsOf(problem, *found, m) == resultsOf(problem, plain, m));
    SweepCounts counts;
    if (m == 9)
      runOnce(problem, *found, m, counts);
  }
  // One kernel or three sort, rows are added or reduced, and a rank has a part of the experts.
  problem.x = fx::f8E4M3FN;
  problem.w = fx::f8E4M3FN;
  problem.hidden = problem.inner = 128;
  problem.w_scale_layout = kPrepared;
  for (const int blocks : {1, 3})
    for (const bool isPart : {false, true}) {
      problem.any_order = !isPart;
      problem.local = isPart ? 3 : 0;
      problem.tokens = isPart;
      fk::MoeForwardConfig sorted = fk::choose(problem, 70);
      sorted.sorts_scales = true;
      sorted.sort = {.block = 64, .blocks = blocks};
      INFO(fx::to_config(problem).str() << " " << fx::to_config(sorted).str());
      CHECK(!sorted.routes);
      fk::MoeForwardConfig plain = sorted;
      plain.sorts_scales = false;
      SweepCounts counts;
      if (sorted.adds) // in the order of the device
        runOnce(problem, sorted, 70, counts);
      else
        CHECK(resultsOf(problem, sorted, 70) == resultsOf(problem, plain, 70));
    }
  // Experts of many rows have them by themselves.
  const auto sorts = [](fx::DType w, std::int64_t hidden, std::int64_t m) {
    MoeForwardProblem large = mixture();
    large.router = {.experts = 8, .topk = 2};
    large.x = fx::f8E4M3FN;
    large.w = w;
    large.hidden = hidden;
    large.inner = 3072;
    return fk::choose(large, m).sorts_scales;
  };
  CHECK(sorts(fx::f4E2M1FN, 3072, 2048));
  CHECK(!sorts(fx::f4E2M1FN, 3072, 600));
  CHECK(!sorts(fx::f4E2M1FN, 256, 2048));
  CHECK(sorts(fx::f8E4M3FN, 3072, 2048));
  CHECK(!sorts(fx::f8E4M3FN, 3072, 2000));
  MoeForwardProblem ofRank = mixture();
  ofRank.router = {.experts = 8, .topk = 2};
  ofRank.hidden = ofRank.inner = 3072;
  CHECK(fk::choose(ofRank, 2048).sorts_scales);
  ofRank.local = 1; // an eighth of the products, and one launch
  CHECK(!fk::choose(ofRank, 2048).sorts_scales);
}

// Units of 32 places and more, and an inner size of whole blocks of 256: h has prepared scales, too.
TEST_CASE("mixtures whose h has prepared scales give the bits of scales by rows", "[run]") {
  MoeForwardProblem problem = mixture();
  problem.router = {.experts = 2, .topk = 2};
  problem.inner = 256;
  if (!fk::supported(problem, here())) {
    CHECK(here().name() != "gfx950");
    return;
  }
  REQUIRE(fk::choose(problem, 70).unit == 128);
  REQUIRE(fk::choose(problem, 20).unit == 32);
  MoeForwardProblem byRows = problem;
  byRows.w_scale_layout = OperandLayout::rows;
  using Args = fk::MoeForwardArgs;
  for (const std::int64_t m : {20, 70})
    expectSameBits(problem, byRows, m,
                   {{"scale1", &Args::scale1, problem.experts(), problem.rows1(), problem.hidden},
                    {"scale2", &Args::scale2, problem.experts(), problem.hidden, problem.inner}});
}

TEST_CASE("grouped products and mixtures with prepared scales: another run, a graph, a file",
          "[run]") {
  GroupedGemmProblem product = grouped(fx::f4E2M1FN, fx::f4E2M1FN, 256, 288);
  product.c = fx::f4E2M1FN, product.scale_c = Scales::mx;
  product.scale_a_layout = product.scale_c_layout = kPrepared;
  MoeForwardProblem whole = mixture();
  whole.inner = 256;
  if (!fk::supported(product, here())) {
    CHECK(here().name() != "gfx950");
    return;
  }
  expectStructure(product, fk::choose(product, 60), 60);
  fk::MoeForwardConfig config = fk::choose(whole, 40);
  config.sorts_scales = true;
  expectStructure(whole, config, 40);
}

// A workspace that nothing was written to: the second product loads no scales that the first one has not
// written.
TEST_CASE("mixtures with prepared scales read nothing that was never written", "[run]") {
  MoeForwardProblem problem = mixture();
  problem.router = {.experts = 2, .topk = 2};
  problem.inner = 256;
  if (!fk::supported(problem, here())) {
    CHECK(here().name() != "gfx950");
    return;
  }
  // The other one's tiles are larger than what the first product's have written: of 70 rows 96.
  fk::MoeForwardConfig wide = fk::choose(problem, 70);
  wide.first = fk::choose(problem, 20).first;
  REQUIRE(wide.first.tile_m == 32);
  wide.second = {.tile_m = 128, .tile_n = 128, .tile_k = 256, .threads = 256};
  fk::MoeForwardConfig sorts = wide;
  sorts.sorts_scales = true;
  for (const auto &[m, config] :
       {std::pair(20, fk::choose(problem, 20)), std::pair(70, wide), std::pair(70, sorts)}) {
    const fk::MoeForwardPlan plan(problem, config);
    const Operands<MoeForwardProblem> operands(problem, plan.config(), m);
    const fx::DeviceArray<std::uint8_t> fresh(fx::Extents{std::int64_t(plan.workspace_bytes(m))});
    fk::MoeForwardArgs args = operands.args();
    args.workspace = fresh.tensor();
    const fx::Stream stream;
    CHECK_NOTHROW([&] {
      plan(args, stream);
      stream.synchronize();
    }());
  }
}

// The reference reads prepared scales by the definition of PreparedScales.
TEST_CASE("grouped products and mixtures with prepared scales are those of the reference",
          "[run]") {
  GroupedGemmProblem product = grouped(fx::f4E2M1FN, fx::f4E2M1FN, 48, 288);
  product.scale_a_layout = kPrepared;
  if (!fk::supported(product, here())) {
    CHECK(here().name() != "gfx950");
    return;
  }
  SweepCounts counts;
  runOnce(product, fk::choose(product, 60), 60, counts);
  runOnce(mixture(), fk::choose(mixture(), 5), 5, counts);
  CHECK(counts.compared == 2);
}

TEST_CASE("scales of experts are prepared one expert after another") {
  Bytes scales;
  for (int i = 0; i < 2 * 48 * 9; ++i)
    scales.push_back(std::uint8_t(i * 7 % 251));
  Bytes each = fk::prepare_scales(48, 288, std::span(scales).first(48 * 9));
  const Bytes second = fk::prepare_scales(48, 288, std::span(scales).last(48 * 9));
  each.insert(each.end(), second.begin(), second.end());
  CHECK(fk::prepare_expert_scales(2, 48, 288, scales) == each);
  // With whole groups of 32 rows they are those of one matrix.
  const std::span whole = std::span(scales).first(2 * 32 * 9);
  CHECK(fk::prepare_expert_scales(2, 32, 288, whole) == fk::prepare_scales(64, 288, whole));
  CHECK(fk::prepare_expert_scales(0, 32, 288, {}).empty());
  CHECK(messageOf([&] { fk::prepare_expert_scales(5, 48, 288, scales); }) ==
        "prepare_expert_scales: there are 864 scales of 5 experts; each has as many as the others");
  expectPart(messageOf([&] { fk::prepare_expert_scales(2, 47, 288, scales); }),
             "there are 432 scales of (rows, k) = (47, 288)");
}

TEST_CASE("every mixture with prepared scales that is supported has a configuration") {
  const fx::Target target = fx::Target::parse("gfx950");
  for (const fx::DType x : {fx::f4E2M1FN, fx::f8E4M3FN})
    for (const GatedPairs gated : {GatedPairs::halves, GatedPairs::interleaved})
      for (const std::int64_t inner : {32, 96, 256, 2048, 2880}) {
        MoeForwardProblem problem = mixture();
        problem.x = x;
        problem.w = fx::f4E2M1FN;
        problem.gated = gated;
        problem.hidden = 2880;
        problem.inner = inner;
        REQUIRE(fk::supported(problem, target).why == "");
        for (const std::int64_t m : {0, 1, 33, 500, 20000}) {
          const fk::MoeForwardConfig config = fk::choose(problem, m, target);
          INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
          CHECK(fk::supported(problem, config, target).why == "");
        }
      }
}

// Of 8 bits the tiles are others than with scales by rows: their steps are blocks of 256 elements.
TEST_CASE("tiles of products with prepared scales of 8 bits are as wide as those by rows, and "
          "spill none") {
  const fx::Target target = fx::Target::parse("gfx950");
  for (const fx::DType b : {fx::f4E2M1FN, fx::f8E4M3FN}) {
    GroupedGemmProblem first = grouped(fx::f8E4M3FN, b, 3072, 3072);
    first.experts = 8;
    first.unit = 128;
    GroupedGemmProblem second = first;
    first.c = fx::f8E4M3FN;
    first.scale_c = Scales::mx;
    first.scale_c_layout = second.scale_a_layout = kPrepared;
    first.a_rows = GroupedRows::tokens;
    first.gated = GatedPairs::halves;
    first.activation = fk::Activation::silu;
    for (const GroupedGemmProblem &each : {first, second}) {
      const GemmConfig config = fk::choose(each, 8192, target);
      INFO(fx::to_config(each).str());
      const bool isGathered = each.a_rows == GroupedRows::tokens, ofFour = b == fx::f4E2M1FN;
      CHECK(config.tile_m == (ofFour || !isGathered ? 128 : 64));
      CHECK(config.tile_n == (ofFour || isGathered ? 256 : 128));
      CHECK(config.tile_k == 256);
      if (ofFour && isGathered) // the others have loops of dense products, or fewer sums
        expectNoSpillsWith(each, config, target);
    }
    // With both scales prepared gated products of 8 bits have room for the largest one.
    first.scale_a_layout = kPrepared;
    const GemmConfig config = fk::choose(first, 8192, target);
    CHECK((config.tile_m == 128 && config.tile_n == 256));
    expectNoSpillsWith(first, config, target);
  }
}

TEST_CASE(
    "the largest tiles of experts have longer steps on CDNA4, and tiles of 64 x 256 of 8 bits by 4 "
    "come straight to LDS") {
  const fx::Target target = fx::Target::parse("gfx950");
  const auto chosen = [&](fx::DType a, fx::DType b, std::int64_t k, std::int64_t unit, bool isMx) {
    GroupedGemmProblem problem = grouped(a, b, 3072, k);
    problem.experts = 8;
    problem.unit = unit;
    if (!isMx) {
      problem.scale_a = problem.scale_b = Scales::per_row;
      problem.scale = fx::f32;
      problem.scale_b_layout = OperandLayout::rows;
    }
    return fk::choose(problem, 8192, target);
  };
  const auto isTile = [](const GemmConfig &config, int m, int k) {
    INFO(fx::to_config(config).str());
    CHECK(config.tile_m == m);
    CHECK(config.tile_n == 256);
    CHECK(config.tile_k == k);
  };
  isTile(chosen(fx::f4E2M1FN, fx::f4E2M1FN, 3072, 128, true), 128, 512);
  isTile(chosen(fx::f4E2M1FN, fx::f4E2M1FN, 512, 128, true), 128, 512); // one step
  isTile(chosen(fx::f4E2M1FN, fx::f4E2M1FN, 768, 128, true), 128, 256); // one and a half
  isTile(chosen(fx::f8E4M3FN, fx::f8E4M3FN, 3072, 128, false), 128, 256);
  isTile(chosen(fx::f8E4M3FN, fx::f8E4M3FN, 256, 128, false), 128, 128);
  isTile(chosen(fx::f8E4M3FN, fx::f8E4M3FN, 3072, 64, false), 64, 128);
  // Through registers a lane would have more than 256 of them, and a SIMD one wave.
  GroupedGemmProblem problem = grouped(fx::f8E4M3FN, fx::f4E2M1FN, 512, 7168);
  problem.experts = 96;
  problem.unit = 64;
  problem.a_rows = GroupedRows::tokens;
  problem.gated = GatedPairs::halves;
  problem.activation = fk::Activation::silu;
  problem.c = fx::f8E4M3FN;
  problem.scale_c = Scales::mx;
  const GemmConfig byRows = fk::choose(problem, 4608, target);
  isTile(byRows, 64, 256);
  CHECK(byRows.dma);
  expectNoSpillsWith(problem, byRows, target);
  problem.scale_a_layout = kPrepared;
  CHECK(!fk::choose(problem, 4608, target).dma);
}

TEST_CASE("prepared scales of groups and mixtures that do not fit are refused") {
  const auto why = [](auto change, const char *target = "gfx950") {
    GroupedGemmProblem problem = grouped(fx::f4E2M1FN, fx::f4E2M1FN, 64, 512);
    problem.scale_a_layout = kPrepared;
    change(problem);
    return fk::supported(problem, fx::Target::parse(target)).why;
  };
  CHECK(why([](auto &) {}) == "");
  CHECK(why([](auto &) {}, "gfx1250") ==
        "scales are prepared for the matrix instructions of gfx950; on gfx1250 scale_a_layout and "
        "scale_b_layout are rows");
  CHECK(why([](auto &p) { p.a_rows = GroupedRows::tokens; }) == "");
  CHECK(why([](auto &p) { p.groups = GroupLayout::offsets; }) ==
        "scale_a_layout is prepared and groups is offsets, by which an expert begins at any place; "
        "prepared scales are of groups that begin at multiples of 16: scale_a_layout is rows, or "
        "groups is units or masked");
  CHECK(why([](auto &p) { p.scale_b_layout = OperandLayout::columns; }) ==
        "scales do not lie by columns: scale_a_layout and scale_b_layout are rows or prepared");
  CHECK(why([](auto &p) { p.a = p.b = fx::bf16, p.scale_a = p.scale_b = Scales::none; }) ==
        "scales that are prepared are those of Scales::mx; of others scale_a_layout and "
        "scale_b_layout are rows");
  const auto whyC = [&](auto change) {
    return why([&](auto &p) {
      p.c = fx::f4E2M1FN, p.scale_c = Scales::mx, p.scale_c_layout = kPrepared;
      p.n = 256;
      change(p);
    });
  };
  CHECK(whyC([](auto &) {}) == "");
  CHECK(
      whyC([](auto &p) { p.n = 320; }) ==
      "scale_c_layout is prepared and n is 320; blocks of prepared scales have 256 columns, and n "
      "is a multiple of that. By rows it is one of 32");
  CHECK(
      whyC([](auto &p) { p.unit = 48; }) ==
      "scale_c_layout is prepared and unit is 48; prepared scales are of groups of 32 places, and "
      "it is a multiple of that");
  CHECK(
      whyC([](auto &p) { p.groups = GroupLayout::masked, p.capacity = 16; }) ==
      "scale_c_layout is prepared and capacity is 16; prepared scales are of groups of 32 places, "
      "and it is a multiple of that");
  CHECK(whyC([](auto &p) {
          p.groups = GroupLayout::offsets, p.scale_a_layout = OperandLayout::rows;
        }) == "scale_c_layout is prepared and groups is offsets, by which an expert begins at any "
              "place; groups is units or masked, or scale_c_layout is rows");
  CHECK(whyC([](auto &p) { p.scale_c_layout = OperandLayout::columns; }) ==
        "scale_c_layout is columns; scales of c lie by rows or are prepared");
  CHECK(
      whyC([](auto &p) { p.c = fx::bf16, p.scale_c = Scales::none; }) ==
      "scale_c_layout is prepared; scales that are prepared are those of Scales::mx of a, b and c, "
      "on gfx950. Others lie by rows");
  GroupedGemmProblem small = grouped(fx::f4E2M1FN, fx::f4E2M1FN, 256, 512);
  small.c = fx::f4E2M1FN, small.scale_c = Scales::mx, small.scale_c_layout = kPrepared;
  CHECK(fk::supported(small, {.tile_m = 16, .tile_n = 64, .tile_k = 256, .threads = 128},
                      fx::Target::parse("gfx950"))
            .why == "tile_m is 16; with prepared scales of c, of groups of 32 places, it is a "
                    "multiple of 32");
  fk::MoeForwardConfig sorts = fk::choose(mixture(), 9, fx::Target::parse("gfx950"));
  sorts.sorts_scales = true;
  CHECK(fk::supported(mixture(), sorts, fx::Target::parse("gfx950")).why == "");
  MoeForwardProblem plain = mixture();
  plain.w_scale_layout = OperandLayout::rows;
  CHECK(fk::supported(plain, sorts, fx::Target::parse("gfx1250")).why ==
        "sorts_scales is true; scales are prepared for the matrix instructions of gfx950, and on "
        "gfx1250 sorts_scales is false");
  plain.x = fx::bf16, plain.scales = Scales::none, plain.scale = fx::f32;
  CHECK(fk::supported(plain, sorts, fx::Target::parse("gfx942")).why ==
        "sorts_scales is true; scales that are sorted along are those of Scales::mx");
  const auto whyMixture = [](auto change, const char *target = "gfx950") {
    MoeForwardProblem problem = mixture();
    change(problem);
    return fk::supported(problem, fx::Target::parse(target)).why;
  };
  CHECK(whyMixture([](auto &) {}, "gfx1250") == "scales are prepared for the matrix instructions "
                                                "of gfx950; on gfx1250 w_scale_layout is rows");
  CHECK(whyMixture([](auto &) {}) == "");
  CHECK(whyMixture([](auto &p) { p.w_scale_layout = OperandLayout::columns; }) ==
        "w_scale_layout is columns; the scales of weights lie by rows or are prepared");
  CHECK(whyMixture([](auto &p) { p.x = fx::bf16, p.scales = Scales::none; }) ==
        "w_scale_layout is prepared; scales that are prepared are those of Scales::mx, and others "
        "lie by rows");
  // A step is a block of 256 elements of K, or several.
  GroupedGemmProblem problem = grouped(fx::f8E4M3FN, fx::f4E2M1FN, 64, 512);
  expectPart(fk::supported(problem, {.tile_m = 16, .tile_n = 64, .tile_k = 128, .threads = 128},
                           fx::Target::parse("gfx950"))
                 .why,
             "blocks of prepared scales have 256 elements of k; tile_k and the k of each part are "
             "multiples of that");
}

TEST_CASE("calls with prepared scales of other shapes are refused", "[run]") {
  GroupedGemmProblem problem = grouped(fx::f4E2M1FN, fx::f4E2M1FN, 80, 288);
  problem.scale_a_layout = kPrepared;
  if (!fk::supported(problem, here()))
    return;
  const fk::GroupedGemmPlan plan(problem, fk::choose(problem, 64));
  const Operands<GroupedGemmProblem> operands(problem, plan.config(), 64);
  const auto refusal = [&](auto change) {
    fk::GroupedGemmArgs args = operands.args();
    change(args);
    return messageOf([&] { plan(args); });
  };
  expectPart(
      refusal([](auto &args) {
        args.scale_b = fx::tensor(args.scale_b->data(), fx::f8E8M0FNU, {3, 80, 9});
      }),
      "scale_b has the shape (3, 80, 9); (experts, rows / 32, k / 256, 256) = (3, 3, 2, 256) "
      "is expected");
  expectPart(
      refusal([](auto &args) {
        args.scale_a = fx::tensor(args.scale_a->data(), fx::f8E8M0FNU, {64, 9});
      }),
      "scale_a has the shape (64, 9); (places / 32, k / 256, 256) = (2, 2, 256) is expected");
  // A matrix whose prepared scales are longer than those by rows: blocks of 256 elements of K for 32.
  GroupedGemmProblem long32 = grouped(fx::f4E2M1FN, fx::f4E2M1FN, std::int64_t(1) << 27, 32);
  CHECK(fk::supported(long32, here()).why == "the scales of b span more than 1 GiB");
  long32.scale_b_layout = OperandLayout::rows;
  CHECK(fk::supported(long32, here()).why == "");
  // More places than 32 bits count the scales of: nothing of the call's memory is looked at.
  GroupedGemmProblem large = grouped(fx::f4E2M1FN, fx::f4E2M1FN, 8192, 256);
  large.c = fx::f4E2M1FN, large.scale_c = Scales::mx, large.scale_c_layout = kPrepared;
  const std::int64_t places = std::int64_t(1) << 23;
  const GemmConfig config = fk::choose(large, places);
  const auto args =
      fk::make_args(large, config, places,
                    [](const char *, fx::DType dtype, fx::TensorArg::Dims shape, fk::Role) {
                      return fx::TensorArg(reinterpret_cast<void *>(4096), dtype, shape);
                    });
  expectPart(
      messageOf([&] { fk::GroupedGemmPlan(large, config)(args); }),
      "scale_c has 2147483648 bytes; prepared scales that a call writes have less than 2 GiB. Call "
      "the plan for parts of the places");
  const fk::MoeForwardPlan mixed(mixture(), fk::choose(mixture(), 6));
  const Operands<MoeForwardProblem> ofMixture(mixture(), mixed.config(), 6);
  fk::MoeForwardArgs wrong = ofMixture.args();
  wrong.scale2 = fx::tensor(wrong.scale2->data(), fx::f8E8M0FNU, {6, 256, 3});
  expectPart(
      messageOf([&] { mixed(wrong); }),
      "scale2 has the shape (6, 256, 3); (experts, rows / 32, k / 256, 256) = (6, 8, 1, 256) "
      "is expected");
}
