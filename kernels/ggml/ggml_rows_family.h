// Rows by their numbers, between their host file and their kernel.
#pragma once

#include "frame/family.h"
#include "ggml/ggml_rules.h"

#include <flydsl/kernels/ggml_rows.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct GgmlRowsParams {
  Strided<Side, 0> ids; // (m)
  Strided<Side, 0> b;   // (weight_bytes)
  Strided<Side, 1> y;   // (m, k)
};
inline constexpr KernelOf<GgmlRowsParams> kGgmlRowsName{"ggml_rows"};

template <> struct Family<GgmlRowsProblem> : FamilyDefaults<GgmlRowsProblem, &GgmlRowsArgs::y> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kGgmlRowsName}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
