// Ops on rows: norms, softmax, sums, largest elements. A block of threads takes a row.
#include "ops/fusion.h"
#include "ops/row.h"

#include <limits>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

//===-- Norms ----------------------------------------------------------------===//

/// A norm, then times `weight` and plus `bias`, if there are such.
void norm(const Run &run, const ggml_tensor *op, const ggml_tensor *weight, const ggml_tensor *bias,
          const ggml_tensor *result) {
  const ggml_op which = op->op;
  const int threads = threadsOf(op->ne[0]);
  const bool weighted = weight, biased = bias;
  const char *name = which == GGML_OP_NORM       ? "norm"
                     : which == GGML_OP_RMS_NORM ? "rms_norm"
                                                 : "l2_norm";
  Launch what{.name = std::string(name) + (weighted ? "_mul" : "") + (biased ? "_add" : ""),
              .x = {operandOf(result), operandOf(op->src[0])},
              .f = {floatParam(op, 0)},
              .grid = gridOf(op),
              .block = threads};
  for (const ggml_tensor *factor : {weight, bias})
    if (factor)
      what.x.push_back(operandOf(factor));
  run(what, [=](const Traced &p) {
    const TracedOperand &x = p.x[1], &y = p.x[0];
    Row row(threads, y.extent[2]);
    const auto at = columnsOf(x, GGML_TYPE_F32, row.of(x));
    const Int32 n = x.extent[0];
    const Int64 out = row.of(y);
    const Numeric count = n.to(fx::f32);
    const Numeric mean =
        which == GGML_OP_NORM ? row.sum(n, at) / count : Numeric(fx::Float32(0.0f));
    const auto centred = [&](const Int32 &i) {
      return which == GGML_OP_NORM ? at(i) - mean : at(i);
    };
    const Numeric squares = row.sum(n, [&](const Int32 &i) {
      const Numeric v = centred(i);
      return v * v;
    });
    const Numeric scale = which == GGML_OP_L2_NORM
                              ? 1.0f / fx::max(fx::math::sqrt(squares), p.f[0])
                              : 1.0f / fx::math::sqrt(squares / count + p.f[0]);
    // The operands after the norm may be repeated.
    const auto then = [&](int operand) {
      const TracedOperand &of = p.x[operand];
      return columnsOf(
          of, GGML_TYPE_F32,
          rowAddress(of, row.i1 % of.extent[1], row.i2 % of.extent[2], row.i3 % of.extent[3]));
    };
    for (Int32 i : fx::range(row.tid, n, threads)) {
      const Numeric value = centred(i) * scale;
      const Numeric scaled = weighted ? value * then(2)(i) : value;
      storeF32(y, out, i, biased ? scaled + then(3)(i) : scaled);
    }
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
        Row row(threads, y.extent[2]);
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
        Row row(threads, Int32(1));
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
  const int threads = threadsOf(op->ne[0]);
  const ggml_type maskType = mask ? mask->type : GGML_TYPE_COUNT;
  const bool hasSinks = sinks;
  std::string name = "soft_max";
  if (mask)
    name += std::string("_mask_") + ggml_type_name(maskType) + (alibi ? "_alibi" : "");
  if (hasSinks)
    name += "_sinks";
  run({.name = name,
       .x = {operandOf(op), operandOf(x), operandOf(mask), operandOf(sinks)},
       .f = {scale, heads, base, root},
       .grid = gridOf(op),
       .block = threads},
      [=](const Traced &p) {
        const TracedOperand &y = p.x[0], &m = p.x[2];
        Row row(threads, y.extent[2]);
        const auto raw = columnsOf(p.x[1], GGML_TYPE_F32, row.of(p.x[1]));
        const Int32 n = y.extent[0];
        const Int64 out = row.of(y);
        const bool masked = maskType != GGML_TYPE_COUNT;
        const Numeric slope =
            masked && alibi ? slopeOf(row.i2, p.f + 1) : Numeric(fx::Float32(1.0f));
        const Int64 maskRow =
            masked ? rowAddress(m, row.i1, row.i2 % m.extent[2], row.i3 % m.extent[3]) : Int64(0);
        const auto at = [&](const Int32 &i) -> Numeric {
          const Numeric v = raw(i) * p.f[0];
          return masked ? v + slope * inRow(maskType, maskRow, m.stride[0], i) : v;
        };
        fx::Var<fx::Float32> best(-std::numeric_limits<float>::infinity());
        for (Int32 i : fx::range(row.tid, n, threads))
          best = fx::max(best.get(), at(i));
        const Numeric ofKeys = row.reduce(best.get(), fx::Reduction::max);
        const Numeric sink =
            hasSinks ? loadAs(p.x[3].address + row.i2.to(fx::i64) * 4, fx::f32) : ofKeys;
        const Numeric largest = hasSinks ? fx::max(ofKeys, sink) : ofKeys;
        const Numeric sum =
            row.sum(n, [&](const Int32 &i) { return fx::math::exp(at(i) - largest); });
        const Numeric factor = 1.0f / (hasSinks ? sum + fx::math::exp(sink - largest) : sum);
        for (Int32 i : fx::range(row.tid, n, threads))
          storeF32(y, out, i, fx::math::exp(at(i) - largest) * factor);
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
        Row row(threads, p.x[0].extent[2]);
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
        Row row(threads, p.x[1].extent[2]);
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
        Row row(threads, Int32(1));
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
        Row row(threads, Int32(1));
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
        Row row(threads, p.x[0].extent[2]);
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
        Row row(threads, Int32(1));
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
