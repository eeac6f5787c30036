// A step of decoding multiplies each matrix by one column. The plan reads blocks of weights as units of 32
// or 64 neighbours, where the backend's own kernel takes eight at most; from two columns on the latter is
// estimated to be as fast or faster. The estimates are in docs/llama-cpp.md.
#include "ops/column_plans.h"

#include "ops/numbers.h"
#include "plan_table.h"

#include <flydsl/kernels/ggml_gemm.h>

#include <optional>

namespace flydsl_ggml {

std::optional<fk::Activation> activationOf(ggml_glu_op op) {
  switch (op) {
  case GGML_GLU_OP_REGLU:
    return fk::Activation::relu;
  case GGML_GLU_OP_GEGLU:
    return fk::Activation::gelu_tanh;
  case GGML_GLU_OP_SWIGLU:
    return fk::Activation::silu;
  default:
    return std::nullopt;
  }
}

namespace {

/// None where the library has no such product. The plan computes in f32, so that it serves models that ask
/// for it, too.
std::optional<fk::GgmlGemmProblem> problemOf(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *w = op->src[0], *x = op->src[1];
  const auto format = fk::ggml_format(static_cast<std::uint32_t>(w->type));
  // With waves of 32 lanes the backend's own kernel is the faster: 44 us and 52 for 4096 x 4096 of Q4_K on
  // gfx1201.
  if (run.wave != 64)
    return std::nullopt;
  // Blocks of MXFP4 with the largest exponents have finite weights in ggml, and none in the library.
  if (!format || format == fk::GgmlFormat::mxfp4 || !arePlanWeights(w) ||
      ggml_nrows(w) != w->ne[1] || ggml_nrows(x) != 1 || !rowsFollow(x) || !beginsAligned(x))
    return std::nullopt;
  const fk::GgmlGemmProblem problem{
      .format = *format, .a = dtypeOf(x->type), .n = w->ne[1], .k = w->ne[0]};
  if (!fk::supported(problem, run.target))
    return std::nullopt;
  return problem;
}

void multiply(const Run &run, const fk::GgmlGemmProblem &problem, const ggml_tensor *op,
              const ggml_tensor *up, const ggml_tensor *result) {
  const auto weights = [&](const ggml_tensor *w) {
    const fk::GgmlWeight weight = problem.weight();
    return fk::GgmlTensor{weight, tensorAt(operandOf(w).address, fx::u8,
                                           {static_cast<std::int64_t>(weight_bytes(weight))})};
  };
  fk::GgmlGemmArgs args{
      .a = tensorAt(operandOf(op->src[1]).address, problem.a, {std::int64_t{1}, problem.k}),
      .b = weights(op->src[0]),
      .c = tensorAt(operandOf(result).address, fx::f32, {std::int64_t{1}, problem.n})};
  if (up)
    args.up = weights(up->src[0]);
  planOf(problem, fk::choose(problem, 1, run.target), run.target)(args, run.stream);
}

} // namespace

bool columnByPlan(const Run &run, const ggml_tensor *op) {
  const auto problem = problemOf(run, op);
  if (!problem || !ggml_is_contiguous(op) || !beginsAligned(op))
    return false;
  multiply(run, *problem, op, nullptr, op);
  return true;
}

bool gatedColumnByPlan(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                       const ggml_tensor *glu) {
  const auto activation = activationOf(ggml_get_glu_op(glu));
  auto problem = problemOf(run, gate);
  if (!activation || !problem || problemOf(run, up) != problem || gate->src[1] != up->src[1] ||
      !isF32(glu) || !ggml_is_contiguous(glu) || !beginsAligned(glu))
    return false;
  problem->activation = *activation;
  problem->gated = true;
  if (!fk::supported(*problem, run.target))
    return false;
  multiply(run, *problem, gate, up, glu);
  return true;
}

} // namespace flydsl_ggml
