// What products with weights in blocks check of their matrices, with experts or not.
#pragma once

#include "blocks/products/product_rules.h"
#include "frame/arguments.h"
#include "frame/index_rows.h"
#include "ggml/ggml_rules.h"

#include <flydsl/kernels/ggml_gemm.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A block's rows of a, and of c, span fewer bytes.
inline constexpr std::int64_t kMostTileBytes = 1 << 30;

/// Checks a, b, up and c of m rows of a. A block has `tileM` of them. With experts the rows of a tile
/// are found one by one.
template <class Args>
void checkGgmlOperands(const Arguments &arguments, const GgmlGemmProblem &problem, int tileM,
                       const Args &args, std::int64_t m) {
  const std::int64_t n = problem.n, topk = problem.topk;
  const bool hasExperts = problem.experts != 0;
  if (problem.unit && m > kTokensOfIds) [[unlikely]]
    arguments.fail("a has " + std::to_string(m) + " tokens; a number of 24 bits counts them, " +
                   std::to_string(kTokensOfIds) + " are the most");
  const Reach tile =
      hasExperts ? Reach{} : Reach{.counts = {tileM}, .bytes = kMostTileBytes, .what = "a tile"};
  arguments.check(args.a, {.name = "a",
                           .dtype = problem.a,
                           .shape = {"m, k", m, problem.k},
                           .free = 1,
                           .align = kPieceBytes / problem.a.bytes(),
                           .reason = kLoadedPieces,
                           .reach = tile});
  Expected c = productRows(problem.c, m, n, tile);
  if (hasExperts)
    c.shape = {"m, topk, n", m, topk, n};
  arguments.check(args.c, c);
  checkBlocks(arguments, "b", args.b, problem.weight());
  if (args.up.has_value() != problem.gated) [[unlikely]]
    arguments.failGiven("up", problem.gated);
  if (problem.gated)
    checkBlocks(arguments, "up", *args.up, problem.weight());
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
