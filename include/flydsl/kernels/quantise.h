// Quantisation of the rows of a matrix to integers and floats of 8 bits, and to the blocks of OCP's
// microscaling formats.
#pragma once

#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/quantisation.h>
#include <flydsl/kernels/row.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// What has a scale of its own.
enum class ScaleOf : std::uint8_t {
  given,  ///< one scale for all values, which is read: Quantisation::fixed
  tensor, ///< all values; the rule is that of Quantisation::row. x is read twice
  row,    ///< each row: Quantisation::row
  block,  ///< each 32 values of a row: the microscaling formats, see QuantiseProblem
};

/// q = x / scale, rounded to nearest even and limited, see Quantisation. A scale of f8E8M0FNU is
/// that of blocks, and NaN where a value is a NaN or an infinity.
struct FLYDSL_API QuantiseProblem {
  DType x = f16; ///< f32, f16 or bf16
  /// i8 or a float of 8 bits; with scales of f8E8M0FNU a float of 8 bits or f4E2M1FN, for blocks
  /// f8E4M3FN, f8E5M2 or f4E2M1FN. Two elements of f4E2M1FN share a byte; the first has the low bits.
  DType q = i8;
  std::int64_t n = 0; ///< elements of a row; whole blocks or groups
  ScaleOf scale = ScaleOf::row;
  BlockScale block = BlockScale::floor; ///< the rule of scales of f8E8M0FNU
  /// Of ScaleOf::block: scales lie as products of gfx950 take them best (PreparedScales,
  /// GemmProblem::scale_a_layout); n is a multiple of 256 then.
  bool prepared_scales = false;
  /// A power of two: every row of x and q starts at a multiple of so many elements, up to 16 bytes.
  /// 0: the largest up to 16 that divides n.
  int row_align = 0;
  /// ScaleOf::row: neighbours of a row that have a scale of their own, a power of two from 16 on, such
  /// as the 128 of products with scales of blocks. 0: all of the row.
  int group = 0;
  DType group_scale = f32; ///< of groups: f32, or f8E8M0FNU, powers of two
  bool smooth = false;     ///< x is multiplied by smooth, one factor a column, first (SmoothQuant)
  DType smooth_type = f32; ///< f32, f16 or bf16
  /// The number of rows is in device memory, and m is an upper bound: later rows are neither read nor
  /// written. A captured graph computes the rows that there are when it runs.
  bool rows = false;
  friend bool operator==(const QuantiseProblem &, const QuantiseProblem &) = default;
};

/// The tensors of a call. Matrices have contiguous rows.
struct FLYDSL_API QuantiseArgs {
  TensorArg x; ///< (m, n)
  TensorArg q; ///< (m, n)
  /// f32: (1) read for ScaleOf::given, written for ScaleOf::tensor; (m) written for ScaleOf::row.
  /// f8E8M0FNU: (m, n / 32) written for ScaleOf::block, prepared ones in the shape of PreparedScales, whose
  /// bytes past the last row keep what they had. Of groups (m, n / group), written; rows and
  /// columns may lie at any distance, so that either may be contiguous.
  TensorArg scale;
  std::optional<TensorArg> smooth = {}; ///< (n)
  std::optional<TensorArg> rows = {};   ///< (1), i32: 0 to m
};

template <> struct FamilyOf<QuantiseProblem> {
  using Config = RowConfig;
  using Args = QuantiseArgs;
  static constexpr std::string_view name = "quantise";
};
using QuantisePlan = Plan<QuantiseProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
