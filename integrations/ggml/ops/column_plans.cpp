// A step of decoding multiplies each matrix by one column. The plan reads blocks of weights as units of 32
// or 64 neighbours, where the backend's own kernel takes eight at most. It rounds up to four columns to Q8_1
// and multiplies whole numbers, as ggml's other backends do; where a model asks for f32, it computes in f32
// from the exact weights. A few columns more, as several sequences or a short prompt have them, are multiplied
// by matrix instructions, whose numbers are made of blocks in registers. The estimates are in docs/llama-cpp.md.
#include "ops/column_plans.h"

#include "ops/numbers.h"
#include "ops/precision.h"
#include "plan_table.h"
#include "settings.h"

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

/// Whether a plan reads inputs as they are: as rows that begin at multiples of 16 bytes.
bool isReadAsItIs(const ggml_tensor *x) {
  const bool evenly = ggml_is_contiguous(x) || x->ne[2] * x->ne[3] == 1;
  return dtypeOf(x->type) && evenly && rowsFollow(x) && beginsAligned(x) &&
         (x->ne[1] == 1 || x->nb[1] % 16 == 0);
}
/// The library's product of a matrix of weights, with inputs as they are; none where it has none.
std::optional<fk::GgmlGemmProblem> problemOf(const ggml_tensor *op) {
  const ggml_tensor *w = op->src[0];
  const auto format = fk::ggml_format(static_cast<std::uint32_t>(w->type));
  if (!format || !arePlanWeights(w) || ggml_nrows(w) != w->ne[1])
    return std::nullopt;
  return fk::GgmlGemmProblem{
      .format = *format, .a = dtypeOf(op->src[1]->type), .n = w->ne[1], .k = w->ne[0]};
}

/// Of whole numbers. None where the model asks for more precise inputs, and where the library multiplies so many
/// columns by matrix instructions.
std::optional<ColumnsProduct> wholeNumbersOf(const Run &run, const ggml_tensor *op) {
  auto problem = problemOf(op);
  if (!problem || !mayRound(op, Rank::q8) || !roundsInputs() || !isReadAsItIs(op->src[1]))
    return std::nullopt;
  problem->q8_1 = true;
  const std::int64_t columns = ggml_nrows(op->src[1]);
  if (!fk::supported(*problem, run.target) || fk::choose(*problem, columns, run.target).matrix)
    return std::nullopt;
  return ColumnsProduct{.problem = *problem, .columns = columns, .asTheyAre = true};
}

/// Of one column in f32.
std::optional<ColumnsProduct> oneColumnOf(const Run &run, const ggml_tensor *op) {
  // With waves of 32 lanes the backend's own kernel is the faster: 44 us and 52 for 4096 x 4096 of Q4_K on
  // gfx1201.
  if (run.wave != 64)
    return std::nullopt;
  const auto problem = problemOf(op);
  if (!problem || !isReadAsItIs(op->src[1]) || !fk::supported(*problem, run.target))
    return std::nullopt;
  return ColumnsProduct{.problem = *problem, .columns = 1, .asTheyAre = true};
}

/// Columns from which on the plan is faster than a wave's products in f32: of many rows of weights, of fewer;
/// and up to which it is faster than the product of numbers that are made before: of blocks with fewer rows, of
/// blocks with many, of numbers.
constexpr std::int64_t kFewest = 3, kFewestOfFew = 5, kMost = 64, kMostOfMany = 128,
                       kMostOfNumbers = 32;
constexpr std::int64_t kManyRows = 4096;
/// More columns, and those of many rows of weights unless f16 is multiplied, which takes few instructions, are
/// numbers of the type of the product before: each block of threads would make them anew.
constexpr std::int64_t kMostAsTheyAre = 16;

