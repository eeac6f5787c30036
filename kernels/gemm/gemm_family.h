// Products, between their host file and their kernel.
#pragma once

#include "frame/family.h"
#include "gemm/gemm_shape.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct GemmParams {
  Strided<Side, 1> a, b, c;      // (m, k), (n, k), (m, n); the stride is that of rows, or columns
  Strided<Side, 2> scaleA;       // (m); of blocks: (m, k / 128)
  Strided<Side, 0> scaleB, bias; // (n); of blocks: (n / 128, k / 128)
  Param<Side, Int64> seed;
  Param<Side, Int32> m;
};
inline constexpr KernelOf<GemmParams> kGemm{"gemm"};

/// The sums of parts of K.
template <class Side> struct GemmPartsParams {
  Param<Side, Int64> workspace; // an address
  Strided<Side, 1> a, b;
  Strided<Side, 2> scaleA;
  Strided<Side, 0> scaleB;
  Param<Side, Int32> m;
};
inline constexpr KernelOf<GemmPartsParams> kGemmParts{"gemm_parts"};

/// What adds them.
template <class Side> struct GemmSumParams {
  Param<Side, Int64> workspace; // an address
  Strided<Side, 1> c;
  Strided<Side, 0> scaleA, scaleB, bias;
  Param<Side, Int64> seed;
  Param<Side, Int32> m;
};
inline constexpr KernelOf<GemmSumParams> kGemmSum{"gemm_sum"};

/// Both in one launch.
template <class Side> struct GemmSplitParams {
  Strided<Side, 1> a, b, c;
  Strided<Side, 2> scaleA;
  Strided<Side, 0> scaleB, bias;
  Param<Side, Int64> workspace, flags; // addresses; the flags are in the workspace
  Param<Side, Int64> seed;
  Param<Side, Int32> m;
};
inline constexpr KernelOf<GemmSplitParams> kGemmSplit{"gemm_split"};

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
  static KernelNames kernels(const P &, const GemmConfig &config) {
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
