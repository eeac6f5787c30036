// Mixtures of experts from logits to results, against the references of their parts in double
// precision, and against the parts as plans of their own.
#include "support/size_sweep.h"

#include <flydsl/kernels/moe_forward.h>

using namespace kernel_tests;

namespace {

using fk::Activation, fk::GatedPairs, fk::MoeForwardConfig, fk::MoeForwardProblem,
    fk::RoutedWeights;

/// Routers and activations of models, with few and small experts.
std::vector<MoeForwardProblem> models() {
  MoeForwardProblem mixtral{
      .router = {.experts = 8, .topk = 2, .renormalise = true}, .hidden = 64, .inner = 48};
  MoeForwardProblem deepseek{.router = {.experts = 16,
                                        .topk = 4,
                                        .renormalise = true,
                                        .score = fk::GatingScore::sigmoid,
                                        .bias = true,
                                        .groups = 4,
                                        .topk_groups = 2,
                                        .scale = 2.5f,
                                        .shared = 1},
                             .hidden = 128,
                             .inner = 32};
  MoeForwardProblem gptOss{
      .router = {.logits = fx::bf16, .experts = 8, .topk = 4, .renormalise = true},
      .y = fx::f32,
      .hidden = 80,
      .inner = 80,
      .bias = true,
      .gated = GatedPairs::interleaved,
      .alpha = 1.702f,
      .limit = 7,
      .up_offset = 1};
  MoeForwardProblem llama4{.router = {.experts = 4, .score = fk::GatingScore::sigmoid, .shared = 1},
                           .x = fx::f16,
                           .y = fx::f16,
                           .hidden = 64,
                           .inner = 48,
                           .weights = RoutedWeights::input};
  MoeForwardProblem nemotron{.router = {.experts = 8, .topk = 2},
                             .hidden = 64,
                             .inner = 32,
                             .activation = Activation::relu_squared,
                             .gated = GatedPairs::none};
  return {mixtral, deepseek, gptOss, llama4, nemotron};
}
/// The same with narrow weights: gpt-oss as it ships, and 4 and 8 bits.
std::vector<MoeForwardProblem> narrowModels() {
  MoeForwardProblem gptOss = models()[2], awq = models()[0], bytes = models()[1];
  gptOss.hidden = 96;
  gptOss.inner = 64;
  gptOss.w = fx::f4E2M1FN;
  gptOss.w_groups = {32, fx::f8E8M0FNU};
  awq.hidden = 128;
  awq.inner = 64;
  awq.w = fx::u4;
  awq.w_groups = {64, fx::bf16, true};
  bytes.w = fx::i8;
  bytes.w_scales = fk::Scales::per_row;
  return {gptOss, awq, bytes};
}

/// In 8 bits: DeepSeek's with scales of blocks, where the target has such floats, and i8 with scales of
/// tensors, with biases.
std::vector<MoeForwardProblem> quantisedModels() {
  MoeForwardProblem bytes = models()[0];
  bytes.x = fx::i8;
  bytes.scales = fk::Scales::per_tensor;
  bytes.bias = true;
  bytes.y = fx::f16;
  std::vector<MoeForwardProblem> all{bytes};
  for (const fx::DType scale : {fx::DType(fx::f32), fx::DType(fx::f8E8M0FNU)}) {
    MoeForwardProblem deepseek = models()[1];
    deepseek.x = here().has(fx::feature::ocp_fp8) ? fx::f8E4M3FN : fx::f8E4M3FNUZ;
    deepseek.scales = fk::Scales::per_block;
    deepseek.scale = scale;
    deepseek.inner = 256;
    if (here().has(fx::feature::ocp_fp8) || here().has(fx::feature::fnuz_fp8))
      all.push_back(deepseek);
  }
  return all;
}

/// In 8 bits with scales of rows, which h gets between the products: W8A8 and W4A8 of i8, with biases and a
/// rank's experts, and where the target has such floats, those under weights of their type and of 4 bits.
std::vector<MoeForwardProblem> modelsOfRows() {
  MoeForwardProblem bytes = models()[0];
  bytes.x = fx::i8;
  bytes.scales = fk::Scales::per_row;
  bytes.bias = true;
  MoeForwardProblem fours = bytes; // FlyDSL's int4
  fours.w = fx::i4;
  fours.w_scales = fk::Scales::per_row;
  fours.hidden = fours.inner = 128;
  fours.bias = false;
  MoeForwardProblem ranks = fours;
  ranks.router = models()[1].router;
  ranks.w = fx::u4;
  ranks.local = 5;
  ranks.tokens = true;
  MoeForwardProblem given = fours; // scales of tensors, of which h gets the one that is given
  given.scales = fk::Scales::per_tensor;
  std::vector<MoeForwardProblem> all{bytes, fours, ranks, given};
  if (!here().has(fx::feature::ocp_fp8) && !here().has(fx::feature::fnuz_fp8))
    return all;
  MoeForwardProblem floats = bytes;
  floats.x = here().has(fx::feature::ocp_fp8) ? fx::f8E4M3FN : fx::f8E4M3FNUZ;
  MoeForwardProblem grouped = floats;
  grouped.hidden = grouped.inner = 256;
  grouped.w = fx::i4;
  grouped.w_groups = {128, fx::f32};
  all.push_back(floats);
  all.push_back(grouped);
  return all;
}

void expectForward(const MoeForwardProblem &problem, const MoeForwardConfig &config,
                   std::int64_t m) {
  SweepCounts counts;
  runOnce(problem, config, m, counts);
  CHECK(counts.compared == 1);
}

/// A mixture as one plan, and after it gating and sorting as plans of their own, for tests that run the
/// rest of the parts so.
struct SortedMixture {
  SortedMixture(const MoeForwardProblem &of, std::int64_t tokens)
      : problem(of), m(tokens), config(fk::choose(of, tokens)), operands(of, config, tokens) {
    operands.fill(1);
    const fk::MoeForwardArgs &args = operands.args();
    fk::MoeForwardPlan(problem, config)(args, stream);
    stream.synchronize();
    whole = operands.results();
    const fk::RowConfig router =
        config.routes ? fk::RowConfig{.threads = config.sort.threads, .block = config.sort.block}
                      : config.router;
    fk::TopkGatingPlan(problem.router, router)({.logits = args.logits,
                                                .weights = weights.tensor(),
                                                .ids = ids.tensor(),
                                                .bias = args.router_bias},
                                               stream);
    fk::run(sort,
            {.ids = ids.tensor(),
             .weights = weights.tensor(),
             .sorted_ids = sorted.vector(),
             .sorted_weights = sortedWeights.vector(),
             .unit_experts = units.vector(),
             .counts = counts.vector(),
             .offsets = offsets.vector(),
             .totals = totals.vector(),
             .slot_places = slotPlaces.tensor()},
            stream);
  }

