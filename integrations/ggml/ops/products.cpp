// Products of matrices for all types, strides and repetitions: a wave takes a row or two of weights and a
// few columns, and its lanes share the sums.
#include "ops/products.h"
#include "ops/column_plans.h"
#include "ops/expert_plans.h"
#include "ops/formulas.h"
#include "ops/fusion.h"
#include "ops/product_plans.h"

#include <algorithm>
#include <bit>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

constexpr int kThreads = 256;
/// Columns that a wave computes together: their sums stay in registers.
constexpr std::int64_t kMostColumns = 8;
/// Neighbours that a lane takes at a time, and those of blocks where columns are few. With an addend, a
/// column of Q4_K, 8192 x 4096, is estimated at 17.7 us with 4, 14.5 with 8 and 18.9 with 16, and 4 columns
/// at 21.7, 23.1 and 36.9.
constexpr int kNeighbours = 4, kWideNeighbours = 8;
constexpr unsigned kFewColumns = 2;
/// Rows of weights from which on a wave takes two: there are waves enough for a device then, and what
/// they read of the inputs is half.
constexpr std::int64_t kManyRows = 4096;

/// The form of a product: its code.
struct Form {
  ggml_type weights, inputs;
  int width;   ///< neighbours that a lane takes at a time
  int columns; ///< that a wave computes together,
  int rows;    ///< each for so many rows of weights
  int wave;
};
std::string nameOf(const char *name, const Form &form) {
  return std::string(name) + "_" + ggml_type_name(form.weights) + "_" +
         ggml_type_name(form.inputs) + "_v" + std::to_string(form.width) + "_n" +
         std::to_string(form.columns) + (form.rows == 1 ? "" : "_m" + std::to_string(form.rows));
}
Form formOf(const Run &run, const ggml_tensor *weights, const ggml_tensor *inputs,
            std::int64_t columns) {
  const auto together = static_cast<unsigned>(std::min(columns, kMostColumns));
  const int most =
                !dtypeOf(weights->type) && together <= kFewColumns ? kWideNeighbours : kNeighbours,
            width = widthOf(operandOf(inputs), inputs->type,
                            widthOf(operandOf(weights), weights->type, most));
  return {weights->type,
          inputs->type,
          width,
          static_cast<int>(std::bit_ceil(together)),
          together > 1 && weights->ne[1] >= kManyRows ? 2 : 1,
          run.wave};
}

/// The products of rows of weights and rows of inputs over `n` elements, those of a row of weights one
/// after another; all lanes get them.
std::vector<Numeric> dots(const Form &form, const std::vector<Int64> &weights,
                          const Int64 &weightStride, const std::vector<Int64> &inputs,
                          const Int64 &inputStride, const Int32 &n) {
  std::vector<fx::Var<fx::Float32>> sums;
  for (std::size_t i = 0; i < weights.size() * inputs.size(); ++i)
    sums.emplace_back(fx::Float32(0.0f));
  const Int32 lane = fx::thread_idx().x % form.wave;
  for (Int32 k : fx::range(lane * form.width, n, form.wave * form.width)) {
    std::vector<std::vector<Numeric>> w;
    for (const Int64 &row : weights)
      w.push_back(neighboursInRow(form.weights, row, weightStride, k, form.width));
    for (std::size_t c = 0; c < inputs.size(); ++c) {
      const auto x = neighboursInRow(form.inputs, inputs[c], inputStride, k, form.width);
      for (std::size_t r = 0; r < w.size(); ++r)
        for (std::size_t v = 0; v < x.size(); ++v) {
          const fx::Var<fx::Float32> &sum = sums[r * inputs.size() + c];
          sum = fx::math::fma(w[r][v], x[v], sum.get());
        }
    }
  }
  std::vector<Numeric> totals;
  for (const auto &sum : sums)
    totals.push_back(fx::gpu::warp_reduce(sum.get(), fx::Reduction::add));
  return totals;
}
/// The number of the wave, by which it takes rows of weights.
Int32 waveOfGrid(int wave) {
  return Int32(fx::block_idx().x * (kThreads / wave) + fx::gpu::uniform(fx::thread_idx().x / wave));
}

bool supportsProduct(const ggml_tensor *op) {
  const ggml_tensor *w = op->src[0], *x = op->src[1];
  return isF32(op) && reads(w->type) && isFloat(x->type) && blocksFollow(w);
}

//===-- MUL_MAT --------------------------------------------------------------===//

