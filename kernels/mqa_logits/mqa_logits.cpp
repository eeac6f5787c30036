#include "mqa_logits/mqa_logits_family.h"

#include "blocks/quant/quant_rules.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Logits = Family<MqaLogitsProblem>;

constexpr int kMostHeads = 128, kLargestHead = 256, kMostRows = 1024, kLargestPage = 65536;
constexpr std::int64_t kMostSequences = 65535; // the third mode of a grid
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
  if (problem.paged && (problem.page < 1 || problem.page > kLargestPage))
    return Support::no(is("page", problem.page) + "; a block has 1 to " +
                       std::to_string(kLargestPage) + " tokens");
  if (problem.paged && !problem.windows)
    return Support::no(
        "paged is true and windows false; a token of a sequence sees the keys up to its "
        "own");
  return problem.bias ? floatSupported("bias_type", problem.bias_type) : Support{};
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
  // A row takes the latency of its queries and of the products of its heads, one after another, so that
  // many blocks of few rows are quicker; a block loads its keys anew. There are at least as many keys as
  // tokens. One token has no other work for as many waves as its keys give.
  const bool few = m <= 8;
  int tiles = few ? 2 : 4;
  // Lanes of a wave of 32 have twice as much of a key; half of the keys would read queries twice as often.
  const int most = target.wave_size() == 32 ? kKeyRegisters : kKeyRegisters / 2;
  while (tiles > 1 && tiles * rowRegisters(problem, *logitsForm(problem, target)) > most)
    tiles /= 2;
  const int waves = few ? 4 : 2;
  return {.keys = waves * 16 * tiles,
          .block = waves * target.wave_size(),
          .rows = few        ? 1
                  : m <= 512 ? 2
                             : 8};
}

std::vector<MqaLogitsConfig> Logits::candidates(const MqaLogitsProblem &, std::int64_t,
                                                const Target &target) {
  std::vector<MqaLogitsConfig> all;
  for (int tiles : {1, 2, 4})
    for (int waves : {2, 4, 8})
      for (int rows : {1, 2, 4, 8, 32, 128})
        all.push_back(
            {.keys = waves * 16 * tiles, .block = waves * target.wave_size(), .rows = rows});
  return all;
}

/// Checks and adds what a call over pages has; there is nothing of it in another one. Returns the number
/// of sequences.
static std::int64_t checkPages(const Call<MqaLogitsProblem> &call, const Arguments &arguments,
                               std::int64_t m, MqaLogitsParams<OnHost> &params) {
  const MqaLogitsArgs &args = call.args;
  const bool paged = call.problem.paged;
  const auto extent = [](const std::optional<TensorArg> &of, int rank, int mode) -> std::int64_t {
    return of && of->rank() == rank ? of->shape()[static_cast<std::size_t>(mode)] : 0;
  };
  const std::int64_t s = extent(args.seq_lens, 1, 0), columns = extent(args.block_table, 2, 1);
  params.seqLens = arguments.operandIf<0>(paged, args.seq_lens,
                                          {.name = "seq_lens", .dtype = i32, .shape = {"s", s}});
  params.blockTable = arguments.operandIf<1>(
      paged, args.block_table,
      {.name = "block_table", .dtype = i32, .shape = {"s, blocks", s, columns}, .free = 1});
  params.starts = arguments.operandIf<0>(
      paged, args.cu_seqlens_q, {.name = "cu_seqlens_q", .dtype = i32, .shape = {"s + 1", s + 1}});
  params.sequences = static_cast<std::int32_t>(s);
  if (!paged) {
    if (args.max_seqlen_q)
      arguments.fail("max_seqlen_q is given, and the problem has no pages");
    return 0;
  }
  if (s > kMostSequences)
    arguments.fail("seq_lens has " + std::to_string(s) + " sequences; " +
                   std::to_string(kMostSequences) + " are the most");
  if (args.max_seqlen_q < 0 || args.max_seqlen_q > m)
    arguments.fail(is("max_seqlen_q", args.max_seqlen_q) + "; q has " + std::to_string(m) +
                   " tokens");
  params.pages = operandOf<2>(args.k);
  params.scalePages = operandOf<2>(args.k_scale);
  return s;
}

