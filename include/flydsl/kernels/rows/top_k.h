// The largest elements of long rows, by their numbers: which keys sparse attention looks at.
#pragma once

#include <flydsl/kernels/plan.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// Of row i, the numbers of its k largest elements among the first lengths[i], in the order of the row,
/// so that a run gives what every other does. Of equal ones the first are taken. A NaN is larger than all
/// numbers. -infinity is what a row has where it has nothing, such as a key that a token does not see:
/// it is never chosen. counts[i] says how many there are, k or all that the row has; numbers after
/// them are -1.
///
/// With `slots`, elements are the tokens of a sequence in the blocks of a cache, and there are their
/// places in the cache: of element j, page * block_table[s, j / page] + j % page, where s is the row's
/// sequence. This is the page table of DecodeProblem with pages of one token, and counts its seq_lens.
struct FLYDSL_API TopKProblem {
  DType x = f32;          ///< f32, f16 or bf16
  int k = 2048;           ///< 1 to 65536
  bool lengths = false;   ///< rows have elements of their own number
  bool indices = true;    ///< the numbers of elements are written
  bool slots = false;     ///< the places of elements are written; one of the two is
  int page = 64;          ///< slots: tokens of a block, 1 to 65536
  bool sequences = false; ///< slots: the sequence of each row is given; otherwise row i has row i
  /// A power of two: every row of x starts at a multiple of so many elements, up to 16 bytes.
  int row_align = 1;
  std::int64_t n = 65536; ///< elements of a row, about: for `choose`, `configs` and `tune`
  friend bool operator==(const TopKProblem &, const TopKProblem &) = default;
};

/// A block has a row.
struct FLYDSL_API TopKConfig {
  int block = 1024; ///< threads, from 256 on
  friend bool operator==(const TopKConfig &, const TopKConfig &) = default;
};

/// The tensors of a call, for m rows of n elements; those that the problem does not have are left out.
/// Matrices have contiguous rows at any distance.
struct FLYDSL_API TopKArgs {
  TensorArg x; ///< (m, n)
  /// (m), i32: 0 to n; any other number counts as the nearest of these.
  std::optional<TensorArg> lengths = {};
  std::optional<TensorArg> indices = {}; ///< (m, k), i32
  std::optional<TensorArg> slots = {};   ///< (m, k), i32
  /// (m, blocks of a sequence), i32: numbers of blocks, for all of the n elements; with `sequences`
  /// (s, blocks of a sequence).
  std::optional<TensorArg> block_table = {};
  std::optional<TensorArg> sequences = {}; ///< (m), i32: 0 to s - 1
  TensorArg counts;                        ///< (m), i32
};

template <> struct FamilyOf<TopKProblem> {
  using Config = TopKConfig;
  using Args = TopKArgs;
  static constexpr std::string_view name = "top_k";
};
using TopKPlan = Plan<TopKProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
