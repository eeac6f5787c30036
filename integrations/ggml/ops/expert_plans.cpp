// Weights in blocks that the library has are multiplied by its plan for experts, which decides whether slots
// are sorted. For others, the slots of tokens are sorted by expert, and the experts' products are one launch:
// weights of 16 bits are multiplied as they lie; those in blocks are made such numbers before, some rows of
// all experts at a time. The estimates that the limits come from are in docs/llama-cpp.md.
#include "ops/expert_plans.h"

#include "ops/column_plans.h"
#include "ops/elementwise.h"
#include "ops/numbers.h"
#include "ops/precision.h"
#include "plan_table.h"
#include "settings.h"

#include <flydsl/kernels/experts/ggml_experts.h>
#include <flydsl/kernels/grouped_gemm.h>

#include <algorithm>
#include <optional>

namespace flydsl_ggml {
namespace {

/// Slots of an expert, if they are dealt evenly, from which on the plan is faster: of weights in blocks,
/// which all become numbers before, and of numbers. Of 32 experts of 768 x 2048, 4 of each token, 4 slots of
/// Q4_K are estimated at 71 us by the backend's kernel and 75 by the plan, 8 at 139 and 76; 2 slots of f16
/// at 45 and 34, 4 at 79 and 34.
constexpr std::int64_t kFewestSlots = 5, kFewestSlotsOfNumbers = 2;
/// Tokens are counted by 24 bits of an id of moe_sort.
constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;

/// Products of rows of inputs with the experts of their slots.
struct Experts {
  const ggml_tensor *weights, *inputs, *ids;
  std::int64_t experts, n, k;
  /// Rows of inputs, and the experts that multiply each of them. Where each slot has a row of its own, slots
  /// are tokens of one expert.
  std::int64_t tokens, topk;
  ggml_type type; ///< of the numbers that are multiplied: f16 or bf16

