// Convolutions, between their host file and their kernel.
#pragma once

#include "frame/family.h"
#include "gemm/gemm_shape.h"

#include <flydsl/kernels/conv.h>

#include <array>
#include <numeric>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The modes of an image, from the outermost on.
inline constexpr int kImageModes = 3;

template <class Side> struct ConvParams {
  Strided<Side, 4> x;                                  // (n, d, h, w, channels)
  Strided<Side, 0> weight, y, bias;                    // (filters, K), (m, filters), (filters)
  std::array<Param<Side, Int32>, kImageModes> in, out; // extents of images of x, and of rows
  Param<Side, Int32> images;                           // n
  Param<Side, Int32> m;                                // rows: elements of y, or of a phase of it
  Strided<Side, 0> parts;                              // (parts of K, m, filters): see partsOf
  Strided<Side, 0> scaleX, scaleWeight;                // (1), (1) or (filters)
  std::array<Param<Side, Int32>, kImageModes> ofY;     // extents of images of y
  Param<Side, Int32> far; // 1: a tile's windows are found from their first element on, see isFar
};
/// Sums up all of K, or a part of it, which it writes to the workspace.
inline constexpr KernelOf<ConvParams> kConv{"conv"}, kConvParts{"conv_parts"};
/// Adds the parts, and finishes them.
inline constexpr KernelOf<ConvParams> kConvSum{"conv_sum"};

inline std::array<ConvAxis, kImageModes> axesOf(const ConvProblem &problem) {
  return {problem.depth, problem.height, problem.width};
}
/// The elements of images (n, ..., channels) for each channel.
inline std::int64_t elementsOf(const TensorArg &images) {
  std::int64_t elements = 1;
  for (int mode = 0; mode + 1 < images.rank(); ++mode)
    elements *= images.shape()[std::size_t(mode)];
  return elements;
}
/// What a convolution does with images.
struct ImageWork {
  int rank;
  std::array<ConvAxis, kImageModes> axes;
  bool transposed;
  /// The phases along each dimension; 1 if the convolution is not transposed.
  int phases(std::size_t axis) const { return transposed ? axes[axis].stride : 1; }
};
/// The phases of the elements of y along a dimension of a transposed convolution: those with the same
/// remainder by the stride, see conv/taps.h.
struct PhasesOfAxis {
  explicit PhasesOfAxis(const ConvAxis &axis)
      : common(std::gcd(axis.stride, axis.dilation)), apart(axis.stride / common),
        taps((axis.kernel + apart - 1) / apart) {
    while (inverse < apart && axis.dilation / common * inverse % apart != 1 % apart)
      ++inverse;
  }
  int common;      ///< the greatest common divisor of stride and dilation
  int apart;       ///< from a tap of a phase to the next
  int taps;        ///< of the phase that has the most
  int inverse = 1; ///< dilation / common times it is 1, up to multiples of apart
};
inline ImageWork workOf(const ConvProblem &problem) {
  return {problem.rank, axesOf(problem), problem.transposed};
}
/// All of them; 1 if the convolution is not transposed.
inline int phasesOf(const ConvProblem &problem) {
  const ImageWork work = workOf(problem);
  return work.phases(0) * work.phases(1) * work.phases(2);
}
/// The taps that a row of the product has.
inline std::int64_t tapsOfRow(const ConvProblem &problem) {
  if (!problem.transposed)
    return problem.taps();
  std::int64_t taps = 1;
  for (const ConvAxis &axis : axesOf(problem))
    taps *= PhasesOfAxis(axis).taps;
  return taps;
}

/// The product of a group: rows are elements of y, or of a phase of it, and columns the
/// group's filters.
inline GemmProblem productOf(const ConvProblem &problem) {
  const int channels = problem.channels / std::max(problem.groups, 1);
  return {.a = problem.x,
          .b = problem.weight,
          .c = problem.y,
          .a_layout = OperandLayout::rows,
          .b_layout = OperandLayout::rows,
          .n = problem.filters / std::max(problem.groups, 1),
          .k = tapsOfRow(problem) * channels,
          .bias = problem.bias,
          .activation = problem.activation};
}

/// The instruction of a tile: the longest one whose parts fill the steps of the waves that share K. Both
/// operands go through the ring, where zeros follow the end of K; so K may end inside of a part.
inline std::optional<MatrixForm> convForm(const ConvProblem &problem, const GemmConfig &config,
                                          const Target &target) {
  const int step = config.tile_k / config.waves_k;
  return matrixForm(target, problem.x, problem.weight, step, step);
}

/// The sums of parts of K: those of a group's filters after those of another, each of whole pieces.
inline std::int64_t columnsOfGroup(const ConvProblem &problem, const GemmConfig &config) {
  return columnsOfParts(productOf(problem), config);
}
inline PartsShape partsOf(const ConvProblem &problem, const GemmConfig &config) {
  PartsShape shape = partsShape(productOf(problem), config);
  shape.n = problem.groups * columnsOfGroup(problem, config);
  return shape;
}

template <> struct Family<ConvProblem> : FamilyDefaults<ConvProblem, &ConvArgs::y> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::int64_t rows(const A &args) { return elementsOf(args.y); }
  static std::size_t workspaceBytes(const P &problem, const C &config, std::int64_t m) {
    return config.split_k == 1 ? 0 : partsOf(problem, config).bytes(m);
  }
  static KernelNames kernels(const P &, const C &config) {
    return config.split_k == 1 ? KernelNames{&kConv} : KernelNames{&kConvParts, &kConvSum};
  }
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
