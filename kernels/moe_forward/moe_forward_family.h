// A mixture of experts as the parts that it is launched as.
#pragma once

#include "frame/parts.h"
#include "grouped_gemm/grouped_gemm_family.h"
#include "moe_forward/inside_rows.h"
#include "moe_reduce/moe_reduce_family.h"
#include "moe_sort/moe_sort_family.h"
#include "topk_gating/topk_gating_family.h"

#include <flydsl/kernels/moe_forward.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The problems of the parts.
struct MoeParts {
  MoeSortProblem sort;
  GroupedGemmProblem first, second;
  std::optional<InsideRows> inside = {}; ///< h with scales of rows
  MoeReduceProblem reduce;
};
/// The optional work of the parts.
struct MoeExtras {
  bool adds = false;        ///< the second product adds its rows to y, and nothing is reduced
  bool routes = false;      ///< the sorting chooses the experts, too
  bool sortsScales = false; ///< the sorting prepares the scales of x
};
MoeParts partsOf(const MoeForwardProblem &problem, int unit, const MoeExtras &extras = {});
inline MoeParts partsOf(const MoeForwardProblem &problem, const MoeForwardConfig &config) {
  return partsOf(
      problem, config.unit,
      {.adds = config.adds, .routes = config.routes, .sortsScales = config.sorts_scales});
}

/// The scales of w1 and w2, besides those of their groups.
inline Scales scalesOfWeights(const MoeForwardProblem &problem) {
  return problem.narrow() ? problem.w_scales : problem.scales;
}
/// Scales that a row of so many elements of x or h has; 0 if they are not of blocks.
inline std::int64_t scalesOfRow(const MoeForwardProblem &problem, std::int64_t elements) {
  const int block = columnsOfScaleC(problem.scales);
  return block ? (elements + block - 1) / block : 0;
}
/// The shape of the scales of an expert's weights (rows, columns).
struct ScaleGrid {
  std::int64_t rows, columns;
};
inline ScaleGrid scalesOfWeight(const MoeForwardProblem &problem, std::int64_t rows,
                                std::int64_t columns) {
  return {problem.scales == Scales::mx ? rows : scaleBlocks(rows), scalesOfRow(problem, columns)};
}

template <>
struct Family<MoeForwardProblem> : FamilyDefaults<MoeForwardProblem, &MoeForwardArgs::x> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &problem, const C &config, std::int64_t m);
  static KernelNames kernels(const P &problem, const C &config) {
    return kernelsOfParts(problem, config);
  }
  template <class Visit>
  static void eachPart(const P &problem, const C &config, const Visit &visit) {
    const MoeParts parts = partsOf(problem, config);
    if (!config.routes)
      visit(problem.router, config.router);
    visit(parts.sort, config.sort);
    visit(parts.first, config.first);
    if (parts.inside)
      visit(*parts.inside, insideConfig(*parts.inside));
    visit(parts.second, config.second);
    if (!config.adds)
      visit(parts.reduce, config.reduce);
  }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
