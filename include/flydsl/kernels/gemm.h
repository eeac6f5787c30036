// Products of matrices: C = activation(scale_a * scale_b * (A * B^T) + bias).
#pragma once

#include <flydsl/kernels/activation.h>
#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/tile_order.h>
#include <flydsl/kernels/weight.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// Factors in f32 by which an operand's elements are multiplied.
enum class Scales : std::uint8_t {
  none,
  per_row, ///< one for each row of A (a token) or of B (an output channel)
};

/// c[i, j] = act(scale_a[i] * scale_b[j] * sum_k a[i, k] * b[j, k] + bias[j]), summed in f32, or
/// exactly in i32 if a and b are i8. The weights b are prepared; see WeightProblem.
struct FLYDSL_API GemmProblem {
  DType a = f16, b = f16; ///< f16, bf16, i8, or the target's 8-bit floats, which may be mixed
  DType c = f16;          ///< f32, f16 or bf16
  std::int64_t n = 0;     ///< rows of b: columns of c
  std::int64_t k = 0;     ///< columns of a and b; a row of them is a multiple of 16 bytes
  Scales scale_a = Scales::none, scale_b = Scales::none;
  bool bias = false; ///< a vector of n elements of type c is added
  Activation activation = Activation::none;
  /// The weights b.
  WeightProblem weight() const { return {b, n, k}; }
  friend bool operator==(const GemmProblem &, const GemmProblem &) = default;
};

/// How a product is shared among blocks and waves.
struct FLYDSL_API GemmConfig {
  int tile_m = 128, tile_n = 128; ///< the tile of c that a block computes
  int tile_k = 64;                ///< elements of k that are loaded together
  int threads = 256;              ///< of a block: waves, which lie side by side along n
  /// Blocks that share K for a tile of c. If there are several, sums go through a workspace, and a
  /// second kernel adds them, always in the same order. K is a multiple of split_k * tile_k then.
  int split_k = 1;
  TileOrder order = {};
  friend bool operator==(const GemmConfig &, const GemmConfig &) = default;
};

/// The tensors of a call; those that the problem does not have are left out. Rows of a start at
/// multiples of 16 bytes; rows of c at multiples of 4 elements, or of 2 or 1 if no more divide n.
struct FLYDSL_API GemmArgs {
  TensorArg a;                                         ///< (m, k), contiguous rows
  TensorArg b;                                         ///< prepared weights, as a vector
  TensorArg c;                                         ///< (m, n), contiguous rows
  std::optional<TensorArg> scale_a = {}, scale_b = {}; ///< (m) and (n), f32
  std::optional<TensorArg> bias = {};                  ///< (n)
  /// At least workspace_bytes(problem, config, m) bytes of type u8, if these are not 0.
  std::optional<TensorArg> workspace = {};
};

template <> struct FamilyOf<GemmProblem> {
  using Config = GemmConfig;
  using Args = GemmArgs;
  static constexpr std::string_view name = "gemm";
};
using GemmPlan = Plan<GemmProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