  const MoeForwardProblem problem;
  const std::int64_t m;
  const MoeForwardConfig config;
  Operands<MoeForwardProblem> operands;
  const fx::Stream stream;
  std::vector<std::uint8_t> whole; ///< what the one plan gives
  const fk::MoeSortProblem sort{
      .experts = problem.experts(), .topk = problem.topk(), .unit = config.unit, .places = true};
  const std::int64_t places = fk::moe_sort_places(sort, m);
  const Operand weights = Operand::output(fx::f32, m, problem.topk()),
                ids = Operand::output(fx::i32, m, problem.topk()),
                sorted = Operand::output(fx::i32, 1, places),
                sortedWeights = Operand::output(fx::f32, 1, places),
                units = Operand::output(fx::i32, 1, places / config.unit),
                counts = Operand::output(fx::i32, 1, problem.experts()),
                offsets = Operand::output(fx::i32, 1, problem.experts() + 1),
                totals = Operand::output(fx::i32, 1, 3),
                slotPlaces = Operand::output(fx::i32, m, problem.topk());
};

} // namespace

TEST_CASE("mixtures of models for any number of tokens", "[run]") {
  for (const MoeForwardProblem &problem : models())
    for (std::int64_t m : {1, 7, 40})
      expectForward(problem, fk::choose(problem, m), m);
}

TEST_CASE("mixtures whose second product adds to y", "[run]") {
  // Biases of another type than y's, weights of the input, a rank's experts and tokens of the device.
  std::vector<MoeForwardProblem> problems = models();
  problems[1].local = 6;
  problems[1].tokens = true;
  for (MoeForwardProblem &problem : problems) {
    problem.any_order = true;
    for (std::int64_t m : {1, 21}) {
      const MoeForwardConfig config = fk::choose(problem, m);
      CHECK(config.adds);
      expectForward(problem, config, m);
    }
  }
  MoeForwardProblem bytes = quantisedModels()[0];
  bytes.any_order = true;
  expectForward(bytes, fk::choose(bytes, 5), 5);
}

