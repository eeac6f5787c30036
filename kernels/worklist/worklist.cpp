#include "worklist/worklist_family.h"

#include "blocks/attention/worklist.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Worklist = Family<WorklistProblem>;

constexpr int kMostWorkers = 65535, kLargestUnit = 65536;

Support problemSupported(const WorklistProblem &problem) {
  if (problem.workers < 1 || problem.workers > kMostWorkers)
    return Support::no(is("workers", problem.workers) + "; there are 1 to " +
                       std::to_string(kMostWorkers));
  if (problem.unit < kKeyAlign || problem.unit % kKeyAlign || problem.unit > kLargestUnit)
    return Support::no(is("unit", problem.unit) + "; it is a multiple of " +
                       std::to_string(kKeyAlign) + " up to " + std::to_string(kLargestUnit));
  if (problem.queries < 1 || problem.queries > kMostQueries)
    return Support::no(is("queries", problem.queries) + "; a sequence has 1 to " +
                       std::to_string(kMostQueries));
  return {};
}

} // namespace

Support Worklist::supported(const WorklistProblem &problem, const Target &) {
  return problemSupported(problem);
}

Support Worklist::supported(const WorklistProblem &, const WorklistConfig &config,
                            const Target &target) {
  return blockSupported(config.block, target);
}

WorklistConfig Worklist::choose(const WorklistProblem &, std::int64_t m, const Target &) {
  return {.block = m > 256 ? 1024 : 256};
}

std::vector<WorklistConfig> Worklist::candidates(const WorklistProblem &, std::int64_t,
                                                 const Target &) {
  return {{.block = 64}, {.block = 256}, {.block = 1024}};
}

void Worklist::launch(const Call<WorklistProblem> &call) {
  const WorklistArgs &args = call.args;
  const Arguments arguments(FamilyOf<WorklistProblem>::name, call.where);
  const std::int64_t n = args.seq_lens.shape()[0];
  if (n > 0xffffff)
    arguments.fail("seq_lens has " + std::to_string(n) + " sequences; 16777215 are the most");
  arguments.check(args.seq_lens, {.name = "seq_lens", .dtype = i32, .shape = {"n", n}});
  const Strided<OnHost, 0> starts =
      arguments.operandIf<0>(call.problem.varlen, args.cu_seqlens_q,
                             {.name = "cu_seqlens_q", .dtype = i32, .shape = {"n + 1", n + 1}});
  arguments.check(args.worklist, {.name = "worklist",
                                  .dtype = i32,
                                  .shape = {"n + 1 + workers", n + 1 + call.problem.workers},
                                  .use = Use::written});
  arguments.expectApart();
  if (const std::string what = problemWithWindow(call.problem.window, args.window_left);
      !what.empty())
    arguments.fail(what);
  call.launches.at(0, kWorklist)(call.on(1, call.config.block), call.where,
                                 {.seqLens = operandOf<0>(args.seq_lens),
                                  .starts = starts,
                                  .worklist = operandOf<0>(args.worklist),
                                  .n = static_cast<std::int32_t>(n),
                                  .windowLeft = static_cast<std::int32_t>(args.window_left)});
}

WorklistArgs Worklist::args(const WorklistProblem &problem, const WorklistConfig &, std::int64_t m,
                            const Sampler &sampler) {
  const Extents sequences{m}, worklist{m + 1 + problem.workers};
  return {.seq_lens = sampler("seq_lens", i32, sequences, Role::offsets),
          .cu_seqlens_q = sampleIf(problem.varlen, sampler, "cu_seqlens_q", i32, Extents{m + 1},
                                   Role::steps(problem.queries)),
          .worklist = sampler("worklist", i32, worklist, Role::output)};
}

} // namespace kernels::impl

namespace kernels {

std::vector<std::int32_t> make_worklist(const WorklistProblem &problem,
                                        std::span<const std::int32_t> seq_lens,
                                        std::int64_t window_left,
                                        std::span<const std::int32_t> cu_seqlens_q) {
  using namespace impl;
  if (const Support answer = problemSupported(problem); !answer)
    throw Error("worklist: " + answer.why);
  if (problem.varlen ? cu_seqlens_q.size() != seq_lens.size() + 1 : !cu_seqlens_q.empty())
    throw Error("worklist: cu_seqlens_q has " + std::to_string(cu_seqlens_q.size()) +
                " numbers, and seq_lens " + std::to_string(seq_lens.size()) +
                "; with varlen it has one more, and otherwise none");
  if (const std::string what = problemWithWindow(problem.window, window_left); !what.empty())
    throw Error("worklist: " + what);
  std::vector<std::int32_t> list{0};
  for (std::size_t i = 0; i < seq_lens.size(); ++i) {
    const std::int64_t context = seq_lens[i],
                       queries = problem.varlen
                                     ? std::int64_t(cu_seqlens_q[i + 1]) - cu_seqlens_q[i]
                                     : problem.queries;
    if (context < 0)
      throw Error("worklist: seq_lens[" + std::to_string(i) + "] is " + std::to_string(context) +
                  "; it is a number of keys");
    if (queries < 0)
      throw Error("worklist: cu_seqlens_q[" + std::to_string(i + 1) + "] is " +
                  std::to_string(cu_seqlens_q[i + 1]) + ", below the number before it, " +
                  std::to_string(cu_seqlens_q[i]));
    const Visibility<std::int64_t> visibility{true,    problem.window, queries,
                                              context, window_left,    0};
    list.push_back(list.back() + static_cast<std::int32_t>(unitsOf(
                                     keysOfSequence(visibility, problem.varlen), problem.unit)));
  }
  const std::vector<std::int32_t> starts(list);
  const UnitDeal<std::int64_t> deal{starts.back(), problem.workers};
  for (int worker = 0; worker < problem.workers; ++worker) {
    const std::int64_t begin = deal.begin(worker);
    const auto after = std::upper_bound(starts.begin(), starts.end(), begin);
    list.push_back(begin < starts.back() ? static_cast<std::int32_t>(after - starts.begin() - 1)
                                         : static_cast<std::int32_t>(seq_lens.size()));
  }
  return list;
}

FLYDSL_KERNEL_FAMILY(WorklistProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
