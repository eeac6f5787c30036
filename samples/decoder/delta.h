// Linear attention by the gated delta rule (Gated DeltaNet, arXiv 2412.06464), Kimi Delta Attention
// (arXiv 2510.26692), and the state spaces of Mamba-2 (arXiv 2405.21060): a sequence has no keys and values in a cache, but a state of each head,
// and the last tokens of a convolution before it.
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
          .bias = model.delta.convBias,
          .activation = fk::Activation::silu,
          .fresh = true,
          .prefill = prompts};
}
inline fk::DeltaRuleProblem deltaProblem(const Model &model, bool prompts) {
  const Delta &delta = model.delta;
  return {.x = fx::bf16,
          .y = fx::f32,
          .heads = int(delta.keyHeads),
          .v_heads = int(delta.valueHeads),
          .key = int(delta.key),
          .value = int(delta.value),
          .normalise = !delta.isSum,
          .fresh = true,
          .update = delta.isSum ? fk::StateUpdate::add : fk::StateUpdate::delta,
          .decay = fk::DecayGate::softplus,
          .strength = delta.isSum ? fk::UpdateStrength::step : fk::UpdateStrength::sigmoid,
          .by_channel = delta.byChannel(),
          .dt_min = delta.stepMin,
          .dt_max = delta.stepMax,
          .skip = delta.isSum,
          .prefill = prompts};
}
/// A row is a head, or a group of heads of state spaces, whose gates come first.
inline fk::NormProblem gatedNorm(const Model &model) {
  return {.x = fx::f32,
          .weight = fx::f32,
          .y = model.delta.isSum ? fx::DType(fx::f32) : fx::DType(fx::bf16),
          .n = model.delta.normed,
          .eps = model.eps,
          .statistics = true, // for --check
          .gate = model.delta.byChannel() ? fk::NormGate::sigmoid : fk::NormGate::silu,
          .gate_first = model.delta.isSum};
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
        steps_(room(maker, fx::f32, sizes_.steps())), low_(room(maker, fx::bf16, sizes_.rank)),
        decays_(room(maker, fx::f32, sizes_.byChannel() ? sizes_.values() : 0)),
        conv_{maker.plans(convProblem(maker.model, true), maker.rows.prompt),
              maker.plans(convProblem(maker.model, false), maker.rows.batch)},
        rule_{maker.plans(deltaProblem(maker.model, true), maker.rows.prompt),
              maker.plans(deltaProblem(maker.model, false), maker.rows.batch)},
        norm_(maker.plans(gatedNorm(maker.model), maker.rows.most() * sizes_.groups())) {
    if (sizes_.isSum) {
      weigh_ = weighPlan(maker.model);
      ones_ = maker.vector(Floats(std::size_t(sizes_.normed), 1.0f));
    }
  }

  /// A product, or two with few numbers between them.
  struct LowProduct {
    std::optional<Product> down;
    Product product;

    void operator()(const fx::TensorArg &x, const fx::TensorArg &between, const fx::TensorArg &y,
                    const Call &call) const {
      if (down)
        (*down)(x, between, call);
      product(down ? between : x, y, call);
    }
  };
  struct Layer {
    Product mixed, steps, output;
    LowProduct gate;
    std::optional<LowProduct> decay;
    fx::TensorArg taps, a, offset, norm;
    std::optional<fx::TensorArg> convBias, skip;
    fx::TensorArg convState, state; ///< of each sequence
    /// Of each token and group in the last call: 1 / the root mean square of what was normalised.
    fx::DeviceArray<float> groups;
  };
  Layer layer(const Maker &maker, const DeltaWeights &weights) const {
    const auto product = [&](std::int64_t n, const Matrix &matrix) {
      return Product(maker, productProblem(n, matrix.columns), {matrix});
    };
    const auto low = [&](const std::optional<Matrix> &down, const Matrix &matrix) {
      LowProduct made{{}, product(sizes_.values(), matrix)};
      if (down)
        made.down.emplace(maker, productProblem(sizes_.rank, width_, fx::bf16), std::vector{*down});
      return made;
    };
    std::optional<LowProduct> decay;
    if (weights.decay)
      decay = low(weights.decayDown, *weights.decay);
    const fx::Extents offsets = sizes_.byChannel() ? fx::Extents{sizes_.valueHeads, sizes_.key}
                                                   : fx::Extents{sizes_.valueHeads};
    return {.mixed = product(sizes_.channels(), weights.mixed),
            .steps = product(sizes_.steps(), weights.steps),
            .output = product(width_, weights.output),
            .gate = low(weights.gateDown, weights.gate),
            .decay = decay,
            .taps = maker.memory.upload(weights.taps, {sizes_.channels(), sizes_.taps}),
            .a = *maker.vector(weights.a),
            .offset = maker.memory.upload(weights.offset, offsets),
            .norm = *maker.vector(weights.norm),
            .convBias = maker.vector(weights.convBias),
            .skip = maker.vector(weights.skip),
            .convState =
                maker.memory.zeros(fx::f32, {maker.rows.batch, sizes_.taps - 1, sizes_.channels()}),
            .state = maker.memory.zeros(
                fx::f32, {maker.rows.batch, sizes_.valueHeads, sizes_.key, sizes_.value}),
            .groups = fx::DeviceArray<float>({maker.rows.most(), sizes_.groups()})};
  }

  /// What linear attention, or a state space, gives of what was normalised.
  void operator()(const Layer &layer, const fx::TensorArg &x, const fx::TensorArg &y,
                  const Call &call) const {
    // region: delta
    const fx::TensorArg mixed = call.rows(mixed_), steps = call.rows(steps_),
                        convolved = call.rows(convolved_);
    layer.mixed(x, mixed, call);
    layer.gate(x, call.rows(low_), call.rows(gate_), call);
    layer.steps(x, steps, call);
    if (layer.decay)
      (*layer.decay)(x, call.rows(low_), call.rows(decays_), call);
    conv_[call.step]({.x = mixed,
                      .weight = layer.taps,
                      .bias = layer.convBias,
                      .starts = batch_.starts.device,
                      .state = layer.convState,
                      .state_slots = batch_.stateSlots.device,
                      .fresh = batch_.fresh.device,
                      .y = convolved},
                     call.stream);
    const std::int64_t heads = sizes_.valueHeads;
    std::optional<fx::TensorArg> beta;
    if (!sizes_.isSum)
      beta = part(steps, 1, 0, heads);
    rule_[call.step]({.q = headsOf(convolved, 0, sizes_.keyHeads, sizes_.key),
                      .k = headsOf(convolved, sizes_.keys(), sizes_.keyHeads, sizes_.key),
                      .v = headsOf(convolved, 2 * sizes_.keys(), sizes_.valueHeads, sizes_.value),
                      .g = layer.decay ? headsOf(call.rows(decays_), 0, heads, sizes_.key)
                                       : part(steps, 1, sizes_.steps() - heads, heads),
                      .beta = beta,
                      .starts = batch_.starts.device,
                      .state = layer.state,
                      .state_slots = batch_.stateSlots.device,
                      .fresh = batch_.fresh.device,
                      .a = layer.a,
                      .dt_bias = layer.offset,
                      .skip = layer.skip,
                      .y = headsOf(call.rows(given_), 0, sizes_.valueHeads, sizes_.value)},
                     call.stream);
    // With weights of all heads, which are not the same in each row of the norm, they come after it.
    const fx::TensorArg &normed = sizes_.isSum ? given_ : normalised_;
    norm_({.x = byGroup(given_, call),
           .weight = sizes_.isSum ? *ones_ : layer.norm,
           .y = byGroup(normed, call),
           .rstd = fx::tensor(layer.groups.data(), {call.m * sizes_.groups()}),
           .gate = byGroup(gate_, call)},
          call.stream);
    if (sizes_.isSum)
      (*weigh_)({.x = {call.rows(given_), layer.norm}, .y = {call.rows(normalised_)}}, call.stream);
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
  /// (m, values) as rows of the norm.
  fx::TensorArg byGroup(const fx::TensorArg &of, const Call &call) const {
    return reshaped(of, {call.m * sizes_.groups(), sizes_.normed});
  }

  const Delta &sizes_;
  std::int64_t width_;
  const Batch &batch_;
  fx::TensorArg mixed_, convolved_, given_, gate_, normalised_; ///< rows of channels, and of values
  fx::TensorArg steps_;                                         ///< rows of gates
  fx::TensorArg low_, decays_; ///< rows of what gates are made of; of channels
  fk::CausalConvPlan conv_[2]; ///< for prompts, and for steps
  fk::DeltaRulePlan rule_[2];
  fk::NormPlan norm_;
  /// isSum.
  std::optional<fk::ElementwisePlan> weigh_;
  std::optional<fx::TensorArg> ones_;
};

} // namespace decoder
