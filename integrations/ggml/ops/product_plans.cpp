// Weights of 16 bits are multiplied as they lie; those in blocks are made such numbers before, some rows
// at a time. The estimates that the limits come from are in docs/llama-cpp.md.
#include "ops/product_plans.h"

#include "ops/numbers.h"
#include "plan_table.h"

#include <flydsl/kernels/gemm.h>

#include <algorithm>
#include <optional>

namespace flydsl_ggml {
namespace {

/// Columns from which on the plan is faster, with the launches before it.
constexpr std::int64_t kFewest = 9;
/// Weights of blocks that are in memory as numbers at a time: 64 MiB, which the last caches of large
/// devices hold.
constexpr std::int64_t kPart = std::int64_t{1} << 25;

/// A product of rows of weights and rows of inputs.
struct Product {
  const ggml_tensor *weights, *inputs, *result;
  std::int64_t n, k, m; ///< rows and columns of the weights, and rows of the inputs
  ggml_type type;       ///< of the numbers that are multiplied: f16 or bf16
};

/// None where a plan would not be right, or not be faster.
std::optional<Product> productOf(const ggml_tensor *op) {
  const ggml_tensor *w = op->src[0], *x = op->src[1];
  // Weights are leaves of the graph: a plan is compiled for their very shape, and caches of keys, whose
  // views grow, would make many.
  const bool leaf =
      w->op == GGML_OP_NONE && !w->view_src && ggml_is_contiguous(w) && w->ne[2] * w->ne[3] == 1;
  const bool exact = w->type == GGML_TYPE_F32 || intParam(op, 0) == GGML_PREC_F32;
  const auto aligned = [](const ggml_tensor *t) {
    return reinterpret_cast<std::uintptr_t>(t->data) % 16 == 0;
  };
  if (!leaf || exact || !aligned(w) || !aligned(op) || ggml_nrows(x) < kFewest)
    return std::nullopt;
  // Inputs are rounded as the CPU backend rounds them for weights of 16 bits. Those of blocks are
  // multiplied as bf16: it has the range of f32, and more bits than the codes.
  const ggml_type type = w->type == GGML_TYPE_F16 ? GGML_TYPE_F16 : GGML_TYPE_BF16;
  return Product{w, x, op, w->ne[1], w->ne[0], ggml_nrows(x), type};
}

/// A tensor of rows without gaps.
fx::TensorArg rowsAt(std::int64_t address, ggml_type type, std::int64_t rows, std::int64_t columns,
                     std::int64_t stride) {
  const std::int64_t shape[] = {rows, columns}, strides[] = {stride, 1};
  return fx::TensorArg(reinterpret_cast<void *>(address), dtypeOf(type), shape, strides);
}

fk::GemmProblem problemOf(const Product &product, std::int64_t n) {
  return {.a = dtypeOf(product.type),
          .b = dtypeOf(product.type),
          .c = fx::f32,
          .b_layout = fk::OperandLayout::rows,
          .n = n,
          .k = product.k};
}
/// The rows of weights that are multiplied at a time. Plans have few shapes: all parts but the last are
/// of the same size.
std::int64_t rowsOfPart(const Product &product) {
  if (dtypeOf(product.weights->type))
    return product.n;
  constexpr std::int64_t unit = 256;
  return std::min(product.n, std::max(unit, kPart / product.k / unit * unit));
}

/// None if the plan does not have it, too.
std::optional<Product> plannedProduct(const Run &run, const ggml_tensor *op) {
  const auto product = productOf(op);
  if (!product || !fk::supported(problemOf(*product, rowsOfPart(*product)), run.target))
    return std::nullopt;
  return product;
}

} // namespace

bool hasPlan(const Run &run, const ggml_tensor *op) { return plannedProduct(run, op).has_value(); }

bool mulMatByPlan(const Run &run, const ggml_tensor *op) {
  const auto product = plannedProduct(run, op);
  if (!product)
    return false;
  const std::int64_t part = rowsOfPart(*product);
  const bool blocks = !dtypeOf(product->weights->type);
  const std::int64_t n = product->n, k = product->k, m = product->m;
  const std::int64_t inputs = contiguousNumbers(run, product->inputs, product->type);
  const auto size = static_cast<std::int64_t>(ggml_type_size(product->type));
  const std::int64_t numbers = blocks ? reinterpret_cast<std::intptr_t>(run.scratch->take(
                                            static_cast<std::size_t>(part * k * size)))
                                      : 0;
  for (std::int64_t first = 0; first < n; first += part) {
    const std::int64_t rows = std::min(part, n - first);
    if (blocks) {
      HostOperand of = operandOf(product->weights);
      of.address += first * of.stride[1];
      of.extent[1] = static_cast<std::int32_t>(rows);
      numbersOfBlocks(run, product->weights->type, of, product->type, numbers);
    }
    const fk::GemmProblem problem = problemOf(*product, rows);
    const fk::GemmConfig config = fk::choose(problem, m, run.target);
    const HostOperand w = operandOf(product->weights), y = operandOf(op);
    fk::GemmArgs args{.a = rowsAt(inputs, product->type, m, k, k),
                      .b = rowsAt(blocks ? numbers : w.address, product->type, rows, k, k),
                      .c = rowsAt(y.address + first * y.stride[0], GGML_TYPE_F32, m, rows, n)};
    if (const std::size_t bytes = fk::workspace_bytes(problem, config, m)) {
      const std::int64_t shape[] = {static_cast<std::int64_t>(bytes)};
      args.workspace = fx::TensorArg(run.scratch->take(bytes), fx::u8, shape);
    }
    planOf(problem, config, run.target)(args, run.stream);
  }
  return true;
}

} // namespace flydsl_ggml
