// What the host file and the kernel file of attention share: the names of the kernels and the functions
// of the family.
#pragma once

#include "attention/attention_params.h"
#include "attention/attention_shape.h"
#include "frame/family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline constexpr KernelOf<AttentionParams> kAttention{"attention"};
/// The kernel whose blocks have a part of the keys each and write to the workspace, and the kernel that
/// combines the parts.
inline constexpr KernelOf<AttentionParams> kAttentionParts{"attention_parts"};
inline constexpr KernelOf<AttentionParams> kAttentionCombine{"attention_combine"};

template <> struct Family<AttentionProblem> : FamilyDefaults<AttentionProblem> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &problem, const C &config, std::int64_t m) {
    return partialRows(problem, config).bytes(m);
  }
  static KernelNames kernels(const P &, const C &config) {
    if (config.splits > 1)
      return {&kAttentionParts, &kAttentionCombine};
    return {&kAttention};
  }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static std::int64_t rows(const A &args);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
