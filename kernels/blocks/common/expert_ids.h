// The experts of tokens, as an argument of a call: ids (m, topk) of type i32, where -1 is none.
#pragma once

#include "frame/arguments.h"
#include "frame/index_rows.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What must hold of the ids of a family of MoE, whose problem has `topk` of them for each token.
template <class P, class A> IndexRowOf<P, A> expertIdsRow(const P &problem) {
  return {.rule = {.argument = "ids",
                   .meaning = "the experts",
                   .orNone = true,
                   .columns = problem.topk},
          .values = [](const P &p, const A &args) {
            return IndexValues{.address = address(args.ids),
                               .count = args.ids.shape()[0] * p.topk,
                               .end = p.experts};
          }};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
