#include "mqa_logits/mqa_logits_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Logits = Family<MqaLogitsProblem>;

constexpr int kMostHeads = 128, kLargestHead = 256, kMostRows = 1024;
/// Registers of a lane for its keys, and for the sums of all of its tiles at a time.
constexpr int kKeyRegisters = 128;

} // namespace

Support Logits::supported(const MqaLogitsProblem &problem, const Target &target) {
  if (problem.heads < 16 || problem.heads > kMostHeads || problem.heads % 16)
    return Support::no(is("heads", problem.heads) + "; it is a multiple of 16 from 16 to " +
                       std::to_string(kMostHeads));
  if (problem.head < 64 || problem.head > kLargestHead || problem.head % 64)
    return Support::no(is("head", problem.head) + "; it is a multiple of 64 from 64 to " +
                       std::to_string(kLargestHead));
  const auto form = logitsForm(problem, target);
  if (!form || form->acc != f32)
    return Support::no("x is of type " + std::string(problem.x.name()) + "; " +
                       productTypes(target) + ", and scores are sums in f32");
  return {};
}

Support Logits::supported(const MqaLogitsProblem &problem, const MqaLogitsConfig &config,
                          const Target &target) {
  if (const Support fits = blockSupported(config.block, target); !fits)
    return fits;
  const int tiles = tilesOfWave(config, target);
  if (tiles != 1 && tiles != 2 && tiles != 4)
    return Support::no(is("keys", config.keys) + "; each of " +
                       std::to_string(config.block / target.wave_size()) +
                       " waves has 16, 32 or 64");
  if (tiles * rowRegisters(problem, *logitsForm(problem, target)) > kKeyRegisters)
    return Support::no(is("keys", config.keys) + "; " + std::to_string(16 * tiles) + " of " +
                       std::to_string(problem.head) +
                       " elements do not fit the registers of a wave");
  if (config.rows < 1 || config.rows > kMostRows)
    return Support::no(is("rows", config.rows) + "; a block has 1 to " + std::to_string(kMostRows));
  return {};
}

MqaLogitsConfig Logits::choose(const MqaLogitsProblem &problem, std::int64_t m,
                               const Target &target) {
  int tiles = 4;
  while (tiles > 1 &&
         tiles * rowRegisters(problem, *logitsForm(problem, target)) > kKeyRegisters / 2)
    tiles /= 2;
  // Few tokens: blocks of few rows, so that there are more of them.
  return {.keys = 4 * 16 * tiles, .block = 4 * target.wave_size(), .rows = m <= 256 ? 8 : 32};
}

std::vector<MqaLogitsConfig> Logits::candidates(const MqaLogitsProblem &, std::int64_t,
                                                const Target &target) {
  std::vector<MqaLogitsConfig> all;
  for (int tiles : {1, 2, 4})
    for (int waves : {2, 4, 8})
      for (int rows : {8, 32, 128})
        all.push_back(
            {.keys = waves * 16 * tiles, .block = waves * target.wave_size(), .rows = rows});
  return all;
}

void Logits::launch(const Call<MqaLogitsProblem> &call) {
  const MqaLogitsProblem &problem = call.problem;
  const MqaLogitsArgs &args = call.args;
  const Arguments arguments(FamilyOf<MqaLogitsProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.logits, "logits"), n = args.logits.shape()[1],
                     heads = problem.heads, head = problem.head,
                     align = kPieceBytes / problem.x.bytes();
  if (n > 0x7fffffff)
    arguments.fail("logits has " + std::to_string(n) + " keys; 2147483647 are the most");
  const char *reason = "rows are loaded 16 bytes at a time";
  const auto window = [&](const char *name) {
    return Expected{.name = name, .dtype = i32, .shape = {"m", m}};
  };
  arguments.check(args.q, {.name = "q",
                           .dtype = problem.x,
                           .shape = {"m, heads, head", m, heads, head},
                           .free = 2,
                           .align = align,
                           .reason = reason});
  arguments.check(args.k, {.name = "k",
                           .dtype = problem.x,
                           .shape = {"n, head", n, head},
                           .free = 1,
                           .align = align,
                           .reason = reason});
  arguments.check(args.weights,
                  {.name = "weights", .dtype = f32, .shape = {"m, heads", m, heads}, .free = 1});
  arguments.check(
      args.logits,
      {.name = "logits", .dtype = f32, .shape = {"m, n", m, n}, .free = 1, .use = Use::written});
  arguments.checkIf(problem.k_scale, args.k_scale,
                    {.name = "k_scale", .dtype = f32, .shape = {"n", n}});
  arguments.check(args.first, window("first"));
  arguments.check(args.last, window("last"));
  if (m == 0 || n == 0)
    return;
  const MqaLogitsConfig &config = call.config;
  const std::int64_t keys = config.keys;
  call.launches.at(0, kMqaLogits)(
      call.on(Dim3((n + keys - 1) / keys, (m + config.rows - 1) / config.rows), config.block),
      call.where,
      {.q = operandOf<2>(args.q),
       .k = operandOf<1>(args.k),
       .weights = operandOf<1>(args.weights),
       .logits = operandOf<1>(args.logits),
       .first = operandOf<0>(args.first),
       .last = operandOf<0>(args.last),
       .m = static_cast<std::int32_t>(m),
       .n = static_cast<std::int32_t>(n),
       .kScale = operandOf<0>(args.k_scale)});
}

MqaLogitsArgs Logits::args(const MqaLogitsProblem &problem, const MqaLogitsConfig &, std::int64_t m,
                           const Sampler &sampler) {
  // As many keys as tokens, all of which every token sees.
  const Extents q{m, problem.heads, problem.head}, k{m, problem.head}, tokens{m},
      weights{m, problem.heads}, logits{m, m};
  return {.q = sampler("q", problem.x, q, Role::input),
          .k = sampler("k", problem.x, k, Role::input),
          .k_scale = sampleIf(problem.k_scale, sampler, "k_scale", f32, tokens),
          .weights = sampler("weights", f32, weights, Role::input),
          .first = sampler("first", i32, tokens, Role::equal(0)),
          .last = sampler("last", i32, tokens, Role::equal(m)),
          .logits = sampler("logits", f32, logits, Role::output)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(MqaLogitsProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
