// A step of decoding multiplies each matrix by one column. The plan reads blocks of weights as units of 32
// or 64 neighbours, where the backend's own kernel takes eight at most, and computes in f32 from the exact
// weights. A few columns, as several sequences or a short prompt have them, are multiplied by matrix
// instructions, whose numbers are made of blocks in registers. The estimates are in docs/llama-cpp.md.
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
  if (!format || !arePlanWeights(w) || ggml_nrows(w) != w->ne[1] || ggml_nrows(x) != 1 ||
      !rowsFollow(x) || !beginsAligned(x))
    return std::nullopt;
  const fk::GgmlGemmProblem problem{
      .format = *format, .a = dtypeOf(x->type), .n = w->ne[1], .k = w->ne[0]};
  if (!fk::supported(problem, run.target))
    return std::nullopt;
  return problem;
}

/// The operands of a plan besides the weights of `op`: rows of inputs at an address, `stride` elements apart.
struct Operands {
  std::int64_t inputs, rows, stride;
  const ggml_tensor *up = nullptr, *residual = nullptr;
  const ggml_tensor *result;
};
void multiply(const Run &run, const fk::GgmlGemmProblem &problem, std::int64_t rowsOfChoice,
              const ggml_tensor *op, const Operands &of) {
  const auto weights = [&](const ggml_tensor *w) {
    const fk::GgmlWeight weight = problem.weight();
    return fk::GgmlTensor{weight, tensorAt(operandOf(w).address, fx::u8,
                                           {static_cast<std::int64_t>(weight_bytes(weight))})};
  };
  const auto results = [&](const ggml_tensor *y) {
    return tensorAt(operandOf(y).address, fx::f32, {of.rows, problem.n});
  };
  fk::GgmlGemmArgs args{
      .a = tensorAt(of.inputs, problem.a, {of.rows, problem.k}, {of.stride, std::int64_t{1}}),
      .b = weights(op->src[0]),
      .c = results(of.result)};
  if (of.up)
    args.up = weights(of.up->src[0]);
  if (of.residual)
    args.residual = results(of.residual);
  planOf(problem, fk::choose(problem, rowsOfChoice, run.target), run.target)(args, run.stream);
}
/// Whether a plan adds a tensor to a result.
bool isResidual(const ggml_tensor *addend, const ggml_tensor *result) {
  return isF32(addend) && ggml_are_same_shape(addend, result) && ggml_is_contiguous(addend) &&
         beginsAligned(addend);
}

/// Columns from which on the plan is faster than a wave's products in f32: of many rows of weights, of fewer;
/// and up to which it is faster than the product of numbers that are made before: of blocks, of numbers.
constexpr std::int64_t kFewest = 3, kFewestOfFew = 5, kMost = 64, kMostOfNumbers = 32;
constexpr std::int64_t kManyRows = 4096;
/// More columns, and those of many rows of weights unless f16 is multiplied, which takes few instructions, are
/// numbers of the type of the product before: each block of threads would make them anew.
constexpr std::int64_t kMostAsTheyAre = 16;

/// A product of a few columns: its problem, and whether inputs become numbers before.
struct FewColumns {
  fk::GgmlGemmProblem problem;
  std::int64_t columns;
  bool asTheyAre;
};
/// None where the library has no such product, the model asks for f32 or another kernel is faster.
std::optional<FewColumns> fewColumnsOf(const Run &run, const ggml_tensor *op,
                                       const ggml_tensor *result) {
  const ggml_tensor *w = op->src[0], *x = op->src[1];
  const auto format = fk::ggml_format(static_cast<std::uint32_t>(w->type));
  const std::int64_t columns = ggml_nrows(x);
  const bool exact = w->type == GGML_TYPE_F32 || intParam(op, 0) == GGML_PREC_F32;
  if (!format || exact || !arePlanWeights(w) || ggml_nrows(w) != w->ne[1] ||
      columns < (w->ne[1] < kManyRows ? kFewestOfFew : kFewest) ||
      columns > (dtypeOf(w->type) ? kMostOfNumbers : kMost) || !isF32(result) ||
      !ggml_is_contiguous(result) || !beginsAligned(result))
    return std::nullopt;
  const bool evenly = ggml_is_contiguous(x) || x->ne[2] * x->ne[3] == 1;
  const fx::DType product = dtypeOf(typeOfNumbers(w));
  const bool fewConversions =
      columns <= kMostAsTheyAre && (w->ne[1] < kManyRows || product == fx::f16);
  const bool asTheyAre = fewConversions && dtypeOf(x->type) && evenly && rowsFollow(x) &&
                         beginsAligned(x) && x->nb[1] % 16 == 0;
  const fk::GgmlGemmProblem problem{.format = *format,
                                    .a = asTheyAre ? dtypeOf(x->type) : product,
                                    .product = product,
                                    .n = w->ne[1],
                                    .k = w->ne[0]};
  if (!fk::supported(problem, run.target) || !fk::choose(problem, columns, run.target).matrix)
    return std::nullopt;
  return FewColumns{problem, columns, asTheyAre};
}
void multiplyFew(const Run &run, const FewColumns &few, const ggml_tensor *op,
                 const ggml_tensor *up, const ggml_tensor *residual, const ggml_tensor *result) {
  const ggml_tensor *x = op->src[1];
  multiply(run, few.problem, few.columns, op,
           {.inputs = few.asTheyAre ? operandOf(x).address
                                    : contiguousNumbers(run, x, typeOfNumbers(op->src[0])),
            .rows = few.columns,
            .stride = few.asTheyAre ? static_cast<std::int64_t>(x->nb[1] / ggml_type_size(x->type))
                                    : few.problem.k,
            .up = up,
            .residual = residual,
            .result = result});
}

} // namespace

bool hasFewColumnsPlan(const Run &run, const ggml_tensor *op) {
  return fewColumnsOf(run, op, op).has_value();
}
bool fewColumnsByPlan(const Run &run, const ggml_tensor *op, const ggml_tensor *addend,
                      const ggml_tensor *result) {
  auto few = fewColumnsOf(run, op, result);
  if (!few)
    return false;
  if (addend && !isResidual(addend, result))
    return false;
  few->problem.residual = addend != nullptr;
  multiplyFew(run, *few, op, nullptr, addend, result);
  return true;
}
bool gatedFewColumnsByPlan(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                           const ggml_tensor *glu) {
  const auto activation = activationOf(ggml_get_glu_op(glu));
  auto few = fewColumnsOf(run, gate, glu);
  const auto other = fewColumnsOf(run, up, glu);
  if (!activation || !few || !other || few->problem != other->problem || gate->src[1] != up->src[1])
    return false;
  few->problem.activation = *activation;
  few->problem.gated = true;
  if (!fk::supported(few->problem, run.target))
    return false;
  multiplyFew(run, *few, gate, up, nullptr, glu);
  return true;
}

bool columnByPlan(const Run &run, const ggml_tensor *op, const ggml_tensor *addend,
                  const ggml_tensor *result) {
  auto problem = problemOf(run, op);
  if (!problem || !ggml_is_contiguous(result) || !beginsAligned(result) ||
      (addend && !isResidual(addend, result)))
    return false;
  problem->residual = addend != nullptr;
  multiply(run, *problem, 1, op,
           {.inputs = operandOf(op->src[1]).address,
            .rows = 1,
            .stride = problem->k,
            .residual = addend,
            .result = result});
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
  multiply(run, *problem, 1, gate,
           {.inputs = operandOf(gate->src[1]).address,
            .rows = 1,
            .stride = problem->k,
            .up = up,
            .result = glu});
  return true;
}

} // namespace flydsl_ggml