TEST_CASE("a mixture that adds to y has no results of slots in its workspace, and y apart from x") {
  MoeForwardProblem problem = models()[0];
  const MoeForwardConfig ordered = fk::choose(problem, 21);
  problem.any_order = true;
  const MoeForwardConfig adding = fk::choose(problem, 21);
  CHECK(fk::workspace_bytes(problem, adding, 21) + 21 * 2 * problem.hidden * 2 <=
        fk::workspace_bytes(problem, ordered, 21));
  const fk::MoeForwardPlan plan(problem, adding);
  const Operands<MoeForwardProblem> operands(problem, adding, 21);
  fk::MoeForwardArgs args = operands.args();
  args.y = args.x;
  CHECK(messageOf([&] { plan(args); }).find("moe_forward: y shares memory with x") !=
        std::string::npos);
}

TEST_CASE("rows are added to y where that is estimated to take less than a reduction") {
  MoeForwardProblem problem;
  problem.router.experts = 16;
  problem.router.topk = 4;
  problem.hidden = 1024;
  problem.inner = 512;
  problem.any_order = true;
  const auto adds = [&](const char *target, std::int64_t m) {
    return fk::choose(problem, m, fx::Target::parse(target)).adds;
  };
  for (const char *target : {"gfx942", "gfx950"}) {
    CHECK(adds(target, 128));
    CHECK_FALSE(adds(target, 256)); // lines move between dies
  }
  CHECK(adds("gfx1201", 256));           // of one die
  for (const bool any : {true, false}) { // a search has both, where the problem allows both
    problem.any_order = any;
    int adding = 0, others = 0;
    for (const MoeForwardConfig &config : fk::configs(problem, 256, fx::Target::parse("gfx950")))
      ++(config.adds ? adding : others);
    CHECK(adding == (any ? others : 0));
    CHECK(others > 0);
  }
}

TEST_CASE("a unit has all rows of an expert, or leaves few places empty") {
  const MoeForwardProblem problem = models()[0];
  REQUIRE(problem.router.topk * 4 ==
          problem.router.experts); // rows of an expert: a quarter of the tokens
  const auto unitOf = [&](std::int64_t rows) { return fk::choose(problem, 4 * rows).unit; };
  CHECK(unitOf(16) == 16);
  CHECK(unitOf(17) == 32);
  CHECK(unitOf(64) == 64);
  CHECK(unitOf(65) == 128);
  CHECK(unitOf(128) == 128);
  CHECK(unitOf(129) == 64); // three of 64 rather than two of 128
  CHECK(unitOf(512) == 64);
  CHECK(unitOf(513) == 128);
}

TEST_CASE("mixtures with narrow weights", "[run]") {
  for (const MoeForwardProblem &problem : narrowModels())
    for (std::int64_t m : {3, 40})
      expectForward(problem, fk::choose(problem, m), m);
}

TEST_CASE("mixtures in 8 bits, whose h is quantised on the way", "[run]") {
  std::int64_t m = 40;
  for (const MoeForwardProblem &problem : quantisedModels()) {
    expectForward(problem, fk::choose(problem, m), m);
    m = 3;
  }
}

TEST_CASE("mixtures in 8 bits whose h has scales of rows", "[run]") {
  for (const MoeForwardProblem &problem : modelsOfRows()) {
    INFO(fx::to_config(problem).str());
    REQUIRE(fk::supported(problem));
    for (std::int64_t m : {1, 40})
      expectForward(problem, fk::choose(problem, m), m);
  }
  // Rows of a wave, of a block, and those that registers do not hold.
  MoeForwardProblem wide = modelsOfRows()[0];
  wide.router = {.experts = 2, .topk = 1};
  wide.gated = GatedPairs::none;
  wide.activation = Activation::relu;
  for (std::int64_t inner : {2064, 32784}) {
    wide.inner = inner;
    expectForward(wide, fk::choose(wide, 2), 2);
  }
  MoeForwardProblem adding = modelsOfRows()[1];
  adding.any_order = true;
  expectForward(adding, fk::choose(adding, 5), 5);
}

