// Rows by their numbers, moved as they are: blocks of a cache that are copied, brought in or put out,
// tokens that are gathered to lie one after another, rows that are put where they belong.
#pragma once

#include <flydsl/kernels/plan.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// y[to[i], :] = x[from[i], :] for each i below m. Without `gather` row i of x is taken, without
/// `scatter` row i of y is written. A pair with a number that is negative or past the last row is left
/// out: its row of y stays as it is. Numbers of `to` differ from each other.
///
/// Elements are moved as they are. A row may be anything that is contiguous: a block of a cache, a token's
/// heads, a hidden state.
struct FLYDSL_API CopyRowsProblem {
  DType type = bf16;    ///< of 8, 16, 32 or 64 bits
  std::int64_t n = 0;   ///< elements of a row
  bool gather = false;  ///< there is the argument `from`
  bool scatter = false; ///< there is the argument `to`; one of both there is at least
  DType index = i32;    ///< of from and to: i32 or i64
  /// A power of two: every row of x and y starts at a multiple of so many elements, up to 16 bytes. 0:
  /// the largest up to 16 that divides n.
  int row_align = 0;
  friend bool operator==(const CopyRowsProblem &, const CopyRowsProblem &) = default;
};

/// How rows are shared among threads.
struct FLYDSL_API CopyRowsConfig {
  int block = 256; ///< threads: 64 to 1024, a power of two
  friend bool operator==(const CopyRowsConfig &, const CopyRowsConfig &) = default;
};

/// The tensors of a call, with contiguous rows at any distance. y may be x, as blocks of one cache are
/// copied: then no row that `to` names is one that `from` names. Either may be pinned memory of the host.
struct FLYDSL_API CopyRowsArgs {
  TensorArg x;                        ///< (rows, n), or (m, n) without `gather`
  std::optional<TensorArg> from = {}; ///< (m)
  std::optional<TensorArg> to = {};   ///< (m)
  TensorArg y;                        ///< (rows, n), or (m, n) without `scatter`
};

template <> struct FamilyOf<CopyRowsProblem> {
  using Config = CopyRowsConfig;
  using Args = CopyRowsArgs;
  static constexpr std::string_view name = "copy_rows";
};
using CopyRowsPlan = Plan<CopyRowsProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
