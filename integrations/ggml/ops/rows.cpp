// Ops on rows: norms, softmax, sums, largest elements. A block of threads takes a row.
#include "ops/fusion.h"
#include "ops/pieces.h"

#include <limits>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

//===-- Norms ----------------------------------------------------------------===//

/// The operand with a stride of 0 where it has an extent of 1.
HostOperand spread(const ggml_tensor *x) {
  HostOperand operand = operandOf(x);
  for (std::size_t d = 1; d < 4; ++d)
    if (x->ne[d] == 1)
      operand.stride[d] = 0;
  return operand;
}
/// Whether x is repeated over the rows of y, other than one row that is that of all.
bool repeatsRows(const ggml_tensor *x, const ggml_tensor *y) {
  for (std::size_t d = 1; d < 4; ++d)
    if (x->ne[d] != 1 && x->ne[d] != y->ne[d])
      return true;
  return false;
}

/// A norm, then times `weight` and plus `bias`, if there are such.
void norm(const Run &run, const ggml_tensor *op, const ggml_tensor *weight, const ggml_tensor *bias,
          const ggml_tensor *result) {
  const ggml_op which = op->op;
  const bool weighted = weight, biased = bias;
  const char *name = which == GGML_OP_NORM       ? "norm"
                     : which == GGML_OP_RMS_NORM ? "rms_norm"
                                                 : "l2_norm";
  Launch what{.name = std::string(name) + (weighted ? "_mul" : "") + (biased ? "_add" : ""),
              .x = {operandOf(result), operandOf(op->src[0])},
              .f = {floatParam(op, 0), 1.0f / static_cast<float>(op->ne[0])},
              .grid = gridOf(op)};
  bool repeats = false;
  for (const ggml_tensor *factor : {weight, bias})
    if (factor) {
      what.x.push_back(spread(factor));
      repeats |= repeatsRows(factor, op);
    }
  int width = kWidest;
  for (const HostOperand &x : what.x)
    width = widthOf(x, GGML_TYPE_F32, width);
  const RowForm form = formOf(op->ne[0], width);
  what.name += (repeats ? "_repeated" : "") + form.name();
  what.block = form.threads;
  run(what, [=](const Traced &p) {
    const TracedOperand &y = p.x[0];
    Row row(form.threads);
    const Int32 n = y.extent[0];
    const Int64 out = row.of(y);
    const Pieces pieces(row, form, n);
    const auto valuesOf = [&](const TracedOperand &x, const Int64 &address) {
      return pieces.keep([=](const Int32 &first) {
        return neighboursInRow(GGML_TYPE_F32, address, x.stride[0], first, form.width);
      });
    };
    // What comes after the norm is on its way while the row is added up.
    const auto then = [&](int operand) {
      const TracedOperand &x = p.x[operand];
      return valuesOf(x, repeats ? rowAddress(x, row.i1 % x.extent[1], row.i2 % x.extent[2],
                                              row.i3 % x.extent[3])
                                 : row.of(x));
    };
    const Kept x = valuesOf(p.x[1], row.of(p.x[1]));
    const Kept factors = weighted ? then(2) : x, addends = biased ? then(3) : x;
    const Numeric mean = which == GGML_OP_NORM
                             ? pieces.sum(x, [](const Numeric &v) { return v; }) * p.f[1]
                             : Numeric(fx::Float32(0.0f));
    const auto centred = [&](const Numeric &v) {
      return which == GGML_OP_NORM ? Numeric(v - mean) : v;
    };
    const Numeric squares = pieces.sum(x, [&](const Numeric &v) {
      const Numeric c = centred(v);
      return c * c;
    });
    const Numeric scale = which == GGML_OP_L2_NORM ? 1.0f / fx::max(fx::math::sqrt(squares), p.f[0])
                                                   : fx::math::rsqrt(squares * p.f[1] + p.f[0]);
    pieces.each([&](const Piece &piece) {
      const std::vector<Numeric> own = x(piece), times = factors(piece), plus = addends(piece);
      std::vector<Numeric> values;
      for (std::size_t v = 0; v < own.size(); ++v) {
        const Numeric value = centred(own[v]) * scale;
        const Numeric scaled = weighted ? value * times[v] : value;
        values.push_back(biased ? scaled + plus[v] : scaled);
      }
      storeF32(y, out, piece.first, values);
    });
  });
}
void runNorm(const Run &run, const ggml_tensor *op) { norm(run, op, nullptr, nullptr, op); }