TEST_CASE("mixtures of i8 whose h has scales of rows are exact where all numbers are whole",
          "[run]") {
  // Tokens go to two experts with a half each. Element 0 of h is 127 and the others are smaller, so that
  // the scale of a row is a power of two; halves are rounded to even.
  constexpr std::int64_t m = 9, experts = 4, hidden = 128, inner = 128;
  for (const fx::DType w : {fx::DType(fx::i8), fx::DType(fx::i4)}) {
    MoeForwardProblem problem{.router = {.experts = experts, .topk = 2},
                              .x = fx::i8,
                              .scales = fk::Scales::per_row,
                              .w = w,
                              .y = fx::f32,
                              .hidden = hidden,
                              .inner = inner,
                              .activation = Activation::none,
                              .gated = GatedPairs::none};
    if (w == fx::i4)
      problem.w_scales = fk::Scales::per_row;
    INFO(fx::to_config(problem).str());
    std::vector<double> logits(m * experts, -1e30), x(m * hidden, 0), scaleX, scale1, scale2;
    for (std::int64_t t = 0; t < m; ++t) {
      logits[std::size_t(t * experts + t % experts)] =
          logits[std::size_t(t * experts + (t + 1) % experts)] = 0;
      scaleX.push_back(std::exp2(double(t % 3)));
      x[std::size_t(t * hidden)] = 127;
      for (std::int64_t i = 1; i < 8; ++i) // seven products of up to 8
        x[std::size_t(t * hidden + 17 * i)] = (t + i) % 2 ? 1 : -1;
    }
    std::vector<double> w1 = integers(experts * inner * hidden, 1, -8, 7),
                        w2 = integers(experts * hidden * inner, 2, -8, 7);
    for (std::int64_t row = 0; row < experts * inner; ++row) {
      const bool isFirst = row % inner == 0;
      for (std::int64_t i = 0; i < (isFirst ? hidden : 1); ++i)
        w1[std::size_t(row * hidden + i)] = isFirst && i == 0;
      scale1.push_back(isFirst || row % 2 ? 1 : 0.5);
      scale2.push_back(std::exp2(double(row % 4)));
    }
    std::vector<double> expected(m * hidden, 0);
    for (std::int64_t t = 0; t < m; ++t)
      for (std::int64_t slot = 0; slot < 2; ++slot) {
        const std::int64_t expert = (t + slot) % experts;
        std::vector<double> q;
        for (std::int64_t j = 0; j < inner; ++j) {
          double sum = 0;
          for (std::int64_t i = 0; i < hidden; ++i)
            sum +=
                x[std::size_t(t * hidden + i)] * w1[std::size_t((expert * inner + j) * hidden + i)];
          q.push_back(std::nearbyint(sum * scale1[std::size_t(expert * inner + j)]));
        }
        for (std::int64_t j = 0; j < hidden; ++j) {
          double sum = 0;
          for (std::int64_t i = 0; i < inner; ++i)
            sum += q[std::size_t(i)] * w2[std::size_t((expert * hidden + j) * inner + i)];
          sum *= scaleX[std::size_t(t)] * scale2[std::size_t(expert * hidden + j)] / 2;
          expected[std::size_t(t * hidden + j)] +=
              decode(fx::bf16, encode(fx::bf16, std::vector<double>{sum}))[0];
        }
      }
    const auto prepared = [&](const fk::WeightProblem &matrix, const std::vector<double> &values) {
      std::vector<std::uint8_t> raw;
      if (matrix.narrow) {
        for (std::size_t i = 0; i < values.size(); i += 2)
          raw.push_back(std::uint8_t((int(values[i]) & 15) | (int(values[i + 1]) & 15) << 4));
      } else {
        raw = encode(fx::i8, values);
      }
      std::vector<std::uint8_t> out(std::size_t(fk::prepared_size(matrix)));
      fk::prepare_weight(matrix, raw.data(), out.data());
      const fx::DType type = matrix.narrow ? fx::DType(fx::u8) : matrix.dtype;
      return Operand::input(type, 1, std::int64_t(out.size()), decode(type, out));
    };
    const Operand a = Operand::input(fx::i8, m, hidden, x),
                  weight1 = prepared(problem.weight1(), w1),
                  weight2 = prepared(problem.weight2(), w2),
                  ofLogits = Operand::input(fx::f32, m, experts, logits),
                  ofX = Operand::input(fx::f32, 1, m, scaleX),
                  of1 = Operand::input(fx::f32, experts, inner, scale1),
                  of2 = Operand::input(fx::f32, experts, hidden, scale2),
                  y = Operand::output(fx::f32, m, hidden);
    const fk::MoeForwardPlan plan(problem, fk::choose(problem, m));
    const fx::DeviceArray<std::uint8_t> workspace({std::int64_t(plan.workspace_bytes(m))});
    plan({.logits = ofLogits.tensor(),
          .x = a.tensor(),
          .w1 = {problem.weight1(), weight1.vector()},
          .w2 = {problem.weight2(), weight2.vector()},
          .scale_x = ofX.vector(),
          .scale1 = of1.tensor(),
          .scale2 = of2.tensor(),
          .y = y.tensor(),
          .workspace = workspace.tensor()});
    fx::Device::current().synchronize();
    CHECK(y.values() == expected);
  }
}

