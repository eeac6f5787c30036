// Logits of many query heads and one key head, between the host file and the kernel.
#pragma once

#include "blocks/facts/matrix_form.h"
#include "frame/family.h"

#include <flydsl/kernels/mqa_logits.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct MqaLogitsParams {
  Strided<Side, 2> q;           // (m, heads, head)
  Strided<Side, 1> k;           // (n, head)
  Strided<Side, 1> weights;     // (m, heads)
  Strided<Side, 1> logits;      // (m, n)
  Strided<Side, 1> bias;        // (m, n)
  Strided<Side, 0> first, last; // (m)
  Param<Side, Int32> m, n;
  Strided<Side, 0> kScale;            // (n)
  Strided<Side, 2> pages, scalePages; // (blocks, page, head), (blocks, page)
  Strided<Side, 1> blockTable;        // (s, blocks of a sequence)
  Strided<Side, 0> seqLens, starts;   // (s), (s + 1)
  Param<Side, Int32> sequences, rowBlocks;
};
inline constexpr KernelOf<MqaLogitsParams> kMqaLogits{"mqa_logits"};

/// Whether a call has `first` and `last`.
inline bool hasWindowArgs(const MqaLogitsProblem &problem) {
  return problem.windows && !problem.paged;
}
/// The matrix instruction for a head; none if the target has none for the type.
inline std::optional<MatrixForm> logitsForm(const MqaLogitsProblem &problem, const Target &target) {
  return matrixForm(target, problem.x, problem.x, problem.head, problem.head);
}

/// Tiles of 16 keys of a wave; 0 if the waves of a block do not share its keys evenly.
inline int tilesOfWave(const MqaLogitsConfig &config, const Target &target) {
  const int waves = config.block / target.wave_size();
  return waves > 0 && config.keys % (16 * waves) == 0 ? config.keys / (16 * waves) : 0;
}

/// The registers of a lane for a row of keys, or of queries. Lanes that share a row have parts of it.
inline int rowRegisters(const MqaLogitsProblem &problem, const MatrixForm &form) {
  return problem.head * form.bytes() / form.across / 4;
}
/// Whether registers have room for the query heads that come next besides those that are multiplied.
/// Sums, factors and the addresses of pieces, which have four registers, take the others.
inline bool loadsAhead(const MqaLogitsProblem &problem, const MatrixForm &form, int tiles) {
  constexpr int kOthers = 56;
  const int row = rowRegisters(problem, form);
  return (tiles + 2) * row + row / 4 + kOthers <= 256;
}

template <> struct Family<MqaLogitsProblem> : FamilyDefaults<MqaLogitsProblem, &MqaLogitsArgs::q> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kMqaLogits}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
