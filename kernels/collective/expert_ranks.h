// What dispatch and combine have in common: which experts a rank has, and the blocks of their launches.
#pragma once

#include "blocks/common/expert_ids.h"
#include "collective/group_call.h"
#include "frame/index_rows.h"

#include <flydsl/kernels/row.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A matrix of a rank's call whose rows are moved `align` elements at a time.
inline Expected movedRows(const char *name, DType type, const Shape &shape, std::int64_t align,
                          Use use) {
  return {.name = name,
          .dtype = type,
          .shape = shape,
          .free = 1,
          .use = use,
          .align = align,
          .reason = "as many elements of a row are moved at a time"};
}

/// Whether the ranks can share experts and tokens as the problem says.
template <class P> Support expertsSupported(const P &problem) {
  const Support basic = firstRefusal(
      {ranksSupported(problem.ranks), rangeSupported("topk", problem.topk, 1, kMostSlotsOfToken),
       rangeSupported("tokens", problem.tokens, 1, kTokensOfIds / problem.ranks)});
  if (!basic)
    return basic;
  if (problem.experts < problem.ranks || problem.experts % problem.ranks)
    return Support::no(is("experts", problem.experts) + "; each of the " +
                       std::to_string(problem.ranks) +
                       " ranks has the same number of them, 1 or more");
  return {};
}
/// Refuses more tokens of a rank than the problem has.
template <class P> void expectTokens(const Arguments &arguments, const P &problem, std::int64_t m) {
  if (m > problem.tokens)
    arguments.fail(is("m", m) + "; a rank has up to " + std::to_string(problem.tokens) +
                   " tokens in this problem");
}
/// The blocks of a launch that meets others: the same on all ranks, whatever their m.
inline std::int64_t meetingBlocks(const RowConfig &rows, int most, std::int64_t tokens) {
  const std::int64_t each = rows.block / rows.threads;
  return std::min<std::int64_t>((tokens + each - 1) / each, most);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
