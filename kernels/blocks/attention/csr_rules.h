// The checks of the pages of sequences one after another: of a call, and of their numbers.
#pragma once

#include "blocks/attention/csr_pages.h"
#include "frame/arguments.h"
#include "frame/index_rows.h"

#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Checks the pages of n sequences, which there are if `csr`.
inline CsrPages<OnHost> csrPages(const Arguments &arguments, bool csr,
                                 const std::optional<TensorArg> &indptr,
                                 const std::optional<TensorArg> &indices,
                                 const std::optional<TensorArg> &lengths, std::int64_t n) {
  const std::int64_t pages = indices && indices->rank() == 1 ? indices->shape()[0] : 0;
  return {.starts = arguments.operandIf<0>(
              csr, indptr, {.name = "kv_indptr", .dtype = i32, .shape = {"n + 1", n + 1}}),
          .pages = arguments.operandIf<0>(
              csr, indices, {.name = "kv_indices", .dtype = i32, .shape = {"pages", pages}}),
          .lengths = arguments.operandIf<0>(
              csr, lengths, {.name = "kv_last_page_len", .dtype = i32, .shape = {"n", n}})};
}

/// What must hold of the numbers. `Blocks`: the blocks of the cache of a call; `Most`: the keys that a
/// sequence may have.
template <class P, class A, std::int64_t (*Blocks)(const A &),
          std::int64_t (*Most)(const P &, const A &)>
std::vector<IndexRowOf<P, A>> csrRows(const P &problem) {
  return {{.rule = {.argument = "kv_indptr",
                    .kind = IndexKind::rising,
                    .meaning = "the numbers of kv_indices, and no more of a sequence than its keys "
                               "may have"},
           .values =
               [](const P &p, const A &args) {
                 return IndexValues{.address = address(args.kv_indptr),
                                    .count = args.kv_indptr->shape()[0],
                                    .end = args.kv_indices->shape()[0] + 1,
                                    .most = (Most(p, args) + p.page - 1) / p.page};
               }},
          {.rule = {.argument = "kv_indices", .meaning = "the blocks of the cache"},
           .values =
               [](const P &, const A &args) {
                 return IndexValues{.address = address(args.kv_indices),
                                    .count = args.kv_indices->shape()[0],
                                    .end = Blocks(args)};
               }},
          {.rule = {.argument = "kv_last_page_len", .meaning = "the tokens of a page"},
           .values = [](const P &p, const A &args) {
             return IndexValues{.address = address(args.kv_last_page_len),
                                .count = args.kv_last_page_len->shape()[0],
                                .end = p.page + 1};
           }}};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
