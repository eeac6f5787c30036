// Convolutions of one, two and three dimensions, as products whose operand is a view of the images:
// implicit GEMM.
#pragma once

#include <flydsl/kernels/gemm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// What a convolution does along one dimension: element o of y reads the elements
/// o stride + r dilation - before of x, r < kernel. Those outside of x are zeros.
struct FLYDSL_API ConvAxis {
  int kernel = 1;            ///< taps, 1 to 64
  int stride = 1;            ///< 1 to 64
  int dilation = 1;          ///< the distance between taps, 1 to 64
  int before = 0, after = 0; ///< zeros in front of x and after it, 0 to 1024
  /// The elements that the taps lie among.
  int reach() const { return (kernel - 1) * dilation + 1; }
  /// Elements of y for so many of x; 0 if x and its zeros are smaller than the filter.
  std::int64_t outputs(std::int64_t inputs) const {
    const std::int64_t room = inputs + before + after - reach();
    return room < 0 ? 0 : room / stride + 1;
  }
  /// The fewest elements that so many are computed from; less than 1 if there are none. Up to stride - 1
  /// more are as good.
  std::int64_t inputs(std::int64_t outputs) const {
    return (outputs - 1) * stride + reach() - before - after;
  }
  friend bool operator==(const ConvAxis &, const ConvAxis &) = default;
};

/// y[n, d, h, w, f] = act(bias[f] + sum over the taps (r, s, t) and the channels c of f's group of
///   weight[f, r, s, t, c] x[n, d', h', w', c]),
/// where d' is the element that tap r of `depth` reads, and so on. Sums are in f32 (of i8 exactly in
/// i32). As torch's convolutions this is a correlation: filters are not turned around.
///
/// Channels are the last mode of x and y ("NHWC"), and of a filter ("KRSC").
///
/// Transposed: each element of x goes to the elements of y from which a convolution of these axes
/// computes it. It is the gradient of a convolution by its operand, and torch's ConvTranspose:
///
///   y[n, d', h', w', f] = act(bias[f] + sum of weight[f, r, s, t, c] x[n, d, h, w, c] over all taps,
///     channels of f's group, and elements of x with d' = d stride + r dilation - before, and so on).
///
/// Factors: scale_x, then scale_weight, multiply the sum before the bias is added.
struct FLYDSL_API ConvProblem {
  DType x = bf16;      ///< f16, bf16, i8, or the target's 8-bit floats
  DType weight = bf16; ///< the same, or another 8-bit float
  DType y = bf16;      ///< f32, f16 or bf16, also of bias
  int rank = 2;        ///< dimensions of an image: 1 has `width`, 2 `height` too, 3 all
  int channels = 0;    ///< of x. Those of a group are a multiple of 16 bytes
  int filters = 0;     ///< channels of y
  int groups = 1;      ///< each has channels / groups channels of x, filters / groups of y
  ConvAxis depth = {}, height = {}, width = {};
  bool bias = false;
  Activation activation = Activation::none;
  bool transposed = false;
  Scales scale_x = Scales::none;      ///< none or per_tensor
  Scales scale_weight = Scales::none; ///< none, per_tensor, or per_row: one for each filter
  /// Of a filter.
  std::int64_t taps() const { return std::int64_t(depth.kernel) * height.kernel * width.kernel; }
  friend bool operator==(const ConvProblem &, const ConvProblem &) = default;
};

/// The tensors of a call. Extents that rank does not have are left out: (n, w, channels), (n, h, w,
/// channels) or (n, d, h, w, channels).
struct FLYDSL_API ConvArgs {
  /// Channels are contiguous, all other modes at any distance that is a multiple of 16 bytes.
  TensorArg x;
  TensorArg weight;                   ///< (filters, [[kd,] kh,] kw, channels / groups), contiguous
  std::optional<TensorArg> bias = {}; ///< (filters)
  /// (n, [[od,] oh,] ow, filters), contiguous: extents as ConvAxis::outputs says. Transposed: any
  /// extents whose ConvAxis::outputs are those of x, that is ConvAxis::inputs and up to stride - 1
  /// more (torch's output_padding).
  TensorArg y;
  std::optional<TensorArg> workspace = {}; ///< u8, plan.workspace_bytes(m) or more
  std::optional<TensorArg> scale_x = {};      ///< (1), f32
  std::optional<TensorArg> scale_weight = {}; ///< (1), or (filters), f32
};

/// A configuration is that of a product of rows of y and filters of a group: GemmLoop::ring over
/// operands in registers. If blocks share K (split_k), a second kernel adds their parts, in order.
template <> struct FamilyOf<ConvProblem> {
  using Config = GemmConfig;
  using Args = ConvArgs;
  static constexpr std::string_view name = "conv";
};
using ConvPlan = Plan<ConvProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
