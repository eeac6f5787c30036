// Products with the experts of slots, as the parts that they are launched as.
#pragma once

#include "frame/parts.h"
#include "ggml/ggml_gemm_family.h"
#include "moe_sort/moe_sort_family.h"

#include <flydsl/kernels/experts/ggml_experts.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The sorting of slots with units of so many places.
inline MoeSortProblem sortOf(const GgmlExpertsProblem &problem, int unit) {
  return {.experts = problem.experts, .topk = problem.topk, .unit = unit, .weights = false};
}

template <>
struct Family<GgmlExpertsProblem> : FamilyDefaults<GgmlExpertsProblem, &GgmlExpertsArgs::a> {
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
    if (config.unit)
      visit(sortOf(problem, config.unit), config.sort);
    visit(problem.multiplied(config.unit), config.product);
  }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
