// Sets of plans: the choice for each number of rows, compiled ahead.
#include "support/structure.h"

#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/export.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/moe_forward.h>
#include <flydsl/kernels/norm_backward.h>
#include <flydsl/kernels/plan_set.h>
#include <flydsl/kernels/softmax.h>

using namespace kernel_tests;

namespace {
const fk::GemmProblem kProduct{.n = 64, .k = 512};
}

TEST_CASE("points of choice are those where another configuration is chosen") {
  for (const fx::Target &target : targets()) {
    const fk::GemmProblem problem{.b_layout = fk::OperandLayout::rows, .n = 4096, .k = 4096};
    constexpr std::int64_t most = 20000;
    const auto points = fk::choice_points(problem, most, target);
    REQUIRE(points.size() > 2);
    CHECK(points.front().rows == 1);
    for (std::size_t i = 1; i < points.size(); ++i) {
      CHECK(points[i - 1].rows < points[i].rows);
      CHECK(!(points[i - 1].config == points[i].config));
    }
    std::size_t at = 0;
    for (std::int64_t rows = 1; rows <= 1024; ++rows) {
      if (at + 1 < points.size() && points[at + 1].rows == rows)
        ++at;
      if (!(points[at].config == fk::choose(problem, rows, target))) {
        INFO(target.name() << ", " << rows << " rows");
        FAIL("another configuration is chosen");
      }
    }
  }
}

TEST_CASE("a set has a plan for each number of rows, and calls compile nothing", "[run]") {
  const fk::PlanSet<fk::GemmProblem> products(kProduct, 300);
  CHECK(products.most() == 300);
  CHECK(products.plans().size() > 1);
  std::size_t workspace = 0;
  for (const std::int64_t rows : {0, 1, 16, 17, 33, 64, 299, 300}) {
    const auto chosen = fk::choose(kProduct, std::max<std::int64_t>(rows, 1));
    CHECK(products.at(rows).config() == chosen);
    workspace = std::max(workspace, fk::workspace_bytes(kProduct, chosen, rows));
    // One of the set's own plans, not a new one.
    const auto &plans = products.plans();
    CHECK(std::any_of(plans.begin(), plans.end(),
                      [&](const auto &plan) { return &plan == &products.at(rows); }));
  }
  CHECK(products.workspace_bytes() >= workspace);

  const fx::Stream stream;
  for (const std::int64_t rows : {1, 20, 70}) {
    Operands<fk::GemmProblem> operands(kProduct, products.at(rows).config(), rows);
    operands.fill(3);
    products.at(rows)(operands.args(), stream);
    stream.synchronize();
    const std::vector<std::uint8_t> got = operands.results();
    operands.fill(3);
    fk::run(kProduct, operands.args(), stream);
    stream.synchronize();
    CHECK(operands.results() == got);
  }
}

namespace {
/// A plan says what the problem and the configuration say, and never less for more rows.
template <class P>
void expectWorkspace(const P &problem, const fk::ConfigOf<P> &config,
                     std::initializer_list<std::int64_t> rows) {
  const fk::Plan<P> plan(problem, config);
  std::size_t last = 0;
  for (const std::int64_t m : rows) {
    INFO(fk::FamilyOf<P>::name << ", m = " << m);
    const std::size_t bytes = plan.workspace_bytes(m);
    CHECK(bytes == fk::workspace_bytes(problem, config, m));
    CHECK(bytes >= last);
    last = bytes;
  }
  CHECK(last > 0);
  CHECK_THROWS_WITH(plan.workspace_bytes(-1),
                    Catch::Contains("m is -1; a call has 0 to 2147483647 rows"));
}
} // namespace

TEST_CASE("a plan says how much workspace its calls bring") {
  expectWorkspace<fk::GemmProblem>(
      {.n = 64, .k = 512},
      {.tile_m = 16, .tile_n = 64, .loop = fk::GemmLoop::registers, .split_k = 2},
      {0, 1, 15, 16, 17, 300});
  const fk::DecodeProblem decode{.q_heads = 4, .kv_heads = 1, .head = 64};
  expectWorkspace<fk::DecodeProblem>(decode, {.splits = 4}, {0, 1, 2, 33});
  const fk::NormBackwardProblem gradient{.n = 64};
  expectWorkspace(gradient, fk::choose(gradient, 64), {0, 1, 64, 5000});
  const fk::MoeForwardProblem mixture{
      .router = {.experts = 8, .topk = 2}, .hidden = 64, .inner = 32};
  expectWorkspace(mixture, fk::choose(mixture, 64), {0, 1, 64, 500});
  CHECK(fk::SoftmaxPlan({.n = 64}, {}).workspace_bytes(1000) == 0);
}

TEST_CASE("a set of plans comes from a file that has each of its points") {
  const fx::Target target = here();
  const ScratchFile file;
  std::vector<std::int64_t> rows;
  for (const auto &point : fk::choice_points(kProduct, 100, target))
    rows.push_back(point.rows);
  fk::ExportList().add(kProduct, rows).write(file.path(), {.archs = {target.name()}});
  const auto loaded = fk::PlanSet<fk::GemmProblem>::load(fx::load_aot(file.path()), kProduct, 100);
  CHECK(loaded.plans().size() == fk::PlanSet<fk::GemmProblem>(kProduct, 100).plans().size());
  CHECK(loaded.at(100).executables().empty());

  const ScratchFile part;
  fk::ExportList().add(kProduct, {1}).write(part.path(), {.archs = {target.name()}});
  CHECK_THROWS_AS(fk::PlanSet<fk::GemmProblem>::load(fx::load_aot(part.path()), kProduct, 100),
                  fx::RuntimeError);
}

TEST_CASE("a set refuses rows that it was not made for") {
  const fk::SoftmaxProblem problem{.n = 64};
  const fk::PlanSet<fk::SoftmaxProblem> set(problem, 10);
  CHECK(set.plans().size() == 1);
  CHECK(messageOf([&] { set.at(11); }) ==
        "softmax: a call has 11 rows; the set of plans was made for 0 to 10");
  CHECK(messageOf([&] { set.at(-1); }) ==
        "softmax: a call has -1 rows; the set of plans was made for 0 to 10");
  CHECK(messageOf([&] { fk::PlanSet<fk::SoftmaxProblem>(problem, 0); }) ==
        "softmax: choices for up to 0 rows are asked for; 1 is the least");
  CHECK(messageOf([&] {
          fk::PlanSet<fk::SoftmaxProblem>(fk::SoftmaxProblem{}, 4);
        }).find("n is 0") != std::string::npos);
}
