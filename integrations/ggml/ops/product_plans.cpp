// Weights of 16 bits are multiplied as they lie; those in blocks are made such numbers before, some rows
// at a time. The estimates that the limits come from are in docs/llama-cpp.md.
#include "ops/product_plans.h"

#include "ops/elementwise.h"
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
/// Neighbours that a thread makes numbers of.
constexpr int kNeighbours = 8;

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

/// The inputs as rows of the numbers that are multiplied, contiguous, in the op's own memory.
std::int64_t roundedInputs(const Run &run, const Product &product) {
  const ggml_tensor *x = product.inputs;
  const auto size = static_cast<std::int64_t>(ggml_type_size(product.type));
  Element rounded{product.type, operandOf(x)};
  rounded.memory.address = reinterpret_cast<std::intptr_t>(
      run.scratch->take(static_cast<std::size_t>(ggml_nelements(x) * size)));
  rounded.memory.stride[0] = size;
  for (std::size_t d = 1; d < 4; ++d)
    rounded.memory.stride[d] = rounded.memory.stride[d - 1] * x->ne[d - 1];
  const Element sources[] = {elementOf(x)};
  elementwise(run, "copy", rounded, sources, nullptr);
  return rounded.memory.address;
}

/// Makes numbers of some rows of blocks. A thread takes some neighbours, which are in one block.
void numbersOfBlocks(const Run &run, const Product &product, std::int64_t first, std::int64_t rows,
                     std::int64_t to) {
  const ggml_type from = product.weights->type, type = product.type;
  const std::int64_t pieces = product.k / kNeighbours;
  HostOperand blocks = operandOf(product.weights);
  blocks.address += first * blocks.stride[1];
  run.threads(
      rows * pieces,
      {.name = std::string("numbers_") + ggml_type_name(type) + "_" + ggml_type_name(from),
       .x = {{.address = to, .stride = {}, .extent = {}}, blocks},
       .i = {static_cast<std::int32_t>(pieces)}},
      [=](const Traced &p, const fx::UInt32 &index) {
        const fx::UInt32 ofRow(p.i[1].to(fx::u32)), row = index / ofRow;
        const fx::Int32 k(((index - row * ofRow) * kNeighbours).to(fx::i32));
        const auto x = neighboursInRow(from, p.x[1].address + row.to(fx::i64) * p.x[1].stride[1],
                                       p.x[1].stride[0], k, kNeighbours);
        const fx::DType dtype = dtypeOf(type);
        fx::Pointer::from_address(p.x[0].address +
                                      index.to(fx::i64) * (kNeighbours * dtype.bytes()),
                                  dtype, fx::AddressSpace::global, kNeighbours * dtype.bytes())
            .store(fx::Vector::of({x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]}).to(dtype));
      });
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

} // namespace

bool mulMatByPlan(const Run &run, const ggml_tensor *op) {
  const auto product = productOf(op);
  const std::int64_t part = product ? rowsOfPart(*product) : 0;
  if (!product || !fk::supported(problemOf(*product, part), run.target))
    return false;
  const bool blocks = !dtypeOf(product->weights->type);
  const std::int64_t n = product->n, k = product->k, m = product->m;
  const std::int64_t inputs = roundedInputs(run, *product);
  const auto size = static_cast<std::int64_t>(ggml_type_size(product->type));
  const std::int64_t numbers = blocks ? reinterpret_cast<std::intptr_t>(run.scratch->take(
                                            static_cast<std::size_t>(part * k * size)))
                                      : 0;
  for (std::int64_t first = 0; first < n; first += part) {
    const std::int64_t rows = std::min(part, n - first);
    if (blocks)
      numbersOfBlocks(run, *product, first, rows, numbers);
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
