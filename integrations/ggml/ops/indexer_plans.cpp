// The plan multiplies f16, as llama.cpp's CUDA backend does: queries are converted here, and so are keys in
// blocks. Its logits are the op's scores, the mask its bias, and each stream is a launch.
#include "ops/indexer_plans.h"

#include "ops/numbers.h"
#include "plan_table.h"

#include <flydsl/kernels/mqa_logits.h>

namespace flydsl_ggml {
namespace {

/// Whether the elements of rows are neighbours of whole elements' distance.
bool hasPlainRows(const ggml_tensor *x) {
  const std::size_t size = ggml_type_size(x->type);
  bool all = x->nb[0] == size;
  for (std::size_t d = 1; d < 4; ++d)
    all &= x->nb[d] % size == 0;
  return all;
}

/// The configuration, with as many blocks as leave no compute unit idle: of fewer tokens, then of fewer keys.
fk::MqaLogitsConfig configOf(const Run &run, const fk::MqaLogitsProblem &problem,
                             std::int64_t tokens, std::int64_t keys) {
  fk::MqaLogitsConfig config = fk::choose(problem, tokens, run.target);
  const auto isIdle = [&](const fk::MqaLogitsConfig &of) {
    return ceilDiv(tokens, of.rows) * ceilDiv(keys, of.keys) < run.stream.device().compute_units();
  };
  while (config.rows > 1 && isIdle(config))
    config.rows /= 2;
  for (fk::MqaLogitsConfig fewer = config; isIdle(config); config = fewer) {
    fewer.keys /= 2;
    if (!fk::supported(problem, fewer, run.target))
      break;
  }
  return config;
}

} // namespace

bool indexerByPlan(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *q = op->src[0], *k = op->src[1], *weights = op->src[2], *mask = op->src[3];
  // Keys in f32 are not rounded, and those in bf16 have a range that f16 does not have.
  const bool asTheyAre = k->type == GGML_TYPE_F16 && rowsAreAligned(k, 8);
  if ((dtypeOf(k->type) && !asTheyAre) || !hasPlainRows(weights) || !hasPlainRows(mask) ||
      !hasPlainRows(op))
    return false;
  const fk::MqaLogitsProblem problem{.x = fx::f16,
                                     .heads = static_cast<int>(q->ne[1]),
                                     .head = static_cast<int>(q->ne[0]),
                                     .k_scale = false,
                                     .windows = false,
                                     .bias = true,
                                     .bias_type = dtypeOf(mask->type)};
  if (!fk::supported(problem, run.target))
    return false;
  const std::int64_t tokens = q->ne[2], keys = k->ne[2], heads = q->ne[1], head = q->ne[0];
  const auto &plan = planOf(problem, configOf(run, problem, tokens, keys), run.target);
  const Numbers queries = numbersOf(run, q, GGML_TYPE_F16), rows = numbersOf(run, k, GGML_TYPE_F16),
                factors = numbersOf(run, weights, weights->type),
                masks = numbersOf(run, mask, mask->type), scores = numbersOf(run, op, op->type);
  for (std::int64_t stream = 0; stream < q->ne[3]; ++stream) {
    // A part of an operand: that of the stream.
    const auto part = [](const Numbers &of, fx::DType type, std::int64_t number,
                         const fx::Extents &shape, const fx::Extents &strides) {
      return tensorAt(of.address + number * of.strides[3] * type.bytes(), type, shape, strides);
    };
    plan({.q = part(queries, fx::f16, stream, {tokens, heads, head},
                    {queries.strides[2], queries.strides[1], 1}),
          .k = part(rows, fx::f16, stream, {keys, head}, {rows.strides[2], 1}),
          .weights = part(factors, fx::f32, stream, {tokens, heads}, {factors.strides[1], 1}),
          .logits = part(scores, fx::f32, stream, {tokens, keys}, {scores.strides[1], 1}),
          .bias = part(masks, problem.bias_type, stream % mask->ne[3], {tokens, keys},
                       {masks.strides[1], 1})},
         run.stream);
  }
  return true;
}

} // namespace flydsl_ggml
