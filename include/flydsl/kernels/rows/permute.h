// The modes of a tensor in another order: transposes, single and in batches, NCHW to NHWC and back,
// heads before tokens and after them.
#pragma once

#include <flydsl/kernels/plan.h>

#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// y[i0, i1, ...] = x with the same coordinates, where mode i of y is mode order[i] of x: numpy's
/// transpose and torch's permute, whose result is written to memory.
///
///   transpose                  {.order = {1, 0}}
///   transposes of a batch      {.rank = 3, .order = {0, 2, 1}}
///   NCHW to NHWC               {.rank = 4, .order = {0, 2, 3, 1}}
///   NHWC to NCHW               {.rank = 4, .order = {0, 3, 1, 2}}
///
/// Elements are moved as they are. The last modes of x and of y are contiguous; all others lie at any
/// distance. Modes that lie one after another in both tensors count as one, as the pixels of an image
/// without gaps do.
struct FLYDSL_API PermuteProblem {
  static constexpr int kMostModes = 5; ///< of a tensor

  DType type = bf16; ///< of 8, 16, 32 or 64 bits
  int rank = 2;      ///< modes of x and y, 2 to 5
  /// Each of 0 to below `rank` once; those after these count for nothing.
  std::array<int, kMostModes> order = {1, 0, 2, 3, 4};
  /// A power of two, up to 16 bytes: what lies along the last mode of x, and along that of y, starts at
  /// multiples of so many elements and has a multiple of so many. Memory is read and written as many
  /// at a time.
  int row_align = 1;
  friend bool operator==(const PermuteProblem &, const PermuteProblem &) = default;
};

/// How the elements are shared among threads: a block has square tiles of 128 bytes a side, or, where
/// the last mode stays the last, pieces of rows.
struct FLYDSL_API PermuteConfig {
  int block = 256; ///< threads: 64, 128, 256 or 512
  friend bool operator==(const PermuteConfig &, const PermuteConfig &) = default;
};

/// The tensors of a call, in memory of their own. m of `choose` is the product of the extents of x but
/// the last.
struct FLYDSL_API PermuteArgs {
  TensorArg x, y;
};

template <> struct FamilyOf<PermuteProblem> {
  using Config = PermuteConfig;
  using Args = PermuteArgs;
  static constexpr std::string_view name = "permute";
};
using PermutePlan = Plan<PermuteProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
