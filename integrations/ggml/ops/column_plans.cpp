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

/// A product of a matrix of weights and columns of inputs by a plan.
struct ColumnsProduct {
  fk::GgmlGemmProblem problem;
  std::int64_t columns;
  bool asTheyAre; ///< otherwise inputs become numbers of the type of the product before
};
/// Whether a plan writes a tensor.
bool isResult(const ggml_tensor *y) {
  return isF32(y) && ggml_is_contiguous(y) && beginsAligned(y);
}
/// Whether a plan adds a tensor to a result.
bool isResidual(const ggml_tensor *addend, const ggml_tensor *result) {
  return isResult(addend) && ggml_are_same_shape(addend, result);
}

/// None where the library has no such product of one column. The plan computes in f32, so that it serves
/// models that ask for it, too.
std::optional<ColumnsProduct> oneColumnOf(const Run &run, const ggml_tensor *op) {
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
  return ColumnsProduct{.problem = problem, .columns = 1, .asTheyAre = true};
}

/// Columns from which on the plan is faster than a wave's products in f32: of many rows of weights, of fewer;
/// and up to which it is faster than the product of numbers that are made before: of blocks, of numbers.
constexpr std::int64_t kFewest = 3, kFewestOfFew = 5, kMost = 64, kMostOfNumbers = 32;
constexpr std::int64_t kManyRows = 4096;
/// More columns, and those of many rows of weights unless f16 is multiplied, which takes few instructions, are
/// numbers of the type of the product before: each block of threads would make them anew.
constexpr std::int64_t kMostAsTheyAre = 16;

/// None where the library has no such product of a few columns, the model asks for f32 or another kernel is
/// faster.
std::optional<ColumnsProduct> fewColumnsOf(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *w = op->src[0], *x = op->src[1];
  const auto format = fk::ggml_format(static_cast<std::uint32_t>(w->type));
  const std::int64_t columns = ggml_nrows(x);
  const bool exact = w->type == GGML_TYPE_F32 || intParam(op, 0) == GGML_PREC_F32;
  if (!format || exact || !arePlanWeights(w) || ggml_nrows(w) != w->ne[1] ||
      columns < (w->ne[1] < kManyRows ? kFewestOfFew : kFewest) ||
      columns > (dtypeOf(w->type) ? kMostOfNumbers : kMost))
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
  return ColumnsProduct{.problem = problem, .columns = columns, .asTheyAre = asTheyAre};
}

void multiply(const Run &run, const ColumnsProduct &product, const ggml_tensor *op,
              const ggml_tensor *up, const ggml_tensor *residual, const ggml_tensor *result) {
  const auto &[problem, columns, asTheyAre] = product;
  const ggml_tensor *x = op->src[1];
  const auto weights = [&, &problem = problem](const ggml_tensor *w) {
    const fk::GgmlWeight weight = problem.weight();
    return fk::GgmlTensor{weight, tensorAt(operandOf(w).address, fx::u8,
                                           {static_cast<std::int64_t>(weight_bytes(weight))})};
  };
  const auto results = [&, rows = columns, n = problem.n](const ggml_tensor *y) {
    return tensorAt(operandOf(y).address, fx::f32, {rows, n});
  };
  const std::int64_t inputs = asTheyAre ? operandOf(x).address
                                        : contiguousNumbers(run, x, typeOfNumbers(op->src[0])),
                     stride = asTheyAre && columns > 1
                                  ? static_cast<std::int64_t>(x->nb[1] / ggml_type_size(x->type))
                                  : problem.k;
  fk::GgmlGemmArgs args{
      .a = tensorAt(inputs, problem.a, {columns, problem.k}, {stride, std::int64_t{1}}),
      .b = weights(op->src[0]),
      .c = results(result)};
  if (up)
    args.up = weights(up->src[0]);
  if (residual)
    args.residual = results(residual);
  planOf(problem, fk::choose(problem, columns, run.target), run.target)(args, run.stream);
}

/// A product, with a tensor that is added unless it is null. Returns whether there is a plan for it.
bool added(const Run &run, std::optional<ColumnsProduct> product, const ggml_tensor *op,
           const ggml_tensor *addend, const ggml_tensor *result) {
  if (!product || !isResult(result) || (addend && !isResidual(addend, result)))
    return false;
  product->problem.residual = addend != nullptr;
  multiply(run, *product, op, nullptr, addend, result);
  return true;
}
/// The same of two products of the same columns and GLU of them.
bool gated(const Run &run, std::optional<ColumnsProduct> product,
           const std::optional<ColumnsProduct> &other, const ggml_tensor *gate,
           const ggml_tensor *up, const ggml_tensor *glu) {
  const auto activation = activationOf(ggml_get_glu_op(glu));
  if (!activation || !product || !other || product->problem != other->problem ||
      gate->src[1] != up->src[1] || !isResult(glu))
    return false;
  product->problem.activation = *activation;
  product->problem.gated = true;
  if (!fk::supported(product->problem, run.target))
    return false;
  multiply(run, *product, gate, up, nullptr, glu);
  return true;
}

} // namespace

bool columnByPlan(const Run &run, const ggml_tensor *op, const ggml_tensor *addend,
                  const ggml_tensor *result) {
  return added(run, oneColumnOf(run, op), op, addend, result);
}
bool gatedColumnByPlan(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                       const ggml_tensor *glu) {
  return gated(run, oneColumnOf(run, gate), oneColumnOf(run, up), gate, up, glu);
}
bool fewColumnsByPlan(const Run &run, const ggml_tensor *op, const ggml_tensor *addend,
                      const ggml_tensor *result) {
  return added(run, fewColumnsOf(run, op), op, addend, result);
}
bool gatedFewColumnsByPlan(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                           const ggml_tensor *glu) {
  return gated(run, fewColumnsOf(run, gate), fewColumnsOf(run, up), gate, up, glu);
}
bool hasFewColumnsPlan(const Run &run, const ggml_tensor *op) {
  return isResult(op) && fewColumnsOf(run, op);
}

} // namespace flydsl_ggml