TEST_CASE("a mixture in 8 bits is its parts, bit by bit") {
  SortedMixture mixture(quantisedModels()[1], 21);
  const MoeForwardProblem &problem = mixture.problem;
  const MoeForwardConfig &config = mixture.config;
  const fk::MoeForwardArgs &args = mixture.operands.args();
  const fx::Stream &stream = mixture.stream;
  const int topk = problem.topk();
  const std::int64_t experts = problem.experts(), inner = problem.inner, hidden = problem.hidden,
                     places = mixture.places;
  const Operand inside = Operand::output(problem.x, places, inner),
                scales = Operand::output(fx::f32, places, inner / 128),
                results = Operand::output(fx::bf16, places, hidden);
  const fk::GroupedGemmProblem product{.a = problem.x,
                                       .b = problem.x,
                                       .c = fx::bf16,
                                       .experts = experts,
                                       .n = hidden,
                                       .k = inner,
                                       .unit = config.unit,
                                       .topk = topk,
                                       .weights = RoutedWeights::output,
                                       .scale_a = fk::Scales::per_block,
                                       .scale_b = fk::Scales::per_block};
  fk::GroupedGemmProblem first = product;
  first.c = problem.x;
  first.n = inner;
  first.k = hidden;
  first.a_rows = fk::GroupedRows::tokens;
  first.weights = RoutedWeights::none;
  first.scale_c = fk::Scales::per_block;
  first.activation = Activation::silu;
  first.gated = GatedPairs::halves;
  fk::run(first,
          {.a = args.x,
           .b = args.w1,
           .c = inside.tensor(),
           .unit_experts = mixture.units.vector(),
           .offsets = mixture.offsets.vector(),
           .counts = mixture.counts.vector(),
           .sorted_ids = mixture.sorted.vector(),
           .scale_a = args.scale_x,
           .scale_b = args.scale1,
           .scale_c = scales.tensor()},
          stream, &config.first);
  fk::run(product,
          {.a = inside.tensor(),
           .b = args.w2,
           .c = results.tensor(),
           .unit_experts = mixture.units.vector(),
           .offsets = mixture.offsets.vector(),
           .counts = mixture.counts.vector(),
           .weights = mixture.sortedWeights.vector(),
           .scale_a = scales.tensor(),
           .scale_b = args.scale2},
          stream, &config.second);
  stream.synchronize();
  mixture.operands.fill(1);
  fk::run(
      fk::MoeReduceProblem{
          .x = fx::bf16, .y = problem.y, .n = hidden, .topk = topk, .places = true},
      {.x = results.tensor(), .slot_places = mixture.slotPlaces.tensor(), .y = args.y}, stream);
  stream.synchronize();
  CHECK(mixture.operands.results() == mixture.whole);
}

TEST_CASE("a mixture's plan is right for other numbers of tokens than it was chosen for", "[run]") {
  for (const MoeForwardProblem &problem : models()) {
    expectForward(problem, fk::choose(problem, 1), 33);
    expectForward(problem, fk::choose(problem, 4096), 3);
  }
}

TEST_CASE("a mixture without tokens launches nothing and needs no workspace", "[run]") {
  const MoeForwardProblem problem = models()[0];
  const fk::MoeForwardPlan plan(problem, fk::choose(problem, 4));
  CHECK(fk::workspace_bytes(problem, plan.config(), 0) == 0);
  const Operands<MoeForwardProblem> operands(problem, plan.config(), 0);
  const auto launches = fx::Device::current().count_launches([&] {
    plan(operands.args());
    fx::Device::current().synchronize();
  });
  CHECK(launches.empty());
}

TEST_CASE("ranks have parts of the experts, and tokens are counted on the device", "[run]") {
  for (MoeForwardProblem problem : models()) {
    problem.local = 3;
    expectForward(problem, fk::choose(problem, 20), 20);
    problem.tokens = true;
    expectForward(problem, fk::choose(problem, 20), 20);
  }
}

