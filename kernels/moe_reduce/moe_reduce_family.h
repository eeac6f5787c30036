// The sum of expert outputs, between its host file and its kernel.
#pragma once

#include "blocks/rows/row_family.h"

#include <flydsl/kernels/moe_reduce.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct MoeReduceParams {
  Strided<Side, 2> x; // (m, topk, n) or (places, n)
  Strided<Side, 1> y; // (m, n)
  Param<Side, Int32> m;
  Strided<Side, 0> weights, mask; // (m, topk)
  Strided<Side, 0> slotPlaces;    // (m, topk)
  Param<Side, Int32> places;
  Strided<Side, 2> scales;          // (m, topk, n / group) or (places, n / group)
  Strided<Side, 0> ids, expertMask; // (m, topk), (experts)
};
inline constexpr KernelOf<MoeReduceParams> kMoeReduce{"moe_reduce"};

/// Nothing crosses the threads of a token, so blocks may share its rows.
struct RowPieces {
  std::int64_t count = 1; ///< pieces of a row, each by a block
  RowShape piece;         ///< all of a row if there is one
};
RowPieces piecesOf(const MoeReduceProblem &problem, const RowConfig &config);

template <> struct Family<MoeReduceProblem> : RowFamily<MoeReduceProblem, &MoeReduceArgs::y> {
  /// Elements of each of a token's rows that a thread has.
  static constexpr RowLimits kLimits{.most = 16};
  /// The rows of a problem, in accesses as wide as its wider operand allows.
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.n, problem.row_align,
                        std::max(problem.x.bytes(), problem.y.bytes()));
  }
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target) {
    return rowsSupported(piecesOf(problem, config).piece, config, kLimits, target);
  }
  static C choose(const P &problem, std::int64_t, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kMoeReduce}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
