// Convolutions, between their host file and their kernel.
#pragma once

#include "frame/family.h"
#include "gemm/gemm_shape.h"

#include <flydsl/kernels/conv.h>

#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The modes of an image, from the outermost on.
inline constexpr int kImageModes = 3;

template <class Side> struct ConvParams {
  Strided<Side, 4> x;                                  // (n, d, h, w, channels)
  Strided<Side, 0> weight, y, bias;                    // (filters, K), (m, filters), (filters)
  std::array<Param<Side, Int32>, kImageModes> in, out; // extents of images of x and of y
  Param<Side, Int32> images;                           // n
  Param<Side, Int32> m;                                // elements of y for each filter
  Strided<Side, 0> parts;                              // (parts of K, m, filters): see partsOf
};
/// Sums up all of K, or a part of it, which it writes to the workspace.
inline constexpr KernelOf<ConvParams> kConv{"conv"}, kConvParts{"conv_parts"};
/// Adds the parts, and finishes them.
inline constexpr KernelOf<ConvParams> kConvSum{"conv_sum"};

inline std::array<ConvAxis, kImageModes> axesOf(const ConvProblem &problem) {
  return {problem.depth, problem.height, problem.width};
}
/// The product of a group: rows are elements of y, columns the group's filters.
inline GemmProblem productOf(const ConvProblem &problem) {
  const int channels = problem.channels / std::max(problem.groups, 1);
  return {.a = problem.x,
          .b = problem.weight,
          .c = problem.y,
          .a_layout = OperandLayout::rows,
          .b_layout = OperandLayout::rows,
          .n = problem.filters / std::max(problem.groups, 1),
          .k = problem.taps() * channels,
          .bias = problem.bias,
          .activation = problem.activation};
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
  static std::int64_t rows(const A &args);
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
