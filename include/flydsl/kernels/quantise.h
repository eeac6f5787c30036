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

/// How a block's scale, a power of two, is made of its largest magnitude.
enum class BlockScale : std::uint8_t {
  /// 2^(floor(log2 largest) - e), where e is the exponent of the type's largest number: OCP's
  /// "Microscaling Formats (MX) Specification" 1.0, section 6.3. Values past the largest number are
  /// limited to it.
  floor,
  /// 2^ceil(log2(largest / max)): the smallest that limits no value.
  ceil,
};

/// q = x / scale, rounded to nearest even and limited, see Quantisation. For blocks, scale is of
/// f8E8M0FNU, and a block with a NaN or an infinity has the scale NaN.
struct FLYDSL_API QuantiseProblem {
  DType x = f16; ///< f32, f16 or bf16
  /// i8 or a float of 8 bits; for blocks f8E4M3FN, f8E5M2 or f4E2M1FN, of which two share a byte
  /// and the first has the low bits.
  DType q = i8;
  std::int64_t n = 0; ///< elements of a row; for blocks a multiple of 32
  ScaleOf scale = ScaleOf::row;
  BlockScale block = BlockScale::floor; ///< used for blocks alone
  /// A power of two: every row of x and q starts at a multiple of so many elements, up to 16 bytes.
  /// 0: the largest up to 16 that divides n.
  int row_align = 0;
  friend bool operator==(const QuantiseProblem &, const QuantiseProblem &) = default;
};

/// The tensors of a call. Matrices have contiguous rows.
struct FLYDSL_API QuantiseArgs {
  TensorArg x; ///< (m, n)
  TensorArg q; ///< (m, n)
  /// f32: (1) read for ScaleOf::given, written for ScaleOf::tensor; (m) written for ScaleOf::row.
  /// f8E8M0FNU: (m, n / 32) written for ScaleOf::block.
  TensorArg scale;
};

template <> struct FamilyOf<QuantiseProblem> {
  using Config = RowConfig;
  using Args = QuantiseArgs;
  static constexpr std::string_view name = "quantise";
};
using QuantisePlan = Plan<QuantiseProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
