// Mixtures of experts: a router's scores become experts of each token, tokens are sorted by expert,
// and grouped products read and write their rows in that order.
#pragma once

#include "common/device_room.h"
#include "common/plans.h"
#include "model.h"

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
  MixturePlans(const Model &model, samples::Plans &plans, samples::DeviceRoom &memory, int prompt,
               int batch)
      : experts_(model.experts), rows_(std::max(prompt, batch)),
        gating_(plans(gatingProblem(model), rows_)),
        sort_(plans(sortProblem(), rows_)), gateUp_{plans(gateUpProblem(model), places(prompt)),
                                                    plans(gateUpProblem(model), places(batch))},
        down_{plans(downProblem(model), places(prompt)), plans(downProblem(model), places(batch))},
        sum_(plans(sumProblem(model), rows_)),
        weights_(memory.room(fx::f32, {rows_, experts_.slots()})),
        ids_(memory.room(fx::i32, {rows_, experts_.slots()})),
        sorted_(memory.room(fx::i32, {places(rows_)})),
        units_(memory.room(fx::i32, {places(rows_) / kUnit})),
        counts_(memory.room(fx::i32, {experts_.all()})),
        offsets_(memory.room(fx::i32, {experts_.all() + 1})), totals_(memory.room(fx::i32, {3})),
        inner_(memory.room(fx::bf16, {places(rows_), experts_.inner})),
        results_(memory.room(fx::f32, {rows_, experts_.slots(), model.width})),
        workspace_(memory.room(
            fx::u8, {std::max<std::size_t>(
                        1, fk::workspace_bytes(sortProblem(), sort_.config(), rows_))})) {}

  // region: mixture
  /// What the experts give of y, whose scores the router made.
  void operator()(const DeviceExperts &layer, const fx::TensorArg &scores, const fx::TensorArg &y,
                  const fx::TensorArg &sum, bool step, fx::StreamRef stream) const {
    using samples::part;
    const std::int64_t m = y.shape()[0], count = places(m);
    const auto tokens = [m](const fx::TensorArg &of) { return part(of, 0, 0, m); };
    const fx::TensorArg sorted = part(sorted_, 0, 0, count),
                        units = part(units_, 0, 0, count / kUnit),
                        inner = part(inner_, 0, 0, count);
    gating_({.logits = scores,
             .weights = tokens(weights_),
             .ids = tokens(ids_),
             .bias = layer.choiceBias},
            stream);
    sort_({.ids = tokens(ids_),
           .sorted_ids = sorted,
           .unit_experts = units,
           .counts = counts_,
           .offsets = offsets_,
           .totals = totals_,
           .workspace = workspace_},
          stream);
    gateUp_[step]({.a = y,
                   .b = layer.gateUp,
                   .c = inner,
                   .unit_experts = units,
                   .offsets = offsets_,
                   .counts = counts_,
                   .sorted_ids = sorted,
                   .bias = layer.gateUpBias},
                  stream);
    down_[step]({.a = inner,
                 .b = layer.down,
                 .c = tokens(results_),
                 .unit_experts = units,
                 .offsets = offsets_,
                 .counts = counts_,
                 .sorted_ids = sorted,
                 .bias = layer.downBias},
                stream);
    sum_({.x = tokens(results_), .weights = tokens(weights_), .y = sum}, stream);
  }
  // endregion

  /// Brings a mixture's weights to the device.
  DeviceExperts upload(const ExpertWeights &weights, samples::DeviceRoom &memory) const {
    const auto prepared = [&](const fk::WeightProblem &problem,
                              const std::vector<Matrix> &matrices) {
      std::vector<std::uint8_t> rows;
      for (const Matrix &matrix : matrices)
        rows.insert(rows.end(), matrix.bytes.begin(), matrix.bytes.end());
      std::vector<fx::bfloat16_t> made(std::size_t(fk::prepared_size(problem)));
      fk::prepare_weight(problem, rows.data(), made.data());
      return fk::PreparedWeight{.matrix = problem, .memory = memory.upload(made, {made.size()})};
    };
    DeviceExperts made{.gateUp = prepared(gateUp_[0].problem().weight(), weights.gateUp),
                       .down = prepared(down_[0].problem().weight(), weights.down)};
    if (!weights.gateUpBias.empty()) {
      // As the results of the product, in BF16; the file's have no more bits.
      const std::vector<fx::bfloat16_t> rounded(weights.gateUpBias.begin(),
                                                weights.gateUpBias.end());
      made.gateUpBias = memory.upload(rounded, {experts_.count, 2 * experts_.inner});
      made.downBias = memory.upload(weights.downBias, {experts_.count, down_[0].problem().n});
    }
    if (!weights.choiceBias.empty())
      made.choiceBias = memory.upload(weights.choiceBias, {experts_.count});
    return made;
  }

private:
  static constexpr int kUnit = 16; ///< places of a unit, which has one expert

  fk::TopkGatingProblem gatingProblem(const Model &model) const {
    return {.experts = experts_.count,
            .topk = experts_.topk,
            .renormalise = experts_.renormalise,
            .score = model.row.mixture->score,
            .bias = model.row.mixture->shared,
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
            .k = model.width,
            .unit = kUnit,
            .topk = experts_.slots(),
            .a_rows = fk::GroupedRows::tokens,
            .bias = clamped,
            .activation = model.activation,
            .gated = fk::GatedPairs::halves,
            .alpha = float(experts_.alpha),
            .limit = float(experts_.limit),
            .up_offset = clamped ? 1.0f : 0.0f};
  }
  fk::GroupedGemmProblem downProblem(const Model &model) const {
    return {.c = fx::f32,
            .experts = experts_.all(),
            .n = model.width,
            .k = experts_.inner,
            .unit = kUnit,
            .topk = experts_.slots(),
            .c_rows = fk::GroupedRows::slots,
            .bias = model.row.mixture->clamped};
  }
  fk::MoeReduceProblem sumProblem(const Model &model) const {
    return {
        .x = fx::f32, .y = fx::f32, .n = model.width, .topk = experts_.slots(), .weights = true};
  }
  std::int64_t places(std::int64_t m) const { return fk::moe_sort_places(sortProblem(), m); }

  const Experts &experts_;
  const std::int64_t rows_; ///< tokens of a call, at most
  fk::TopkGatingPlan gating_;
  fk::MoeSortPlan sort_;
  fk::GroupedGemmPlan gateUp_[2], down_[2]; ///< for prompts, and for steps
  fk::MoeReducePlan sum_;
  fx::TensorArg weights_, ids_;                              ///< of the slots of tokens
  fx::TensorArg sorted_, units_, counts_, offsets_, totals_; ///< see MoeSortArgs
  fx::TensorArg inner_, results_, workspace_;
};

} // namespace decoder
