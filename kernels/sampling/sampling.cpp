#include "sampling/sampling_family.h"

#include "blocks/quant/quant_rules.h"
#include "blocks/rows/key_digits.h"
#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Sampling = Family<SamplingProblem>;

/// Sums of probabilities, multiples of 2^-40 of the largest, stay far below 2^63.
constexpr std::int64_t kMostTokens = std::int64_t(1) << 20;
/// Up to so many tokens of a thread, half of the threads would do.
constexpr std::int64_t kTokensOfThread = 16;

/// What a greedy row has no use for.
Support greedySupported(const SamplingProblem &problem) {
  if (problem.temperature)
    return {};
  for (const auto &[name, asked] :
       {std::pair("top_k", problem.top_k), std::pair("top_p", problem.top_p),
        std::pair("min_p", problem.min_p), std::pair("advance", problem.advance)})
    if (asked)
      return Support::no(std::string(name) +
                         " without temperature: rows are greedy, and nothing is drawn");
  return {};
}

} // namespace

Support Sampling::supported(const SamplingProblem &problem, const Target &) {
  if (problem.vocabulary < 1 || problem.vocabulary > kMostTokens)
    return Support::no(is("vocabulary", problem.vocabulary) + "; 1 to " +
                       std::to_string(kMostTokens) + " tokens are supported");
  return firstRefusal({floatSupported("logits", problem.logits), alignSupported(problem.row_align),
                       greedySupported(problem)});
}

Support Sampling::supported(const SamplingProblem &, const SamplingConfig &config,
                            const Target &target) {
  if (config.block < kLeastThreadsOfSearch)
    return Support::no(is("block", config.block) + "; " + std::to_string(kLeastThreadsOfSearch) +
                       " threads or more look at the digits of values");
  return blockSupported(config.block, target);
}

Sampling::KernelNames Sampling::kernels(const SamplingProblem &problem, const SamplingConfig &) {
  if (problem.draft == Draft::none)
    return {&kSampling};
  return {&kSampling, &kSamplingSequences};
}

SamplingConfig Sampling::choose(const SamplingProblem &problem, std::int64_t,
                                const Target &target) {
  int block = target.max_block_size();
  while (block > kLeastThreadsOfSearch && problem.vocabulary <= kTokensOfThread * (block / 2))
    block /= 2;
  return {.block = block};
}

std::vector<SamplingConfig> Sampling::candidates(const SamplingProblem &, std::int64_t,
                                                 const Target &) {
  return {{.block = 256}, {.block = 512}, {.block = 1024}};
}

void Sampling::launch(const Call<SamplingProblem> &call) {
  const SamplingProblem &problem = call.problem;
  const SamplingArgs &args = call.args;
  const Arguments arguments(FamilyOf<SamplingProblem>::name, call.where);
  const std::int64_t m = arguments.rows(args.logits, "logits"), vocabulary = problem.vocabulary,
                     words = wordsOf(problem), wide = tokensOfAccess(problem);
  const auto ofRows = [&](const char *name, DType dtype, Use use = Use::read) {
    return Expected{.name = name, .dtype = dtype, .shape = {"m", m}, .use = use};
  };
  const auto ofTokens = [&](const char *name, DType dtype) {
    return Expected{.name = name,
                    .dtype = dtype,
                    .shape = {"m, vocabulary", m, vocabulary},
                    .free = 1,
                    .align = wide,
                    .reason = "it is read as wide as the logits"};
  };
  const auto ofBits = [&](const char *name) {
    return Expected{
        .name = name, .dtype = i32, .shape = {"m, ceil(vocabulary / 32)", m, words}, .free = 1};
  };
  arguments.check(args.logits, {.name = "logits",
                                .dtype = problem.logits,
                                .shape = {"m, vocabulary", m, vocabulary},
                                .free = 1,
                                .align = wide});
  arguments.check(args.tokens, ofRows("tokens", i32, Use::written));
  arguments.checkIf(problem.temperature, args.temperature, ofRows("temperature", f32));
  arguments.checkIf(problem.top_k, args.top_k, ofRows("top_k", i32));
  arguments.checkIf(problem.top_p, args.top_p, ofRows("top_p", f32));
  arguments.checkIf(problem.min_p, args.min_p, ofRows("min_p", f32));
  arguments.checkIf(problem.temperature, args.seeds, ofRows("seeds", i64));
  arguments.checkIf(problem.temperature, args.offsets,
                    ofRows("offsets", i64, problem.advance ? Use::written : Use::read));
  arguments.checkIf(problem.bias, args.bias, ofTokens("bias", f32));
  arguments.checkIf(problem.mask, args.mask, ofBits("mask"));
  arguments.checkIf(problem.penalties, args.repetition, ofRows("repetition", f32));
  arguments.checkIf(problem.penalties, args.presence, ofRows("presence", f32));
  arguments.checkIf(problem.penalties, args.frequency, ofRows("frequency", f32));
  arguments.checkIf(problem.penalties, args.counts, ofTokens("counts", i32));
  arguments.checkIf(problem.penalties, args.prompt, ofBits("prompt"));
  arguments.checkIf(problem.log_probabilities, args.log_probabilities,
                    ofRows("log_probabilities", f32, Use::written));
  const bool drafts = problem.draft != Draft::none;
  const std::int64_t sequences =
      drafts && args.starts && args.starts->rank() == 1 ? args.starts->shape()[0] - 1 : 0;
  arguments.checkIf(drafts, args.drafts, ofRows("drafts", i32));
  arguments.checkIf(drafts, args.accepted, ofRows("accepted", i32, Use::written));
  arguments.checkIf(problem.draft == Draft::distribution, args.draft_probabilities,
                    ofTokens("draft_probabilities", f32));
  if (sequences < 0)
    arguments.fail(
        "starts has no number; the first row of each sequence and the end of the last are "
        "expected");
  arguments.checkIf(drafts, args.starts,
                    {.name = "starts", .dtype = i32, .shape = {"sequences + 1", sequences + 1}});
  arguments.checkIf(
      drafts, args.lengths,
      {.name = "lengths", .dtype = i32, .shape = {"sequences", sequences}, .use = Use::written});
  arguments.expectApart(); // a row's block ends while those of other rows still read
  const SamplingParams<OnHost> params{.logits = operandOf<1>(args.logits),
                                      .tokens = operandOf<0>(args.tokens),
                                      .m = static_cast<std::int32_t>(m),
                                      .temperature = operandOf<0>(args.temperature),
                                      .topK = operandOf<0>(args.top_k),
                                      .topP = operandOf<0>(args.top_p),
                                      .minP = operandOf<0>(args.min_p),
                                      .seeds = operandOf<0>(args.seeds),
                                      .offsets = operandOf<0>(args.offsets),
                                      .bias = operandOf<1>(args.bias),
                                      .mask = operandOf<1>(args.mask),
                                      .repetition = operandOf<0>(args.repetition),
                                      .presence = operandOf<0>(args.presence),
                                      .frequency = operandOf<0>(args.frequency),
                                      .counts = operandOf<1>(args.counts),
                                      .prompt = operandOf<1>(args.prompt),
                                      .logProbabilities = operandOf<0>(args.log_probabilities),
                                      .drafts = operandOf<0>(args.drafts),
                                      .accepted = operandOf<0>(args.accepted),
                                      .draftProbabilities = operandOf<1>(args.draft_probabilities),
                                      .starts = operandOf<0>(args.starts),
                                      .lengths = operandOf<0>(args.lengths),
                                      .sequences = static_cast<std::int32_t>(sequences)};
  if (m)
    call.launches.at(0, kSampling)(call.on(m, call.config.block), call.where, params);
  if (sequences)
    call.launches.at(1, kSamplingSequences)(call.over(sequences, kSequencesBlock, kSequencesBlock),
                                            call.where, params);
}