TEST_CASE("the parts as plans of their own give the same bits", "[run]") {
  SortedMixture mixture(models()[0], 21);
  const MoeForwardProblem &problem = mixture.problem;
  const MoeForwardConfig &config = mixture.config;
  const fk::MoeForwardArgs &args = mixture.operands.args();
  const fx::Stream &stream = mixture.stream;
  const int topk = problem.topk();
  const std::int64_t m = mixture.m, experts = problem.experts();
  const Operand inside = Operand::output(problem.x, mixture.places, problem.inner),
                results = Operand::output(problem.x, m * topk, problem.hidden);
  fk::GroupedGemmProblem product{.experts = experts,
                                 .n = problem.inner,
                                 .k = problem.hidden,
                                 .unit = config.unit,
                                 .topk = topk,
                                 .a_rows = fk::GroupedRows::tokens,
                                 .activation = Activation::silu,
                                 .gated = GatedPairs::halves};
  fk::run(product,
          {.a = args.x,
           .b = args.w1,
           .c = inside.tensor(),
           .unit_experts = mixture.units.vector(),
           .offsets = mixture.offsets.vector(),
           .counts = mixture.counts.vector(),
           .sorted_ids = mixture.sorted.vector()},
          stream, &config.first);
  // The second one writes the rows of slots, which have no place in between.
  product = {.experts = experts,
             .n = problem.hidden,
             .k = problem.inner,
             .unit = config.unit,
             .topk = topk,
             .c_rows = fk::GroupedRows::slots,
             .weights = RoutedWeights::output};
  fk::run(product,
          {.a = inside.tensor(),
           .b = args.w2,
           .c = fx::tensor(results.tensor().data(), problem.x, {m, topk, problem.hidden}),
           .unit_experts = mixture.units.vector(),
           .offsets = mixture.offsets.vector(),
           .counts = mixture.counts.vector(),
           .sorted_ids = mixture.sorted.vector(),
           .weights = mixture.sortedWeights.vector()},
          stream, &config.second);
  stream.synchronize();
  mixture.operands.fill(1);
  fk::run(
      fk::MoeReduceProblem{.x = problem.x, .y = problem.y, .n = problem.hidden, .topk = topk},
      {.x = fx::tensor(results.tensor().data(), problem.x, {m, topk, problem.hidden}), .y = args.y},
      stream);
  stream.synchronize();
  CHECK(mixture.operands.results() == mixture.whole);
}

TEST_CASE("rows of y past the tokens of the device are 0", "[run]") {
  MoeForwardProblem problem = models()[1];
  problem.tokens = true;
  const fk::MoeForwardPlan plan(problem, fk::choose(problem, 9));
  const Operands<MoeForwardProblem> operands(problem, plan.config(), 9);
  for (std::int64_t tokens : {0, 4, 9}) {
    fk::MoeForwardArgs args = operands.args();
    const Operand number = Operand::input(fx::i32, 1, 1, std::vector<double>{double(tokens)});
    args.tokens = number.vector();
    const Operand y = Operand::output(problem.y, 9, problem.hidden);
    args.y = y.tensor();
    plan(args);
    fx::Device::current().synchronize();
    const std::vector<double> got = y.values();
    for (std::int64_t t = 0; t < 9; ++t) {
      const auto row =
          std::span(got).subspan(std::size_t(t * problem.hidden), std::size_t(problem.hidden));
      CHECK(std::all_of(row.begin(), row.end(), [](double v) { return v == 0; }) == (t >= tokens));
    }
  }
}

TEST_CASE("mixtures choose experts with the sorting for few tokens, and before it otherwise",
          "[run]") {
  for (const MoeForwardProblem &problem : models()) {
    MoeForwardConfig config = fk::choose(problem, 5);
    CHECK(config.routes);
    CHECK(!fk::choose(problem, 4096).routes);
    // A plan for few tokens takes more, in rounds.
    expectForward(problem, config, 40);
    config.routes = false;
    config.router = fk::choose(problem.router, 5);
    config.sort = {.block = 64};
    expectForward(problem, config, 5);
  }
}

TEST_CASE("moe_forward: another run, a graph, a file", "[run]") {
  for (const MoeForwardProblem &problem : models())
    expectStructure(problem, fk::choose(problem, 21), 21);
}

TEST_CASE("moe_forward has a configuration for every problem that it supports") {
  std::vector<MoeForwardProblem> problems = models();
  // DeepSeek-V3, Kimi-K2, Qwen3-235B, gpt-oss-120b.
  for (const auto &[experts, topk, hidden, inner] :
       {std::tuple(256, 8, 7168, 2048), std::tuple(384, 8, 7168, 2048),
        std::tuple(128, 8, 4096, 1536), std::tuple(128, 4, 2880, 2880)})
    problems.push_back({.router = {.experts = experts, .topk = topk, .renormalise = true},
                        .hidden = hidden,
                        .inner = inner});
  for (const fx::Target &target : targets())
    for (const MoeForwardProblem &problem : problems)
      for (std::int64_t m : {0, 1, 2, 33, 1024, 32768}) {
        INFO(target.name() << ": " << fx::to_config(problem).str() << " m=" << m);
        const auto config = fk::choose(problem, m, target);
        const fk::Support answer = fk::supported(problem, config, target);
        INFO(answer.why);
        CHECK(answer.ok);
      }
}

