// Products with a model's weights, and the workspaces that plans share.
#pragma once

#include "common/device_room.h"
#include "common/plans.h"
#include "model.h"

#include <flydsl/host/stream.h>
#include <flydsl/kernels/gemm.h>

namespace decoder {

using samples::headsOf, samples::part, samples::reshaped;

/// A call of the model's kernels: for a row of each sequence (a step), or for m rows of prompts.
struct Call {
  std::int64_t m;
  bool step;
  fx::StreamRef stream;

  /// The call's rows of a tensor.
  fx::TensorArg rows(const fx::TensorArg &of) const { return part(of, 0, 0, m); }
};

/// The most rows of calls.
struct Rows {
  int prompt, batch; ///< of prompts, and of steps

  std::int64_t most() const { return std::max(prompt, batch); }
};

/// One workspace serves all plans, because kernels of a stream take turns; one that is zero between
/// calls serves those that count their blocks in it.
class Workspaces {
public:
  template <class P> void require(const fk::Plan<P> &plan, std::int64_t rows) {
    bytes_ = std::max(bytes_, plan.workspace_bytes(rows));
  }
  void require(const fk::GemmPlan &plan, std::int64_t rows) {
    std::size_t &bytes = hasFlags(plan) ? flaggedBytes_ : bytes_;
    bytes = std::max(bytes, plan.workspace_bytes(rows));
  }
  /// Called once, after all plans are known.
  void allocate(samples::DeviceRoom &memory) {
    all_ = memory.room(fx::u8, {bytes_});
    flagged_ = memory.zeros(fx::u8, {flaggedBytes_});
  }
  const fx::TensorArg &all() const { return all_; }
  const fx::TensorArg &of(const fk::GemmPlan &plan) const {
    return hasFlags(plan) ? flagged_ : all_;
  }

private:
  static bool hasFlags(const fk::GemmPlan &plan) {
    return plan.config().split_k > 1 && plan.config().parts_sum == fk::PartsSum::last_block;
  }
  std::size_t bytes_ = 1, flaggedBytes_ = 1;
  fx::TensorArg all_ = {nullptr, fx::u8, fx::Extents{0}},
                flagged_ = {nullptr, fx::u8, fx::Extents{0}};
};

/// What the parts of an engine are made with.
struct Maker {
  const Model &model;
  samples::Plans &plans;
  samples::DeviceRoom &memory;
  Workspaces &workspaces;
  Rows rows;

  std::optional<fx::TensorArg> vector(const Floats &values) const {
    return values.empty() ? std::nullopt : std::optional(memory.upload(values, {values.size()}));
  }
  /// Weights whose rows lie one after another, as products take them.
  fk::PreparedWeight prepared(const fk::WeightProblem &problem,
                              const std::vector<Matrix> &matrices) const {
    std::vector<std::uint8_t> rowsOfAll;
    for (const Matrix &matrix : matrices)
      rowsOfAll.insert(rowsOfAll.end(), matrix.bytes.begin(), matrix.bytes.end());
    std::vector<fx::bfloat16_t> made(std::size_t(fk::prepared_size(problem)));
    fk::prepare_weight(problem, rowsOfAll.data(), made.data());
    return {.matrix = problem, .memory = memory.upload(made, {made.size()})};
  }
};

// region: problem
// Numbers between kernels are f32 where they are added up, and BF16 where a product reads them.
inline fk::GemmProblem productProblem(std::int64_t n, std::int64_t k, fx::DType c = fx::f32) {
  return {.a = fx::bf16,
          .b = fx::bf16,
          .c = c,
          .n = n,
          .k = k,
          .zeroed_workspace = true}; // one launch, also of few tiles
}
// endregion

/// A product with weights that are on the device, and with a bias, if there is one.
class Product {
public:
  // region: product
  /// The rows of several matrices lie one after another.
  Product(const Maker &maker, fk::GemmProblem problem, const std::vector<Matrix> &matrices,
          const Floats &bias = {})
      : Product(maker, withBias(std::move(problem), !bias.empty()),
                maker.prepared(problem.weight(), matrices), maker.vector(bias)) {}
  // endregion
  void operator()(const fx::TensorArg &a, const fx::TensorArg &c, const Call &call) const {
    const fk::GemmPlan &plan = plan_[call.step];
    plan({.a = a, .b = b_, .c = c, .bias = bias_, .workspace = workspaces_->of(plan)}, call.stream);
  }

private:
  Product(const Maker &maker, const fk::GemmProblem &problem, fk::PreparedWeight b,
          std::optional<fx::TensorArg> bias)
      : workspaces_(&maker.workspaces), plan_{maker.plans(problem, maker.rows.prompt),
                                              maker.plans(problem, maker.rows.batch)},
        b_(std::move(b)), bias_(std::move(bias)) {
    for (const fk::GemmPlan &plan : plan_)
      maker.workspaces.require(plan, maker.rows.most());
  }
  static fk::GemmProblem withBias(fk::GemmProblem problem, bool bias) {
    problem.bias = bias;
    if (bias)
      problem.bias_type = fx::f32;
    return problem;
  }

  const Workspaces *workspaces_;
  fk::GemmPlan plan_[2]; ///< for prompts, and for steps
  fk::PreparedWeight b_;
  std::optional<fx::TensorArg> bias_;
};

} // namespace decoder
