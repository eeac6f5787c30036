// Products with weights in ggml's block formats: C = activation(A * B^T), and gated ones.
#pragma once

#include <flydsl/kernels/activation.h>
#include <flydsl/kernels/ggml.h>
#include <flydsl/kernels/plan.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// c[i, j] = act(sum_k a[i, k] * w(b)[j, k]), where w(b) are the weights that the blocks b stand
/// for; if it is gated, that times sum_k a[i, k] * w(up)[j, k], as in a gated MLP. A configuration
/// without matrix instructions computes in f32 from the exact weights; with them, a and the weights
/// are rounded to `product` first.
///
/// With `q8_1`, a configuration without matrix instructions rounds a to ggml's Q8_1 first, in shared
/// memory: of 32 neighbours, d is the largest magnitude / 127, rounded to f16, and each is d times a
/// whole number, the nearest one to the number / (that magnitude / 127). They are multiplied by the
/// codes of the weights as whole numbers, four at a time (`dot4`). This is what ggml's own kernels do,
/// and faster; a number is off by up to 0.57 d. Where one of 32 neighbours is a NaN, an infinity or
/// beyond 8.3e6, for which f16 has no d, the results of the row are NaNs or infinities.
///
/// With `experts`, b has so many matrices of n rows, one after another, and each row of a, a token, is
/// multiplied by those of its `topk` slots: c[i, s, :] is the product of row i and the matrix of slot s. An
/// expert of -1 is none: what c holds for its slot stays. Other numbers outside of the experts are left
/// out in the same way, unless the plan is checked (PlanOptions::check_indices), which tells them. The
/// family ggml_experts (experts/ggml_experts.h) sorts slots where that is faster, and calls this one.
///
/// With a residual, residual[i, j] is added before the activation, in f32.
struct FLYDSL_API GgmlGemmProblem {
  GgmlFormat format = GgmlFormat::q4_0;
  GgmlLayout layout = GgmlLayout::blocks;
  DType a = f32;       ///< f32, f16 or bf16
  DType c = f32;       ///< f32, f16 or bf16
  DType product = f16; ///< what matrix instructions multiply: f16 or bf16
  std::int64_t n = 0;  ///< rows of b: columns of c
  std::int64_t k = 0;  ///< columns of a and of b; rows of b are whole blocks, of a 16 bytes
  Activation activation = Activation::none;
  bool gated = false;
  bool q8_1 = false;        ///< a is rounded to Q8_1 by few rows; weights are quantised ones
  std::int64_t experts = 0; ///< 1 to 2048: matrices of b; 0: b is one matrix
  int topk = 1;             ///< with experts: slots of a token, 1 to 64
  /// With experts, 0 to 256. 0: `ids` names the expert of each slot, and slots are multiplied one by one. Otherwise
  /// the slots are sorted as moe_sort does it, with units of so many places, and those of an expert are
  /// multiplied together.
  int unit = 0;
  bool residual = false; ///< a matrix (m, n) of c's type is added; not of gated products or experts
  /// The weights b, and up too: those of all experts, whose rows follow one another.
  GgmlWeight weight() const { return {format, layout, experts ? experts * n : n, k}; }
  friend bool operator==(const GgmlGemmProblem &, const GgmlGemmProblem &) = default;
};

/// How a product is shared among threads.
struct FLYDSL_API GgmlGemmConfig {
  /// True: blocks of threads compute tiles of c by matrix instructions; the weights are put into
  /// shared memory as numbers. False: threads read blocks of weights, multiply them as they come by
  /// the rows of a, and add up.
  bool matrix = false;
  /// matrix: weights become numbers in the registers that are multiplied, and each wave brings its
  /// part of a. The waves of a block share k, and each computes the whole tile. For few rows of a, where
  /// tiles in shared memory leave most of a GPU without work.
  bool registers = false;
  int tile_m = 1;    ///< rows of a that are multiplied together
  int tile_n = 0;    ///< matrix: columns of c of a block
  int lanes = 16;    ///< otherwise: threads of a row of b, a power of two up to the wave,
  int rows = 1;      ///< and rows of b that the same threads take
  int threads = 256; ///< of a block
  friend bool operator==(const GgmlGemmConfig &, const GgmlGemmConfig &) = default;
};

/// The tensors of a call with m rows. Rows of a start at multiples of 16 bytes.
struct FLYDSL_API GgmlGemmArgs {
  TensorArg a;                              ///< (m, k), contiguous rows
  GgmlTensor b;                             ///< of problem.weight()
  std::optional<GgmlTensor> up = {};        ///< as b, if the product is gated
  std::optional<TensorArg> ids = {};        ///< (m, topk), i32, contiguous: experts without a unit
  std::optional<TensorArg> sorted_ids = {}; ///< (places), i32: with a unit; moe_sort writes them,
  std::optional<TensorArg> unit_experts = {}; ///< (places / unit), i32: and these
  std::optional<TensorArg> residual = {};     ///< (m, n), contiguous rows, as c; it may be c
  TensorArg c; ///< (m, n), contiguous rows; with experts (m, topk, n), contiguous tokens
};

template <> struct FamilyOf<GgmlGemmProblem> {
  using Config = GgmlGemmConfig;
  using Args = GgmlGemmArgs;
  static constexpr std::string_view name = "ggml_gemm";
};
using GgmlGemmPlan = Plan<GgmlGemmProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