/// The most columns of a product by weights in blocks. With a tensor mover numbers take so little time that
/// more columns gain nothing: 128 of 4096 x 2048 in Q4_K are estimated at 17 us on gfx1250, and at 25 in blocks.
std::int64_t mostColumns(const Run &run, const ggml_tensor *w) {
  if (dtypeOf(w->type))
    return kMostOfNumbers;
  return w->ne[1] >= kManyRows && !run.target.has(fx::Feature::tensor_mover) ? kMostOfMany : kMost;
}

/// By matrix instructions. None where the model asks for more precise inputs or another kernel is faster.
std::optional<ColumnsProduct> fewColumnsOf(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *w = op->src[0], *x = op->src[1];
  auto problem = problemOf(op);
  const std::int64_t columns = ggml_nrows(x);
  if (!problem || w->type == GGML_TYPE_F32 || !mayRound(op, typeOfNumbers(w)) ||
      columns < (w->ne[1] < kManyRows ? kFewestOfFew : kFewest) || columns > mostColumns(run, w))
    return std::nullopt;
  problem->product = dtypeOf(typeOfNumbers(w));
  const bool fewConversions =
      columns <= kMostAsTheyAre && (w->ne[1] < kManyRows || problem->product == fx::f16);
  const bool asTheyAre = fewConversions && isReadAsItIs(x);
  if (!asTheyAre)
    problem->a = problem->product;
  if (!fk::supported(*problem, run.target) || !fk::choose(*problem, columns, run.target).matrix)
    return std::nullopt;
  return ColumnsProduct{.problem = *problem, .columns = columns, .asTheyAre = asTheyAre};
}

std::optional<ColumnsProduct> productOf(const Run &run, const ggml_tensor *op) {
  if (const auto product = wholeNumbersOf(run, op))
    return product;
  return ggml_nrows(op->src[1]) == 1 ? oneColumnOf(run, op) : fewColumnsOf(run, op);
}

void multiply(const Run &run, const ColumnsProduct &product, const ggml_tensor *op,
              const ggml_tensor *up, const ggml_tensor *residual, const ggml_tensor *result) {
  const auto &[problem, columns, asTheyAre] = product;
  const ggml_tensor *x = op->src[1];
  const auto results = [&, rows = columns, n = problem.n](const ggml_tensor *y) {
    return tensorAt(operandOf(y).address, fx::f32, {rows, n});
  };
  // A mode of one column has any stride: those of several matrices follow one another then.
  const std::int64_t inputs = asTheyAre ? operandOf(x).address
                                        : contiguousNumbers(run, x, typeOfNumbers(op->src[0])),
                     stride = asTheyAre && x->ne[1] > 1
                                  ? static_cast<std::int64_t>(x->nb[1] / ggml_type_size(x->type))
                                  : problem.k;
  fk::GgmlGemmArgs args{
      .a = tensorAt(inputs, problem.a, {columns, problem.k}, {stride, std::int64_t{1}}),
      .b = blocksOf(problem.weight(), op->src[0]),
      .c = results(result)};
  if (up)
    args.up = blocksOf(problem.weight(), up->src[0]);
  if (residual)
    args.residual = results(residual);
  planOf(problem, fk::choose(problem, columns, run.target), run.target)(args, run.stream);
}

} // namespace

bool columnsByPlan(const Run &run, const ggml_tensor *op, const ggml_tensor *addend,
                   const ggml_tensor *result) {
  auto product = productOf(run, op);
  if (!product || !isResult(result) || (addend && !isResidual(addend, result)))
    return false;
  product->problem.residual = addend != nullptr;
  multiply(run, *product, op, nullptr, addend, result);
  return true;
}
bool gatedColumnsByPlan(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                        const ggml_tensor *glu) {
  const auto activation = activationOf(ggml_get_glu_op(glu));
  auto product = productOf(run, gate);
  const auto other = productOf(run, up);
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
bool hasColumnsPlan(const Run &run, const ggml_tensor *op) {
  return isResult(op) && productOf(run, op);
}

} // namespace flydsl_ggml
