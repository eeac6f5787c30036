// What calls of products with scales of 32 elements of K have, for dense and grouped products.
#pragma once

#include "blocks/quant/prepared_scales.h"
#include "frame/expected.h"
#include "gemm/gemm_shape.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Scales of 32 elements of K of a matrix, whose rows follow one another.
inline Expected mxScales(const GemmProblem &problem, const char *name, const Shape &shape) {
  const std::int64_t ofRow = problem.k / kMxBlock;
  return {.name = name,
          .dtype = problem.scale,
          .shape = shape,
          .align = ofRow % 16 ? ofRow & -ofRow : 16,
          .reason = "a lane loads those of several blocks together"};
}

/// Whether the target's matrix instructions take scales in the order of PreparedScales, for these operands.
inline bool takesPreparedScales(const Target &target, DType a, DType b) {
  const std::optional<MxForms> forms = mxForms(target, a, b);
  return forms && forms->a.scalesOfLane() == 1;
}

/// Whether tiles of so many rows, which follow one another from row `start` on, have whole groups of prepared
/// scales. A wave that has all rows of such a tile loads the scales of two tiles of 16 together.
inline bool hasWholeGroups(int tile, std::int64_t start = 0) {
  return tile % PreparedScales::kRows == 0 && start % PreparedScales::kRows == 0;
}

/// Prepared scales of 32 elements of K of a matrix of so many rows. `modes` are the names of the shape for messages.
inline Expected preparedMxScales(const GemmProblem &problem, const char *name, std::int64_t rows,
                                 const char *modes = "rows / 32, k / 256, 256") {
  Expected scales = preparedScales(name, modes, rows, problem.k);
  scales.align = 4;
  scales.reason = "a lane loads those of several blocks together";
  return scales;
}
/// Prepared scales of the weights of experts: `rows` rows of each expert, prepared by themselves.
inline Expected preparedMxScales(const GemmProblem &problem, const char *name, std::int64_t experts,
                                 std::int64_t rows) {
  Expected scales = preparedMxScales(problem, name, rows);
  const auto [groups, blocks, bytes] = PreparedScales::shape(rows, problem.k);
  scales.shape = {"experts, rows / 32, k / 256, 256", experts, groups, blocks, bytes};
  return scales;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