void Logits::launch(const Call<MqaLogitsProblem> &call) {
  const MqaLogitsProblem &problem = call.problem;
  const MqaLogitsArgs &args = call.args;
  const Arguments arguments(FamilyOf<MqaLogitsProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.logits, "logits"), n = args.logits.shape()[1],
                     heads = problem.heads, head = problem.head,
                     align = kPieceBytes / problem.x.bytes();
  // A block counts to the end of its keys in 32 bits.
  if (const std::int64_t most = 0x7fffffff - call.config.keys; n > most)
    arguments.fail("logits has " + std::to_string(n) + " keys; " + std::to_string(most) +
                   " are the most for blocks of " + std::to_string(call.config.keys));
  const char *reason = "rows are loaded 16 bytes at a time";
  arguments.check(args.q, {.name = "q",
                           .dtype = problem.x,
                           .shape = {"m, heads, head", m, heads, head},
                           .free = 2,
                           .align = align,
                           .reason = reason});
  const bool paged = problem.paged;
  const std::int64_t blocks = paged && args.k.rank() == 3 ? args.k.shape()[0] : 0;
  arguments.check(args.k, {.name = "k",
                           .dtype = problem.x,
                           .shape = paged ? Shape{"blocks, page, head", blocks, problem.page, head}
                                          : Shape{"n, head", n, head},
                           .free = paged ? 2 : 1,
                           .align = align,
                           .reason = reason});
  arguments.check(args.weights,
                  {.name = "weights", .dtype = f32, .shape = {"m, heads", m, heads}, .free = 1});
  arguments.check(
      args.logits,
      {.name = "logits", .dtype = f32, .shape = {"m, n", m, n}, .free = 1, .use = Use::written});
  arguments.checkIf(problem.k_scale, args.k_scale,
                    {.name = "k_scale",
                     .dtype = f32,
                     .shape = paged ? Shape{"blocks, page", blocks, problem.page} : Shape{"n", n},
                     .free = paged ? 2 : 0});
  MqaLogitsParams<OnHost> params{};
  params.q = operandOf<2>(args.q);
  params.weights = operandOf<1>(args.weights);
  params.logits = operandOf<1>(args.logits);
  params.m = static_cast<std::int32_t>(m);
  params.n = static_cast<std::int32_t>(n);
  if (!paged) {
    params.k = operandOf<1>(args.k);
    params.kScale = operandOf<0>(args.k_scale);
  }
  const auto windows = [&](const std::optional<TensorArg> &of, const char *name) {
    return arguments.operandIf<0>(hasWindowArgs(problem), of,
                                  {.name = name, .dtype = i32, .shape = {"m", m}});
  };
  params.first = windows(args.first, "first");
  params.last = windows(args.last, "last");
  params.bias = arguments.operandIf<1>(
      problem.bias, args.bias,
      {.name = "bias", .dtype = problem.bias_type, .shape = {"m, n", m, n}, .free = 1});
  const std::int64_t sequences = checkPages(call, arguments, m, params);
  arguments.expectApart();
  if (m == 0 || n == 0 || (paged && sequences == 0))
    return;
  const MqaLogitsConfig &config = call.config;
  const std::int64_t keys = config.keys,
                     rows = !paged              ? m
                            : args.max_seqlen_q ? args.max_seqlen_q
                                                : (m + sequences - 1) / sequences,
                     rowBlocks = (rows + config.rows - 1) / config.rows;
  params.rowBlocks = static_cast<std::int32_t>(rowBlocks);
  call.launches.at(0, kMqaLogits)(
      call.on(Dim3((n + keys - 1) / keys, rowBlocks, paged ? sequences : 1), config.block),
      call.where, params);
}

MqaLogitsArgs Logits::args(const MqaLogitsProblem &problem, const MqaLogitsConfig &, std::int64_t m,
                           const Sampler &sampler) {
  // As many keys as tokens, all seen by every token; paged, one sequence that is all prompt.
  const bool paged = problem.paged;
  const std::int64_t page = paged ? problem.page : 1, blocks = (m + page - 1) / page;
  const Extents q{m, problem.heads, problem.head}, k{m, problem.head},
      pages{blocks, page, problem.head}, scalePages{blocks, page}, tokens{m},
      weights{m, problem.heads}, logits{m, m}, tables{1, blocks}, one{1}, two{2};
  return {.q = sampler("q", problem.x, q, Role::input),
          .k = sampler("k", problem.x, paged ? pages : k, Role::input),
          .k_scale =
              sampleIf(problem.k_scale, sampler, "k_scale", f32, paged ? scalePages : tokens),
          .weights = sampler("weights", f32, weights, Role::input),
          .first = sampleIf(hasWindowArgs(problem), sampler, "first", i32, tokens, Role::equal(0)),
          .last = sampleIf(hasWindowArgs(problem), sampler, "last", i32, tokens, Role::equal(m)),
          .logits = sampler("logits", f32, logits, Role::output),
          .bias = sampleIf(problem.bias, sampler, "bias", problem.bias_type, logits),
          .cu_seqlens_q = sampleIf(paged, sampler, "cu_seqlens_q", i32, two, Role::steps(m)),
          .max_seqlen_q = paged ? m : 0,
          .seq_lens = sampleIf(paged, sampler, "seq_lens", i32, one, Role::equal(m)),
          .block_table = sampleIf(paged, sampler, "block_table", i32, tables, Role::index)};
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(MqaLogitsProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
