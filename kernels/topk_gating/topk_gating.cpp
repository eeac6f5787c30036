#include "topk_gating/topk_gating_family.h"

#include "blocks/common/expert_ids.h"
#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Gating = Family<TopkGatingProblem>;

constexpr int kMostChosen = 64;
constexpr int kMostGroups = 32; // a bit for each

/// Up to so many experts of a thread, one more thread costs more than it saves. (FlyDSL: 16.)
constexpr std::int64_t kExpertsOfThread = 16;

Support groupsSupported(const TopkGatingProblem &problem) {
  if (problem.groups < 1 || problem.groups > kMostGroups || problem.experts % problem.groups)
    return Support::no(is("groups", problem.groups) + "; a divisor of " +
                       std::to_string(problem.experts) + " experts up to " +
                       std::to_string(kMostGroups) + " is supported");
  if (problem.topk_groups < 1 || problem.topk_groups > problem.groups)
    return Support::no(is("topk_groups", problem.topk_groups) + "; 1 to " +
                       std::to_string(problem.groups) + " groups can be chosen");
  const std::int64_t there = problem.experts / problem.groups * problem.topk_groups;
  if (problem.topk > there)
    return Support::no(is("topk", problem.topk) + "; the groups that are chosen have " +
                       std::to_string(there) + " experts");
  return {};
}

Support sharedSupported(const TopkGatingProblem &problem) {
  if (problem.shared < 0 || problem.shared > kMostChosen - problem.topk)
    return Support::no(is("shared", problem.shared) + "; a token has 0 to " +
                       std::to_string(kMostChosen - problem.topk) + " shared experts besides " +
                       std::to_string(problem.topk) + " others");
  for (const auto &[name, value] :
       {std::pair("scale", problem.scale), std::pair("shared_weight", problem.shared_weight)})
    if (!std::isfinite(value))
      return Support::no(std::string(name) + " is " + std::to_string(value) +
                         "; a finite number is expected");
  return {};
}

/// Of ids that are given, the weights alone are computed.
Support givenSupported(const TopkGatingProblem &problem) {
  const auto none = [](const char *what) {
    return Support::no(std::string(what) + " with ids that are given: it is for the choice of ids");
  };
  if (!problem.given)
    return {};
  if (problem.bias)
    return none("bias");
  if (problem.groups > 1)
    return none("groups");
  if (problem.shared)
    return none("shared");
  if (problem.source_rows)
    return none("source_rows");
  return {};
}

} // namespace

Expected expectedLogits(const TopkGatingProblem &problem, std::int64_t m) {
  return {.name = "logits",
          .dtype = problem.logits,
          .shape = {"m, experts", m, problem.experts},
          .free = 1,
          .align = rowShape(problem).vector};
}
Expected expectedRouterBias(const TopkGatingProblem &problem, const char *name) {
  return {.name = name,
          .dtype = f32,
          .shape = {"experts", problem.experts},
          .align = std::min<std::int64_t>(rowShape(problem).vector, 4),
          .reason = "it is read as wide as the logits"};
}

Support Gating::supported(const TopkGatingProblem &problem, const Target &) {
  const Support basic =
      firstRefusal({floatSupported("logits", problem.logits), alignSupported(problem.row_align)});
  if (!basic)
    return basic;
  if (problem.experts < 1 || problem.experts > kMostExperts)
    return Support::no("experts is " + std::to_string(problem.experts) + "; 1 to " +
                       std::to_string(kMostExperts) + " are supported");
  const std::int64_t most = std::min<std::int64_t>(problem.experts, kMostChosen);
  if (problem.topk < 1 || problem.topk > most)
    return Support::no("topk is " + std::to_string(problem.topk) + "; 1 to " +
                       std::to_string(most) + " of " + std::to_string(problem.experts) +
                       " experts can be chosen");
  return firstRefusal(
      {groupsSupported(problem), sharedSupported(problem), givenSupported(problem)});
}

Support Gating::supported(const TopkGatingProblem &problem, const RowConfig &config,
                          const Target &target) {
  if (config.threads > target.wave_size() || !config.resident)
    return Support::no("threads=" + std::to_string(config.threads) +
                       " resident=" + (config.resident ? "true" : "false") +
                       ": the logits of a token stay in the registers of a part of a wave");
  return RowFamily::supported(problem, config, target);
}

RowConfig Gating::choose(const TopkGatingProblem &problem, std::int64_t, const Target &target) {
  RowConfig config{.threads = 1, .block = 256, .resident = true};
  while (config.threads < target.wave_size() &&
         rowShape(problem).perThread(config.threads) > kExpertsOfThread)
    config.threads *= 2;
  return config;
}

void Gating::launch(const Call<TopkGatingProblem> &call) {
  const TopkGatingProblem &problem = call.problem;
  const TopkGatingArgs &args = call.args;
  const Arguments arguments(FamilyOf<TopkGatingProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.logits, "logits"), k = slotsOf(problem);
  const auto chosen = [&](const char *name, DType dtype, Use use = Use::written) {
    return Expected{.name = name,
                    .dtype = dtype,
                    .shape = {problem.shared ? "m, topk + shared" : "m, topk", m, k},
                    .use = use};
  };
  arguments.check(args.logits, expectedLogits(problem, m));
  arguments.check(args.weights, chosen("weights", f32));
  arguments.check(args.ids, chosen("ids", i32, problem.given ? Use::read : Use::written));
  arguments.checkIf(problem.bias, args.bias, expectedRouterBias(problem, "bias"));
  arguments.checkIf(problem.source_rows, args.source_rows, chosen("source_rows", i32));
  arguments.expectApart();
  if (problem.source_rows && m * k > 0x7fffffff)
    arguments.fail("source_rows: the rows of " + std::to_string(m) + " tokens for " +
                   std::to_string(k) + " experts each have numbers past 32 bits");
  if (m == 0)
    return;
  call.launches.at(0, kTopkGating)(onRows(call, m), call.where,
                                   {.logits = operandOf<1>(args.logits),
                                    .weights = operandOf<0>(args.weights),
                                    .ids = operandOf<0>(args.ids),
                                    .m = static_cast<std::int32_t>(m),
                                    .sourceRows = operandOf<0>(args.source_rows),
                                    .bias = operandOf<0>(args.bias)});
}

TopkGatingArgs Gating::args(const TopkGatingProblem &problem, const RowConfig &, std::int64_t m,
                            const Sampler &sampler) {
  const Extents logits{m, problem.experts}, chosen{m, slotsOf(problem)};
  TopkGatingArgs args{.logits = sampler("logits", problem.logits, logits, Role::input),
                      .weights = sampler("weights", f32, chosen, Role::output),
                      .ids = sampler("ids", i32, chosen,
                                     problem.given ? Role::below(problem.experts) : Role::output)};
  args.bias = sampleIf(problem.bias, sampler, "bias", f32, Extents{problem.experts});
  if (problem.source_rows)
    args.source_rows = sampler("source_rows", i32, chosen, Role::output);
  return args;
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(TopkGatingProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
