// The numbers by which families of MoE find experts and tokens, as arguments of a call.
#pragma once

#include "frame/arguments.h"
#include "frame/index_rows.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The most experts that a router has: 64 for each lane of a wave of 32.
inline constexpr std::int64_t kMostExperts = 2048;
/// The most slots of a token, and places of a unit of sorted slots.
inline constexpr int kMostSlotsOfToken = 64, kLargestUnit = 256;
/// Slots and places have numbers of 32 bits.
inline constexpr std::int64_t kMostPlaces = 0x7fffffff;

/// The experts that ids tell apart, and the slots of a token.
template <class P> std::int64_t expertsOf(const P &problem) {
  if constexpr (requires { problem.experts(); })
    return problem.experts();
  else
    return problem.experts;
}
template <class P> int slotsOfToken(const P &problem) {
  if constexpr (requires { problem.topk(); })
    return problem.topk();
  else
    return problem.topk;
}

inline const TensorArg &givenTensor(const TensorArg &tensor) { return tensor; }
inline const TensorArg &givenTensor(const std::optional<TensorArg> &tensor) { return *tensor; }

/// `ids` (m, topk) of type i32: experts, -1 is none.
template <class P, class A> IndexRowOf<P, A> expertIdsRow(const P &problem) {
  return {.rule = {.argument = "ids",
                   .meaning = "the experts",
                   .orNone = true,
                   .columns = slotsOfToken(problem)},
          .values = [](const P &p, const A &args) {
            const TensorArg &ids = givenTensor(args.ids);
            return IndexValues{.address = address(ids),
                               .count = ids.shape()[0] * slotsOfToken(p),
                               .end = expertsOf(p)};
          }};
}
/// `unit_experts` (places / unit) of type i32: experts, -1 is none.
template <class P, class A> IndexRowOf<P, A> unitExpertsRow() {
  return {.rule = {.argument = "unit_experts", .meaning = "the experts", .orNone = true},
          .values = [](const P &p, const A &args) {
            return IndexValues{.address = address(args.unit_experts),
                               .count = args.unit_experts->shape()[0],
                               .end = expertsOf(p)};
          }};
}
/// `sorted_ids` (places) of type i32: slots of as many tokens as `Tokens` counts, or padding, which has the
/// number after those of all slots and tokens.
template <class P, class A, std::int64_t (*Tokens)(const P &, const A &)>
IndexRowOf<P, A> sortedIdsRow() {
  return {.rule = {.argument = "sorted_ids", .slots = true},
          .values = [](const P &p, const A &args) {
            return IndexValues{.address = address(args.sorted_ids),
                               .count = args.sorted_ids->shape()[0],
                               .end = (std::int64_t(slotsOfToken(p)) << kTokenBitsOfIds) +
                                      Tokens(p, args) + 1};
          }};
}
/// `expert_map` (experts) of type i32: the number of each expert on this rank, -1 is none.
template <class P, class A> IndexRowOf<P, A> expertMapRow() {
  return {.rule = {.argument = "expert_map",
                   .meaning = "the experts of this rank",
                   .orNone = true,
                   .distinct = true},
          .values = [](const P &p, const A &args) {
            return IndexValues{
                .address = address(args.expert_map), .count = expertsOf(p), .end = p.local};
          }};
}
/// `tokens` (1) of type i32: how many rows of the argument `Of` exist, which `meaning` names.
template <class P, class A, TensorArg A::*Of> IndexRowOf<P, A> tokensRow(const char *meaning) {
  return {.rule = {.argument = "tokens", .meaning = meaning},
          .values = [](const P &, const A &args) {
            return IndexValues{
                .address = address(args.tokens), .count = 1, .end = (args.*Of).shape()[0] + 1};
          }};
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
