// Rotary position embedding, between its host file and its kernel.
#pragma once

#include "blocks/attention/head_rules.h"
#include "frame/family.h"
#include "rope/head_shape.h"

#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The run-time arguments of the kernel by place: addresses, and distances in elements.
enum RopeNumber : std::size_t {
  // For each tensor of heads its address, and the distances of tokens and of heads.
  kQ,
  kK = kQ + 3,
  kV = kK + 3,
  kQOut = kV + 3,
  kKOut = kQOut + 3,
  // The address, and the distances of blocks, of places in a block (KvCache::pages) and of heads.
  kKCache = kKOut + 3,
  kVCache = kKCache + 4,
  kPositions = kVCache + 4,
  kSlots,
  // The address, and the distance of rows.
  kCos,
  kSin = kCos + 2,
  kRows = kSin + 2, ///< rows of cos and sin
  kPlaces,          ///< tokens that the cache holds
  kKCacheScale,
  kVCacheScale,
  kQWeight,
  kKWeight,
  kQScale,
  kKScale,
  kTokens,
  kRopeNumbers,
};
using RopeNumbers = std::array<std::int64_t, kRopeNumbers>;
inline constexpr KernelName<RopeNumbers> kRope{"rope"};

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
