// Rotary position embedding, between its host file and its kernel.
#pragma once

#include "blocks/attention/head_rules.h"
#include "frame/family.h"
#include "rope/head_shape.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct RopeParams {
  Strided<Side, 2> q, k, v;    // (m, heads, head)
  Strided<Side, 2> qOut, kOut; // (m, heads, head)
  /// The strides of blocks, of places in a block, which KvCache::packed does not have, and of heads.
  Strided<Side, 3> kCache, vCache;
  Strided<Side, 0> positions, slots;         // (m)
  Strided<Side, 1> cos, sin;                 // (rows, rotary / 2)
  Param<Side, Int64> rows;                   // of cos and sin
  /// Tokens that the cache holds, in 64 bits like its neighbours: one load brings them all.
  Param<Side, Int64> places;
  /// (blocks, page, heads); where they are given (heads), whose stride is 0 where they are one.
  Strided<Side, 3> kCacheScale, vCacheScale;
  Strided<Side, 0> qWeight, kWeight;         // (normed)
  Strided<Side, 0> qScale, kScale;           // Quantisation::fixed: one; (m, heads, head / group)
  Param<Side, Int32> tokens;                 // m
};
inline constexpr KernelOf<RopeParams> kRope{"rope"};

/// The groups of lanes that share the heads of a token.
inline int groupsOf(const RopeProblem &problem, const RopeConfig &config) {
  return (headsOf(problem) + config.heads - 1) / config.heads;
}

template <> struct Family<RopeProblem> : FamilyDefaults<RopeProblem> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kRope}; }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static std::int64_t rows(const A &args);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