/// dx = (dz + x * (-(sum of x dz) / (sum of x^2 + n eps))) / sqrt(mean of x^2 + eps)
void runRmsNormBack(const Run &run, const ggml_tensor *op) {
  const int threads = threadsOf(op->ne[0]);
  run({.name = "rms_norm_back",
       .x = {operandOf(op), operandOf(op->src[0]), operandOf(op->src[1])},
       .f = {floatParam(op, 0)},
       .grid = gridOf(op),
       .block = threads},
      [=](const Traced &p) {
        const TracedOperand &y = p.x[0];
        Row row(threads);
        const auto dz = columnsOf(p.x[1], GGML_TYPE_F32, row.of(p.x[1])),
                   x = columnsOf(p.x[2], GGML_TYPE_F32, row.of(p.x[2]));
        const Int32 n = y.extent[0];
        const Int64 out = row.of(y);
        const Numeric count = n.to(fx::f32);
        const Numeric squares = row.sum(n, [&](const Int32 &i) { return x(i) * x(i); });
        const Numeric products = row.sum(n, [&](const Int32 &i) { return x(i) * dz(i); });
        const Numeric scale = 1.0f / fx::math::sqrt(squares / count + p.f[0]),
                      factor = -products / (squares + count * p.f[0]);
        for (Int32 i : fx::range(row.tid, n, threads))
          storeF32(y, out, i, (dz(i) + x(i) * factor) * scale);
      });
}

/// Groups of channels: dimension 2 in groups, each with all of dimensions 0 and 1.
void runGroupNorm(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *from = op->src[0];
  const std::int32_t groups = intParam(op, 0);
  const std::int64_t channels = ceilDiv(from->ne[2], groups);
  constexpr int threads = 256;
  run({.name = "group_norm",
       .x = {operandOf(op), operandOf(from)},
       .i = {static_cast<std::int32_t>(channels)},
       .f = {floatParam(op, 1)},
       .grid = {groups, from->ne[3]},
       .block = threads},
      [=](const Traced &p) {
        const TracedOperand &x = p.x[1], &y = p.x[0];
        Row row(threads);
        const Int32 group = fx::block_idx().x, batch = fx::block_idx().y;
        const Int32 first = group * p.i[0], last(fx::min(first + p.i[0], Numeric(x.extent[2])));
        const Int32 n = x.extent[0] * x.extent[1] * fx::max(last - first, 0);
        const auto place = [&](const Int32 &i) -> Place {
          const Int32 r = i / x.extent[0];
          return {i % x.extent[0], r % x.extent[1], first + r / x.extent[1], batch};
        };
        const auto at = [&](const Int32 &i) { return valueAt(x, GGML_TYPE_F32, place(i)); };
        const Numeric count = n.to(fx::f32), mean = row.sum(n, at) / count;
        const Numeric squares = row.sum(n, [&](const Int32 &i) {
          const Numeric v = at(i) - mean;
          return v * v;
        });
        const Numeric scale = 1.0f / fx::math::sqrt(squares / count + p.f[0]);
        for (Int32 i : fx::range(row.tid, n, threads))
          storeAt(y, GGML_TYPE_F32, place(i), (at(i) - mean) * scale);
      });
}

//===-- Softmax --------------------------------------------------------------===//

