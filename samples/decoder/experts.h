// Mixtures of experts: a router's scores become experts of each token, tokens are sorted by expert,
// and grouped products read and write their rows in that order.
#pragma once

#include "chains.h"

#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/moe_reduce.h>
#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/topk_gating.h>

namespace decoder {

/// A mixture's weights on the device, besides the router's.
struct DeviceExperts {
  fk::PreparedWeight gateUp, down;
  std::optional<fx::TensorArg> gateUpBias = {}, downBias = {}, choiceBias = {};
};

/// The plans of all mixtures of a model and what they keep between kernels, for calls of up to
/// `rows` tokens.
class MixturePlans {
public:
  explicit MixturePlans(const Maker &maker) : MixturePlans(maker, maker.model, maker.memory) {}

  // region: mixture
  /// What the experts give of y, whose scores the router made, and the gate of shared ones. `sum` is
  /// in F32, or in BF16 where a product reads it.
  void operator()(const DeviceExperts &layer, const fx::TensorArg &scores,
                  const std::optional<fx::TensorArg> &sharedGate, const fx::TensorArg &y,
                  const fx::TensorArg &sum, const Call &call) const {
    const std::int64_t count = places(call.m);
    const auto tokens = [&](const fx::TensorArg &of) { return call.rows(of); };
    const fx::TensorArg sorted = part(sorted_, 0, 0, count),
                        units = part(units_, 0, 0, count / kUnit),
                        inner = part(inner_, 0, 0, count);
    gating_({.logits = scores,
             .weights = tokens(weights_),
             .ids = tokens(ids_),
             .bias = layer.choiceBias},
            call.stream);
    if (sharedGate)
      (*sharedGate_)(
          {.x = {*sharedGate}, .y = {part(tokens(weights_), 1, experts_.topk, experts_.shared)}},
          call.stream);
    sort_({.ids = tokens(ids_),
           .sorted_ids = sorted,
           .unit_experts = units,
           .counts = counts_,
           .offsets = offsets_,
           .totals = totals_,
           .workspace = workspaces_.all()},
          call.stream);
    gateUp_[call.step]({.a = y,
                        .b = layer.gateUp,
                        .c = inner,
                        .unit_experts = units,
                        .offsets = offsets_,
                        .counts = counts_,
                        .sorted_ids = sorted,
                        .bias = layer.gateUpBias},
                       call.stream);
    down_[call.step]({.a = inner,
                      .b = layer.down,
                      .c = tokens(results_),
                      .unit_experts = units,
                      .offsets = offsets_,
                      .counts = counts_,
                      .sorted_ids = sorted,
                      .bias = layer.downBias},
                     call.stream);
    sum_({.x = tokens(results_), .weights = tokens(weights_), .y = sum}, call.stream);
  }
  // endregion

  /// Brings a mixture's weights to the device.
  DeviceExperts upload(const ExpertWeights &weights, const Maker &maker) const {
    samples::DeviceRoom &memory = maker.memory;
    DeviceExperts made{.gateUp = maker.prepared(gateUp_[0].problem().weight(), weights.gateUp),
                       .down = maker.prepared(down_[0].problem().weight(), weights.down)};
    if (!weights.gateUpBias.empty()) {
      made.gateUpBias = memory.upload(weights.gateUpBias, {experts_.count, 2 * experts_.inner});
      made.downBias = memory.upload(weights.downBias, {experts_.count, down_[0].problem().n});
    }
    if (!weights.choiceBias.empty())
      made.choiceBias = memory.upload(weights.choiceBias, {experts_.count});
    return made;
  }

private:
  static constexpr int kUnit = 16; ///< places of a unit, which has one expert

