// The numbers by which the places of experts are found.
#include "grouped_gemm/grouped_gemm_family.h"

#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

std::vector<Family<GroupedGemmProblem>::IndexRow>
Family<GroupedGemmProblem>::indexRows(const GroupedGemmProblem &problem, const GemmConfig &) {
  std::vector<IndexRow> rows;
  if (problem.groups == GroupLayout::units)
    rows.push_back(
        {.rule = {.argument = "unit_experts", .meaning = "the experts", .orNone = true},
         .values = [](const P &p, const A &args) {
           return IndexValues{.address = address(args.unit_experts),
                              .count = args.unit_experts->shape()[0],
                              .end = p.experts};
         }});
  if (problem.groups != GroupLayout::masked)
    rows.push_back({.rule = {.argument = "offsets",
                             .kind = IndexKind::rising,
                             .meaning = "the places"},
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
    // Padding has the number after those of all slots and tokens.
    rows.push_back({.rule = {.argument = "sorted_ids", .slots = true},
                    .values = [](const P &p, const A &args) {
                      const std::int64_t tokens =
                          (p.a_rows == GroupedRows::tokens ? args.a : args.c).shape()[0];
                      return IndexValues{.address = address(args.sorted_ids),
                                         .count = args.sorted_ids->shape()[0],
                                         .end = (std::int64_t(p.topk) << kTokenBitsOfIds) + tokens + 1};
                    }});
  return rows;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
