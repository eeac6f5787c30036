// Copies of rows, between their host file and their kernel.
#pragma once

#include "blocks/rows/row_rules.h"
#include "frame/family.h"

#include <flydsl/kernels/rows/copy_rows.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct CopyRowsParams {
  Strided<Side, 1> x, y;     // (rows, n)
  Strided<Side, 0> from, to; // (m)
  Param<Side, Int64> rowsOfX, rowsOfY;
  Param<Side, Int32> m;
};
inline constexpr KernelOf<CopyRowsParams> kCopyRows{"copy_rows"};

/// Elements that are moved together.
inline int accessOf(const CopyRowsProblem &problem) {
  return RowShape::of(problem.n, problem.row_align, problem.type.bytes()).vector;
}
/// Accesses of a row that a block of threads moves: each thread has some.
inline constexpr int kAccessesOfThread = 4;

template <> struct Family<CopyRowsProblem> : FamilyDefaults<CopyRowsProblem> {
  static std::int64_t rows(const A &args);
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kCopyRows}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
