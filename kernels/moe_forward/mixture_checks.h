// What the mixtures of experts check of a call: the router's operands, tokens, weights and scales.
#pragma once

#include "blocks/products/product_rules.h"
#include "frame/arguments.h"
#include "gemm/mx_operands.h"
#include "moe_forward/moe_forward_family.h"
#include "weight/weight_family.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Checks an operand that is there if `has` says so, and only then. Its first `free` modes have any
/// stride, and it is contiguous otherwise.
inline void checkVector(const Arguments &arguments, bool has,
                        const std::optional<TensorArg> &tensor, const char *name, DType dtype,
                        const Shape &shape, std::int64_t align = 1, int free = 0) {
  arguments.checkIf(has, tensor,
                    {.name = name,
                     .dtype = dtype,
                     .shape = shape,
                     .free = free,
                     .align = align,
                     .reason = "as many of a row are moved at a time"});
}

/// Checks all operands that mixtures share, for m tokens. `problem` has the experts whose weights are
/// here. The first `freeOfScaleX` modes of scale_x have any stride.
template <class Args>
void checkMixture(const Arguments &arguments, const MoeForwardProblem &problem,
                  const MoeParts &parts, const Args &args, std::int64_t m, int freeOfScaleX = 0) {
  const std::int64_t experts = problem.experts_here(), topk = problem.topk(),
                     hidden = problem.hidden, inner = problem.inner;
  arguments.check(args.logits, expectedLogits(problem.router, m));
  arguments.check(args.x, {.name = "x",
                           .dtype = problem.x,
                           .shape = {"m, hidden", m, hidden},
                           .free = 1,
                           .align = kPieceBytes * 8 / problem.x.memory_bits(),
                           .reason = kLoadedPieces});
  checkPrepared(arguments, "w1", args.w1.matrix, args.w1.memory, problem.weight1(), Use::read);
  checkPrepared(arguments, "w2", args.w2.matrix, args.w2.memory, problem.weight2(), Use::read);
  const auto vector = [&](bool has, const std::optional<TensorArg> &tensor, const char *name,
                          DType dtype, const Shape &shape, std::int64_t align = 1) {
    checkVector(arguments, has, tensor, name, dtype, shape, align);
  };
  arguments.checkIf(problem.router.bias, args.router_bias,
                    expectedRouterBias(problem.router, "router_bias"));
  vector(problem.router.given, args.ids, "ids", i32, {"m, topk", m, topk});
  const Scales ofWeights = scalesOfWeights(problem);
  if (const bool ofRows = ofWeights == Scales::per_row; ofRows || ofWeights == Scales::none) {
    vector(ofRows, args.scale1, "scale1", f32, {"experts, rows of w1", experts, problem.rows1()},
           4);
    vector(ofRows, args.scale2, "scale2", f32, {"experts, hidden", experts, hidden}, 4);
  }
  const bool hasBlocks = columnsOfScaleC(problem.scales) != 0, isMx = problem.scales == Scales::mx;
  // As many of a row as the products load together.
  const auto together = [&](std::int64_t elements) {
    const std::int64_t ofRow = scalesOfRow(problem, elements);
    return !isMx ? 1 : ofRow % 16 ? ofRow & -ofRow : 16;
  };
  const auto scalesOf = [&](const std::optional<TensorArg> &tensor, const char *name,
                            const char *modes, const GroupedGemmProblem &product) {
    if (ofWeights == Scales::none || ofWeights == Scales::per_row)
      return;
    if (problem.w_scale_layout == OperandLayout::prepared)
      return arguments.checkIf(
          true, tensor, preparedMxScales(productOf(product), name, experts, product.columns()));
    const ScaleGrid grid = scalesOfWeight(problem, product.columns(), product.k);
    vector(true, tensor, name, problem.scale,
           hasBlocks ? Shape{modes, experts, grid.rows, grid.columns} : Shape{"experts", experts},
           together(product.k));
  };
  scalesOf(args.scale1, "scale1",
           isMx ? "experts, rows of w1, hidden / 32" : "experts, rows of w1 / 128, hidden / 128",
           parts.first);
  scalesOf(args.scale2, "scale2",
           isMx ? "experts, hidden, inner / 32" : "experts, hidden / 128, inner / 128",
           parts.second);
  checkVector(arguments, problem.scales != Scales::none, args.scale_x, "scale_x", problem.scale,
              hasBlocks ? Shape{isMx ? "m, hidden / 32" : "m, hidden / 128", m,
                                scalesOfRow(problem, hidden)}
              : problem.scales == Scales::per_row ? Shape{"m", m}
                                                  : Shape{"1", 1},
              together(hidden), freeOfScaleX);
  vector(problem.scales == Scales::per_tensor, args.scale_h, "scale_h", f32, {"1", 1});
  const ScaleGroups &groups = problem.w_groups;
  const auto ofGroups = [&](bool has, const std::optional<TensorArg> &tensor, const char *name,
                            DType dtype, std::int64_t k, std::int64_t n, std::int64_t align) {
    vector(has, tensor, name, dtype, {"experts, k / size, n", experts, groupsOf(groups, k), n},
           align);
  };
  ofGroups(groups.size != 0, args.group_scales1, "group_scales1", groups.scale, hidden,
           problem.rows1(), 16);
  ofGroups(groups.size != 0, args.group_scales2, "group_scales2", groups.scale, inner, hidden, 16);
  ofGroups(groups.zeros, args.group_zeros1, "group_zeros1", u8, hidden, problem.rows1(), 1);
  ofGroups(groups.zeros, args.group_zeros2, "group_zeros2", u8, inner, hidden, 1);
  vector(problem.bias, args.bias1, "bias1", problem.expert_type(),
         {"experts, rows of w1", experts, parts.first.columns()}, 4);
  vector(problem.bias, args.bias2, "bias2", problem.expert_type(),
         {"experts, hidden", experts, hidden}, 4);
  arguments.check(args.y, {.name = "y",
                           .dtype = problem.y,
                           .shape = {"m, hidden", m, hidden},
                           .free = 1,
                           .use = Use::written,
                           .align = rowShape(parts.reduce).vector});
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
