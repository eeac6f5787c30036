// Latent attention (MLA, DeepSeek-V2, arXiv 2405.04434): the cache has one key for all heads, whose
// first elements are the value. What makes keys and values of heads out of it is absorbed: it
// multiplies q before attention, and what attention gives after it.
#pragma once

#include "expanded.h"
#include "indexer.h"

#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/norm.h>

namespace decoder {

/// Products with a matrix for each head: the heads are a grouped product's experts, and the rows of
/// head h are those of (token, head), which lie at token * heads + h.
class HeadProduct {
public:
  HeadProduct(const Maker &maker, std::int64_t n, std::int64_t k)
      : heads_(maker.model.heads), plan_{plan(maker, maker.rows.prompt, n, k),
                                         plan(maker, maker.rows.batch, n, k)},
        ids_{ids(maker, maker.rows.prompt), ids(maker, maker.rows.batch)} {}

  fk::PreparedWeight weights(const Maker &maker, const std::vector<Matrix> &ofHeads) const {
    return maker.prepared(plan_[0].problem().weight(), ofHeads);
  }
  // region: heads
  /// `a` and `c`: (m, heads, k) and (m, heads, n), whose heads lie next to each other. `counts`: m
  /// for each head.
  void operator()(const fk::PreparedWeight &b, const fx::TensorArg &a, const fx::TensorArg &c,
                  const fx::TensorArg &counts, const Call &call) const {
    const fk::GroupedGemmProblem &problem = plan_[call.step].problem();
    const std::int64_t rows = call.m * heads_, strideA = a.strides()[1], strideC = c.strides()[1];
    plan_[call.step](
        {.a = {a.data(), fx::bf16, fx::Extents{rows, problem.k}, fx::Extents{strideA, 1}},
         .b = b,
         .c = {c.data(), fx::bf16, fx::Extents{rows, 1, problem.n},
               fx::Extents{strideC, strideC, 1}},
         .counts = counts,
         .sorted_ids = ids_[call.step]},
        call.stream);
  }
  // endregion

private:
  static std::int64_t capacity(int rows) { return (rows + 15) / 16 * 16; }
  static fk::GroupedGemmPlan plan(const Maker &maker, int rows, std::int64_t n, std::int64_t k) {
    return maker.plans(fk::GroupedGemmProblem{.experts = maker.model.heads,
                                              .n = n,
                                              .k = k,
                                              .groups = fk::GroupLayout::masked,
                                              .capacity = capacity(rows),
                                              .a_rows = fk::GroupedRows::tokens,
                                              .c_rows = fk::GroupedRows::slots},
                       maker.model.heads * capacity(rows));
  }
  static fx::TensorArg ids(const Maker &maker, int rows) {
    std::vector<std::int32_t> all;
    for (std::int64_t head = 0; head < maker.model.heads; ++head)
      for (std::int64_t token = 0; token < capacity(rows); ++token)
        all.push_back(std::int32_t(token * maker.model.heads + head));
    return maker.memory.upload(all, {all.size()});
  }

