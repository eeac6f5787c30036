// The draw of tokens, between its host file and its kernel.
#pragma once

#include "blocks/rows/row_rules.h"
#include "frame/family.h"

#include <flydsl/kernels/sampling.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct SamplingParams {
  Strided<Side, 1> logits; // (m, vocabulary)
  Strided<Side, 0> tokens; // (m)
  Param<Side, Int32> m;
  Strided<Side, 0> temperature, topK, topP, minP, seeds, offsets; // (m)
  Strided<Side, 1> bias;                                          // (m, vocabulary)
  Strided<Side, 1> mask;                                          // (m, vocabulary / 32)
  Strided<Side, 0> repetition, presence, frequency;               // (m)
  Strided<Side, 1> counts;                                        // (m, vocabulary)
  Strided<Side, 1> prompt;                                        // (m, vocabulary / 32)
  Strided<Side, 0> logProbabilities;                              // (m)
  Strided<Side, 0> drafts, accepted;                              // (m)
  Strided<Side, 1> draftProbabilities;                            // (m, vocabulary)
  Strided<Side, 0> starts, lengths;                               // (sequences + 1), (sequences)
  Param<Side, Int32> sequences;
};
inline constexpr KernelOf<SamplingParams> kSampling{"sampling"};
inline constexpr KernelOf<SamplingParams> kSamplingSequences{"sampling_sequences"};

/// Threads of a block that goes over sequences.
inline constexpr int kSequencesBlock = 64;

/// Tokens whose bits share a word.
inline constexpr int kTokensOfWord = 32;
inline std::int64_t wordsOf(const SamplingProblem &problem) {
  return (problem.vocabulary + kTokensOfWord - 1) / kTokensOfWord;
}
/// The tokens of an access to a row: accesses cover it without a rest.
inline int tokensOfAccess(const SamplingProblem &problem) {
  const bool isWide = problem.bias || problem.penalties ||
                      problem.draft == Draft::distribution; // their elements have 4 bytes
  const int align = static_cast<int>(std::min<std::int64_t>(
      naturalAlign(problem.vocabulary), problem.row_align ? problem.row_align : std::int64_t(16)));
  return RowShape::of(problem.vocabulary, align, isWide ? 4 : problem.logits.bytes()).vector;
}

template <>
struct Family<SamplingProblem> : FamilyDefaults<SamplingProblem, &SamplingArgs::logits> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &problem, const C &);
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
