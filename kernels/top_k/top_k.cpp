#include "top_k/top_k_family.h"

#include "blocks/quant/quant_rules.h"
#include "blocks/rows/key_digits.h"
#include "blocks/rows/row_rules.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using TopK = Family<TopKProblem>;

constexpr int kMostChosen = 65536, kLargestPage = 65536;
/// Up to so many elements of a thread, half of the threads would do.
constexpr std::int64_t kElementsOfThread = 16;

} // namespace

Support TopK::supported(const TopKProblem &problem, const Target &) {
  if (problem.row_align < 1)
    return Support::no(is("row_align", problem.row_align) + "; it is a power of two up to 16");
  if (!problem.indices && !problem.slots)
    return Support::no("neither indices nor slots are asked for");
  if (problem.sequences && !problem.slots)
    return Support::no("sequences without slots: indices do not depend on a table");
  return firstRefusal({floatSupported("x", problem.x), alignSupported(problem.row_align),
                       rangeSupported("k", problem.k, 1, kMostChosen),
                       rangeSupported("page", problem.page, 1, kLargestPage),
                       lengthSupported(problem.n)});
}

Support TopK::supported(const TopKProblem &, const TopKConfig &config, const Target &target) {
  if (config.block < kLeastThreadsOfSearch)
    return Support::no(is("block", config.block) + "; " + std::to_string(kLeastThreadsOfSearch) +
                       " threads or more look at the digits of values");
  return blockSupported(config.block, target);
}

TopKConfig TopK::choose(const TopKProblem &problem, std::int64_t, const Target &target) {
  int block = target.max_block_size();
  while (block > kLeastThreadsOfSearch && problem.n <= kElementsOfThread * (block / 2))
    block /= 2;
  return {.block = block};
}

std::vector<TopKConfig> TopK::candidates(const TopKProblem &, std::int64_t, const Target &) {
  return {{.block = 256}, {.block = 512}, {.block = 1024}};
}

void TopK::launch(const Call<TopKProblem> &call) {
  const TopKProblem &problem = call.problem;
  const TopKArgs &args = call.args;
  const Arguments arguments(FamilyOf<TopKProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.x, "x"), n = args.x.shape()[1];
  if (n > kLongestRow)
    arguments.fail("x has rows of " + std::to_string(n) + " elements; " +
                   std::to_string(kLongestRow) + " are the most");
  const auto chosen = [&](const char *name) {
    return Expected{.name = name,
                    .dtype = i32,
                    .shape = {"m, k", m, problem.k},
                    .free = 1,
                    .use = Use::written};
  };
  TopKParams<OnHost> params{};
  params.x = arguments.operand<1>(args.x, {.name = "x",
                                           .dtype = problem.x,
                                           .shape = {"m, n", m, n},
                                           .free = 1,
                                           .align = elementsOfAccess(problem)});
  params.counts = arguments.operand<0>(
      args.counts, {.name = "counts", .dtype = i32, .shape = {"m", m}, .use = Use::written});
  params.m = static_cast<std::int32_t>(m);
  params.n = static_cast<std::int32_t>(n);
  params.lengths = arguments.operandIf<0>(problem.lengths, args.lengths,
                                          {.name = "lengths", .dtype = i32, .shape = {"m", m}});
  params.indices = arguments.operandIf<1>(problem.indices, args.indices, chosen("indices"));
  params.slots = arguments.operandIf<1>(problem.slots, args.slots, chosen("slots"));
  const bool hasTables = args.block_table && args.block_table->rank() == 2;
  const std::int64_t s = problem.sequences && hasTables ? args.block_table->shape()[0] : m,
                     blocks = hasTables ? args.block_table->shape()[1] : 0;
  params.blockTable = arguments.operandIf<1>(
      problem.slots, args.block_table,
      {.name = "block_table",
       .dtype = i32,
       .shape = problem.sequences ? Shape{"s, blocks", s, blocks} : Shape{"m, blocks", m, blocks},
       .free = 1});
  params.sequences = arguments.operandIf<0>(problem.sequences, args.sequences,
                                            {.name = "sequences", .dtype = i32, .shape = {"m", m}});
  params.tableRows = static_cast<std::int32_t>(s);
  if (m == 0)
    return;
  if (problem.slots && n > blocks * problem.page)
    arguments.fail("x has " + std::to_string(n) +
                   " elements in a row, and a row of block_table has " + std::to_string(blocks) +
                   " blocks of " + std::to_string(problem.page) + " tokens");
  arguments.expectApart(); // a row's block ends while those of other rows still read
  call.launches.at(0, kTopK)(call.on(m, call.config.block), call.where, params);
}

TopKArgs TopK::args(const TopKProblem &problem, const TopKConfig &, std::int64_t m,
                    const Sampler &sampler) {
  const Extents matrix{m, problem.n}, rows{m}, chosen{m, problem.k},
      tables{m, (problem.n + problem.page - 1) / problem.page};
  return {.x = sampler("x", problem.x, matrix, Role::input),
          .lengths =
              sampleIf(problem.lengths, sampler, "lengths", i32, rows, Role::equal(problem.n)),
          .indices = sampleIf(problem.indices, sampler, "indices", i32, chosen, Role::output),
          .slots = sampleIf(problem.slots, sampler, "slots", i32, chosen, Role::output),
          .block_table = sampleIf(problem.slots, sampler, "block_table", i32, tables, Role::index),
          .sequences = sampleIf(problem.sequences, sampler, "sequences", i32, rows, Role::below(m)),
          .counts = sampler("counts", i32, rows, Role::output)};
}

std::vector<TopK::IndexRow> TopK::indexRows(const TopKProblem &problem, const TopKConfig &) {
  std::vector<IndexRow> rows;
  if (problem.lengths)
    rows.push_back({.rule = {.argument = "lengths", .meaning = "the elements of a row of x"},
                    .values = [](const P &, const A &args) {
                      return IndexValues{.address = address(args.lengths),
                                         .count = args.x.shape()[0],
                                         .end = args.x.shape()[1] + 1};
                    }});
  // Blocks are not looked at: their cache is no operand, and the kernel reads no memory by them.
  if (problem.sequences)
    rows.push_back({.rule = {.argument = "sequences", .meaning = "the rows of block_table"},
                    .values = [](const P &, const A &args) {
                      return IndexValues{.address = address(args.sequences),
                                         .count = args.x.shape()[0],
                                         .end = args.block_table->shape()[0]};
                    }});
  return rows;
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(TopKProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