  std::int64_t heads_;
  fk::GroupedGemmPlan plan_[2]; ///< for prompts, and for steps
  fx::TensorArg ids_[2];
};

// region: problems
inline constexpr double kLatentEps = 1e-6; // transformers has this one, whatever config.json says

inline fk::RopeProblem latentRope(const Model &model, bool keys) {
  const Latent &latent = model.latent;
  fk::RopeProblem problem{.x = keys ? fx::f32 : fx::bf16,
                          .y = fx::bf16,
                          .q_heads = keys ? 0 : int(model.heads),
                          .kv_heads = keys ? 1 : 0,
                          .head = int(keys ? latent.cached() : latent.rotary),
                          .rotary = int(latent.rotary),
                          .style = model.ropeStyle,
                          .tail = true,
                          .k_out = false};
  if (keys) { // the token's row of the cache; its first elements are the value
    problem.cache = fk::KvCache::pages;
    problem.cached = fx::bf16;
    problem.page = kPage;
    problem.v_cached = false;
    problem.k_norm = fk::HeadNorm::weighted; // of the value
    problem.normed = int(latent.keys);
    problem.weight = fx::f32;
    problem.eps = kLatentEps;
  }
  return problem;
}
/// Sparse attention has a table of tokens in place of one of pages.
inline fk::DecodeProblem latentDecode(const Model &model, int context) {
  return {.q = fx::bf16,
          .kv = fx::bf16,
          .y = fx::bf16,
          .q_heads = int(model.heads),
          .kv_heads = 1,
          .head = int(model.latent.cached()),
          .page = model.row.sparse ? 1 : kPage,
          .scale = model.scale,
          .latent = int(model.latent.roomOfKeys()),
          .context = model.row.sparse ? seenTokens(model, context) : context};
}
// endregion

class LatentAttention {
public:
  /// `expandFrom`: the tokens of a prompt from which on keys and values of heads are made; 0: from where
  /// it is less work.
  LatentAttention(const Maker &maker, const Batch &batch, std::int64_t expandFrom)
      : latent_(maker.model.latent), width_(maker.model.width), heads_(maker.model.heads),
        batch_(batch), workspaces_(maker.workspaces),
        down_(maker.memory.room(fx::f32, {maker.rows.most(), latent_.queries + latent_.cached()})),
        normalised_(maker.memory.room(fx::bf16, {maker.rows.most(), latent_.queries})),
        q_(maker.memory.room(fx::bf16, {maker.rows.most(), heads_, latent_.head()})),
        absorbed_(maker.memory.zeros(fx::bf16, {maker.rows.most(), heads_, latent_.cached()})),
        values_(maker.memory.room(fx::bf16, {maker.rows.most(), heads_, latent_.roomOfKeys()})),
        attended_(maker.memory.room(fx::bf16, {maker.rows.most(), heads_, latent_.value})),
        angles_(maker, maker.model.rope, batch.sequences().context()),
        expandFrom_(expandFrom ? expandFrom : ExpandedAttention::leastTokens(latent_)),
        rotateKeys_{maker.plans(latentRope(maker.model, true), maker.rows.prompt),
                    maker.plans(latentRope(maker.model, true), maker.rows.batch)},
        rotateQueries_(maker.plans(latentRope(maker.model, false), maker.rows.most())),
        absorb_(maker, latent_.keys, latent_.plain),
        expand_(maker, latent_.value, latent_.keys), attention_{decode(maker, maker.rows.prompt),
                                                                decode(maker, maker.rows.batch)} {
    if (latent_.queries)
      queryNorm_ = maker.plans(fk::NormProblem{.x = fx::f32,
                                               .weight = fx::f32,
                                               .y = fx::bf16,
                                               .n = latent_.queries,
                                               .eps = kLatentEps},
                               maker.rows.most());
    if (maker.model.row.sparse)
      indexer_.emplace(maker, batch);
    if (expands(maker))
      expanded_.emplace(maker, batch);
  }

  struct Layer {
    Product down, q, output;
    std::optional<fx::TensorArg> qNorm;
    fx::TensorArg kvNorm;
    fk::PreparedWeight absorb, expand;
    fx::TensorArg cache;
    std::optional<fk::PreparedWeight> keysAndValues = {}; ///< of long prompts
    std::optional<IndexerPlans::Layer> indexer = {};
  };
  Layer layer(const Maker &maker, const LatentWeights &weights) const {
    Layer made{.down = Product(maker, productProblem(latent_.queries + latent_.cached(), width_),
                               weights.down, weights.downBias),
               .q = Product(maker,
                            productProblem(heads_ * latent_.head(),
                                           latent_.queries ? latent_.queries : width_, fx::bf16),
                            {weights.q}),
               .output = Product(maker, productProblem(width_, heads_ * latent_.value),
                                 {weights.output}, weights.outputBias),
               .qNorm = maker.vector(weights.qNorm),
               .kvNorm = *maker.vector(weights.kvNorm),
               .absorb = absorb_.weights(maker, weights.absorb),
               .expand = expand_.weights(maker, weights.expand),
               .cache = maker.memory.zeros(
                   fx::bf16, {batch_.sequences().pages(), kPage, 1, latent_.cached()})};
    if (expanded_)
      made.keysAndValues = expanded_->weights(maker, weights);
    if (indexer_)
      made.indexer = indexer_->layer(maker, *weights.indexer);
    return made;
  }

