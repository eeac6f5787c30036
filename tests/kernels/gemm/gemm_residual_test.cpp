// A residual of products, times beta: of each type, in every loop and kernel that finishes sums, at
// strides, in place, against the reference in double precision and exact sums.
#include "support/product.h"
#include "support/size_sweep.h"

#include <flydsl/kernels/parts.h>

using namespace kernel_tests;

namespace {

GemmProblem added(fx::DType type, fx::DType c, fx::DType residual, std::int64_t n, std::int64_t k) {
  return {
      .a = type, .b = type, .c = c, .n = n, .k = k, .residual = true, .residual_type = residual};
}

} // namespace

TEST_CASE("products with a residual, before the activation", "[run]") {
  SweepCounts counts;
  std::vector<GemmProblem> all{added(fx::f16, fx::f16, {}, 40, 64),
                               added(fx::bf16, fx::bf16, fx::f32, 33, 96),
                               added(fx::f16, fx::f32, fx::f16, 70, 64)};
  all[1].beta = -0.75f;
  all[1].bias = true;
  all[2].activation = Activation::relu;
  all.push_back(all[0]);
  all.back().c = fx::i8;
  all.back().residual_type = fx::bf16;
  all.back().scale_c = Scales::per_tensor;
  for (const GemmProblem &problem : all)
    for (const std::int64_t m : {5, 70})
      runOnce(problem, fk::choose(problem, m), m, counts);
  // Parts of K that a second kernel adds, and the last block of a tile.
  GemmProblem problem = added(fx::f16, fx::f16, fx::f32, 48, 256);
  problem.beta = 2;
  GemmConfig config = small(problem);
  config.split_k = 2;
  runOnce(problem, config, 35, counts);
  config.parts_sum = fk::PartsSum::last_block;
  runOnce(problem, config, 35, counts);
  CHECK(counts.compared == 2 * all.size() + 2);
}

TEST_CASE("a residual is c itself, or one row for all", "[run]") {
  constexpr std::int64_t m = 21, n = 24, k = 64;
  GemmProblem problem = added(fx::f16, fx::f32, {}, n, k);
  problem.b_layout = OperandLayout::rows;
  problem.beta = 3;
  const std::vector<double> a = integers(m * k, 1, -4, 4), b = integers(n * k, 2, -4, 4),
                            r = integers(m * n, 3, -50, 50);
  const Operand left = Operand::input(fx::f16, m, k, a), right = Operand::input(fx::f16, n, k, b),
                same = Operand::both(fx::f32, m, n, r, 8),
                row = Operand::input(fx::f32, 1, n, std::vector<double>(r.begin(), r.begin() + n)),
                c = Operand::output(fx::f32, m, n, 4);
  const fx::Stream stream;
  fk::GemmArgs args{
      .a = left.tensor(), .b = right.tensor(), .c = same.tensor(), .residual = same.tensor()};
  fk::run(problem, args, stream);
  args.c = c.tensor();
  args.residual = fx::tensor(row.vector().data(), fx::f32, {m, n}, {0, 1});
  fk::run(problem, args, stream);
  stream.synchronize();
  std::vector<double> inPlace, ofRow;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t x = 0; x < k; ++x)
        sum += a[std::size_t(i * k + x)] * b[std::size_t(j * k + x)];
      inPlace.push_back(sum + 3 * r[std::size_t(i * n + j)]);
      ofRow.push_back(sum + 3 * r[std::size_t(j)]);
    }
  CHECK(same.values() == inPlace);
  CHECK(c.values() == ofRow);
}

TEST_CASE("residuals that are wrong are refused", "[run]") {
  const GemmProblem good = added(fx::f16, fx::f16, {}, 32, 64);
  const auto why = [&](auto change) {
    GemmProblem problem = good;
    change(problem);
    return fk::supported(problem).why;
  };
  CHECK(why([](auto &) {}).empty());
  CHECK(why([](auto &p) { p.residual = false, p.residual_type = fx::f32; }) ==
        "residual_type is f32, and there is no residual");
  CHECK(why([](auto &p) { p.residual = false, p.beta = 0.5f; }) ==
        "beta is of a residual, and there is none");
  CHECK(why([](auto &p) { p.beta = std::numeric_limits<float>::infinity(); }) ==
        "beta is a finite number");
  CHECK(why([](auto &p) { p.residual_type = fx::i8; }).find("residual is of type i8") == 0);
  CHECK(why([](auto &p) { p.gated = true; }).find("which gated pairs have inside") !=
        std::string::npos);
  CHECK(fk::parts::supported({.problem = good, .config = fk::choose(good, 32)}, here())
            .why.find("a residual is GemmPlan's") == 0);
  const fk::GemmPlan plan(good, fk::choose(good, 8));
  SampledMemory memory(256);
  const fk::GemmArgs right = fk::make_args(good, plan.config(), 8, memory.sampler());
  fk::GemmArgs args = right;
  args.residual.reset();
  CHECK_THROWS_WITH(plan(args), Catch::Contains("residual is missing; the problem has it"));
  args = right;
  args.residual = fx::tensor(right.residual->data(), fx::f16, {8, 16});
  CHECK_THROWS_WITH(plan(args), Catch::Contains("(m, n) = (8, 32) is expected"));
  args.residual = fx::tensor(right.residual->data(), fx::f32, {8, 32});
  CHECK_THROWS_WITH(plan(args), Catch::Contains("residual is of type f32; the problem says f16"));
  // Not exactly c, and not apart from it.
  args.residual = fx::tensor(static_cast<std::uint8_t *>(right.c.data()) + 64, fx::f16, {7, 32});
  args.a = fx::tensor(right.a.data(), fx::f16, {7, 64});
  args.c = fx::tensor(right.c.data(), fx::f16, {7, 32});
  CHECK_THROWS_WITH(plan(args), Catch::Contains("c shares memory with residual"));
}
