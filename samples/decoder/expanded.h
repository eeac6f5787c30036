// Latent attention of long prompts: keys and values of heads are made of the latent ones by a product,
// once for each token of the call's sequences. A score then takes a head's elements, not a latent key's,
// which are more; so that this is less work for prompts of more than some hundred tokens. Of a prompt that
// goes on, the latent keys of the tokens before come from the cache, as all others do.
#pragma once

#include "heads.h"

#include <flydsl/kernels/rows/copy_rows.h>

namespace decoder {

// region: expanded_problems
/// Of each head its values and the plain part of its keys.
inline fk::GemmProblem expandProblem(const Model &model) {
  const Latent &latent = model.latent;
  fk::GemmProblem problem = productProblem(latent.value + latent.plain, latent.keys, fx::bf16);
  problem.zeroed_workspace = false;
  problem.batch = model.heads;
  return problem;
}
/// The latent keys of sequences, one after another, out of the cache.
inline fk::CopyRowsProblem gatherProblem(const Model &model) {
  return {.type = fx::bf16, .n = model.latent.cached(), .gather = true};
}
/// What rotates is the same in all heads of k.
inline fk::RopeProblem repeatProblem(const Model &model) {
  return {.x = fx::bf16,
          .y = fx::bf16,
          .q_heads = int(model.heads),
          .head = int(model.latent.rotary),
          .rotary = 0}; // it has been rotated
}
inline fk::AttentionProblem expandedProblem(const Model &model) {
  return {.q = fx::bf16,
          .kv = fx::bf16,
          .y = fx::bf16,
          .q_heads = int(model.heads),
          .kv_heads = int(model.heads),
          .head = int(model.latent.head()),
          .head_v = int(model.latent.value),
          .scale = model.scale,
          .causal = true,
          .varlen = true};
}
// endregion

class ExpandedAttention {
public:
  ExpandedAttention(const Maker &maker, const Batch &batch)
      : latent_(maker.model.latent), heads_(maker.model.heads), batch_(batch),
        workspaces_(maker.workspaces),
        latents_(maker.memory.room(fx::bf16, {batch.roomOfKeys(), latent_.cached()})),
        keysAndValues_(maker.memory.room(fx::bf16, {batch.roomOfKeys(), heads_, width()})),
        gather_(maker.plans(gatherProblem(maker.model), maker.rows.prompt)),
        expand_(maker.plans(expandProblem(maker.model), maker.rows.prompt)),
        repeat_(maker.plans(repeatProblem(maker.model), maker.rows.prompt)),
        attention_(maker.plans(expandedProblem(maker.model), maker.rows.prompt)) {
    maker.workspaces.require(expand_, batch.roomOfKeys());
    maker.workspaces.require(attention_, maker.rows.prompt);
  }

  fk::PreparedWeight weights(const Maker &maker, const LatentWeights &of) const {
    std::vector<Matrix> rows; // of each head
    for (std::size_t head = 0; head < of.expand.size(); ++head) {
      rows.push_back(of.expand[head]);
      rows.push_back(of.plainKeys[head]);
    }
    return maker.prepared(expand_.problem().weights(heads_), rows);
  }
  /// `q`: (m, heads, head), rotated. `cache`: (pages, kPage, 1, cached), which has the call's latent keys
  /// too. `y`: (m, heads, value).
  void operator()(const fk::PreparedWeight &weights, const fx::TensorArg &q,
                  const fx::TensorArg &cache, const fx::TensorArg &y, const Call &call) const {
    // region: expanded
    const std::int64_t count = batch_.keys();
    const fx::TensorArg latents = part(latents_, 0, 0, count),
                        all =
                            part(keysAndValues_, 0, 0, count), // of each head its value and its key
        made = part(all, 2, 0, latent_.value + latent_.plain),
                        keys = part(latents, 1, 0, latent_.keys),
                        rotated = part(latents, 1, latent_.firstRotary(), latent_.rotary);
    gather_({.x = reshaped(cache, {cache.shape()[0] * kPage, latent_.cached()}),
             .from = part(batch_.keySlots.device, 0, 0, count),
             .y = latents},
            call.stream);
    expand_({.a = {keys.data(), fx::bf16, fx::Extents{heads_, count, latent_.keys},
                   fx::Extents{0, latent_.cached(), 1}},
             .b = weights,
             .c = {made.data(), fx::bf16, fx::Extents{heads_, count, made.shape()[2]},
                   fx::Extents{width(), heads_ * width(), 1}},
             .workspace = workspaces_.of(expand_)},
            call.stream);
    repeat_(
        {.q = fx::TensorArg(rotated.data(), fx::bf16, fx::Extents{count, heads_, latent_.rotary},
                            fx::Extents{latent_.cached(), 0, 1}),
         .q_out = part(all, 2, latent_.value + latent_.plain, latent_.rotary)},
        call.stream);
    attention_({.q = q,
                .k = part(all, 2, latent_.value, latent_.head()),
                .v = part(all, 2, 0, latent_.value),
                .o = y,
                .cu_seqlens_q = batch_.starts.device,
                .cu_seqlens_kv = batch_.keyStarts.device,
                .max_seqlen_q = batch_.longest(),
                .workspace = workspaces_.all()},
               call.stream);
    // endregion
  }
  /// The tokens of a prompt from which on this is less work: a score and a value of a latent key take so
  /// many elements more, for about half as many keys as there are tokens. See isLess.
  static std::int64_t leastTokens(const Latent &latent) {
    const std::int64_t more = latent.cached() + latent.keys - latent.head() - latent.value;
    return 2 * latent.keys * (latent.plain + latent.value) / std::max<std::int64_t>(1, more);
  }

  /// Whether it is for the call's sequences, if `least` are those tokens: prompts that go on have more
  /// keys for each token, and keys of tokens before that are made anew.
  bool isLess(std::int64_t least) const {
    return batch_.keys() > 0 && batch_.pairs() >= least * batch_.keys();
  }

private:
  std::int64_t width() const { return latent_.value + latent_.head(); }

  const Latent &latent_;
  std::int64_t heads_;
  const Batch &batch_;
  const Workspaces &workspaces_;
  fx::TensorArg latents_, keysAndValues_;
  fk::CopyRowsPlan gather_;
  fk::GemmPlan expand_;
  fk::RopePlan repeat_;
  fk::AttentionPlan attention_;
};

} // namespace decoder