/// y[m, n, i2, i3] = sum over k of w[k, m, i2 / r2, i3 / r3] * x[k, n, i2, i3]
void mulMat(const Run &run, const ggml_tensor *op, const Then &then) {
  const ggml_tensor *w = op->src[0], *x = op->src[1];
  const bool gated = then.up;
  Form form = formOf(run, w, x, op->ne[1]);
  if (gated)
    form.rows = 1; // of each of the two
  Launch what{.name = nameOf("mul_mat", form),
              .x = {operandOf(then.result), operandOf(w), operandOf(x)}};
  what.i = {static_cast<std::int32_t>(x->ne[2] / w->ne[2]),
            static_cast<std::int32_t>(x->ne[3] / w->ne[3])};
  then.addTo(what);
  what.grid = {ceilDiv(op->ne[0], kThreads / run.wave * form.rows),
               ceilDiv(op->ne[1], form.columns), op->ne[2] * op->ne[3]};
  what.block = kThreads;
  run(what, [form, gated, store = then.store()](const Traced &p) {
    const TracedOperand &y = p.x[0], &weights = p.x[1], &inputs = p.x[2];
    const Int32 firstRow = waveOfGrid(form.wave) * form.rows,
                first = fx::block_idx().y * form.columns;
    const Int32 i2 = fx::block_idx().z % y.extent[2], i3 = fx::block_idx().z / y.extent[2];
    fx::exit_if(firstRow >= y.extent[0]);
    // Past the last row or column, it is taken again.
    const auto upTo = [](const Int32 &i, const Int32 &extent) {
      return Int32(fx::min(i, Numeric(extent - 1)));
    };
    std::vector<Int64> rows, columns;
    const auto rowOf = [&](const TracedOperand &of, const Int32 &row) {
      return rowAddress(of, row, i2 / p.i[0], i3 / p.i[1]);
    };
    for (int r = 0; r < form.rows; ++r)
      rows.push_back(rowOf(weights, r ? upTo(firstRow + r, y.extent[0]) : firstRow));
    if (gated)
      rows.push_back(rowOf(p.x[3], firstRow));
    for (int c = 0; c < form.columns; ++c)
      columns.push_back(rowAddress(inputs, c ? upTo(first + c, y.extent[1]) : first, i2, i3));
    const auto sums =
        dots(form, rows, weights.stride[0], columns, inputs.stride[0], weights.extent[0]);
    fx::if_(fx::thread_idx().x % form.wave == 0, [&] {
      for (int r = 0; r < form.rows; ++r)
        for (int c = 0; c < form.columns; ++c) {
          const Int32 m = firstRow + r, n = first + c;
          std::vector<Numeric> products{sums[static_cast<std::size_t>(r * form.columns + c)]};
          if (gated)
            products.push_back(sums[static_cast<std::size_t>(form.columns + c)]);
          const auto storeIt = [&] { store(p, {m, n, i2, i3}, products); };
          if (!r && !c)
            storeIt();
          else
            fx::if_(m < y.extent[0] && n < y.extent[1], storeIt);
        }
    });
  });
}
void runMulMat(const Run &run, const ggml_tensor *op) {
  if (!columnsByPlan(run, op, nullptr, op) && !mulMatByPlan(run, op))
    mulMat(run, op, {op});
}

//===-- MUL_MAT_ID -----------------------------------------------------------===//

bool supportsMulMatId(const ggml_tensor *op) {
  return supportsProduct(op) && op->src[2]->type == GGML_TYPE_I32;
}
/// y[m, u, t] = sum over k of w[k, m, ids[u, t]] * x[k, u % ., t]
void runMulMatId(const Run &run, const ggml_tensor *op) {
  if (mulMatIdByPlan(run, op))
    return;
  const ggml_tensor *w = op->src[0], *x = op->src[1];
  const Form form = formOf(run, w, x, 1);
  run({.name = nameOf("mul_mat_id", form),
       .x = {operandOf(op), operandOf(w), operandOf(x), operandOf(op->src[2])},
       .grid = {ceilDiv(op->ne[0], kThreads / run.wave), op->ne[1], op->ne[2]},
       .block = kThreads},
      [=](const Traced &p) {
        const TracedOperand &y = p.x[0], &weights = p.x[1], &inputs = p.x[2];
        const Int32 m = waveOfGrid(form.wave), used = fx::block_idx().y, token = fx::block_idx().z;
        fx::exit_if(m >= y.extent[0]);
        const Int32 expert(rawAt(p.x[3], GGML_TYPE_I32, {used, token, 0, 0}));
        const auto sums = dots(form, {rowAddress(weights, m, expert, 0)}, weights.stride[0],
                               {rowAddress(inputs, used % inputs.extent[1], token, 0)},
                               inputs.stride[0], weights.extent[0]);
        fx::if_(fx::thread_idx().x % form.wave == 0, [&] {
          storeAt(y, GGML_TYPE_F32, {m, used, token, 0}, sums[0]);
        });
      });
}

