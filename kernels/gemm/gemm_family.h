// Products, between their host file and their kernel.
#pragma once

#include "frame/family.h"
#include "gemm/gemm_shape.h"

#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// a, b, c, scale_a, scale_b, bias; the distances of the rows of a, b and c, and of the rows and
/// blocks of scale_a; the seed; m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::array<std::int64_t, 2>, std::int64_t, std::int32_t>
    kGemm{"gemm"};
/// The sums of parts of K: a, b, scale_a, scale_b, workspace; the distances of the rows of a and b,
/// and of the rows and blocks of scale_a; m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::array<std::int64_t, 2>, std::int32_t>
    kGemmParts{"gemm_parts"};
/// Both in one launch: a, b, c, scale_a, scale_b, bias, workspace and the first flag in it; the
/// distances of the rows of a, b and c, and of the rows and blocks of scale_a; the seed; m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::array<std::int64_t, 2>, std::int64_t, std::int32_t>
    kGemmSplit{"gemm_split"};
/// What adds them: workspace, c, scale_a, scale_b, bias; the distance
/// of the rows of c; the seed; m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int32_t>
    kGemmSum{"gemm_sum"};

template <> struct Family<GemmProblem> : FamilyDefaults<GemmProblem, &GemmArgs::a> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const GemmConfig &config, const Target &target);
  static GemmConfig choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<GemmConfig> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &problem, const GemmConfig &config, std::int64_t m) {
    if (config.split_k == 1)
      return 0;
    return partsShape(problem, config).bytes(m) +
           (addsInLaunch(config) ? PartFlags::bytes(tilesOf(problem, config, m)) : 0);
  }
  static std::vector<const AnyKernelName *> kernels(const P &, const GemmConfig &config) {
    if (addsInLaunch(config))
      return {&kGemmSplit};
    if (config.split_k > 1)
      return {&kGemmParts, &kGemmSum};
    return {&kGemm};
  }
  static void launch(const Call<P> &call);
  static GemmArgs args(const P &problem, const GemmConfig &config, std::int64_t m,
                       const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
