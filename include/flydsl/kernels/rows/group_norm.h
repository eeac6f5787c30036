// Group norm of images, with channels last or first, and an activation after it.
#pragma once

#include <flydsl/kernels/activation.h>
#include <flydsl/kernels/plan.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// Where the channels of images are.
enum class ImageLayout : std::uint8_t {
  channels_last,  ///< (n, pixels, channels): NHWC
  channels_first, ///< (n, channels, pixels): NCHW
};

/// For each image and each of `groups` groups of neighbouring channels, with the mean and the variance
/// of all of the group's elements in the image:
///
///   y = (x - mean) / sqrt(variance + eps) * weight[channel] + bias[channel]
///
/// computed in f32, and the activation of that. torch.nn.functional.group_norm has the same
/// formula. One group is a layer norm of a whole image; as many groups as channels are an instance norm.
struct FLYDSL_API GroupNormProblem {
  DType x = bf16;      ///< f32, f16 or bf16
  DType weight = bf16; ///< f32, f16 or bf16, also of bias
  DType y = bf16;      ///< f32, f16 or bf16
  int channels = 0;    ///< up to 65536
  int groups = 32;     ///< a divisor of the channels
  ImageLayout layout = ImageLayout::channels_last;
  double eps = 1e-5;                        ///< at least 0, rounded to f32
  bool affine = true;                       ///< there are weight and bias
  Activation activation = Activation::none; ///< of the result: silu in diffusion models
  /// A power of two: every row of x and y, the channels of a pixel or the pixels of a channel, starts at
  /// a multiple of so many elements, up to 16 bytes; with channels first it has a multiple of so many
  /// pixels. 0: with channels last the largest up to 16 that divides the channels, with channels first 1.
  int row_align = 0;
  friend bool operator==(const GroupNormProblem &, const GroupNormProblem &) = default;
};

/// A block has a group of an image.
struct FLYDSL_API GroupNormConfig {
  int block = 512; ///< threads: a power of two from 64 on
  friend bool operator==(const GroupNormConfig &, const GroupNormConfig &) = default;
};

/// The tensors of a call, with the pixels of an image as one mode; images and rows lie at any distance.
/// m of `choose` is the number of images. y may be x.
struct FLYDSL_API GroupNormArgs {
  TensorArg x;                          ///< as ImageLayout says
  std::optional<TensorArg> weight = {}; ///< (channels)
  std::optional<TensorArg> bias = {};   ///< (channels)
  TensorArg y;                          ///< as x
};

template <> struct FamilyOf<GroupNormProblem> {
  using Config = GroupNormConfig;
  using Args = GroupNormArgs;
  static constexpr std::string_view name = "group_norm";
};
using GroupNormPlan = Plan<GroupNormProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
