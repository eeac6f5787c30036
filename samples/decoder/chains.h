// What this engine computes between the kernels that the library has families for: chains of
// elementwise functions, which the library traces into kernels.
#pragma once

#include "products.h"

#include <flydsl/kernels/elementwise.h>

namespace decoder {

using fx::Vector;
namespace chain = fk::chain;

// region: chains
/// x[t, :] = scale * table[tokens[t], :].
inline fk::ElementwisePlan embedPlan(const Model &model) {
  const auto scale = float(model.embeddingScale);
  return {fk::ElementwiseChain("embed", [=](const Vector &x) { return x * scale; }),
          {.x = {{fx::bf16, fk::ChainOperand::gathered}}, .y = {{fx::f32}}, .n = model.width}};
}

/// x = cap * tanh(x / cap).
inline fk::ElementwisePlan capPlan(const Model &model) {
  const auto cap = float(model.logitCap);
  return {fk::ElementwiseChain("soft_cap",
                               [=](const Vector &x) { return fx::math::tanh(x / cap) * cap; }),
          {.x = {{fx::f32}}, .y = {{fx::f32}}, .n = model.vocabulary}};
}

/// y = y * sigmoid(gate), of what heads give.
inline fk::ElementwisePlan gatePlan(const Model &model) {
  return {fk::ElementwiseChain(
              "gate", [](const Vector &y, const Vector &gate) { return y * chain::sigmoid(gate); }),
          {.x = {{fx::bf16}, {fx::f32}}, .y = {{fx::bf16}}, .n = model.gateWidth()}};
}

/// weights[t, :] = sigmoid(gate[t]), of shared experts.
inline fk::ElementwisePlan sharedGatePlan(const Model &model) {
  return {
      fk::ElementwiseChain("shared_gate", [](const Vector &gate) { return chain::sigmoid(gate); }),
      {.x = {{fx::f32, fk::ChainOperand::column}},
       .y = {{fx::f32}},
       .n = model.experts.shared,
       .row_align = 1}};
}

/// y = x + more, of what experts give and of what an MLP besides them gives.
inline fk::ElementwisePlan addPlan(const Model &model) {
  return {fk::ElementwiseChain("add", [](const Vector &x, const Vector &more) { return x + more; }),
          {.x = {{fx::f32}, {fx::f32}}, .y = {{fx::f32}}, .n = model.width}};
}

/// y = weight * x, of what state spaces give, which is normalised in groups before.
inline fk::ElementwisePlan weighPlan(const Model &model) {
  return {fk::ElementwiseChain("weigh",
                               [](const Vector &x, const Vector &weight) { return x * weight; }),
          {.x = {{fx::f32}, {fx::f32, fk::ChainOperand::row}},
           .y = {{fx::bf16}},
           .n = model.delta.values()}};
}
// endregion

} // namespace decoder
