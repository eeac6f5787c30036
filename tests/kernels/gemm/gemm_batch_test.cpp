// Batched products: a product for each of a batch of matrices, in one launch, against the reference in
// double precision; operands that lie between each other, as those of heads do; and shared ones.
#include "support/product.h"
#include "support/size_sweep.h"

#include <flydsl/kernels/weight.h>

using namespace kernel_tests;

namespace {

/// A problem of each type and layout of operands, scales and results.
std::vector<GemmProblem> problems() {
  std::vector<GemmProblem> all{
      {.a = fx::f16, .b = fx::f16, .c = fx::f16, .n = 48, .k = 96, .bias = true},
      {.a = fx::bf16,
       .b = fx::bf16,
       .c = fx::f32,
       .b_layout = OperandLayout::rows,
       .n = 40,
       .k = 72},
      {.a = fx::f16,
       .b = fx::f16,
       .c = fx::f32,
       .a_layout = OperandLayout::columns,
       .b_layout = OperandLayout::columns,
       .n = 72,
       .k = 40},
      {.a = fx::i8,
       .b = fx::i8,
       .c = fx::bf16,
       .n = 64,
       .k = 128,
       .scale_a = Scales::per_row,
       .scale_b = Scales::per_row},
      {.a = fx::i8,
       .b = fx::i8,
       .c = fx::i8,
       .n = 32,
       .k = 64,
       .scale_a = Scales::per_tensor,
       .scale_b = Scales::per_tensor,
       .scale_c = Scales::per_tensor},
      {.a = fx::bf16,
       .b = fx::bf16,
       .c = fx::bf16,
       .n = 32,
       .k = 64,
       .bias = true,
       .bias_type = fx::f32,
       .activation = Activation::silu,
       .gated = true},
      {.a = fx::f16,
       .b = fx::u4,
       .c = fx::f16,
       .n = 64,
       .k = 128,
       .b_groups = {.size = 64, .scale = fx::f16, .zeros = true}},
      {.a = fx::bf16,
       .b = fx::bf16,
       .c = fx::bf16,
       .n = 36,
       .k = 64,
       .residual = true,
       .residual_type = fx::f32,
       .beta = 0.5f}};
  // Prepared weights of a batch have whole blocks of rows each.
  all.back().b_layout = OperandLayout::rows;
  if (float8()) {
    all.push_back({.a = float8(),
                   .b = float8(),
                   .c = float8(),
                   .n = 128,
                   .k = 256,
                   .scale_a = Scales::per_block,
                   .scale_b = Scales::per_block,
                   .scale_c = Scales::per_block});
    all.push_back({.a = float8(),
                   .b = float8(),
                   .c = fx::bf16,
                   .b_layout = OperandLayout::rows,
                   .n = 64,
                   .k = 128,
                   .scale_a = Scales::per_row,
                   .scale_b = Scales::per_tensor});
  }
  GemmProblem mx{.a = fx::f8E4M3FN,
                 .b = fx::f4E2M1FN,
                 .c = fx::bf16,
                 .n = 48,
                 .k = 384,
                 .scale_a = Scales::mx,
                 .scale_b = Scales::mx,
                 .scale = fx::f8E8M0FNU};
  if (fk::supported(mx))
    all.push_back(mx);
  for (GemmProblem &problem : all)
    problem.batch = 3;
  return all;
}

/// A tensor of three modes over the memory of an operand.
fx::TensorArg over(const Operand &operand, std::initializer_list<std::int64_t> shape,
                   std::initializer_list<std::int64_t> strides, std::int64_t first = 0) {
  auto *data = static_cast<std::uint8_t *>(operand.tensor().data());
  return fx::TensorArg(data + first * operand.dtype().memory_bits() / 8, operand.dtype(),
                       std::vector<std::int64_t>(shape), std::vector<std::int64_t>(strides));
}

} // namespace

TEST_CASE("batched products of each type and layout", "[run]") {
  SweepCounts counts;
  const std::vector<GemmProblem> all = problems();
  for (const GemmProblem &problem : all)
    for (const std::int64_t m : {8, 40})
      runOnce(problem, fk::choose(problem, m), m, counts);
  CHECK(counts.compared == 2 * all.size());
}

TEST_CASE("a batched product: another run, a graph and a file give the same bits", "[run]") {
  const GemmProblem problem{.a = fx::f16, .b = fx::f16, .c = fx::f16, .n = 32, .k = 64, .batch = 3};
  expectStructure(problem, fk::choose(problem, 17), 17);
}

