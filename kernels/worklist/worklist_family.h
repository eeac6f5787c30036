// Worklists, between the host file and the kernel.
#pragma once

#include "frame/family.h"

#include <flydsl/kernels/worklist.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct WorklistParams {
  Strided<Side, 0> seqLens;  // (n)
  Strided<Side, 0> starts;   // varlen: (n + 1)
  Strided<Side, 0> worklist; // (n + 1 + workers)
  Param<Side, Int32> n, windowLeft;
};
inline constexpr KernelOf<WorklistParams> kWorklist{"worklist"};

template <>
struct Family<WorklistProblem> : FamilyDefaults<WorklistProblem, &WorklistArgs::seq_lens> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kWorklist}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