  MixturePlans(const Maker &maker, const Model &model, samples::DeviceRoom &memory)
      : experts_(model.experts), rows_(maker.rows.most()), workspaces_(maker.workspaces),
        gating_(maker.plans(gatingProblem(model), rows_)),
        sort_(maker.plans(sortProblem(), rows_)), gateUp_{maker.plans(gateUpProblem(model),
                                                                      places(maker.rows.prompt)),
                                                          maker.plans(gateUpProblem(model),
                                                                      places(maker.rows.batch))},
        down_{maker.plans(downProblem(model), places(maker.rows.prompt)),
              maker.plans(downProblem(model), places(maker.rows.batch))},
        sum_(maker.plans(sumProblem(model), rows_)),
        weights_(memory.room(fx::f32, {rows_, experts_.slots()})),
        ids_(memory.room(fx::i32, {rows_, experts_.slots()})),
        sorted_(memory.room(fx::i32, {places(rows_)})),
        units_(memory.room(fx::i32, {places(rows_) / kUnit})),
        counts_(memory.room(fx::i32, {experts_.all()})),
        offsets_(memory.room(fx::i32, {experts_.all() + 1})), totals_(memory.room(fx::i32, {3})),
        inner_(memory.room(fx::bf16, {places(rows_), experts_.inner})),
        results_(memory.room(fx::f32, {rows_, experts_.slots(), experts_.columns(model.width)})) {
    maker.workspaces.require(sort_, rows_);
    if (model.row.mixture->gatedShared)
      sharedGate_ = sharedGatePlan(model);
  }

  fk::TopkGatingProblem gatingProblem(const Model &model) const {
    return {.experts = experts_.count,
            .topk = experts_.topk,
            .renormalise = experts_.renormalise,
            .score = model.row.mixture->score,
            .bias = !model.row.mixture->choiceBias.empty(),
            .groups = experts_.groups,
            .topk_groups = experts_.topkGroups,
            .scale = float(experts_.scale),
            .shared = experts_.shared};
  }
  fk::MoeSortProblem sortProblem() const {
    return {.experts = experts_.all(), .topk = experts_.slots(), .unit = kUnit, .weights = false};
  }
  fk::GroupedGemmProblem gateUpProblem(const Model &model) const {
    const bool clamped = model.row.mixture->clamped;
    return {.experts = experts_.all(),
            .n = experts_.inner,
            .k = experts_.columns(model.width),
            .unit = kUnit,
            .topk = experts_.slots(),
            .a_rows = fk::GroupedRows::tokens,
            .bias = clamped,
            .bias_type = clamped ? fx::DType(fx::f32) : fx::DType(),
            .activation = model.activation,
            .gated = model.row.gatedMlps ? fk::GatedPairs::halves : fk::GatedPairs::none,
            .alpha = float(experts_.alpha),
            .limit = float(experts_.limit),
            .up_offset = clamped ? 1.0f : 0.0f};
  }
  fk::GroupedGemmProblem downProblem(const Model &model) const {
    return {.c = fx::f32,
            .experts = experts_.all(),
            .n = experts_.columns(model.width),
            .k = experts_.inner,
            .unit = kUnit,
            .topk = experts_.slots(),
            .c_rows = fk::GroupedRows::slots,
            .bias = model.row.mixture->clamped};
  }
  fk::MoeReduceProblem sumProblem(const Model &model) const {
    return {.x = fx::f32,
            .y = experts_.latent ? fx::DType(fx::bf16) : fx::DType(fx::f32),
            .n = experts_.columns(model.width),
            .topk = experts_.slots(),
            .weights = true};
  }
  std::int64_t places(std::int64_t m) const { return fk::moe_sort_places(sortProblem(), m); }

  const Experts &experts_;
  const std::int64_t rows_; ///< tokens of a call, at most
  const Workspaces &workspaces_;
  fk::TopkGatingPlan gating_;
  fk::MoeSortPlan sort_;
  fk::GroupedGemmPlan gateUp_[2], down_[2]; ///< for prompts, and for steps
  fk::MoeReducePlan sum_;
  std::optional<fk::ElementwisePlan> sharedGate_;
  fx::TensorArg weights_, ids_;                              ///< of the slots of tokens
  fx::TensorArg sorted_, units_, counts_, offsets_, totals_; ///< see MoeSortArgs
  fx::TensorArg inner_, results_;
};

} // namespace decoder
