// What a product's problem and configuration mean for its kernel, for the host and the kernel.
#pragma once

#include "blocks/matrix_form.h"
#include "blocks/preshuffle.h"
#include "blocks/ring_shape.h"
#include "blocks/split_k_rules.h"

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
/// The loop of a block, over its part of K.
inline RingShape ringShape(const GemmProblem &problem, const GemmConfig &config,
                           const MatrixForm &form) {
  return {form,
          config.tile_m,
          config.tile_n,
          config.tile_k,
          config.threads / form.lanes,
          problem.k / config.split_k};
}
/// The sums of the parts of K, if there are several.
inline PartsShape partsShape(const GemmProblem &problem, const GemmConfig &config) {
  return {config.split_k, problem.n, problem.a == i8 ? i32 : f32};
}
/// Tiles of C side by side.
inline std::int64_t tilesAcross(const GemmProblem &problem, const GemmConfig &config) {
  return (problem.n + config.tile_n - 1) / config.tile_n;
}

/// The tile of the kernel that adds the parts: four or eight neighbours for each thread.
inline constexpr int kSumTileM = 16, kSumTileN = 128, kSumThreads = 256;
inline std::int64_t sumTilesAcross(const GemmProblem &problem) {
  return (problem.n + kSumTileN - 1) / kSumTileN;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