TEST_CASE("moe_forward says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](auto change) {
    MoeForwardProblem problem = models()[0];
    change(problem);
    return fk::supported(problem, target).why;
  };
  CHECK(why([](auto &) {}).empty());
  CHECK(why([](auto &p) { p.x = fx::i8; }) ==
        "x is of type i8, which has scales: per_row, per_block, per_tensor or mx");
  CHECK(why([](auto &p) { p.x = fx::f32; }) ==
        "x is of type f32; f16, bf16, i8, 8-bit floats and f4E2M1FN are supported");
  CHECK(why([](auto &p) { p.scales = fk::Scales::per_tensor; }) ==
        "x is of type bf16, and scales are of x of 4 and 8 bits");
  CHECK(why([](auto &p) { p.x = fx::i8, p.scales = fk::Scales::per_row, p.w = fx::u8; }) ==
        "w is of type u8; under x of 8 bits it is x's, u4 or i4, or with Scales::mx f4E2M1FN; "
        "under 4 bits it is x's");
  CHECK(why([](auto &p) {
          p.x = fx::f8E4M3FNUZ, p.scales = fk::Scales::per_block, p.w = fx::i4;
        }) == "w is of type i4 and scales is per_block; with such weights under 8 bits, scales of "
              "x and h are "
              "per_row or per_tensor, and those of weights are w_scales or w_groups");
  CHECK(why([](auto &p) { p.x = fx::i8, p.scales = fk::Scales::per_row, p.w_scales = p.scales; }) ==
        "w_scales is none, or per_row of narrow weights");
  CHECK(why([](auto &p) {
          p.x = fx::i8, p.scales = fk::Scales::per_row, p.w = fx::i4, p.w_groups = {64, fx::f32};
          p.hidden = p.inner = 128;
        })
            .starts_with(
                "the first product: b_groups.size is 64 and a is i8, whose sums are integers"));
  CHECK(why([](auto &p) { p.x = fx::f8E4M3FNUZ, p.scales = fk::Scales::per_block; }) ==
        "the first product: n is 48; with scales of blocks an expert's weights have a multiple of "
        "128 "
        "rows");
  CHECK(why([](auto &p) { p.weights = RoutedWeights::none; }) ==
        "weights is none; the weights of the router are of the input or the output");
  CHECK(why([](auto &p) { p.router.source_rows = true; }) ==
        "router: source_rows is of topk_gating alone");
  CHECK(why([](auto &p) { p.router.topk = 9; }).starts_with("router: topk is 9"));
  CHECK(why([](auto &p) { p.local = 9; }).starts_with("sorting: local is 9"));
  CHECK(why([](auto &p) {
          p.inner = 40;
        }).starts_with("the first product: n is 40; in gated pairs it is a multiple of 16"));
  CHECK(why([](auto &p) { p.hidden = 56; }).starts_with("the second product: n is 56"));
  CHECK(
      why([](auto &p) { p.w = fx::f32; }) ==
      "w is of type f32; it is x's, or one of narrow weights: u4, i4, u8, i8, f4E2M1FN or an 8-bit "
      "float");
  CHECK(why([](auto &p) { p.w_scales = fk::Scales::per_row; }) ==
        "w_scales is none, or per_row of narrow weights");
  CHECK(why([](auto &p) { p.w = fx::i8, p.w_scales = fk::Scales::per_block; }) ==
        "w_scales is none, or per_row of narrow weights");
  CHECK(why([](auto &p) {
          p.w_groups = {32, fx::f32};
        }).starts_with("the first product: b_groups are of narrow weights"));
  CHECK(why([](auto &p) {
          p.w = fx::i4, p.w_groups = {32, fx::f32, true};
        }) == "the first product: b is of type i4; zero points are of weights of type u4 or u8");
  // A lane of RDNA3 has the scales of all columns of its tile.
  MoeForwardProblem wide = models()[0];
  wide.hidden = wide.inner = 128;
  wide.w = fx::u8;
  wide.w_groups = {32, fx::f32, true};
  CHECK(fk::supported(wide, target));
  CHECK(fk::supported(wide, fx::Target::parse("gfx1100"))
            .why.starts_with("the first product: scales and zero points of groups of 32"));
  const MoeForwardProblem problem = models()[0];
  MoeForwardConfig config = fk::choose(problem, 1, target);
  config.unit = 40;
  CHECK(fk::supported(problem, config, target).why.starts_with("the first product: unit is 40"));
  config = fk::choose(problem, 1, target);
  CHECK(!config.adds);
  config.adds = true;
  CHECK(
      fk::supported(problem, config, target).why ==
      "adds: the second product adds its rows in any order, which any_order of the problem has to "
      "allow");
}

