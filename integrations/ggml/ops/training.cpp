// Ops of training: the loss, gradients of rows, steps of optimisers. Source: the functions of these names
// in ggml-cpu/ops.cpp.
#include "ops/cell.h"
#include "ops/row.h"

#include <limits>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

/// The largest element of a row of logits, and the sum of the exponentials of all, relative to it.
struct Logits {
  Numeric largest, sum;

  Logits(Row &row, const Int32 &n, const std::function<Numeric(const Int32 &)> &at)
      : largest(largestOf(row, n, at)),
        sum(row.sum(n, [&](const Int32 &i) { return fx::math::exp(at(i) - largest); })) {}

private:
  static Numeric largestOf(Row &row, const Int32 &n,
                           const std::function<Numeric(const Int32 &)> &at) {
    fx::Var<fx::Float32> best(-std::numeric_limits<float>::infinity());
    for (Int32 i : fx::range(row.tid, n, row.threads))
      best = fx::max(best.get(), at(i));
    return row.reduce(best.get(), fx::Reduction::max);
  }
};

/// -1 / rows * sum over rows and columns of labels * log softmax(logits); one block goes over all rows,
/// so that the order of the sum is always the same.
void runCrossEntropy(const Run &run, const ggml_tensor *op) {
  constexpr int threads = 1024;
  run({.name = "cross_entropy_loss",
       .x = {operandOf(op), operandOf(op->src[0]), operandOf(op->src[1])},
       .i = {static_cast<std::int32_t>(ggml_nrows(op->src[0]))},
       .block = threads},
      [=](const Traced &p) {
        const TracedOperand &logits = p.x[1], &labels = p.x[2];
        Row row(threads);
        const Int32 n = logits.extent[0];
        fx::Var<fx::Float32> total(0.0f);
        for (Int32 r : fx::range(0, p.i[0], 1)) {
          const Int32 i1 = r % logits.extent[1], rest = r / logits.extent[1],
                      i2 = rest % logits.extent[2], i3 = rest / logits.extent[2];
          const auto at = columnsOf(logits, GGML_TYPE_F32, rowAddress(logits, i1, i2, i3)),
                     label = columnsOf(labels, GGML_TYPE_F32, rowAddress(labels, i1, i2, i3));
          const Logits all(row, n, at);
          const Numeric log = fx::math::log(all.sum);
          total +=
              row.sum(n, [&](const Int32 &i) { return (at(i) - all.largest - log) * label(i); });
        }
        fx::if_(row.tid == 0,
                [&] { storeF32(p.x[0], p.x[0].address, 0, -total.get() / p.i[0].to(fx::f32)); });
      });
}
/// (softmax(logits) - labels) * gradient / rows
void runCrossEntropyBack(const Run &run, const ggml_tensor *op) {
  const int threads = threadsOf(op->ne[0]);
  run({.name = "cross_entropy_loss_back",
       .x = {operandOf(op), operandOf(op->src[0]), operandOf(op->src[1]), operandOf(op->src[2])},
       .i = {static_cast<std::int32_t>(ggml_nrows(op))},
       .grid = gridOf(op),
       .block = threads},
      [=](const Traced &p) {
        Row row(threads);
        const Int32 n = p.x[0].extent[0];
        const auto at = columnsOf(p.x[2], GGML_TYPE_F32, row.of(p.x[2])),
                   label = columnsOf(p.x[3], GGML_TYPE_F32, row.of(p.x[3]));
        const Int64 out = row.of(p.x[0]);
        const Logits all(row, n, at);
        const Numeric factor = loadAs(p.x[1].address, fx::f32) / p.i[0].to(fx::f32);
        for (Int32 i : fx::range(row.tid, n, threads))
          storeF32(p.x[0], out, i,
                   (fx::math::exp(at(i) - all.largest) / all.sum - label(i)) * factor);
      });
}

/// y[i, r] = sum over the rows j of x whose number is r of x[i, j]
void runGetRowsBack(const Run &run, const ggml_tensor *op) {
  cells(run, "get_rows_back", op, {}, [](const Traced &p, const Place &at) -> Numeric {
    fx::Var<fx::Float32> sum(0.0f);
    for (Int32 j : fx::range(0, p.x[2].extent[0], 1))
      fx::if_(rawAt(p.x[2], GGML_TYPE_I32, {j, 0, 0, 0}) == at[1], [&] {
        sum += rawAt(p.x[1], GGML_TYPE_F32, {at[0], j, 0, 0});
      });
    return sum.get();
  });
}
bool supportsGetRowsBack(const ggml_tensor *op) {
  const ggml_tensor *x = op->src[0], *ids = op->src[1];
  return f32ToF32(op) && ids->type == GGML_TYPE_I32 && ids->ne[0] == ggml_nelements(ids) &&
         x->ne[2] * x->ne[3] == 1;
}

/// The weights, the gradient, and what the optimiser keeps, all of one shape; then its numbers.
void runStep(const Run &run, const ggml_tensor *op) {
  const bool adam = op->op == GGML_OP_OPT_STEP_ADAMW;
  Launch what{.name = adam ? "adamw" : "sgd", .x = {}};
  for (const ggml_tensor *source : op->src)
    if (source)
      what.x.push_back(operandOf(source));
  run.threads(ggml_nelements(op), what, [=](const Traced &p, const fx::UInt32 &index) {
    const Place at = placeOf(index, p.x[0].extent);
    const auto number = [&](int i) {
      return loadAs(p.x[adam ? 4 : 2].address + std::int64_t{4 * i}, fx::f32);
    };
    const auto value = [&](int i) { return rawAt(p.x[i], GGML_TYPE_F32, at); };
    const auto store = [&](int i, const Numeric &x) { storeAt(p.x[i], GGML_TYPE_F32, at, x); };
    const Numeric alpha = number(0), w = value(0), g = value(1);
    if (!adam)
      return store(0, w * (1.0f - alpha * number(1)) - alpha * g);
    const Numeric beta1 = number(1), beta2 = number(2);
    const Numeric m = value(2) * beta1 + g * (1.0f - beta1),
                  v = value(3) * beta2 + g * g * (1.0f - beta2);
    store(2, m);
    store(3, v);
    store(0, w * (1.0f - alpha * number(4)) -
                 alpha * (m * number(5)) / (fx::math::sqrt(v * number(6)) + number(3)));
  });
}
bool areF32(const ggml_tensor *op) {
  for (const ggml_tensor *source : op->src)
    if (source && !isF32(source))
      return false;
  return isF32(op);
}

constexpr Op kOps[] = {
    {GGML_OP_CROSS_ENTROPY_LOSS, areF32, runCrossEntropy},
    {GGML_OP_CROSS_ENTROPY_LOSS_BACK, areF32, runCrossEntropyBack},
    {GGML_OP_GET_ROWS_BACK, supportsGetRowsBack, runGetRowsBack},
    {GGML_OP_OPT_STEP_ADAMW, areF32, runStep},
    {GGML_OP_OPT_STEP_SGD, areF32, runStep},
};

} // namespace

std::span<const Op> trainingOps() { return kOps; }

} // namespace flydsl_ggml