bool supportsSoftMax(const ggml_tensor *op) {
  return f32ToF32(op) && (!op->src[1] || isFloat(op->src[1]->type)) &&
         (!op->src[2] || isF32(op->src[2]));
}
void runSoftMax(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *x = op->src[0], *mask = op->src[1], *sinks = op->src[2];
  const float scale = floatParam(op, 0), bias = floatParam(op, 1);
  const bool alibi = bias > 0;
  const auto [heads, base, root] = slopeNumbers(x->ne[2], bias);
  const ggml_type maskType = mask ? mask->type : GGML_TYPE_COUNT;
  const bool hasSinks = sinks;
  int width = widthOf(operandOf(x), GGML_TYPE_F32, widthOf(operandOf(op), GGML_TYPE_F32, kWidest));
  if (mask)
    width = widthOf(operandOf(mask), maskType, width);
  const RowForm form = formOf(op->ne[0], width);
  std::string name = "soft_max";
  if (mask)
    name += std::string("_mask_") + ggml_type_name(maskType) + (alibi ? "_alibi" : "");
  if (hasSinks)
    name += "_sinks";
  run({.name = name + form.name(),
       .x = {operandOf(op), operandOf(x), operandOf(mask), operandOf(sinks)},
       .f = {scale, heads, base, root},
       .grid = gridOf(op),
       .block = form.threads},
      [=](const Traced &p) {
        const TracedOperand &y = p.x[0], &from = p.x[1], &m = p.x[2];
        Row row(form.threads);
        const Int32 n = y.extent[0];
        const Int64 in = row.of(from), out = row.of(y);
        const bool masked = maskType != GGML_TYPE_COUNT;
        const Numeric slope =
            masked && alibi ? slopeOf(row.i2, p.f + 1) : Numeric(fx::Float32(1.0f));
        const Int64 maskRow =
            masked ? rowAddress(m, row.i1, row.i2 % m.extent[2], row.i3 % m.extent[3]) : Int64(0);
        const Pieces pieces(row, form, n);
        const Kept values = pieces.keep([&](const Int32 &first) {
          const auto own = neighboursInRow(GGML_TYPE_F32, in, from.stride[0], first, form.width);
          const auto ofMask =
              masked ? neighboursInRow(maskType, maskRow, m.stride[0], first, form.width) : own;
          std::vector<Numeric> all;
          for (std::size_t v = 0; v < own.size(); ++v) {
            const Numeric scaled = own[v] * p.f[0];
            all.push_back(!masked ? scaled
                          : alibi ? scaled + slope * ofMask[v]
                                  : scaled + ofMask[v]);
          }
          return all;
        });
        const Numeric ofKeys = pieces.largest(values);
        const Numeric sink =
            hasSinks ? loadAs(p.x[3].address + row.i2.to(fx::i64) * 4, fx::f32) : ofKeys;
        const Numeric largest = hasSinks ? fx::max(ofKeys, sink) : ofKeys;
        const Kept powers =
            pieces.map(values, [&](const Numeric &v) { return fx::math::exp(v - largest); });
        const Numeric sum = pieces.sum(powers, [](const Numeric &v) { return v; });
        const Numeric factor = 1.0f / (hasSinks ? sum + fx::math::exp(sink - largest) : sum);
        pieces.each([&](const Piece &piece) {
          storeF32(y, out, piece.first,
                   mapped(powers(piece), [&](const Numeric &v) { return v * factor; }));
        });
      });
}
/// dx = scale * (dy - sum of y dy) * y
void runSoftMaxBack(const Run &run, const ggml_tensor *op) {
  const int threads = threadsOf(op->ne[0]);
  run({.name = "soft_max_back",
       .x = {operandOf(op), operandOf(op->src[0]), operandOf(op->src[1])},
       .f = {floatParam(op, 0)},
       .grid = gridOf(op),
       .block = threads},
      [=](const Traced &p) {
        Row row(threads);
        const auto dy = columnsOf(p.x[1], GGML_TYPE_F32, row.of(p.x[1])),
                   y = columnsOf(p.x[2], GGML_TYPE_F32, row.of(p.x[2]));
        const Int32 n = p.x[0].extent[0];
        const Int64 out = row.of(p.x[0]);
        const Numeric dot = row.sum(n, [&](const Int32 &i) { return dy(i) * y(i); });
        for (Int32 i : fx::range(row.tid, n, threads))
          storeF32(p.x[0], out, i, p.f[0] * (dy(i) - dot) * y(i));
      });
}

//===-- Sums -----------------------------------------------------------------===//