//===-- OUT_PROD -------------------------------------------------------------===//

/// y[i, j, i2, i3] = sum over k of a[i, k, i2 / r2, i3 / r3] * b[j, k, i2, i3]
void runOutProd(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *a = op->src[0], *b = op->src[1];
  const ggml_type type = a->type, other = b->type;
  run.threads(
      ggml_nelements(op),
      {.name = std::string("out_prod_") + ggml_type_name(type) + "_" + ggml_type_name(other),
       .x = {operandOf(op), operandOf(a), operandOf(b)},
       .i = {static_cast<std::int32_t>(b->ne[2] / a->ne[2]),
             static_cast<std::int32_t>(b->ne[3] / a->ne[3])}},
      [=](const Traced &p, const fx::UInt32 &index) {
        const Place at = placeOf(index, p.x[0].extent);
        fx::Var<fx::Float32> sum(0.0f);
        for (Int32 k : fx::range(0, p.x[1].extent[1], 1))
          sum += valueAt(p.x[1], type, {at[0], k, at[2] / p.i[1], at[3] / p.i[2]}) *
                 valueAt(p.x[2], other, {at[1], k, at[2], at[3]});
        storeAt(p.x[0], GGML_TYPE_F32, at, sum.get());
      });
}

constexpr Op kOps[] = {
    {GGML_OP_MUL_MAT, supportsProduct, runMulMat},
    {GGML_OP_MUL_MAT_ID, supportsMulMatId, runMulMatId},
    {GGML_OP_OUT_PROD, supportsProduct, runOutProd},
};

} // namespace

void Then::addTo(Launch &what) const {
  if (addend) {
    what.name += "_add";
    what.x.push_back(operandOf(addend));
  }
  if (up) {
    what.name += std::string("_") + ggml_glu_op_name(ggml_get_glu_op(result));
    what.x.push_back(operandOf(up->src[0]));
    what.f = {floatParam(result, 2), floatParam(result, 3)};
  }
}
Then::Store Then::store() const {
  if (up)
    return [glu = gluFormula(ggml_get_glu_op(result))](const Traced &p, const Place &at,
                                                       std::span<const Numeric> products) {
      storeAt(p.x[0], GGML_TYPE_F32, at, glu(products, p.f));
    };
  return [adds = addend != nullptr](const Traced &p, const Place &at,
                                    std::span<const Numeric> products) {
    storeAt(p.x[0], GGML_TYPE_F32, at,
            adds ? products[0] + rawAt(p.x[3], GGML_TYPE_F32, repeated(at, p.x[3])) : products[0]);
  };
}

std::span<const Op> productOps() { return kOps; }

bool mulMatThenAdd(const Run &run, const ggml_tensor *product, const ggml_tensor *addend,
                   const ggml_tensor *result) {
  if (!isF32(addend) || !isF32(result))
    return false;
  if (columnsByPlan(run, product, addend, result))
    return true;
  if (hasColumnsPlan(run, product) || hasPlan(run, product))
    return false;
  mulMat(run, product, {.result = result, .addend = addend});
  return true;
}
bool mulMatsThenGlu(const Run &run, const ggml_tensor *gate, const ggml_tensor *up,
                    const ggml_tensor *glu) {
  if (gatedColumnsByPlan(run, gate, up, glu))
    return true;
  const ggml_tensor *w = gate->src[0], *other = up->src[0];
  const bool alike = gate->src[1] == up->src[1] && w->type == other->type &&
                     ggml_are_same_shape(w, other) && ggml_are_same_stride(w, other);
  // Neighbours are loaded together where the first rows allow it, so the second must lie alike.
  const bool asWide = widthOf(operandOf(w), w->type, kNeighbours) ==
                      widthOf(operandOf(other), other->type, kNeighbours);
  if (!alike || !asWide || !isF32(glu) || !gluFormula(ggml_get_glu_op(glu)))
    return false;
  if (hasColumnsPlan(run, gate) || hasPlan(run, gate))
    return false;
  mulMat(run, gate, {.result = glu, .up = up});
  return true;
}

} // namespace flydsl_ggml
