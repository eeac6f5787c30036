// What calls of products with scales of 32 elements of K have, for dense and grouped products.
#pragma once

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

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