// Latent attention absorbs its projections: of kv_b_proj, (heads * (nope + value), latent), the rows
// of a head's keys and those of its values are matrices of two products. The first one takes
// them by columns; tokens have their heads one after another.
TEST_CASE("the projections of latent attention are absorbed as their weights lie", "[run]") {
  constexpr std::int64_t heads = 3, tokens = 5, nope = 32, value = 16, latent = 64, rope = 16;
  const fx::DType type = fx::bf16;
  const std::vector<double> query = uniform(type, tokens * heads * (nope + rope), 1),
                            weight = uniform(type, heads * (nope + value) * latent, 2);
  const Operand q = Operand::input(type, 1, std::int64_t(query.size()), query),
                w = Operand::input(type, 1, std::int64_t(weight.size()), weight),
                c = Operand::output(fx::f32, tokens, heads * latent),
                o = Operand::output(fx::f32, tokens, heads * value);
  const GemmProblem keys{.a = type,
                         .b = type,
                         .c = fx::f32,
                         .b_layout = OperandLayout::columns,
                         .n = latent,
                         .k = nope,
                         .batch = heads};
  const fx::Stream stream;
  fk::run(keys,
          {.a = over(q, {heads, tokens, nope}, {nope + rope, heads * (nope + rope), 1}),
           .b = over(w, {heads, latent, nope}, {(nope + value) * latent, 1, latent}),
           .c = over(c, {heads, tokens, latent}, {latent, heads * latent, 1})},
          stream);
  // What attention gives, here the tokens' own latents, through the values' rows.
  const std::vector<double> attended = uniform(type, tokens * heads * latent, 3);
  const Operand y = Operand::input(type, 1, std::int64_t(attended.size()), attended);
  GemmProblem values = keys;
  values.b_layout = OperandLayout::rows;
  values.n = value;
  values.k = latent;
  fk::run(
      values,
      {.a = over(y, {heads, tokens, latent}, {latent, heads * latent, 1}),
       .b = over(w, {heads, value, latent}, {(nope + value) * latent, latent, 1}, nope * latent),
       .c = over(o, {heads, tokens, value}, {value, heads * value, 1})},
      stream);
  stream.synchronize();
  std::vector<double> expectedC, expectedO, boundC, boundO;
  const auto add = [](std::vector<double> &to, std::vector<double> &bound, std::int64_t k,
                      const auto &product) {
    double sum = 0, magnitude = 0;
    for (std::int64_t i = 0; i < k; ++i) {
      sum += product(i);
      magnitude += std::fabs(product(i));
    }
    to.push_back(sum);
    // k additions in f32, each off by a unit of the sum of magnitudes (support/product.h).
    bound.push_back(2 * double(k) * 0x1p-23 * magnitude);
  };
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t j = 0; j < latent; ++j)
        add(expectedC, boundC, nope, [&](std::int64_t i) {
          return query[std::size_t((t * heads + h) * (nope + rope) + i)] *
                 weight[std::size_t((h * (nope + value) + i) * latent + j)];
        });
      for (std::int64_t j = 0; j < value; ++j)
        add(expectedO, boundO, latent, [&](std::int64_t i) {
          return attended[std::size_t((t * heads + h) * latent + i)] *
                 weight[std::size_t((h * (nope + value) + nope + j) * latent + i)];
        });
    }
  expectWithin(c.values(), expectedC, boundC);
  expectWithin(o.values(), expectedO, boundO);
}

