// The slots of tokens are sorted by expert, and the experts' products are one launch. Weights of 16 bits
// are multiplied as they lie; those in blocks are made such numbers before, some rows of all experts at a
// time. The estimates that the limits come from are in docs/llama-cpp.md.
#include "ops/expert_plans.h"

#include "ops/elementwise.h"
#include "ops/numbers.h"
#include "plan_table.h"

#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/moe_sort.h>

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
  fk::GroupedGemmProblem product(int unit, std::int64_t rows) const {
    return {.a = dtypeOf(type),
            .b = dtypeOf(type),
            .c = fx::f32,
            .b_layout = fk::OperandLayout::rows,
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
  const bool exact = w->type == GGML_TYPE_F32 || intParam(op, 0) == GGML_PREC_F32;
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
    return fk::supported(found.product(unit, rows), run.target).ok;
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

} // namespace

bool mulMatIdByPlan(const Run &run, const ggml_tensor *op) {
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
    if (blocks) {
      HostOperand of = w;
      of.address += first * of.stride[1];
      of.extent[1] = static_cast<std::int32_t>(rows);
      numbersOfBlocks(run, e.weights->type, of, e.type, numbers);
    }
    const fk::GroupedGemmProblem product = e.product(unit, rows);
    planOf(product, fk::choose(product, places, run.target),
           run.target)({.a = tensorAt(inputs, type, {tokens, k}),
                        .b = tensorAt(blocks ? numbers : w.address, type, {experts, rows, k}),
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

} // namespace flydsl_ggml
