// The indexer of sparse attention (DeepSeek-V3.2): small heads of q and one key for each token, whose
// scores choose the tokens that a token's attention looks at. DeepSeek's own code rotates q and k by a
// Hadamard transform before it rounds them to 8 bits; here they stay BF16, and a rotation of both
// changes no product.
#pragma once

#include "heads.h"

#include <flydsl/kernels/mqa_logits.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/rows/top_k.h>

namespace decoder {

// region: indexer_problems
inline fk::NormProblem indexerNorm(const Model &model) {
  return {.kind = fk::NormKind::layer,
          .x = fx::f32,
          .weight = fx::f32,
          .y = fx::f32,
          .n = model.indexer.head,
          .eps = 1e-6, // transformers has this one
          .bias = true};
}
inline fk::RopeProblem indexerRope(const Model &model) {
  return {.x = fx::f32,
          .y = fx::bf16,
          .q_heads = int(model.indexer.heads),
          .kv_heads = 1,
          .head = int(model.indexer.head),
          .rotary = int(model.latent.rotary),
          .k_out = false,
          .cache = fk::KvCache::pages,
          .cached = fx::bf16,
          .page = kPage,
          .v_cached = false};
}
inline fk::MqaLogitsProblem indexerLogits(const Model &model) {
  return {.x = fx::bf16,
          .heads = int(model.indexer.heads),
          .head = int(model.indexer.head),
          .k_scale = false,
          .paged = true,
          .page = kPage};
}
/// The tokens that a token sees at most.
inline int seenTokens(const Model &model, int context) {
  return int(std::min<std::int64_t>(model.indexer.topk, context));
}
inline fk::TopKProblem indexerChoice(const Model &model, int context) {
  return {.x = fx::f32,
          .k = seenTokens(model, context),
          .lengths = true,
          .indices = false,
          .slots = true,
          .page = kPage,
          .n = context};
}
// endregion

class IndexerPlans {
public:
  IndexerPlans(const Maker &maker, const Batch &batch)
      : model_(maker.model), indexer_(model_.indexer), batch_(batch),
        context_(batch.sequences().context()),
        keyAndWeights_(maker.memory.room(fx::f32, {maker.rows.most(), width()})),
        keys_(maker.memory.room(fx::f32, {maker.rows.most(), indexer_.head})),
        q_(maker.memory.room(fx::f32, {maker.rows.most(), indexer_.heads, indexer_.head})),
        rotated_(maker.memory.room(fx::bf16, {maker.rows.most(), indexer_.heads, indexer_.head})),
        slots_(maker.memory.room(fx::i32, {maker.rows.most(), seenTokens(model_, context_)})),
        counts_(maker.memory.room(fx::i32, {maker.rows.most()})),
        norm_(maker.plans(indexerNorm(model_), maker.rows.most())),
        rope_(maker.plans(indexerRope(model_), maker.rows.most())),
        logits_{maker.plans(indexerLogits(model_), maker.rows.prompt),
                maker.plans(indexerLogits(model_), maker.rows.batch)},
        choice_(maker.plans(indexerChoice(model_, context_), maker.rows.most())) {}

  struct Layer {
    Product q, keyAndWeights;
    fx::TensorArg norm, normBias, cache;
    fx::DeviceArray<float> scores; ///< of the last call's rows, for each token of their sequences
  };
  Layer layer(const Maker &maker, const IndexerWeights &weights) const {
    return {
        .q = Product(maker, productProblem(indexer_.heads * indexer_.head, model_.latent.queries),
                     {weights.q}),
        .keyAndWeights =
            Product(maker, productProblem(width(), model_.width), {weights.key, weights.weights}),
        .norm = *maker.vector(weights.norm),
        .normBias = *maker.vector(weights.normBias),
        .cache =
            maker.memory.zeros(fx::bf16, {batch_.sequences().pages(), kPage, 1, indexer_.head}),
        .scores = fx::DeviceArray<float>({maker.rows.most(), std::int64_t(context_)})};
  }

  /// Chooses the tokens that each row sees. `x`: what entered attention; `queries`: what q is made of.
  void operator()(const Layer &layer, const fx::TensorArg &x, const fx::TensorArg &queries,
                  const fx::TensorArg &cos, const fx::TensorArg &sin, const Call &call) const {
    // region: indexer
    const fx::TensorArg both = call.rows(keyAndWeights_), keys = call.rows(keys_),
                        q = call.rows(q_), rotated = call.rows(rotated_),
                        scores = call.rows(layer.scores);
    layer.q(queries, reshaped(q, {call.m, indexer_.heads * indexer_.head}), call);
    layer.keyAndWeights(x, both, call);
    norm_({.x = part(both, 1, 0, indexer_.head),
           .weight = layer.norm,
           .bias = layer.normBias,
           .y = keys},
          call.stream);
    rope_({.q = q,
           .k = headsOf(keys, 0, 1, indexer_.head),
           .positions = call.rows(batch_.positions.device),
           .cos = cos,
           .sin = sin,
           .slots = call.rows(batch_.slots.device),
           .q_out = rotated,
           .k_cache = layer.cache},
          call.stream);
    // A factor that all scores have, as published models do, changes no choice.
    logits_[call.step]({.q = rotated,
                        .k = reshaped(layer.cache, {layer.cache.shape()[0], kPage, indexer_.head}),
                        .weights = part(both, 1, indexer_.head, indexer_.heads),
                        .logits = scores,
                        .cu_seqlens_q = batch_.starts.device,
                        .max_seqlen_q = batch_.longest(),
                        .seq_lens = batch_.lengths.device,
                        .block_table = batch_.tables.device},
                       call.stream);
    choice_({.x = scores,
             .lengths = call.rows(batch_.rowLengths.device),
             .slots = call.rows(slots_),
             .block_table = call.rows(batch_.rowTables.device),
             .counts = call.rows(counts_)},
            call.stream);
    // endregion
  }
  /// Of the last call: where the tokens are that each row sees, and how many.
  const fx::TensorArg &slots() const { return slots_; }
  const fx::TensorArg &counts() const { return counts_; }

private:
  std::int64_t width() const { return indexer_.head + indexer_.heads; }

  const Model &model_;
  const Indexer &indexer_;
  const Batch &batch_;
  int context_;
  fx::TensorArg keyAndWeights_, keys_, q_, rotated_, slots_, counts_;
  fk::NormPlan norm_;
  fk::RopePlan rope_;
  fk::MqaLogitsPlan logits_[2]; ///< for prompts, and for steps
  fk::TopKPlan choice_;
};

} // namespace decoder