TEST_CASE("matrices of a batch with gaps, scales of tokens by heads, and one matrix for all",
          "[run]") {
  constexpr std::int64_t batch = 4, m = 19, n = 24, k = 64, gap = 16;
  GemmProblem problem{.a = fx::i8,
                      .b = fx::i8,
                      .c = fx::f32,
                      .b_layout = OperandLayout::rows,
                      .n = n,
                      .k = k,
                      .scale_a = Scales::per_row,
                      .scale_b = Scales::per_tensor,
                      .bias = true,
                      .batch = batch};
  const std::vector<double> a = integers(batch * m * k, 1, -128, 127),
                            b = integers(n * k, 2, -128, 127), scale = integers(m * batch, 3, 1, 9),
                            bias = integers(batch * n, 4, -1000, 1000);
  // Rows of a matrix, then a gap: each matrix has m rows of k + gap.
  const Operand left = Operand::input(fx::i8, batch * m, k, a, gap),
                right = Operand::input(fx::i8, n, k, b, gap),
                scales = Operand::input(fx::f32, 1, m * batch, scale),
                one = Operand::input(fx::f32, 1, 1, std::vector<double>{0.25}),
                added = Operand::input(fx::f32, batch, n, bias, 8),
                c = Operand::output(fx::f32, batch * m, n, 4);
  const fx::Stream stream;
  fk::run(problem,
          {.a = over(left, {batch, m, k}, {m * (k + gap), k + gap, 1}),
           .b = over(right, {batch, n, k}, {0, k + gap, 1}),
           .c = over(c, {batch, m, n}, {m * (n + 4), n + 4, 1}),
           .scale_a = over(scales, {batch, m}, {1, batch}),
           .scale_b = over(one, {batch, 1}, {0, 1}),
           .bias = over(added, {batch, n}, {n + 8, 1})},
          stream);
  stream.synchronize();
  std::vector<double> expected;
  for (std::int64_t s = 0; s < batch; ++s)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t x = 0; x < k; ++x)
          sum += a[std::size_t((s * m + i) * k + x)] * b[std::size_t(j * k + x)];
        // Below 2^24 quarters: exact in f32.
        expected.push_back(sum * scale[std::size_t(i * batch + s)] * 0.25 +
                           bias[std::size_t(s * n + j)]);
      }
  CHECK(c.values() == expected);
}

TEST_CASE("a call has any number of matrices, none too, whatever the problem says", "[run]") {
  GemmProblem problem{.a = fx::f16, .b = fx::f16, .c = fx::f32, .n = 16, .k = 64, .batch = 2};
  const GemmConfig config = fk::choose(problem, 9);
  const fk::GemmPlan plan(problem, config);
  for (const std::int64_t batch : {0, 1, 5}) {
    const std::vector<double> a = integers(batch * 9 * 64, 1, -3, 3),
                              b = integers(std::max<std::int64_t>(batch, 1) * 16 * 64, 2, -3, 3);
    const fk::WeightProblem weights = problem.weights(std::max<std::int64_t>(batch, 1));
    const std::vector<std::uint8_t> raw = encode(fx::f16, b);
    std::vector<std::uint8_t> out(raw.size());
    fk::prepare_weight(weights, raw.data(), out.data());
    const Operand left = Operand::input(fx::f16, 1, std::int64_t(a.size()), a),
                  right = Operand::input(fx::f16, 1, std::int64_t(b.size()), decode(fx::f16, out)),
                  c = Operand::output(fx::f32, batch * 9, 16);
    const fx::Stream stream;
    plan({.a = over(left, {batch, 9, 64}, {9 * 64, 64, 1}),
          .b = fk::PreparedWeight{weights, right.vector()},
          .c = over(c, {batch, 9, 16}, {9 * 16, 16, 1})},
         stream);
    stream.synchronize();
    std::vector<double> expected;
    for (std::int64_t row = 0; row < batch * 9; ++row)
      for (std::int64_t j = 0; j < 16; ++j) {
        double sum = 0;
        for (std::int64_t x = 0; x < 64; ++x)
          sum += a[std::size_t(row * 64 + x)] * b[std::size_t((row / 9 * 16 + j) * 64 + x)];
        expected.push_back(sum);
      }
    CHECK(c.values() == expected);
  }
}

TEST_CASE(
    "a configuration of a batched product does not split K, and there is one for each problem") {
  for (const GemmProblem &problem : problems())
    for (const std::int64_t m : {0, 1, 16, 33, 128, 4096}) {
      const GemmConfig config = fk::choose(problem, m);
      CHECK(config.split_k == 1);
      CHECK(fk::supported(problem, config));
      CHECK(fk::workspace_bytes(problem, config, m) == 0);
      for (const GemmConfig &other : fk::configs(problem, m))
        CHECK(other.split_k == 1);
    }
  // The matrices of a batch fill the device together: tiles need not be small.
  GemmProblem problem{.a = fx::bf16, .b = fx::bf16, .c = fx::bf16, .n = 512, .k = 128};
  const int alone = fk::choose(problem, 512).tile_n * fk::choose(problem, 512).tile_m;
  problem.batch = 128;
  CHECK(fk::choose(problem, 512).tile_n * fk::choose(problem, 512).tile_m > alone);
}

