// The largest elements of rows, between their host file and their kernel.
#pragma once

#include "frame/family.h"

#include <flydsl/kernels/rows/top_k.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct TopKParams {
  Strided<Side, 1> x;      // (m, n)
  Strided<Side, 0> counts; // (m)
  Param<Side, Int32> m, n;
  Strided<Side, 0> lengths;        // (m)
  Strided<Side, 1> indices, slots; // (m, k)
  Strided<Side, 1> blockTable;     // (s, blocks of a sequence)
  Strided<Side, 0> sequences;      // (m)
  Param<Side, Int32> tableRows;
};
inline constexpr KernelOf<TopKParams> kTopK{"top_k"};

/// Elements of an access to a row.
inline int elementsOfAccess(const TopKProblem &problem) {
  return std::min(problem.row_align, 16 / problem.x.bytes());
}

template <> struct Family<TopKProblem> : FamilyDefaults<TopKProblem, &TopKArgs::x> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kTopK}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
