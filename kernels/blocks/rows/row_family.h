// What families over rows have in common: their configurations, and how their rows are launched.
#pragma once

#include "blocks/common/near_bytes.h"
#include "blocks/quant/group_rules.h"
#include "blocks/rows/row_rules.h"
#include "frame/arguments.h"
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
  /// The number of rows, if a problem has it in device memory. Without the check, kernels take no more
  /// than the call has.
  static std::vector<IndexRowOf<Of, ArgsOf<Of>>> indexRows(const Of &problem, const RowConfig &) {
    if constexpr (requires { problem.rows; })
      if (problem.rows)
        return {{.rule = {.argument = "rows", .meaning = "the rows of x"},
                 .values = [](const Of &, const ArgsOf<Of> &args) {
                   return IndexValues{.address = address(args.rows),
                                      .count = 1,
                                      .end = (args.*Rows).shape()[0] + 1};
                 }}};
    return {};
  }
  static std::vector<RowConfig> candidates(const Of &problem, std::int64_t, const Target &target) {
    return rowCandidates(rowShape(problem), target);
  }
};

/// What is expected of m rows of n elements each, which may have gaps between them. `align` elements
/// are moved at a time.
inline Expected matrixOfRows(const char *name, DType dtype, std::int64_t m, std::int64_t n,
                             std::int64_t align, Use use = Use::read) {
  return {
      .name = name, .dtype = dtype, .shape = {"m, n", m, n}, .free = 1, .use = use, .align = align};
}

/// What is expected of a number of rows in device memory.
inline Expected rowCount() { return {.name = "rows", .dtype = i32, .shape = {"1", 1}}; }

/// The scales that a kernel writes for m rows of n elements: those of groups, whose modes are `modes`, or
/// without groups one of each row, or one number.
inline Expected writtenScales(const QuantGroups &groups, bool ofRow, std::int64_t m, std::int64_t n,
                              const char *modes = "m, n / group") {
  if (!groups)
    return {.name = "scale",
            .dtype = f32,
            .shape = ofRow ? Shape{"m", m} : Shape{"1", 1},
            .use = Use::written};
  return {.name = "scale",
          .dtype = groups.scale,
          .shape = {modes, m, n / groups.size},
          .free = 2,
          .use = Use::written,
          .reach = {.counts = {0, n / groups.size}, .bytes = kNearBytes, .what = "a row"}};
}

/// The parameters of a launch for m rows.
template <Problem P> LaunchConfig onRows(const Call<P> &call, std::int64_t m) {
  return call.over(m, call.config.block / call.config.threads, call.config.block);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
