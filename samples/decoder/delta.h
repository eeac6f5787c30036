// Linear attention by the gated delta rule (Gated DeltaNet, arXiv 2412.06464): a sequence has no keys
// and values in a cache, but a state of each head, and the last tokens of a convolution before it.
#pragma once

#include "batch.h"
#include "chains.h"

#include <flydsl/kernels/causal_conv.h>
#include <flydsl/kernels/delta_rule.h>
#include <flydsl/kernels/norm.h>

namespace decoder {

// region: problems
inline fk::CausalConvProblem convProblem(const Model &model, bool prompts) {
  return {.x = fx::f32,
          .y = fx::bf16,
          .weight = fx::f32,
          .state = fx::f32,
          .channels = int(model.delta.channels()),
          .width = int(model.delta.taps),
          .activation = fk::Activation::silu,
          .fresh = true,
          .prefill = prompts};
}
inline fk::DeltaRuleProblem deltaProblem(const Model &model, bool prompts) {
  return {.x = fx::bf16,
          .y = fx::f32,
          .heads = int(model.delta.keyHeads),
          .v_heads = int(model.delta.valueHeads),
          .key = int(model.delta.key),
          .value = int(model.delta.value),
          .normalise = true,
          .fresh = true,
          .prefill = prompts};
}
/// A row is a head.
inline fk::NormProblem gatedNorm(const Model &model) {
  return {.x = fx::f32,
          .weight = fx::f32,
          .y = fx::bf16,
          .n = model.delta.value,
          .eps = model.eps,
          .gate = fk::NormGate::silu};
}
// endregion

class DeltaAttention {
public:
  DeltaAttention(const Maker &maker, const Batch &batch)
      : sizes_(maker.model.delta), width_(maker.model.width), batch_(batch),
        mixed_(room(maker, fx::f32, sizes_.channels())),
        // A row without a token is given nothing, and is normalised all the same.
        convolved_(zeros(maker, fx::bf16, sizes_.channels())),
        given_(zeros(maker, fx::f32, sizes_.values())),
        gate_(room(maker, fx::f32, sizes_.values())),
        normalised_(room(maker, fx::bf16, sizes_.values())),
        steps_(room(maker, fx::f32, 2 * sizes_.valueHeads)),
        decay_(room(maker, fx::f32, sizes_.valueHeads)),
        beta_(room(maker, fx::f32, sizes_.valueHeads)),
        conv_{maker.plans(convProblem(maker.model, true), maker.rows.prompt),
              maker.plans(convProblem(maker.model, false), maker.rows.batch)},
        rule_{maker.plans(deltaProblem(maker.model, true), maker.rows.prompt),
              maker.plans(deltaProblem(maker.model, false), maker.rows.batch)},
        decayPlan_(decayPlan(maker.model)),
        norm_(maker.plans(gatedNorm(maker.model), maker.rows.most() * sizes_.valueHeads)) {}

  struct Layer {
    Product mixed, gate, steps, output;
    fx::TensorArg taps, rate, offset, norm;
    fx::TensorArg convState, state; ///< of each sequence
  };
  Layer layer(const Maker &maker, const DeltaWeights &weights) const {
    const auto product = [&](std::int64_t n, const Matrix &matrix) {
      return Product(maker, productProblem(n, matrix.columns), {matrix});
    };
    return {.mixed = product(sizes_.channels(), weights.mixed),
            .gate = product(sizes_.values(), weights.gate),
            .steps = product(2 * sizes_.valueHeads, weights.steps),
            .output = product(width_, weights.output),
            .taps = maker.memory.upload(weights.taps, {sizes_.channels(), sizes_.taps}),
            .rate = *maker.vector(weights.rate),
            .offset = *maker.vector(weights.offset),
            .norm = *maker.vector(weights.norm),
            .convState =
                maker.memory.zeros(fx::f32, {maker.rows.batch, sizes_.taps - 1, sizes_.channels()}),
            .state = maker.memory.zeros(
                fx::f32, {maker.rows.batch, sizes_.valueHeads, sizes_.key, sizes_.value})};
  }

  /// What linear attention gives of what was normalised.
  void operator()(const Layer &layer, const fx::TensorArg &x, const fx::TensorArg &y,
                  const Call &call) const {
    // region: delta
    const fx::TensorArg mixed = call.rows(mixed_), steps = call.rows(steps_),
                        convolved = call.rows(convolved_), decay = call.rows(decay_),
                        beta = call.rows(beta_);
    layer.mixed(x, mixed, call);
    layer.gate(x, call.rows(gate_), call);
    layer.steps(x, steps, call);
    conv_[call.step]({.x = mixed,
                      .weight = layer.taps,
                      .starts = batch_.starts.device,
                      .state = layer.convState,
                      .state_slots = batch_.stateSlots.device,
                      .fresh = batch_.fresh.device,
                      .y = convolved},
                     call.stream);
    const std::int64_t heads = sizes_.valueHeads;
    decayPlan_(
        {.x = {part(steps, 1, 0, heads), part(steps, 1, heads, heads), layer.rate, layer.offset},
         .y = {beta, decay}},
        call.stream);
    rule_[call.step]({.q = headsOf(0, sizes_.keyHeads, sizes_.key, call),
                      .k = headsOf(sizes_.keys(), sizes_.keyHeads, sizes_.key, call),
                      .v = headsOf(2 * sizes_.keys(), sizes_.valueHeads, sizes_.value, call),
                      .g = decay,
                      .beta = beta,
                      .starts = batch_.starts.device,
                      .state = layer.state,
                      .state_slots = batch_.stateSlots.device,
                      .fresh = batch_.fresh.device,
                      .y = fx::tensor(static_cast<float *>(given_.data()),
                                      {call.m, sizes_.valueHeads, sizes_.value})},
                     call.stream);
    norm_({.x = byHead(given_, call),
           .weight = layer.norm,
           .y = byHead(normalised_, call),
           .gate = byHead(gate_, call)},
          call.stream);
    layer.output(call.rows(normalised_), y, call);
    // endregion
  }

private:
  static fx::TensorArg room(const Maker &maker, fx::DType dtype, std::int64_t columns) {
    return maker.memory.room(dtype, {maker.rows.most(), columns});
  }
  static fx::TensorArg zeros(const Maker &maker, fx::DType dtype, std::int64_t columns) {
    return maker.memory.zeros(dtype, {maker.rows.most(), columns});
  }
  /// Heads of what was convolved, whose first has its elements from `first` on.
  fx::TensorArg headsOf(std::int64_t first, std::int64_t count, std::int64_t each,
                        const Call &call) const {
    return {static_cast<fx::bfloat16_t *>(convolved_.data()) + first, fx::bf16,
            fx::Extents{call.m, count, each}, fx::Extents{sizes_.channels(), each, 1}};
  }
  /// (m, values) as (m * heads, value).
  fx::TensorArg byHead(const fx::TensorArg &of, const Call &call) const {
    return {of.data(), of.dtype(), fx::Extents{call.m * sizes_.valueHeads, sizes_.value}};
  }

  const Delta &sizes_;
  std::int64_t width_;
  const Batch &batch_;
  fx::TensorArg mixed_, convolved_, given_, gate_, normalised_; ///< rows of channels, and of values
  fx::TensorArg steps_, decay_, beta_;                          ///< rows of heads
  fk::CausalConvPlan conv_[2];                                  ///< for prompts, and for steps
  fk::DeltaRulePlan rule_[2];
  fk::ElementwisePlan decayPlan_;
  fk::NormPlan norm_;
};

} // namespace decoder
