// What a product's problem and configuration mean for its kernel, for the host and the kernel.
#pragma once

#include "blocks/matrix_form.h"
#include "blocks/preshuffle.h"
#include "blocks/ring_shape.h"

#include <flydsl/kernels/gemm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline Preshuffled weightsOf(const GemmProblem &problem) {
  return {problem.n, problem.k, problem.b.memory_bits() / 8};
}
/// The matrix instruction; none if the target has none for these types and this tile.
inline std::optional<MatrixForm> gemmForm(const GemmProblem &problem, const GemmConfig &config,
                                          const Target &target) {
  return matrixForm(target, problem.a, problem.b, config.tile_k, weightsOf(problem).paddedK());
}
inline RingShape ringShape(const GemmProblem &problem, const GemmConfig &config,
                           const MatrixForm &form) {
  return {form, config.tile_m, config.tile_n, config.tile_k, config.waves, problem.k};
}
/// Tiles of C side by side.
inline std::int64_t tilesAcross(const GemmProblem &problem, const GemmConfig &config) {
  return (problem.n + config.tile_n - 1) / config.tile_n;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
