// How much shared memory a block takes for a chunk of the delta rule.
#pragma once

#include "blocks/facts/row_placement.h"
#include "delta_rule/delta_rule_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

struct ChunkShape {
  /// Elements from a row to the next besides its own, against bank conflicts: of scores, of the
  /// system, of sums of decays. And all of a row of 16 right sides.
  static constexpr int kPadOfScores = 8, kPadOfSystem = 4, kPadOfSums = 4, kRowOfRight = 17;

  const DeltaRuleProblem &problem;
  int tokens, waves;

  /// The tokens of a chunk: those of one instruction, in which each lane has runs of 8.
  static int tokensOf(const MatrixForm &form) { return form.lanes / 16 * 8 * form.runsOfEight(); }

  ChunkShape(const DeltaRuleProblem &problem, const DeltaRuleConfig &config, const MatrixForm &form)
      : problem(problem), tokens(tokensOf(form)), waves(config.block / form.lanes) {}

  bool solves() const { return problem.update == StateUpdate::delta; }
  /// Rows of k and q, and of k that is decayed.
  int matrices() const { return problem.by_channel && solves() ? 3 : 2; }
  std::int64_t bytes(const Target &target) const {
    const std::int64_t rows =
        RowPlacement::of(target, RowsRead::transposed).bytes(tokens, problem.key, problem.x);
    std::int64_t numbers = 2 * tokens; // of a head: G and beta
    if (solves())
      numbers += tokens * (tokens + kPadOfSystem) + waves * tokens * kRowOfRight;
    if (problem.by_channel) // G, and what a chunk decays
      numbers += tokens * (problem.key + kPadOfSums) + problem.key;
    return matrices() * rows + tokens * (tokens + kPadOfScores) * problem.x.bytes() + numbers * 4;
  }
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
