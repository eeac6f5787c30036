// What families over rows have in common: their configurations, and how their rows are launched.
#pragma once

#include "blocks/rows/row_rules.h"
#include "frame/family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The rows of a problem, which its family describes by the static function `shape`.
template <Problem P> RowShape rowShape(const P &problem) { return Family<P>::shape(problem); }

/// The base of a family whose configuration is a RowConfig. A family that keeps less of a row in
/// registers has its own kLimits; one with another rule has a function of the same name.
template <Problem Of, auto Rows = nullptr> struct RowFamily : FamilyDefaults<Of, Rows> {
  static constexpr RowLimits kLimits{};
  static Support supported(const Of &problem, const RowConfig &config, const Target &target) {
    return rowsSupported(rowShape(problem), config, Family<Of>::kLimits, target);
  }
  static RowConfig choose(const Of &problem, std::int64_t, const Target &target) {
    return chooseRows(rowShape(problem), Family<Of>::kLimits, target);
  }
  static std::vector<RowConfig> candidates(const Of &problem, std::int64_t, const Target &target) {
    return rowCandidates(rowShape(problem), target);
  }
};

/// The parameters of a launch for m rows.
template <Problem P> LaunchConfig onRows(const Call<P> &call, std::int64_t m) {
  return call.over(m, call.config.block / call.config.threads, call.config.block);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
