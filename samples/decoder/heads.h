// Attention of heads: keys and values of each token lie in a cache of pages.
#pragma once

#include "batch.h"
#include "chains.h"

#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/rope.h>

namespace decoder {

// region: problems
inline fk::RopeProblem ropeProblem(const Model &model) {
  const fk::HeadNorm norm = model.headNorms ? fk::HeadNorm::weighted : fk::HeadNorm::none;
  return {.x = fx::f32,
          .y = fx::bf16,
          .q_heads = int(model.heads),
          .kv_heads = int(model.kvHeads),
          .head = int(model.head),
          .rotary = int(model.rotary),
          .k_out = false, // attention reads k from the cache
          .cache = fk::KvCache::pages,
          .cached = fx::bf16,
          .page = kPage,
          .q_norm = norm,
          .k_norm = norm,
          .weight = fx::f32,
          .eps = model.eps};
}
/// Of so many heads together.
inline fk::NormProblem rowNorm(const Model &model, std::int64_t heads) {
  return {.x = fx::f32, .weight = fx::f32, .y = fx::f32, .n = heads * model.head, .eps = model.eps};
}
inline fk::AttentionProblem attentionProblem(const Model &model, bool window) {
  return {.q = fx::bf16,
          .kv = fx::bf16,
          .y = fx::bf16,
          .q_heads = int(model.heads),
          .kv_heads = int(model.kvHeads),
          .head = int(model.head),
          .scale = model.scale,
          .soft_cap = model.scoreCap,
          .causal = true,
          .window = window,
          .varlen = true,
          .cache = fk::KvCache::pages,
          .page = kPage,
          .sink = model.row.sinks};
}
inline fk::DecodeProblem decodeProblem(const Model &model, bool window, int context) {
  return {.q = fx::bf16,
          .kv = fx::bf16,
          .y = fx::bf16,
          .q_heads = int(model.heads),
          .kv_heads = int(model.kvHeads),
          .head = int(model.head),
          .page = kPage,
          .scale = model.scale,
          .soft_cap = model.scoreCap,
          .window = window,
          .sink = model.row.sinks,
          .context = context};
}
// endregion

/// The angles of all positions.
struct RopeTables {
  fx::TensorArg cos, sin;

  RopeTables(const Maker &maker, const Rope &rope, int context)
      : cos(table(maker, rope, context, std::cos)), sin(table(maker, rope, context, std::sin)) {}

private:
  static fx::TensorArg table(const Maker &maker, const Rope &rope, int context,
                             double (*function)(double)) {
    std::vector<float> values;
    for (int position = 0; position < context; ++position)
      for (double frequency : rope.frequencies)
        values.push_back(float(function(position * frequency) * rope.factor));
    return maker.memory.upload(values, {context, rope.frequencies.size()});
  }
};

class HeadAttention {
public:
  HeadAttention(const Maker &maker, const Batch &batch)
      : model_(maker.model), batch_(batch), workspaces_(maker.workspaces),
        qkv_(maker.memory.room(fx::f32, {maker.rows.most(), model_.qkvWidth()})),
        q_(maker.memory.room(fx::bf16, {maker.rows.most(), model_.heads, model_.head})),
        attended_(maker.memory.room(fx::bf16, {maker.rows.most(), model_.heads, model_.head})),
        rope_(maker.plans(ropeProblem(model_), maker.rows.most())), kinds_{
                                                                        Kind(maker, batch, false),
                                                                        Kind(maker, batch, true)} {
    if (model_.row.outputGate)
      gate_ = gatePlan(model_);
    if (model_.row.rowNorms) {
      qRows_ = maker.plans(rowNorm(model_, model_.heads), maker.rows.most());
      kRows_ = maker.plans(rowNorm(model_, model_.kvHeads), maker.rows.most());
    }
  }

  struct Layer {
    const Mixing mixing;
    Product qkv, output;
    std::optional<fx::TensorArg> qNorm, kNorm, sinks;
    fx::TensorArg k, v; ///< the cache
  };
  Layer layer(const Maker &maker, const HeadWeights &weights, Mixing mixing) const {
    const auto cache = [&] {
      return maker.memory.zeros(fx::bf16,
                                {batch_.sequences().pages(), kPage, model_.kvHeads, model_.head});
    };
    std::vector<Matrix> qkv{weights.q, weights.k, weights.v};
    if (weights.gate)
      qkv.push_back(*weights.gate);
    return {.mixing = mixing,
            .qkv = Product(maker, productProblem(model_.qkvWidth(), model_.width), qkv,
                           weights.qkvBias),
            .output = Product(maker, productProblem(model_.width, model_.heads * model_.head),
                              {weights.output}, weights.outputBias),
            .qNorm = maker.vector(weights.qNorm),
            .kNorm = maker.vector(weights.kNorm),
            .sinks = maker.vector(weights.sinks),
            .k = cache(),
            .v = cache()};
  }

