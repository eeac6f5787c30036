// Weights of 16 bits are multiplied as they lie; those in blocks are made such numbers before, some rows
// at a time. The estimates that the limits come from are in docs/llama-cpp.md.
#include "ops/product_plans.h"

#include "ops/numbers.h"
#include "ops/precision.h"
#include "plan_table.h"

#include <flydsl/kernels/gemm.h>

#include <algorithm>
#include <optional>

namespace flydsl_ggml {
namespace {

/// Columns from which on the plan is faster, with the launches before it.
constexpr std::int64_t kFewest = 9;

/// A product of rows of weights and rows of inputs.
struct Product {
  const ggml_tensor *weights, *inputs, *result;
  std::int64_t n, k, m; ///< rows and columns of the weights, and rows of the inputs
  ggml_type type;       ///< of the numbers that are multiplied: f16 or bf16
};

/// None where a plan would not be right, or not be faster.
std::optional<Product> productOf(const ggml_tensor *op) {
  const ggml_tensor *w = op->src[0], *x = op->src[1];
  const bool exact = w->type == GGML_TYPE_F32 || !mayRound(op, typeOfNumbers(w));
  if (!arePlanWeights(w) || w->ne[2] * w->ne[3] != 1 || exact || !beginsAligned(op) ||
      ggml_nrows(x) < kFewest)
    return std::nullopt;
  return Product{w, x, op, w->ne[1], w->ne[0], ggml_nrows(x), typeOfNumbers(w)};
}

fk::GemmProblem problemOf(const Product &product, std::int64_t n, const fx::Target &target) {
  return {.a = dtypeOf(product.type),
          .b = dtypeOf(product.type),
          .c = fx::f32,
          .b_layout = layoutOfNumbers(target, product.weights, n),
          .n = n,
          .k = product.k};
}

/// None if the plan does not have it, too.
std::optional<Product> plannedProduct(const Run &run, const ggml_tensor *op) {
  const auto product = productOf(op);
  if (!product ||
      !fk::supported(problemOf(*product, rowsOfPart(product->weights, 1), run.target), run.target))
    return std::nullopt;
  return product;
}

} // namespace

bool hasPlan(const Run &run, const ggml_tensor *op) { return plannedProduct(run, op).has_value(); }

bool mulMatByPlan(const Run &run, const ggml_tensor *op) {
  const auto product = plannedProduct(run, op);
  if (!product)
    return false;
  const std::int64_t part = rowsOfPart(product->weights, 1);
  const bool blocks = !dtypeOf(product->weights->type);
  const std::int64_t n = product->n, k = product->k, m = product->m;
  const std::int64_t inputs = contiguousNumbers(run, product->inputs, product->type);
  const auto size = static_cast<std::int64_t>(ggml_type_size(product->type));
  const std::int64_t numbers = blocks ? reinterpret_cast<std::intptr_t>(run.scratch->take(
                                            static_cast<std::size_t>(part * k * size)))
                                      : 0;
  for (std::int64_t first = 0; first < n; first += part) {
    const std::int64_t rows = std::min(part, n - first);
    const fk::GemmProblem problem = problemOf(*product, rows, run.target);
    if (blocks) {
      HostOperand of = operandOf(product->weights);
      of.address += first * of.stride[1];
      of.extent[1] = static_cast<std::int32_t>(rows);
      numbersOfBlocks(run, product->weights->type, of, product->type, numbers, problem.b_layout);
    }
    const fk::GemmConfig config = fk::choose(problem, m, run.target);
    const HostOperand w = operandOf(product->weights), y = operandOf(op);
    const fx::DType of = dtypeOf(product->type);
    fk::GemmArgs args{
        .a = tensorAt(inputs, of, {m, k}),
        .b = weightsOf(problem, blocks ? numbers : w.address, {rows, k}),
        .c = tensorAt(y.address + first * y.stride[0], fx::f32, {m, rows}, {n, std::int64_t{1}})};
    if (const std::size_t bytes = fk::workspace_bytes(problem, config, m))
      args.workspace = workspaceOf(run, bytes);
    planOf(problem, config, run.target)(args, run.stream);
  }
  return true;
}

} // namespace flydsl_ggml
