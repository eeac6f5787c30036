// Rows of a matrix in one of ggml's block formats, by their numbers: an embedding.
#pragma once

#include <flydsl/kernels/ggml.h>
#include <flydsl/kernels/plan.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// y[i, :] = w(b)[ids[i], :], where w(b) are the weights that the blocks b stand for, rounded once.
/// A row of y whose id is negative or at least n is made of zeros.
struct FLYDSL_API GgmlRowsProblem {
  GgmlFormat format = GgmlFormat::q4_0;
  GgmlLayout layout = GgmlLayout::blocks;
  DType y = f32;      ///< f32, f16 or bf16
  DType index = i32;  ///< of ids: i32 or i64
  std::int64_t n = 0; ///< rows of b
  std::int64_t k = 0; ///< columns of b and y
  /// The weights b.
  GgmlWeight weight() const { return {format, layout, n, k}; }
  friend bool operator==(const GgmlRowsProblem &, const GgmlRowsProblem &) = default;
};

/// How a row is shared among threads.
struct FLYDSL_API GgmlRowsConfig {
  int block = 64; ///< threads of a block, which takes one row
  friend bool operator==(const GgmlRowsConfig &, const GgmlRowsConfig &) = default;
};

/// The tensors of a call with m rows.
struct FLYDSL_API GgmlRowsArgs {
  TensorArg ids; ///< (m)
  GgmlTensor b;  ///< of problem.weight()
  TensorArg y;   ///< (m, k), contiguous rows that start at multiples of 4 elements
};

template <> struct FamilyOf<GgmlRowsProblem> {
  using Config = GgmlRowsConfig;
  using Args = GgmlRowsArgs;
  static constexpr std::string_view name = "ggml_rows";
};
using GgmlRowsPlan = Plan<GgmlRowsProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
