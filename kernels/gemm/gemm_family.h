// Products, between their host file and their kernel.
#pragma once

#include "frame/family.h"
#include "gemm/gemm_shape.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class P> class Compiler;

/// a, b, c, scale_a, scale_b, bias; the distances of the rows of a and c; m.
inline constexpr KernelName<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int64_t, std::int32_t>
    kGemm{"gemm"};

template <> struct Family<GemmProblem> {
  using P = GemmProblem;
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const GemmConfig &config, const Target &target);
  static GemmConfig choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<GemmConfig> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &, const GemmConfig &, std::int64_t) { return 0; }
  static std::vector<const AnyKernelName *> kernels(const P &, const GemmConfig &) {
    return {&kGemm};
  }
  static void launch(const Call<P> &call);
  static std::int64_t rows(const GemmArgs &args) { return args.a.shape()[0]; }
  static GemmArgs args(const P &problem, const GemmConfig &config, std::int64_t m,
                       const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