TEST_CASE("batched products that are wrong are refused") {
  const GemmProblem good{.a = fx::f16, .b = fx::f16, .c = fx::f16, .n = 64, .k = 128, .batch = 4};
  const auto why = [&](auto change) {
    GemmProblem problem = good;
    change(problem);
    return fk::supported(problem).why;
  };
  CHECK(why([](auto &) {}).empty());
  CHECK(why([](auto &p) { p.batch = -1; }).find("batch is -1; it is 0, or about how many") == 0);
  CHECK(why([](auto &p) { p.batch = 65536; }).find("up to 65535") != std::string::npos);
  CHECK(why([](auto &p) { p.n = 72; }) ==
        "b has 72 rows; prepared weights of a batch have a multiple of 16 each");
  CHECK(why([](auto &p) { p.n = 72, p.b_layout = OperandLayout::rows; }).empty());
  CHECK(why([](auto &p) { p.rounding = fk::Rounding::stochastic; }) ==
        "stochastic rounding is of products that are not batched");
  GemmConfig config = fk::choose(good, 16);
  config.split_k = 2;
  config.tile_k = 64;
  CHECK(fk::supported(good, config)
            .why.find("split_k is 2; blocks do not share the K of a product of a batch") !=
        std::string::npos);
}

TEST_CASE("a call of a batched product that does not fit is refused", "[run]") {
  GemmProblem problem{.a = fx::f16,
                      .b = fx::f16,
                      .c = fx::f16,
                      .b_layout = OperandLayout::rows,
                      .n = 32,
                      .k = 64,
                      .bias = true,
                      .batch = 2};
  const fk::GemmPlan plan(problem, fk::choose(problem, 8));
  SampledMemory memory(256);
  const fk::GemmArgs right = fk::make_args(problem, plan.config(), 8, memory.sampler());
  const auto refusal = [&](const fk::GemmPlan &of, auto change) {
    fk::GemmArgs args = right;
    change(args);
    return messageOf([&] { of(args); });
  };
  void *a = right.a.data(), *c = right.c.data();
  expectPart(refusal(plan,
                     [&](auto &args) {
                       args.a = fx::tensor(a, fx::f16, {8, 64});
                     }),
             "a has 2 modes; the product is batched, and a is (batch, m, k)");
  expectPart(refusal(plan,
                     [&](auto &args) {
                       args.a = fx::tensor(a, fx::f16, {65536, 1, 64}, {0, 64, 1});
                     }),
             "a has 65536 matrices; a call has 0 to 65535");
  expectPart(refusal(plan,
                     [&](auto &args) {
                       args.c = fx::tensor(c, fx::f16, {8, 32});
                     }),
             "c has the shape (8, 32); (batch, m, n) = (2, 8, 32) is expected");
  expectPart(refusal(plan,
                     [&](auto &args) {
                       args.c = fx::tensor(c, fx::f16, {2, 8, 32}, {0, 32, 1});
                     }),
             "some elements share their place");
  expectPart(refusal(plan,
                     [&](auto &args) {
                       args.a = fx::tensor(a, fx::f16, {2, 8, 64}, {508, 64, 1});
                     }),
             "the stride of batch, 508, is no multiple of 8");
  expectPart(refusal(plan,
                     [&](auto &args) {
                       args.b = fx::tensor(args.b.tensor().data(), fx::f16, {1, 32, 64});
                     }),
             "b has the shape (1, 32, 64); (batch, n, k) = (2, 32, 64) is expected");
  expectPart(
      refusal(plan, [&](auto &args) { args.bias = fx::tensor(args.bias->data(), fx::f16, {32}); }),
      "(batch, n) = (2, 32) is expected");
  expectPart(refusal(plan,
                     [&](auto &args) {
                       args.c = fx::tensor(a, fx::f16, {2, 8, 32});
                     }),
             "c shares memory with a");
  problem.b_layout = OperandLayout::prepared;
  const fk::GemmPlan prepared(problem, fk::choose(problem, 8));
  expectPart(refusal(prepared, [&](auto &) {}), ".matrix = problem.weights(batch)");
  expectPart(
      refusal(prepared,
              [&](auto &args) {
                args.b = fk::PreparedWeight{problem.weight(), args.b.tensor()};
              }),
      "b is prepared weights (n, k) = (32, 64) of f16; the problem's are (n, k) = (64, 64) of f16");
  problem.b_layout = OperandLayout::columns;
  const fk::GemmPlan columns(problem, fk::choose(problem, 8));
  expectPart(
      refusal(columns,
              [&](auto &args) {
                args.b = fx::tensor(args.b.tensor().data(), fx::f16, {2, 32, 64}, {2048, 1, 24});
              }),
      "b has columns of 32 elements at a stride of 24");
}