TEST_CASE("moe_forward refuses scales of narrow weights that do not fit") {
  const auto expectRefusal = [](const MoeForwardProblem &problem, const std::string &text,
                                auto change) {
    const fk::MoeForwardPlan plan(problem, fk::choose(problem, 6));
    const Operands<MoeForwardProblem> operands(problem, plan.config(), 6);
    fk::MoeForwardArgs args = operands.args();
    change(args);
    const std::string got = messageOf([&] { plan(args); });
    INFO(got);
    CHECK(got.find("moe_forward: " + text) != std::string::npos);
  };
  const MoeForwardProblem awq = narrowModels()[1], bytes = narrowModels()[2];
  expectRefusal(awq, "group_scales1 is missing; the problem has it",
                [](auto &args) { args.group_scales1.reset(); });
  expectRefusal(awq, "group_zeros2 is missing; the problem has it",
                [](auto &args) { args.group_zeros2.reset(); });
  expectRefusal(awq, "group_scales1 has the shape",
                [](auto &args) { std::swap(args.group_scales1, args.group_scales2); });
  expectRefusal(awq, "scale1 is given, and the problem does not have it",
                [](auto &args) { args.scale1 = args.x; });
  expectRefusal(bytes, "scale2 is missing; the problem has it",
                [](auto &args) { args.scale2.reset(); });
  expectRefusal(bytes, "group_scales2 is given, and the problem does not have it",
                [](auto &args) { args.group_scales2 = args.x; });
}

TEST_CASE("moe_forward refuses scales of rows that do not fit") {
  const MoeForwardProblem bytes = modelsOfRows()[0], fours = modelsOfRows()[1];
  for (const MoeForwardProblem &problem : {bytes, fours}) {
    const fk::MoeForwardPlan plan(problem, fk::choose(problem, 6));
    const Operands<MoeForwardProblem> operands(problem, plan.config(), 6);
    const auto expectRefusal = [&](const std::string &text, auto change) {
      fk::MoeForwardArgs args = operands.args();
      change(args);
      const std::string got = messageOf([&] { plan(args); });
      INFO(got);
      CHECK(got.find("moe_forward: " + text) != std::string::npos);
    };
    expectRefusal("scale_x is missing; the problem has it",
                  [](auto &args) { args.scale_x.reset(); });
    expectRefusal("scale_x has the shape (8, ", [](auto &args) { args.scale_x = args.scale1; });
    expectRefusal("scale1 is missing; the problem has it", [](auto &args) { args.scale1.reset(); });
    expectRefusal("scale2 has the shape", [](auto &args) { args.scale2 = args.scale_x; });
    expectRefusal("scale_h is given, and the problem does not have it",
                  [](auto &args) { args.scale_h = args.scale_x; });
  }
}

TEST_CASE("moe_forward refuses arguments that do not fit") {
  MoeForwardProblem problem = models()[1];
  problem.bias = true;
  const fk::MoeForwardPlan plan(problem, fk::choose(problem, 6));
  const Operands<MoeForwardProblem> operands(problem, plan.config(), 6);
  const auto expectRefusal = [&](const std::string &text, auto change) {
    fk::MoeForwardArgs args = operands.args();
    change(args);
    const std::string got = messageOf([&] { plan(args); });
    INFO(got);
    CHECK(got.find("moe_forward: " + text) != std::string::npos);
  };
  const auto cut = [](const fx::TensorArg &tensor, std::int64_t first) {
    std::vector<std::int64_t> shape(tensor.shape().begin(), tensor.shape().end());
    shape[0] = first;
    return fx::tensor(tensor.data(), tensor.dtype(), shape);
  };
  expectRefusal("logits has the shape (5, 16); (m, experts) = (6, 16) is expected",
                [&](auto &args) { args.logits = cut(args.logits, 5); });
  expectRefusal("y has the shape (5, 128); (m, hidden) = (6, 128) is expected",
                [&](auto &args) { args.y = cut(args.y, 5); });
  expectRefusal("w1 ", [](auto &args) { std::swap(args.w1, args.w2); });
  expectRefusal("router_bias is missing; the problem has it",
                [](auto &args) { args.router_bias.reset(); });
  expectRefusal("bias2 is missing; the problem has it", [](auto &args) { args.bias2.reset(); });
  expectRefusal("ids is given, and the problem does not have it",
                [](auto &args) { args.ids = args.x; });
  expectRefusal("expert_map is given, and the problem does not have it",
                [](auto &args) { args.expert_map = args.x; });
  expectRefusal("workspace is missing", [](auto &args) { args.workspace.reset(); });
  expectRefusal("workspace has the shape (1000)",
                [&](auto &args) { args.workspace = cut(*args.workspace, 1000); });
  expectRefusal("y shares memory with workspace", [](auto &args) {
    args.y = fx::tensor(args.workspace->data(), fx::bf16, {6, 128});
  });
}
