// Weights that a launch reads once are loaded so that caches need not keep their lines, on the targets where
// that is known to be faster: when all rows of A are in one tile. Whatever else reads them again is loaded
// ordinarily, which the emulator's counter of such lines says.
#include "support/groups.h"
#include "support/product.h"

using namespace kernel_tests;

namespace {

/// Bytes of lines that loads without keeping them alone have read, over all launches of a call.
template <class Call> std::int64_t streamedBy(const Call &call) {
  std::int64_t bytes = 0;
  const fx::Stream stream;
  for (const fx::LaunchCounters &counters : fx::Device::current().count_launches([&] {
         call(stream);
         stream.synchronize();
       }))
    bytes += std::int64_t(counters["globalStreamFootprint"]);
  return bytes;
}
std::int64_t streamed(const GemmProblem &problem, const GemmConfig &config, std::int64_t m) {
  const fk::GemmPlan plan(problem, config);
  Operands<GemmProblem> operands(problem, config, m);
  operands.fill(1);
  return streamedBy([&](const fx::Stream &stream) { plan(operands.args(), stream); });
}
/// What it is to be where all of `bytes` are read once.
std::int64_t where(bool once, std::int64_t bytes) {
  return once && here().wave_size() == 64 ? bytes : 0;
}
GemmProblem halves(OperandLayout b, std::int64_t n = 128, std::int64_t k = 1024) {
  return {.a = fx::f16, .b = fx::f16, .c = fx::f32, .b_layout = b, .n = n, .k = k};
}
std::int64_t bytesOfB(const GemmProblem &problem) { return 2 * problem.n * problem.k; }

} // namespace

TEST_CASE("weights that one tile of rows reads are loaded without keeping their lines", "[run]") {
  for (const OperandLayout b : {OperandLayout::prepared, OperandLayout::rows})
    for (const std::int64_t m : {1, 5, 16, 24}) {
      // By the loops that are chosen: without matrix units, in registers, and through the ring.
      const GemmProblem problem = halves(b, 128, 4096);
      const GemmConfig config = fk::choose(problem, m);
      INFO(fx::to_config(config).str());
      CHECK(streamed(problem, config, m) == where(m <= config.tile_m, bytesOfB(problem)));
      CHECK(streamed(problem, config, config.tile_m + 1) == 0);
      Values values;
      values.a = integers(m * problem.k, 5, -3, 3);
      values.b = integers(problem.n * problem.k, 6, -3, 3);
      CHECK(product(problem, config, m, values) == reference(problem, m, values).c);
    }
}

TEST_CASE("products of one row with a short k keep the lines of their weights", "[run]") {
  const GemmProblem problem = halves(OperandLayout::rows);
  const int lanes = here().wave_size();
  const GemmConfig config{.tile_m = 1,
                          .tile_n = 16,
                          .tile_k = 8 * lanes,
                          .threads = 8 * lanes,
                          .loop = fk::GemmLoop::vector,
                          .waves_k = 2};
  CHECK(streamed(problem, config, 1) == 0);
  expectProduct(problem, config, 1);
}

TEST_CASE("weights of each ring: once, again, and lines that loads share", "[run]") {
  for (const OperandLayout b :
       {OperandLayout::prepared, OperandLayout::rows, OperandLayout::columns})
    for (const bool dma : {false, true})
      for (const int wavesM : {1, 2}) {
        const GemmProblem problem = halves(b);
        GemmConfig config = small(problem);
        config.waves_m = wavesM;
        config.dma = dma;
        if (!fk::supported(problem, config))
          continue;
        INFO(fx::to_config(problem).str() << "\n" << fx::to_config(config).str());
        // Rows of waves load the same prepared weights; columns that are turned in registers come by parts
        // of lines.
        const bool once = b == OperandLayout::prepared  ? wavesM == 1
                          : b == OperandLayout::columns ? dma
                                                        : true;
        CHECK(streamed(problem, config, 32) == where(once, bytesOfB(problem)));
        CHECK(streamed(problem, config, 33) == 0);
        expectProduct(problem, config, 20);
      }
  // Parts of K have other columns of the weights; rows of 2,064 bytes share lines.
  GemmConfig split = small(halves(OperandLayout::rows));
  split.split_k = 2;
  CHECK(streamed(halves(OperandLayout::rows), split, 20) ==
        where(true, bytesOfB(halves(OperandLayout::rows))));
  const GemmProblem crooked = halves(OperandLayout::rows, 128, 1032);
  CHECK(streamed(crooked, small(crooked), 20) == 0);
  expectProduct(crooked, small(crooked), 20);
}

TEST_CASE("weights whose sums have scales of their own are loaded ordinarily", "[run]") {
  const GemmProblem problem{.a = fx::f16,
                            .b = fx::u4,
                            .c = fx::f16,
                            .n = 128,
                            .k = 1024,
                            .b_groups = {.size = 64, .scale = fx::f16}};
  const GemmConfig config = fk::choose(problem, 8);
  INFO(fx::to_config(config).str());
  CHECK(streamed(problem, config, 8) == 0);
}

TEST_CASE("matrices of a batch read their weights once, unless all have the same", "[run]") {
  GemmProblem problem = halves(OperandLayout::rows);
  problem.batch = 2;
  const GemmConfig config = small(problem);
  CHECK(streamed(problem, config, 8) == where(true, 2 * bytesOfB(problem)));
  const std::int64_t m = 8, n = problem.n, k = problem.k;
  const Operand a = Operand::input(fx::f16, 2 * m, k, uniform(fx::f16, 2 * m * k, 1)),
                b = Operand::input(fx::f16, n, k, uniform(fx::f16, n * k, 2)),
                c = Operand::output(fx::f32, 2 * m, n);
  const fk::GemmPlan plan(problem, config);
  CHECK(streamedBy([&](const fx::Stream &stream) {
          plan({.a = fx::tensor(a.tensor().data(), fx::f16, {2, m, k}, {m * k, k, 1}),
                .b = fx::tensor(b.tensor().data(), fx::f16, {2, n, k}, {0, k, 1}),
                .c = fx::tensor(c.tensor().data(), fx::f32, {2, m, n}, {m * n, n, 1})},
               stream);
        }) == 0);
}

TEST_CASE("experts with one tile of rows read their weights once", "[run]") {
  for (const GroupLayout layout : {GroupLayout::units, GroupLayout::masked, GroupLayout::offsets}) {
    GroupedGemmProblem problem{
        .a = fx::f16, .b = fx::f16, .c = fx::f16, .experts = 4, .n = 64, .k = 512};
    problem.groups = layout;
    problem.unit = 32;
    problem.capacity = layout == GroupLayout::masked ? 64 : 0;
    const GemmConfig config{
        .tile_m = 32, .tile_n = 64, .tile_k = 64, .threads = 4 * here().wave_size()};
    INFO(fx::to_config(problem).str());
    // An expert without rows, two that have a tile, and one that has two.
    const std::vector<std::int64_t> rows{0, 32, 9, 33};
    const Groups groups = Groups::of(problem, rows);
    const GroupOperands operands(problem, groups, GroupValues::random(problem, groups));
    const fk::GroupedGemmPlan plan(problem, config);
    CHECK(streamedBy([&](const fx::Stream &stream) { plan(operands.args(), stream); }) ==
          where(true, 2 * (2 * problem.n * problem.k)));
    expectGrouped(problem, config, rows);
  }
}
