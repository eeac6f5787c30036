// The numbers by which the places of experts are found.
#include "grouped_gemm/grouped_gemm_family.h"

#include "blocks/common/expert_ids.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// Those whose rows are found by ids.
std::int64_t tokensOfIds(const GroupedGemmProblem &problem, const GroupedGemmArgs &args) {
  return (problem.a_rows == GroupedRows::tokens ? args.a : args.c).shape()[0];
}

} // namespace

std::vector<Family<GroupedGemmProblem>::IndexRow>
Family<GroupedGemmProblem>::indexRows(const GroupedGemmProblem &problem, const GemmConfig &) {
  std::vector<IndexRow> rows;
  if (problem.groups == GroupLayout::units)
    rows.push_back(unitExpertsRow<P, A>());
  if (problem.groups != GroupLayout::masked)
    rows.push_back(
        {.rule = {.argument = "offsets", .kind = IndexKind::rising, .meaning = "the places"},
         .values = [](const P &p, const A &args) {
           return IndexValues{.address = address(args.offsets),
                              .count = p.experts + 1,
                              .end = Family<P>::rows(args) + 1};
         }});
  if (problem.groups != GroupLayout::offsets)
    rows.push_back({.rule = {.argument = "counts", .meaning = "the places of an expert"},
                    .values = [](const P &p, const A &args) {
                      const std::int64_t most = p.capacity ? p.capacity : Family<P>::rows(args);
                      return IndexValues{
                          .address = address(args.counts), .count = p.experts, .end = most + 1};
                    }});
  if (problem.has_ids())
    rows.push_back(sortedIdsRow<P, A, tokensOfIds>());
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
