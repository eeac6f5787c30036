// An all-reduce with a norm, bit by bit against the two kernels that do the same.
#include "collective/ranks.h"

#include <flydsl/host/autotune.h>
#include <flydsl/kernels/collective_norm.h>

#include <limits>

using namespace collective_tests;

namespace {

using fk::CollectiveNormConfig;
using fk::CollectiveNormProblem;

/// What a rank's calls take and give, on its device.
struct RankRows {
  Vector residual, y, sum, expectedY, expectedSum, weight, scale, expectedScale, reduced;
  RankRows(const CollectiveNormProblem &problem, std::int64_t m)
      : residual(problem.norm.x, m * problem.norm.n), y(problem.norm.y, m * problem.norm.n),
        sum(problem.norm.x, m * problem.norm.n), expectedY(problem.norm.y, m * problem.norm.n),
        expectedSum(problem.norm.x, m * problem.norm.n),
        weight(problem.norm.weight, problem.norm.n),
        scale(problem.norm.group_scale, scales(problem, m)),
        expectedScale(problem.norm.group_scale, scales(problem, m)),
        reduced(problem.norm.x, m * problem.norm.n) {}
  static std::int64_t scales(const CollectiveNormProblem &problem, std::int64_t m) {
    return problem.norm.group ? m * (problem.norm.n / problem.norm.group) : m;
  }
};

class NormRanks {
public:
  NormRanks(const CollectiveNormProblem &problem, std::int64_t m)
      : ranks({.type = problem.norm.x, .ranks = problem.ranks}, m * problem.norm.n,
              {.capacity = 1 << 20}),
        problem_(problem), m_(m) {
    ranks.each([&](int) { rows.emplace_back(problem, m); });
  }

  fk::CollectiveNormArgs args(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    RankRows &of = rows[at];
    return {.x = matrix(ranks.x[at]),
            .weight = of.weight.tensor(),
            .residual = matrix(of.residual),
            .y = matrix(of.y),
            .residual_out = matrix(of.sum),
            .scale = scaleOf(of.scale),
            .group = &ranks.groups[at]};
  }
  /// New values, the same on all ranks but for x.
  void fill(std::uint64_t seed) {
    x = ranks.fill(seed);
    const fk::NormProblem &norm = problem_.norm;
    residual = fk::host::encode(norm.x, fk::host::randomValues(norm.x, m_ * norm.n, seed + 100));
    const Bytes weight =
        fk::host::encode(norm.weight, fk::host::randomValues(norm.weight, norm.n, seed + 200));
    for (RankRows &of : rows) {
      of.residual.memory.copy_from(residual);
      of.weight.memory.copy_from(weight);
    }
  }
  /// Runs the two kernels on each rank, and compares. Rows are shared alike, so that their sums have the
  /// same order.
  void expectRight(const fk::RowConfig &config) {
    const fk::CollectivePlan reduce({.type = problem_.norm.x, .ranks = problem_.ranks},
                                    {.block = 64, .blocks = 3});
    const fk::NormPlan norm(problem_.norm, config);
    ranks.run([&](int rank, const fx::Stream &stream) {
      const auto at = static_cast<std::size_t>(rank);
      RankRows &of = rows[at];
      reduce({.x = ranks.x[at].tensor(), .y = of.reduced.tensor(), .group = &ranks.groups[at]},
             stream);
      norm({.x = matrix(of.reduced),
            .weight = of.weight.tensor(),
            .residual = matrix(of.residual),
            .y = matrix(of.expectedY),
            .residual_out = matrix(of.expectedSum),
            .scale = scaleOf(of.expectedScale)},
           stream);
    });
    for (const RankRows &of : rows) {
      CHECK(of.sum.memory.to_host() == expectedSum());
      CHECK(of.sum.memory.to_host() == of.expectedSum.memory.to_host());
      CHECK(of.y.memory.to_host() == of.expectedY.memory.to_host());
      if (quantises())
        CHECK(of.scale.memory.to_host() == of.expectedScale.memory.to_host());
    }
  }

  Ranks ranks;
  std::vector<RankRows> rows;

private:
  bool quantises() const { return problem_.norm.quantise != fk::Quantisation::none; }
  std::optional<fx::TensorArg> scaleOf(const Vector &of) const {
    if (!quantises())
      return std::nullopt;
    if (const std::int64_t group = problem_.norm.group)
      return fx::TensorArg(of.memory.data(), of.type, fx::Extents{m_, problem_.norm.n / group});
    return of.tensor();
  }
  fx::TensorArg matrix(const Vector &of) const {
    return {of.memory.data(), of.type, fx::Extents{m_, problem_.norm.n}};
  }
  /// By the definition: the sum of x is rounded, and then that of it and the residual.
  Bytes expectedSum() const {
    const fx::DType type = problem_.norm.x;
    const std::vector<double> sum =
        fk::host::decode(type, expectedOf({.type = type, .ranks = problem_.ranks}, x, 0, 0));
    std::vector<double> total = fk::host::decode(type, residual);
    for (std::size_t i = 0; i < total.size(); ++i)
      total[i] = static_cast<float>(total[i]) + static_cast<float>(sum[i]);
    return fk::host::encode(type, total);
  }