SamplingArgs Sampling::args(const SamplingProblem &problem, const SamplingConfig &, std::int64_t m,
                            const Sampler &sampler) {
  const Extents row{m}, tokens{m, problem.vocabulary}, words{m, wordsOf(problem)};
  SamplingArgs args{.logits = sampler("logits", problem.logits, tokens, Role::input),
                    .tokens = sampler("tokens", i32, row, Role::output)};
  const bool draws = problem.temperature;
  // Of what rows are cut by, the numbers are those that leave about half of the tokens.
  args.temperature = sampleIf(draws, sampler, "temperature", f32, row, Role::equal(1));
  args.top_k = sampleIf(problem.top_k, sampler, "top_k", i32, row,
                        Role::equal((problem.vocabulary + 1) / 2));
  args.top_p = sampleIf(problem.top_p, sampler, "top_p", f32, row);
  args.min_p = sampleIf(problem.min_p, sampler, "min_p", f32, row);
  args.seeds = sampleIf(draws, sampler, "seeds", i64, row, Role::below(1 << 30));
  args.offsets = sampleIf(draws, sampler, "offsets", i64, row,
                          problem.advance ? Role::both : Role::below(1 << 30));
  args.bias = sampleIf(problem.bias, sampler, "bias", f32, tokens);
  args.mask = sampleIf(problem.mask, sampler, "mask", i32, words, Role::below(0x7fffffff));
  args.repetition = sampleIf(problem.penalties, sampler, "repetition", f32, row, Role::equal(2));
  args.presence = sampleIf(problem.penalties, sampler, "presence", f32, row);
  args.frequency = sampleIf(problem.penalties, sampler, "frequency", f32, row);
  args.counts = sampleIf(problem.penalties, sampler, "counts", i32, tokens, Role::below(3));
  args.prompt = sampleIf(problem.penalties, sampler, "prompt", i32, words, Role::below(0x7fffffff));
  args.log_probabilities =
      sampleIf(problem.log_probabilities, sampler, "log_probabilities", f32, row, Role::output);
  if (problem.draft == Draft::none)
    return args;
  // Each row is a sequence of its own.
  args.drafts = sampler("drafts", i32, row, Role::below(problem.vocabulary));
  args.accepted = sampler("accepted", i32, row, Role::output);
  args.draft_probabilities =
      sampleIf(problem.draft == Draft::distribution, sampler, "draft_probabilities", f32, tokens);
  args.starts = sampler("starts", i32, Extents{m + 1}, Role::steps(1));
  args.lengths = sampler("lengths", i32, row, Role::output);
  return args;
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_FAMILY(SamplingProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