  /// What attention gives of what was normalised.
  void operator()(const Layer &layer, const fx::TensorArg &x, const fx::TensorArg &y,
                  const Call &call) const {
    // region: latent
    const fx::TensorArg down = call.rows(down_), q = call.rows(q_), absorbed = call.rows(absorbed_),
                        values = call.rows(values_), attended = call.rows(attended_);
    layer.down(x, down, call);
    if (layer.qNorm) {
      const fx::TensorArg normalised = call.rows(normalised_);
      (*queryNorm_)(
          {.x = part(down, 1, 0, latent_.queries), .weight = *layer.qNorm, .y = normalised},
          call.stream);
      layer.q(normalised, flat(q), call);
    } else {
      layer.q(x, flat(q), call);
    }
    writeCache(layer, down, call);
    if (layer.keysAndValues && !call.step && expanded_->isLess(expandFrom_)) {
      rotateQueries(part(q, 2, latent_.plain, latent_.rotary),
                    part(q, 2, latent_.plain, latent_.rotary), call);
      (*expanded_)(*layer.keysAndValues, q, layer.cache, attended, call);
      layer.output(flat(attended), y, call);
      return;
    }
    if (layer.indexer) // which has a norm of q
      (*indexer_)(*layer.indexer, x, call.rows(normalised_), angles_.cos, angles_.sin, call);
    absorb_(layer.absorb, part(q, 2, 0, latent_.plain), part(absorbed, 2, 0, latent_.keys),
            batch_.counts.device, call);
    rotateQueries(part(q, 2, latent_.plain, latent_.rotary),
                  part(absorbed, 2, latent_.firstRotary(), latent_.rotary), call);
    // Each row is as a sequence that ends with its token, those of prompts too.
    const fx::TensorArg &pages = layer.cache;
    attention_[call.step](
        {.q = absorbed,
         .k =
             indexer_ ? reshaped(pages, {pages.shape()[0] * kPage, 1, 1, latent_.cached()}) : pages,
         .o = values,
         .seq_lens = call.rows(indexer_ ? indexer_->counts() : batch_.rowLengths.device),
         .block_table = call.rows(indexer_ ? indexer_->slots() : batch_.rowTables.device),
         .workspace = workspaces_.all()},
        call.stream);
    expand_(layer.expand, values, attended, batch_.counts.device, call);
    layer.output(flat(attended), y, call);
    // endregion
  }

private:
  /// Whether prompts may be so long. Sparse attention has keys for each token.
  bool expands(const Maker &maker) const {
    return !maker.model.row.sparse && maker.rows.prompt >= expandFrom_;
  }
  fk::DecodePlan decode(const Maker &maker, int rows) const {
    const fk::DecodePlan made =
        maker.plans(latentDecode(maker.model, batch_.sequences().context()), rows);
    maker.workspaces.require(made, maker.rows.most());
    return made;
  }
  /// (m, heads, n) as (m, heads * n).
  fx::TensorArg flat(const fx::TensorArg &of) const {
    return reshaped(of, {of.shape()[0], of.shape()[1] * of.shape()[2]});
  }
  void rotateQueries(const fx::TensorArg &q, const fx::TensorArg &rotated, const Call &call) const {
    rotateQueries_({.q = q,
                    .positions = call.rows(batch_.positions.device),
                    .cos = angles_.cos,
                    .sin = angles_.sin,
                    .q_out = rotated},
                   call.stream);
  }
  /// Normalises the value, rotates the rest of the key, and writes both, in one kernel.
  void writeCache(const Layer &layer, const fx::TensorArg &down, const Call &call) const {
    rotateKeys_[call.step]({.k = headsOf(down, latent_.queries, 1, latent_.cached()),
                            .positions = call.rows(batch_.positions.device),
                            .cos = angles_.cos,
                            .sin = angles_.sin,
                            .slots = call.rows(batch_.slots.device),
                            .k_cache = layer.cache,
                            .k_weight = layer.kvNorm},
                           call.stream);
  }

  const Latent &latent_;
  std::int64_t width_, heads_;
  const Batch &batch_;
  const Workspaces &workspaces_;
  fx::TensorArg down_, normalised_, q_, absorbed_, values_, attended_;
  RopeTables angles_;
  std::int64_t expandFrom_; ///< tokens
  std::optional<fk::NormPlan> queryNorm_;
  fk::RopePlan rotateKeys_[2], rotateQueries_;
  HeadProduct absorb_, expand_;
  std::optional<IndexerPlans> indexer_;       ///< if attention is sparse
  std::optional<ExpandedAttention> expanded_; ///< of long prompts
  fk::DecodePlan attention_[2];               ///< for prompts, and for steps
};

} // namespace decoder