  CollectiveNormProblem problem_;
  std::int64_t m_;
  std::vector<Bytes> x;
  Bytes residual;
};

void expectRight(const CollectiveNormProblem &problem, const CollectiveNormConfig &config,
                 std::int64_t m, int calls = 3) {
  INFO(fx::to_config(problem).str() << " " << fx::to_config(config).str() << " m=" << m);
  NormRanks all(problem, m);
  const fk::CollectiveNormPlan plan(problem, config);
  for (int call = 0; call < calls; ++call) {
    all.fill(static_cast<std::uint64_t>(call));
    all.ranks.run([&](int rank, const fx::Stream &stream) { plan(all.args(rank), stream); });
    all.expectRight(config.rows);
  }
}

constexpr fk::NormProblem kNorm{
    .x = fx::bf16, .weight = fx::bf16, .y = fx::bf16, .n = 264, .residual = true};
/// Several rows a block, several rounds a block, and a wave's row.
constexpr CollectiveNormConfig kSmall{.rows = {.threads = 32, .block = 64}, .blocks = 2};

} // namespace

TEST_CASE("an all-reduce with a norm", "[run]") {
  expectRight({kNorm, 2}, kSmall, 7);
  fk::NormProblem layer = kNorm;
  layer.kind = fk::NormKind::layer;
  layer.n = 131;
  layer.x = layer.y = fx::f32;
  expectRight({layer, 2}, {.rows = {.threads = 64, .block = 64, .resident = false}, .blocks = 2},
              8);
}

TEST_CASE("an all-reduce with a norm that is quantised") {
  fk::NormProblem norm = kNorm;
  norm.quantise = fk::Quantisation::row;
  norm.y = fx::i8;
  norm.n = 1024;
  expectRight({norm, 4}, {.rows = {.threads = 128, .block = 128}, .blocks = 3}, 4, 2);
  norm.x = fx::f16;
  expectRight({norm, 8}, {.rows = {.threads = 256, .block = 256}, .blocks = 64}, 1, 2);
  // By groups, with powers of two.
  norm.y = fx::f8E4M3FN;
  norm.n = 256;
  norm.group = 32;
  norm.group_scale = fx::f8E8M0FNU;
  expectRight({norm, 2}, kSmall, 7, 2);
}

TEST_CASE("an all-reduce with a norm in graphs, besides other calls of the group") {
  const CollectiveNormProblem problem{kNorm, 2};
  NormRanks all(problem, 3);
  const CollectiveNormConfig config = fk::choose(problem, 3);
  const fk::CollectiveNormPlan plan(problem, config);
  const std::vector<fx::Graph> graphs =
      all.ranks.captured([&](int rank, const fx::Stream &stream) { plan(all.args(rank), stream); });
  for (std::uint64_t replay = 0; replay < 3; ++replay) {
    all.fill(replay);
    all.ranks.run(graphs);
    all.expectRight(config.rows);
  }
}

TEST_CASE("an all-reduce with a norm: what is refused") {
  const CollectiveNormProblem problem{kNorm, 2};
  NormRanks all(problem, 3);
  const fk::CollectiveNormPlan plan(problem, kSmall);
  const auto told = [&](const fk::CollectiveNormArgs &args) {
    return messageOf([&] { plan(args, all.ranks.streams[0]); });
  };
  fk::CollectiveNormArgs wrong = all.args(0);
  wrong.group = nullptr;
  expectPart(told(wrong), "collective_norm: group is null");
  wrong = all.args(0);
  wrong.y = wrong.residual_out;
  expectPart(told(wrong),
             "collective_norm: y shares memory with residual_out, and both are written");
  wrong = all.args(0);
  wrong.weight = fx::TensorArg(wrong.weight.data(), fx::bf16, fx::Extents{256});
  expectPart(told(wrong), "collective_norm: weight has the shape (256); (n) = (264) is expected");
  wrong = all.args(0);
  wrong.scale = all.rows[0].scale.tensor();
  expectPart(told(wrong), "collective_norm: scale is given, and the problem does not have it");
  expectPart(messageOf([&] {
               const fk::CollectiveNormPlan four({kNorm, 4}, kSmall);
               four(all.args(0), all.ranks.streams[0]);
             }),
             "ranks of the problem is 4, and the group has 2");

  const auto why = [](auto change) {
    CollectiveNormProblem problem{kNorm, 2};
    change(problem);
    return fk::supported(problem).why;
  };
  expectPart(why([](auto &p) { p.ranks = 3; }), "ranks is 3; it is 2, 4 or 8");
  expectPart(why([](auto &p) { p.norm.residual = false; }),
             "norm.residual is false; the sum of the ranks");
  expectPart(why([](auto &p) { p.norm.statistics = true; }), "norm.statistics is true");
  expectPart(why([](auto &p) { p.norm.gate = fk::NormGate::silu; }), "norm.gate is not none");
  expectPart(why([](auto &p) { p.norm.x = fx::i32; }), "x");
  CHECK_FALSE(fk::supported(problem, CollectiveNormConfig{.blocks = 0}));
  CHECK_FALSE(fk::supported(problem, CollectiveNormConfig{.rows = {.threads = 3, .block = 64}}));

  // 2^20 bytes hold 1,985 rows of 264 elements.
  const std::int64_t rows = 1986;
  fk::CollectiveNormArgs large = all.args(0);
  std::size_t offset = 0; // addresses that no access of a refused call reaches
  for (fx::TensorArg *of : {&large.x, &large.residual, &large.y, &large.residual_out})
    *of = fx::TensorArg(static_cast<std::uint8_t *>(of->data()) + (offset += std::size_t(1) << 32),
                        fx::bf16, fx::Extents{rows, 264});
  expectPart(told(large), "1048608 bytes do not fit the group's windows of 1048576");
}