  /// What attention gives of what was normalised.
  void operator()(const Layer &layer, const fx::TensorArg &x, const fx::TensorArg &y,
                  const Call &call) const {
    // region: attention
    layer.qkv(x, call.rows(qkv_), call);
    if (qRows_)
      normaliseRows(layer, call);
    rotate(layer, call);
    attend(layer, call);
    const fx::TensorArg attended =
        fx::tensor(attended_.data(), fx::bf16, {call.m, model_.heads * model_.head});
    if (const std::int64_t gates = model_.gateWidth())
      (*gate_)({.x = {attended, part(call.rows(qkv_), 1, model_.qkvWidth() - gates, gates)},
                .y = {attended}},
               call.stream);
    layer.output(attended, y, call);
    // endregion
  }

private:
  /// What layers with a window, and those without, have in common.
  struct Kind {
    RopeTables angles;
    fk::AttentionPlan attention; ///< of prompts
    fk::DecodePlan decode;       ///< of single tokens
    std::int32_t before;         ///< tokens that a query sees before its own; -1: all

    Kind(const Maker &maker, const Batch &batch, bool window)
        : angles(maker, window ? maker.model.windowRope : maker.model.rope,
                 batch.sequences().context()),
          attention(maker.plans(attentionProblem(maker.model, window), maker.rows.most())),
          decode(maker.plans(decodeProblem(maker.model, window, batch.sequences().context()),
                             maker.rows.batch)),
          before(window ? std::int32_t(maker.model.window - 1) : -1) {
      maker.workspaces.require(attention, maker.rows.most());
      maker.workspaces.require(decode, maker.rows.most());
    }
  };
  const Kind &kind(const Layer &layer) const { return kinds_[layer.mixing == Mixing::window]; }

  /// Normalises all heads of q together, and of k, in place.
  void normaliseRows(const Layer &layer, const Call &call) const {
    const auto normalise = [&](const fk::NormPlan &plan, std::int64_t first, std::int64_t count,
                               const fx::TensorArg &weight) {
      const fx::TensorArg all = part(call.rows(qkv_), 1, first * model_.head, count * model_.head);
      plan({.x = all, .weight = weight, .y = all}, call.stream);
    };
    normalise(*qRows_, 0, model_.heads, *layer.qNorm);
    normalise(*kRows_, model_.heads, model_.kvHeads, *layer.kNorm);
  }
  void rotate(const Layer &layer, const Call &call) const {
    const fx::TensorArg qkv = call.rows(qkv_);
    rope_({.q = headsOf(qkv, 0, model_.heads, model_.head),
           .k = headsOf(qkv, model_.heads * model_.head, model_.kvHeads, model_.head),
           .v = headsOf(qkv, (model_.heads + model_.kvHeads) * model_.head, model_.kvHeads,
                        model_.head),
           .positions = call.rows(batch_.positions.device),
           .cos = kind(layer).angles.cos,
           .sin = kind(layer).angles.sin,
           .slots = call.rows(batch_.slots.device),
           .q_out = call.rows(q_),
           .k_cache = layer.k,
           .v_cache = layer.v,
           .q_weight = qRows_ ? std::nullopt : layer.qNorm,
           .k_weight = qRows_ ? std::nullopt : layer.kNorm},
          call.stream);
  }
  void attend(const Layer &layer, const Call &call) const {
    // region: attend
    const Kind &kind = this->kind(layer);
    const fx::TensorArg q = call.rows(q_), y = call.rows(attended_);
    if (call.step)
      kind.decode({.q = q,
                   .k = layer.k,
                   .v = layer.v,
                   .o = y,
                   .seq_lens = batch_.lengths.device,
                   .block_table = batch_.tables.device,
                   .window_left = kind.before,
                   .sink = layer.sinks,
                   .workspace = workspaces_.all()},
                  call.stream);
    else
      kind.attention({.q = q,
                      .k = layer.k,
                      .v = layer.v,
                      .o = y,
                      .cu_seqlens_q = batch_.starts.device,
                      .max_seqlen_q = batch_.longest(),
                      .seq_lens = batch_.lengths.device,
                      .block_table = batch_.tables.device,
                      .window_left = kind.before,
                      .sink = layer.sinks,
                      .workspace = workspaces_.all()},
                     call.stream);
    // endregion
  }

  const Model &model_;
  const Batch &batch_;
  const Workspaces &workspaces_;
  fx::TensorArg qkv_, q_, attended_;
  fk::RopePlan rope_;
  Kind kinds_[2]; ///< without and with a window
  std::optional<fk::ElementwisePlan> gate_;
  std::optional<fk::NormPlan> qRows_, kRows_; ///< rowNorms
};

} // namespace decoder
