// How the loop without matrix instructions (VectorRows) sees its operands.
#pragma once

#include "gemm/gemm_shape.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// True for operands of f32 on a target whose matrix instructions take none (RDNA): GemmLoop::vector
/// alone multiplies them.
inline bool isForVectorsAlone(const GemmProblem &problem, const Target &target) {
  return isOfSingles(problem) && rocdl::matrix_products(target, f32, f32).empty();
}
/// True if both operands lie as that loop takes them.
inline bool liesByRows(const GemmProblem &problem) {
  return problem.a_layout == OperandLayout::rows && problem.b_layout == OperandLayout::rows;
}
/// The form of a product of that loop. It multiplies by no instruction, and asks for the lanes of a wave,
/// the type of sums and the bytes of elements; elements of f32 are told as those of an instruction of f16.
inline std::optional<MatrixForm> vectorForm(const GemmProblem &problem, std::int64_t stepK,
                                            const Target &target) {
  if (!isForVectorsAlone(problem, target))
    return gemmForm(problem, stepK, target);
  const std::vector<MatrixForm> halves = matrixForms(target, f16, f16);
  if (halves.empty() || !liesByRows(problem))
    return std::nullopt;
  MatrixForm form = halves.front();
  form.a = form.b = f32;
  return form;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
