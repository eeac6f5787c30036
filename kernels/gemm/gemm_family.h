// What the host file and the kernel file of products share: the names of the kernels and the functions of the
// family.
#pragma once

#include "frame/family.h"
#include "gemm/gemm_params.h"
#include "gemm/gemm_shape.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline constexpr KernelOf<GemmParams> kGemm{"gemm"};
inline constexpr KernelOf<GemmBatchParams> kGemmBatch{"gemm_batch"};
inline constexpr KernelOf<GemmPartsParams> kGemmParts{"gemm_parts"};
inline constexpr KernelOf<GemmSumParams> kGemmSum{"gemm_sum"};
inline constexpr KernelOf<GemmSplitParams> kGemmSplit{"gemm_split"};

/// Whether a configuration's sizes are 1 at least, and how the waves of a block share its tile. All other
/// questions about a configuration rely on it.
Support wavesFit(const GemmConfig &config, const Target &target);

template <> struct Family<GemmProblem> : FamilyDefaults<GemmProblem, &GemmArgs::a> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const GemmConfig &config, const Target &target);
  /// The same of a loop that multiplies by an instruction of its own choice, as convolutions do.
  static Support supported(const P &problem, const GemmConfig &config, const MatrixForm &form,
                           const Target &target);
  static GemmConfig choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<GemmConfig> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &problem, const GemmConfig &config, std::int64_t m) {
    if (config.split_k == 1)
      return 0;
    return partsShape(problem, config).bytes(m) +
           (addsInLaunch(config) ? PartFlags::bytes(tilesOf(problem, config, m)) : 0);
  }
  /// m of a call.
  static std::int64_t rows(const GemmArgs &args) {
    return args.a.shape()[args.a.rank() == 3 ? 1 : 0];
  }
  static KernelNames kernels(const P &problem, const GemmConfig &config) {
    if (problem.batch)
      return {&kGemmBatch};
    if (addsInLaunch(config))
      return {&kGemmSplit};
    if (config.split_k > 1)
      return {&kGemmParts, &kGemmSum};
    return {&kGemm};
  }
  static std::vector<IndexRow> indexRows(const P &problem, const GemmConfig &config);
  static void launch(const Call<P> &call);
  static GemmArgs args(const P &problem, const GemmConfig &config, std::int64_t m,
                       const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