  fk::MoeSortProblem sort(int unit) const {
    return {.experts = experts, .topk = static_cast<int>(topk), .unit = unit, .weights = false};
  }
  /// That of so many rows of each expert's weights.
  fk::GroupedGemmProblem product(int unit, std::int64_t rows, const fx::Target &target) const {
    return {.a = dtypeOf(type),
            .b = dtypeOf(type),
            .c = fx::f32,
            .b_layout = layoutOfNumbers(target, weights, rows),
            .experts = experts,
            .n = rows,
            .k = k,
            .unit = unit,
            .topk = static_cast<int>(topk),
            .a_rows = fk::GroupedRows::tokens,
            .c_rows = fk::GroupedRows::slots};
  }
  /// The smallest unit that has the slots of an expert, if they are dealt evenly, or the largest.
  int unit() const {
    int unit = 16;
    while (unit < 128 && unit * experts < tokens * topk)
      unit *= 2;
    return unit;
  }
};

/// None where a plan would not be right, or not be faster.
std::optional<Experts> expertsOf(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *w = op->src[0], *x = op->src[1], *ids = op->src[2];
  const std::int64_t slots = ids->ne[0], count = ids->ne[1], experts = w->ne[2];
  const bool exact = w->type == GGML_TYPE_F32 || !mayRound(op, typeOfNumbers(w));
  const bool shared = x->ne[1] == 1, own = x->ne[1] == slots;
  const std::int64_t fewest = dtypeOf(w->type) ? kFewestSlotsOfNumbers : kFewestSlots;
  const bool fits = !exact && arePlanWeights(w) && w->ne[3] == 1 && x->ne[2] == count &&
                    x->ne[3] == 1 && (shared || own) && ggml_is_contiguous(op) &&
                    beginsAligned(op) && slots * count < kMostTokens &&
                    slots * count >= fewest * experts;
  if (!fits)
    return std::nullopt;
  const Experts found{w,
                      x,
                      ids,
                      experts,
                      w->ne[1],
                      w->ne[0],
                      shared ? count : count * slots,
                      shared ? slots : 1,
                      typeOfNumbers(w)};
  const int unit = found.unit();
  const std::int64_t part = rowsOfPart(w, experts), last = found.n % part;
  const auto has = [&](std::int64_t rows) {
    return fk::supported(found.product(unit, rows, run.target), run.target).ok;
  };
  if (!fk::supported(found.sort(unit), run.target) || !has(part) || (last && !has(last)))
    return std::nullopt;
  return found;
}

/// The experts of the slots without gaps.
std::int64_t contiguousIds(const Run &run, const ggml_tensor *ids) {
  if (ggml_is_contiguous(ids))
    return operandOf(ids).address;
  Element copy = elementOf(ids);
  copy.memory.address = reinterpret_cast<std::intptr_t>(
      run.scratch->take(static_cast<std::size_t>(ggml_nelements(ids)) * sizeof(std::int32_t)));
  copy.memory.stride = {4, 4 * ids->ne[0], 4 * ggml_nelements(ids), 4 * ggml_nelements(ids)};
  const Element sources[] = {elementOf(ids)};
  elementwise(run, "copy", copy, sources, nullptr);
  return copy.memory.address;
}

/// The library's product with the experts of slots; none where it has no such product. Inputs are the rows
/// of tokens, or those of slots, each of which is a token of one expert then.
struct BlockExperts {
  fk::GgmlExpertsProblem problem;
  fk::GgmlExpertsConfig config;
  std::int64_t tokens, stride; ///< rows of inputs, and elements from one to the next
};
std::optional<BlockExperts> blockExpertsOf(const Run &run, const ggml_tensor *op,
                                           fk::Activation activation = fk::Activation::none) {
  const ggml_tensor *w = op->src[0], *x = op->src[1], *ids = op->src[2];
  const auto format = fk::ggml_format(static_cast<std::uint32_t>(w->type));
  if (!format || dtypeOf(w->type) || !arePlanWeights(w) || w->ne[3] != 1)
    return std::nullopt;
  const std::int64_t slots = ids->ne[0], count = ids->ne[1];
  const auto size = static_cast<std::int64_t>(ggml_type_size(x->type));
  const bool shared = x->ne[1] == 1, own = x->ne[1] == slots;
  const std::size_t row = shared ? x->nb[2] : x->nb[1];
  const bool evenly =
      shared || count == 1 || x->nb[2] == x->nb[1] * static_cast<std::size_t>(slots);
  if (!(shared || own) || !evenly || x->ne[2] != count || x->ne[3] != 1 || !rowsFollow(x) ||
      !beginsAligned(x) || row % 16 != 0 || !ggml_is_contiguous(op) || !beginsAligned(op))
    return std::nullopt;
  const bool exact = !mayRound(op, typeOfNumbers(w));
  fk::GgmlExpertsProblem problem{.format = *format,
                                 .a = dtypeOf(x->type),
                                 .product = dtypeOf(typeOfNumbers(w)),
                                 .experts = w->ne[2],
                                 .topk = static_cast<int>(shared ? slots : 1),
                                 .n = w->ne[1],
                                 .k = w->ne[0],
                                 .activation = activation,
                                 .gated = activation != fk::Activation::none,
                                 .q8_1 = mayRound(op, Rank::q8) && roundsInputs()};
  const std::int64_t tokens = shared ? count : count * slots;
  problem.q8_1 = problem.q8_1 && fk::supported(problem, run.target);
  if (tokens * problem.topk >= kMostTokens || !fk::supported(problem, run.target))
    return std::nullopt;
  BlockExperts found{problem, fk::choose(problem, exact ? 1 : tokens, run.target), tokens,
                     static_cast<std::int64_t>(row) / size};
  // In f32 and with waves of 32 lanes, the backend's own kernel multiplies single slots faster, as it does columns.
  const bool isSlow = run.wave != 64 && !found.config.unit && !problem.q8_1;
  if ((exact && found.config.product.matrix) || isSlow)
    return std::nullopt;
  return found;
}

/// `up`: the other product of gated ones.
void multiply(const Run &run, const BlockExperts &found, const ggml_tensor *op,
              const ggml_tensor *up, const ggml_tensor *result) {
  const auto &[problem, config, tokens, stride] = found;
  fk::GgmlExpertsArgs args{
      .a = tensorAt(operandOf(op->src[1]).address, problem.a, {tokens, problem.k},
                    {stride, std::int64_t{1}}),
      .b = blocksOf(problem.weight(), op->src[0]),
      .ids = tensorAt(contiguousIds(run, op->src[2]), fx::i32, {tokens, problem.topk}),
      .c = tensorAt(operandOf(result).address, fx::f32, {tokens, problem.topk, problem.n})};
  if (up)
    args.up = blocksOf(problem.weight(), up->src[0]);
  if (const std::size_t bytes = fk::workspace_bytes(problem, config, tokens))
    args.workspace = workspaceOf(run, bytes);
  planOf(problem, config, run.target)(args, run.stream);
}

} // namespace

bool mulMatIdByPlan(const Run &run, const ggml_tensor *op) {
  if (const auto blocks = blockExpertsOf(run, op)) {
    multiply(run, *blocks, op, nullptr, op);
    return true;
  }
  const auto found = expertsOf(run, op);
  if (!found)
    return false;
  const Experts &e = *found;
  const std::int64_t tokens = e.tokens, topk = e.topk, experts = e.experts, n = e.n, k = e.k;
  const int unit = e.unit();
  const auto numbersAt = [&](std::int64_t count) {
    return tensorAt(reinterpret_cast<std::intptr_t>(
                        run.scratch->take(static_cast<std::size_t>(count) * sizeof(std::int32_t))),
                    fx::i32, {count});
  };

  const fk::MoeSortProblem sort = e.sort(unit);
  const fk::MoeSortConfig sorting = fk::choose(sort, tokens, run.target);
  const std::int64_t places = fk::moe_sort_places(sort, tokens);
  fk::MoeSortArgs order{.ids = tensorAt(contiguousIds(run, e.ids), fx::i32, {tokens, topk}),
                        .sorted_ids = numbersAt(places),
                        .unit_experts = numbersAt(places / unit),
                        .counts = numbersAt(experts),
                        .offsets = numbersAt(experts + 1),
                        .totals = numbersAt(3)};
  if (const std::size_t bytes = fk::workspace_bytes(sort, sorting, tokens))
    order.workspace = workspaceOf(run, bytes);
  planOf(sort, sorting, run.target)(order, run.stream);

  const fx::DType type = dtypeOf(e.type);
  const std::int64_t inputs = contiguousNumbers(run, e.inputs, e.type),
                     part = rowsOfPart(e.weights, experts);
  const bool blocks = !dtypeOf(e.weights->type);
  const HostOperand w = operandOf(e.weights), y = operandOf(op);
  const std::int64_t numbers =
      blocks ? reinterpret_cast<std::intptr_t>(run.scratch->take(
                   static_cast<std::size_t>(experts * part * k) * ggml_type_size(e.type)))
             : 0;
  for (std::int64_t first = 0; first < n; first += part) {
    const std::int64_t rows = std::min(part, n - first);
    const fk::GroupedGemmProblem product = e.product(unit, rows, run.target);
    if (blocks) {
      HostOperand of = w;
      of.address += first * of.stride[1];
      of.extent[1] = static_cast<std::int32_t>(rows);
      numbersOfBlocks(run, e.weights->type, of, e.type, numbers, product.b_layout);
    }
    planOf(product, fk::choose(product, places, run.target),
           run.target)({.a = tensorAt(inputs, type, {tokens, k}),
                        .b = weightsOf(product, blocks ? numbers : w.address, {experts, rows, k}),
                        .c = tensorAt(y.address + first * y.stride[0], fx::f32,
                                      {tokens, topk, rows}, {topk * n, n, std::int64_t{1}}),
                        .unit_experts = order.unit_experts,
                        .offsets = order.offsets,
                        .counts = order.counts,
                        .sorted_ids = order.sorted_ids},
                       run.stream);
  }
  return true;
}

bool mulMatIdsThenGlu(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                      const ggml_tensor *glu) {
  const auto activation = activationOf(ggml_get_glu_op(glu));
  if (!activation || gate->src[1] != up->src[1] || gate->src[2] != up->src[2] || !isF32(glu) ||
      !ggml_is_contiguous(glu) || !beginsAligned(glu))
    return false;
  const auto of = blockExpertsOf(run, gate, *activation),
             other = blockExpertsOf(run, up, *activation);
  // Products whose inputs may be rounded differently have other problems or configurations.
  if (!of || !other || of->problem != other->problem || of->config != other->config)
    return false;
  multiply(run, *of, gate, up, glu);
  return true;
}

} // namespace flydsl_ggml