void runSumRows(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *x = op->src[0];
  const bool mean = op->op == GGML_OP_MEAN;
  const int threads = threadsOf(x->ne[0]);
  run({.name = mean ? "mean" : "sum_rows",
       .x = {operandOf(op), operandOf(x)},
       .grid = gridOf(x),
       .block = threads},
      [=](const Traced &p) {
        Row row(threads);
        const Int32 n = p.x[1].extent[0];
        const Int64 out = row.of(p.x[0]);
        const Numeric total = row.sum(n, columnsOf(p.x[1], GGML_TYPE_F32, row.of(p.x[1])));
        fx::if_(row.tid == 0,
                [&] { storeF32(p.x[0], out, 0, mean ? Numeric(total / n.to(fx::f32)) : total); });
      });
}
void runSum(const Run &run, const ggml_tensor *op) {
  constexpr int threads = 256;
  run({.name = "sum",
       .x = {operandOf(op), operandOf(op->src[0])},
       .i = {static_cast<std::int32_t>(ggml_nelements(op->src[0]))},
       .block = threads},
      [=](const Traced &p) {
        Row row(threads);
        const Numeric total = row.sum(p.i[0], [&](const Int32 &i) {
          return valueAt(p.x[1], GGML_TYPE_F32, placeOf(fx::UInt32(i.to(fx::u32)), p.x[1].extent));
        });
        fx::if_(row.tid == 0, [&] { storeF32(p.x[0], p.x[0].address, 0, total); });
      });
}
/// The first of the largest elements.
void runArgmax(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *x = op->src[0];
  const int threads = threadsOf(x->ne[0]);
  run({.name = "argmax", .x = {operandOf(op), operandOf(x)}, .grid = {x->ne[1]}, .block = threads},
      [=](const Traced &p) {
        Row row(threads);
        const auto at = columnsOf(p.x[1], GGML_TYPE_F32,
                                  p.x[1].address + row.i1.to(fx::i64) * p.x[1].stride[1]);
        const Int32 n = p.x[1].extent[0];
        fx::Var<fx::Float32> best(-std::numeric_limits<float>::infinity());
        for (Int32 i : fx::range(row.tid, n, threads))
          best = fx::max(best.get(), at(i));
        const Numeric largest = row.reduce(best.get(), fx::Reduction::max);
        fx::Var<Int32> first(std::numeric_limits<std::int32_t>::max());
        for (Int32 i : fx::range(row.tid, n, threads))
          first = fx::select(at(i) == largest, fx::min(first.get(), i), first.get());
        const Numeric index = row.reduce(first.get(), fx::Reduction::min);
        fx::if_(row.tid == 0, [&] {
          fx::Pointer::from_address(p.x[0].address + row.i1.to(fx::i64) * 4, fx::i32).store(index);
        });
      });
}
void runCumsum(const Run &run, const ggml_tensor *op) {
  const int threads = threadsOf(op->ne[0]);
  run({.name = "cumsum",
       .x = {operandOf(op), operandOf(op->src[0])},
       .grid = gridOf(op),
       .block = threads},
      [=](const Traced &p) {
        Row row(threads);
        const auto at = columnsOf(p.x[1], GGML_TYPE_F32, row.of(p.x[1]));
        const Int32 n = p.x[0].extent[0];
        const Int64 out = row.of(p.x[0]);
        fx::Var<fx::Float32> before(0.0f);
        for (Int32 base : fx::range(0, n, threads)) {
          const Int32 i = base + row.tid;
          const fx::Boolean inside = i < n;
          const Numeric value = fx::select(inside, at(fx::select(inside, i, 0)), 0.0f);
          const Numeric upTo = fx::gpu::block_inclusive_scan(value, fx::Reduction::add, row.shared);
          const Numeric all = row.reduce(value, fx::Reduction::add);
          fx::if_(inside, [&] { storeF32(p.x[0], out, i, before.get() + upTo); });
          before += all;
        }
      });
}
void runCountEqual(const Run &run, const ggml_tensor *op) {
  constexpr int threads = 256;
  run({.name = "count_equal",
       .x = {operandOf(op), operandOf(op->src[0]), operandOf(op->src[1])},
       .i = {static_cast<std::int32_t>(ggml_nelements(op->src[0]))},
       .block = threads},
      [=](const Traced &p) {
        Row row(threads);
        fx::Var<Int32> count(0);
        for (Int32 i : fx::range(row.tid, p.i[0], threads)) {
          const Place at = placeOf(fx::UInt32(i.to(fx::u32)), p.x[1].extent);
          count += fx::select(rawAt(p.x[1], GGML_TYPE_I32, at) == rawAt(p.x[2], GGML_TYPE_I32, at),
                              1, 0);
        }
        const Numeric total = row.reduce(count.get(), fx::Reduction::add);
        fx::if_(row.tid == 0, [&] {
          fx::Pointer::from_address(p.x[0].address, fx::i64).store(total.to(fx::i64));
        });
      });
}

constexpr Op kOps[] = {
    {GGML_OP_NORM, f32ToF32, runNorm},
    {GGML_OP_RMS_NORM, f32ToF32, runNorm},
    {GGML_OP_L2_NORM, f32ToF32, runNorm},
    {GGML_OP_RMS_NORM_BACK, f32ToF32, runRmsNormBack},
    {GGML_OP_GROUP_NORM, f32ToF32, runGroupNorm},
    {GGML_OP_SOFT_MAX, supportsSoftMax, runSoftMax},
    {GGML_OP_SOFT_MAX_BACK,
     [](const ggml_tensor *op) { return f32ToF32(op) && floatParam(op, 1) == 0; }, runSoftMaxBack},
    {GGML_OP_SUM_ROWS, f32ToF32, runSumRows},
    {GGML_OP_MEAN, f32ToF32, runSumRows},
    {GGML_OP_SUM,
     [](const ggml_tensor *op) { return f32ToF32(op) && ggml_is_contiguous_rows(op->src[0]); },
     runSum},
    {GGML_OP_ARGMAX,
     [](const ggml_tensor *op) { return op->type == GGML_TYPE_I32 && isF32(op->src[0]); },
     runArgmax},
    {GGML_OP_CUMSUM, f32ToF32, runCumsum},
    {GGML_OP_COUNT_EQUAL,
     [](const ggml_tensor *op) {
       return op->type == GGML_TYPE_I64 && op->src[0]->type == GGML_TYPE_I32 &&
              op->src[1]->type == GGML_TYPE_I32;
     },
     runCountEqual},
};

} // namespace

std::span<const Op> rowOps() { return kOps; }

bool normThen(const Run &run, const ggml_tensor *op, const ggml_tensor *weight,
              const ggml_tensor *bias, const ggml_tensor *result) {
  for (const ggml_tensor *x : {weight, bias})
    if (x && (!isF32(x) || x->ne[0] != op->ne[0]))
      return false;
  norm(run, op, weight, bias, result);
  return true;
}

} // namespace flydsl_ggml
