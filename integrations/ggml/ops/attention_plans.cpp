// The plan takes queries in f32, and its results are the op's, in f32, too. Keys and values in blocks are converted
// here, and so are queries that do not begin at multiples of 32 bytes. The mask is the plan's bias.
#include "ops/attention_plans.h"

#include "ops/elementwise.h"
#include "ops/numbers.h"
#include "plan_table.h"

#include <flydsl/kernels/attention.h>

#include <bit>
#include <optional>

namespace flydsl_ggml {
namespace {

/// The op, and the problem that the plan is for.
struct Attention {
  const ggml_tensor *q, *k, *v, *mask, *sinks;
  ggml_type type;      ///< that is multiplied
  ggml_type ofQueries; ///< f32, or the same where they are converted before
  /// One query, whose heads with the same keys are the plan's queries: their keys are read once.
  bool folded;
  fk::AttentionProblem problem;

  std::int64_t queries() const { return folded ? q->ne[2] / k->ne[2] : q->ne[1]; }
};

/// The type that keys and values are multiplied in; none if the plan does not have it.
std::optional<ggml_type> typeOf(const ggml_tensor *k, const ggml_tensor *v) {
  std::optional<ggml_type> type;
  for (const ggml_tensor *x : {k, v}) {
    if (x->type == GGML_TYPE_F32 || (dtypeOf(x->type) && !rowsAreAligned(x, 8)))
      return std::nullopt;
    if (!dtypeOf(x->type))
      continue;
    if (type && type != x->type)
      return std::nullopt;
    type = x->type;
  }
  return type ? type : std::optional(GGML_TYPE_F16);
}

std::optional<Attention> attentionOf(const ggml_tensor *op, const fx::Target &target) {
  const ggml_tensor *q = op->src[0], *k = op->src[1], *v = op->src[2], *mask = op->src[3],
                    *sinks = op->src[4];
  const auto type = typeOf(k, v);
  const float scale = floatParam(op, 0), bias = floatParam(op, 1), cap = floatParam(op, 2);
  const auto isOneOr = [](std::int64_t extent, std::int64_t other) {
    return extent == 1 || extent == other;
  };
  const bool fits = type && (!mask || bias == 0) && scale > 0 && k->ne[2] == v->ne[2] &&
                    isOneOr(k->ne[3], q->ne[3]) && isOneOr(v->ne[3], q->ne[3]) &&
                    (!mask || (rowsFollow(mask) && isOneOr(mask->ne[2], q->ne[2]) &&
                               isOneOr(mask->ne[3], q->ne[3])));
  if (!fits)
    return std::nullopt;
  const bool folded = q->ne[1] == 1 && !sinks && (!mask || mask->ne[2] == 1);
  const ggml_type ofQueries = rowsAreAligned(q, 8) ? q->type : *type;
  Attention found{q, k, v, mask, sinks, *type, ofQueries, folded, {}};
  const fx::DType ofKeys = dtypeOf(*type);
  const auto kvHeads = static_cast<int>(k->ne[2]);
  found.problem = {.q = dtypeOf(ofQueries),
                   .kv = ofKeys,
                   .y = fx::f32,
                   .q_heads = folded ? kvHeads : static_cast<int>(q->ne[2]),
                   .kv_heads = kvHeads,
                   .head = static_cast<int>(k->ne[0]),
                   .head_v = static_cast<int>(v->ne[0]),
                   .scale = scale,
                   .soft_cap = cap,
                   .bias = mask != nullptr,
                   .bias_type = mask ? dtypeOf(mask->type) : fx::f32,
                   .sink = sinks != nullptr};
  if (!fk::supported(found.problem, target))
    return std::nullopt;
  return found;
}

/// The configuration for so many keys. Parts of the keys are a power of 2 of them, so that a sequence that grows
/// needs few plans.
fk::AttentionConfig configOf(const Run &run, const Attention &a) {
  fk::AttentionProblem problem = a.problem;
  problem.context = static_cast<int>(a.k->ne[1]);
  fk::AttentionConfig config = fk::choose(problem, a.queries() * a.q->ne[3], run.target);
  config.splits = static_cast<int>(std::bit_floor(static_cast<unsigned>(config.splits)));
  return config;
}

} // namespace

bool attentionByPlan(const Run &run, const ggml_tensor *op) {
  const auto found = attentionOf(op, run.target);
  if (!found)
    return false;
  const Attention &a = *found;
  const fk::AttentionConfig config = configOf(run, a);
  const fx::DType type = dtypeOf(a.type);
  const std::int64_t batch = a.q->ne[3], keys = a.k->ne[1], queries = a.queries(),
                     heads = a.problem.q_heads, kvHeads = a.k->ne[2], group = a.q->ne[2] / kvHeads,
                     headK = a.k->ne[0], headV = a.v->ne[0];
  const Numbers q = numbersOf(run, a.q, a.ofQueries), k = numbersOf(run, a.k, a.type),
                v = numbersOf(run, a.v, a.type);
  // The same elements in the same order: the result's own memory, if it has no gaps.
  const bool direct = ggml_is_contiguous(op) && beginsAligned(op);
  Element results = elementOf(op);
  if (!direct) {
    results.memory.address = reinterpret_cast<std::intptr_t>(
        run.scratch->take(static_cast<std::size_t>(ggml_nelements(op)) * sizeof(float)));
    results.memory.stride[0] = sizeof(float);
    for (std::size_t d = 1; d < 4; ++d)
      results.memory.stride[d] = results.memory.stride[d - 1] * op->ne[d - 1];
  }
  // (batch, queries, heads, elements); the result's heads and queries lie as ggml has them.
  const std::int64_t ofHeadQ = strideOf(a.q, q, 2),
                     ofQuery = a.folded ? ofHeadQ : strideOf(a.q, q, 1),
                     ofHead = a.folded ? group * ofHeadQ : ofHeadQ;
  const std::int64_t row = headV * a.q->ne[2];
  fk::AttentionArgs args{.q = tensorAt(q.address, a.problem.q, {batch, queries, heads, headK},
                                       {strideOf(a.q, q, 3), ofQuery, ofHead, 1}),
                         .k = tensorAt(k.address, type, {batch, keys, kvHeads, headK},
                                       {strideOf(a.k, k, 3), k.strides[1], k.strides[2], 1}),
                         .v = tensorAt(v.address, type, {batch, keys, kvHeads, headV},
                                       {strideOf(a.v, v, 3), v.strides[1], v.strides[2], 1}),
                         .o = tensorAt(results.memory.address, fx::f32,
                                       {batch, queries, heads, headV},
                                       {row * a.q->ne[1], a.folded ? headV : row,
                                        a.folded ? group * headV : headV, 1})};
  if (a.mask) {
    const Numbers mask = numbersOf(run, a.mask, a.mask->type);
    args.bias = tensorAt(
        mask.address, dtypeOf(a.mask->type), {batch, heads, queries, keys},
        {strideOf(a.mask, mask, 3), strideOf(a.mask, mask, 2), a.folded ? 0 : mask.strides[1], 1});
  }
  if (a.sinks) {
    const std::int64_t shape[] = {heads};
    args.sink = fx::TensorArg(a.sinks->data, fx::f32, shape);
  }
  if (const std::size_t bytes = fk::workspace_bytes(a.problem, config, queries * batch))
    args.workspace = workspaceOf(run, bytes);
  planOf(a.problem, config, run.target)(args, run.stream);
  if (direct)
    return true;
  const Element sources[] = {results};
  elementwise(run, "copy", elementOf(op), sources, nullptr);
  return true;
}

} // namespace flydsl_ggml
