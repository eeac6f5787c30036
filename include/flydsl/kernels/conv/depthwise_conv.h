// Depthwise convolutions of one, two and three dimensions: each channel has filters of its own.
#pragma once

#include <flydsl/kernels/conv.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// y[n, d, h, w, c multiplier + q] = act(bias[c multiplier + q] + sum over the taps (r, s, t) of
///   weight[r, s, t, c multiplier + q] x[n, d', h', w', c]),
///
/// where d' is the element that tap r of `depth` reads, and so on, as in ConvProblem with a group for
/// each channel; so is a transposed one. Sums are in f32.
///
/// Channels are the last mode of x, y and weight: the layout of TensorFlow's depthwise filters
/// (taps, channels, multiplier). torch's `weight` has its filters moved to the end.
struct FLYDSL_API DepthwiseConvProblem {
  DType x = bf16;      ///< f32, f16 or bf16
  DType weight = bf16; ///< f32, f16 or bf16
  DType y = bf16;      ///< f32, f16 or bf16, also of bias
  int rank = 2;        ///< dimensions of an image: 1 has `width`, 2 `height` too, 3 all
  int channels = 0;    ///< of x, up to 2^20
  int multiplier = 1;  ///< filters of a channel, 1 to 64
  ConvAxis depth = {}, height = {}, width = {};
  bool bias = false;
  Activation activation = Activation::none;
  bool transposed = false; ///< see ConvProblem
  /// Of a filter.
  std::int64_t taps() const { return std::int64_t(depth.kernel) * height.kernel * width.kernel; }
  /// Channels of y.
  int filters() const { return channels * multiplier; }
  friend bool operator==(const DepthwiseConvProblem &, const DepthwiseConvProblem &) = default;
};

/// How the work is shared among threads: a thread has all filters of some neighbouring channels, of a
/// run of neighbours along the width of y. What the windows of a run share is read once.
struct FLYDSL_API DepthwiseConvConfig {
  int channels = 8; ///< of a thread: a power of two that divides the problem's, up to 16 bytes
  int outputs = 4; ///< of a run: a power of two up to 16. channels outputs multiplier is at most 64
  int block = 256; ///< threads of a block: a multiple of the wave
  friend bool operator==(const DepthwiseConvConfig &, const DepthwiseConvConfig &) = default;
};

/// The tensors of a call. Extents that rank does not have are left out, as in ConvArgs.
struct FLYDSL_API DepthwiseConvArgs {
  /// (n, [[d,] h,] w, channels): channels are contiguous, all other modes at any distance that is a
  /// multiple of the configuration's channels.
  TensorArg x;
  TensorArg weight;                   ///< ([[kd,] kh,] kw, channels multiplier), contiguous
  std::optional<TensorArg> bias = {}; ///< (channels multiplier)
  /// (n, [[od,] oh,] ow, channels multiplier), contiguous, with the extents of ConvArgs::y.
  TensorArg y;
};

template <> struct FamilyOf<DepthwiseConvProblem> {
  using Config = DepthwiseConvConfig;
  using Args = DepthwiseConvArgs;
  static constexpr std::string_view name = "depthwise_conv";
};
using DepthwiseConvPlan = Plan<DepthwiseConvProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
