// Ops that compute each element of the result from its coordinates: padding, windows, sizes of images,
// masks, positions. A thread has an element. Source: the functions of these names in ggml-cpu/ops.cpp.
#include "ops/cell.h"

#include <cmath>
#include <limits>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

fx::Boolean within(const Numeric &i, const Int32 &extent) { return i >= 0 && i < extent; }
/// `i` where the condition holds, otherwise 0, which is an index of every dimension.
Int32 safe(const fx::Boolean &condition, const Numeric &i) {
  return Int32(fx::select(condition, i, 0));
}
/// `value` of the place if its leading `dims` coordinates are inside of the operand, otherwise 0.
template <class Value>
Numeric ifInside(const TracedOperand &x, std::size_t dims, const Place &at, const Value &value) {
  const auto in = [&](std::size_t d) {
    return d < dims ? within(at[d], x.extent[d]) : fx::Boolean(true);
  };
  const fx::Boolean inside = in(0) && in(1) && in(2) && in(3);
  const auto index = [&](std::size_t d) { return d < dims ? safe(inside, at[d]) : at[d]; };
  return fx::select(inside, value(Place{index(0), index(1), index(2), index(3)}), 0.0f);
}
/// The index that is `i` modulo the extent, for `i` from -extent to 2 extent - 1 at least.
Int32 wrapped(const Numeric &i, const Int32 &extent) {
  const Int32 rest(i % extent);
  return Int32(fx::select(rest < 0, rest + extent, rest));
}

void runPad(const Run &run, const ggml_tensor *op) {
  const bool circular = intParam(op, 8) != 0;
  const ggml_type type = op->type;
  // Before each dimension; what comes after it follows from the extents.
  cells(run, circular ? "pad_circular" : "pad", op,
        {.i = {intParam(op, 0), intParam(op, 2), intParam(op, 4), intParam(op, 6)}},
        [=](const Traced &p, const Place &at) -> Numeric {
          const TracedOperand &x = p.x[1];
          if (circular)
            return rawAt(x, type,
                         {wrapped(at[0] - p.i[1], x.extent[0]), wrapped(at[1] - p.i[2], x.extent[1]),
                          wrapped(at[2] - p.i[3], x.extent[2]),
                          wrapped(at[3] - p.i[4], x.extent[3])});
          return ifInside(
              x, 4, {at[0] - p.i[1], at[1] - p.i[2], at[2] - p.i[3], at[3] - p.i[4]},
              [&](const Place &from) { return valueAt(x, type, from); });
        });
}
void runPadReflect(const Run &run, const ggml_tensor *op) {
  cells(run, "pad_reflect", op, {.i = {intParam(op, 0)}},
        [](const Traced &p, const Place &at) -> Numeric {
          const Int32 n = p.x[1].extent[0], i = at[0] - p.i[1];
          const Int32 left(fx::select(i < 0, -i, i));
          const Int32 back(fx::select(left >= n, n * 2 - 2 - left, left));
          return rawAt(p.x[1], GGML_TYPE_F32, {back, at[1], at[2], at[3]});
        });
}
void runRoll(const Run &run, const ggml_tensor *op) {
  cells(run, "roll", op, {.i = ints(op, 0, 4)}, [](const Traced &p, const Place &at) -> Numeric {
    const TracedOperand &x = p.x[1];
    const auto from = [&](int d) {
      return wrapped(at[std::size_t(d)] - p.i[d + 1], x.extent[std::size_t(d)]);
    };
    return rawAt(x, GGML_TYPE_F32, {from(0), from(1), from(2), from(3)});
  });
}

void runPool(const Run &run, const ggml_tensor *op) {
  const bool flat = op->op == GGML_OP_POOL_1D, largest = intParam(op, 0) == GGML_OP_POOL_MAX;
  const ggml_type type = op->src[0]->type;
  const auto param = [&](int i) { return intParam(op, i); };
  const Own own{.i = flat ? std::vector<std::int32_t>{param(1), 1, param(2), 1, param(3), 0}
                          : ints(op, 1, 6)};
  // An average of one dimension is over what is inside, one of two dimensions over the whole window.
  cells(run, std::string(largest ? "pool_max" : "pool_avg") + (flat ? "_1d" : "_2d"), op, own,
        [=](const Traced &p, const Place &at) -> Numeric {
          const TracedOperand &x = p.x[1];
          const Int32 first0 = at[0] * p.i[3] - p.i[5], first1 = at[1] * p.i[4] - p.i[6];
          const Int32 rows = p.i[2];
          const Int32 line = flat ? at[1] : first1;
          fx::Var<fx::Float32> result(largest ? -std::numeric_limits<float>::max() : 0.0f),
              count(0.0f);
          for (Int32 k1 : fx::range(0, rows, 1))
            for (Int32 k0 : fx::range(0, p.i[1], 1)) {
              const Int32 i0 = first0 + k0, i1 = line + k1;
              const fx::Boolean inside = within(i0, x.extent[0]) && within(i1, x.extent[1]);
              const Numeric value =
                  valueAt(x, type, {safe(inside, i0), safe(inside, i1), at[2], at[3]});
              result = fx::select(inside,
                                  largest ? fx::max(result.get(), value)
                                          : Numeric(result.get() + value),
                                  result.get());
              count += fx::select(inside, 1.0f, 0.0f);
            }
          if (largest)
            return result.get();
          return result.get() /
                 (flat ? fx::max(count.get(), 1.0f) : (p.i[1] * p.i[2]).to(fx::f32));
        });
}

void runIm2col(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *kernel = op->src[0];
  const bool plane = intParam(op, 6) == 1;
  const ggml_type type = op->src[1]->type;
  std::vector<std::int32_t> own = ints(op, 0, 6); // s0, s1, p0, p1, d0, d1
  own.push_back(static_cast<std::int32_t>(kernel->ne[0]));
  own.push_back(static_cast<std::int32_t>(plane ? kernel->ne[1] : 1));
  // (channels x kernel, columns, rows, batch) of (columns, rows, channels, batch)
  cells(run, plane ? "im2col" : "im2col_1d", op, {.i = own},
        [=](const Traced &p, const Place &at) -> Numeric {
          const TracedOperand &x = p.x[2];
          const Int32 kw = at[0] % p.i[7], rest = at[0] / p.i[7], kh = rest % p.i[8],
                      channel = rest / p.i[8];
          const auto value = [&](const Place &from) { return valueAt(x, type, from); };
          const Int32 i0 = at[1] * p.i[1] + kw * p.i[5] - p.i[3];
          if (!plane) // (columns, channels, batch)
            return ifInside(x, 1, {i0, channel, at[2], 0}, value);
          const Int32 i1 = at[2] * p.i[2] + kh * p.i[6] - p.i[4];
          return ifInside(x, 2, {i0, i1, channel, at[3]}, value);
        });
}

/// (channels x kernel, columns, rows, batch x slices) of (columns, rows, slices, batch x channels)
void runIm2col3d(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *kernel = op->src[0];
  const ggml_type type = op->src[1]->type;
  const std::int32_t channels = intParam(op, 9);
  std::vector<std::int32_t> own = ints(op, 0, 10); // strides, padding, dilations, channels
  own.push_back(static_cast<std::int32_t>(op->ne[3] / (op->src[1]->ne[3] / channels)));
  for (int d = 0; d < 3; ++d)
    own.push_back(static_cast<std::int32_t>(kernel->ne[d]));
  cells(run, "im2col_3d", op, {.i = own}, [=](const Traced &p, const Place &at) -> Numeric {
    const TracedOperand &x = p.x[2];
    const Int32 kw = at[0] % p.i[12], columns = at[0] / p.i[12], kh = columns % p.i[13],
                planes = columns / p.i[13], kd = planes % p.i[14], channel = planes / p.i[14];
    const Int32 slice = at[3] % p.i[11], batch = at[3] / p.i[11];
    const Int32 i0 = at[1] * p.i[1] + kw * p.i[7] - p.i[4],
                i1 = at[2] * p.i[2] + kh * p.i[8] - p.i[5],
                i2 = slice * p.i[3] + kd * p.i[9] - p.i[6];
    return ifInside(x, 3, {i0, i1, i2, batch * p.i[10] + channel},
                    [&](const Place &from) { return valueAt(x, type, from); });
  });
}

void runArange(const Run &run, const ggml_tensor *op) {
  cells(run, "arange", op, {.f = {floatParam(op, 0), floatParam(op, 2)}},
        [](const Traced &p, const Place &at) -> Numeric {
          return p.f[0] + at[0].to(fx::f32) * p.f[1];
        });
}
void runTimestep(const Run &run, const ggml_tensor *op) {
  cells(run, "timestep_embedding", op,
        {.i = {intParam(op, 0) / 2},
         .f = {static_cast<float>(-std::log(static_cast<double>(intParam(op, 1))))}},
        [](const Traced &p, const Place &at) -> Numeric {
          const Int32 half = p.i[1], j(fx::select(at[0] < half, at[0], at[0] - half));
          const Numeric step = rawAt(p.x[1], GGML_TYPE_F32, {at[1], 0, 0, 0});
          const Numeric angle = step * fx::math::exp(p.f[0] * j.to(fx::f32) / half.to(fx::f32));
          return fx::select(at[0] < half, fx::math::cos(angle),
                            fx::select(at[0] < half * 2, fx::math::sin(angle), 0.0f));
        });
}
void runTri(const Run &run, const ggml_tensor *op) {
  const int kind = intParam(op, 0);
  cells(run, "tri_" + std::to_string(kind), op, {}, [=](const Traced &p, const Place &at) -> Numeric {
    const fx::Boolean kept = kind == GGML_TRI_TYPE_LOWER        ? at[0] < at[1]
                             : kind == GGML_TRI_TYPE_LOWER_DIAG ? at[0] <= at[1]
                             : kind == GGML_TRI_TYPE_UPPER      ? at[0] > at[1]
                                                                : at[0] >= at[1];
    return fx::select(kept, rawAt(p.x[1], GGML_TYPE_F32, at), 0.0f);
  });
}
void runDiag(const Run &run, const ggml_tensor *op) {
  cells(run, "diag", op, {}, [](const Traced &p, const Place &at) -> Numeric {
    return fx::select(at[0] == at[1], rawAt(p.x[1], GGML_TYPE_F32, {at[0], 0, at[2], at[3]}), 0.0f);
  });
}
void runDiagMask(const Run &run, const ggml_tensor *op) {
  const bool zero = op->op == GGML_OP_DIAG_MASK_ZERO;
  cells(run, zero ? "diag_mask_zero" : "diag_mask_inf", op, {.i = {intParam(op, 0)}},
        [=](const Traced &p, const Place &at) -> Numeric {
          return fx::select(at[0] > at[1] + p.i[1],
                            zero ? 0.0f : -std::numeric_limits<float>::infinity(),
                            rawAt(p.x[1], GGML_TYPE_F32, at));
        });
}
void runAddId(const Run &run, const ggml_tensor *op) {
  cells(run, "add_id", op, {}, [](const Traced &p, const Place &at) -> Numeric {
    const Int32 row(rawAt(p.x[3], GGML_TYPE_I32, {at[1], at[2], 0, 0}));
    return rawAt(p.x[1], GGML_TYPE_F32, at) + rawAt(p.x[2], GGML_TYPE_F32, {at[0], row, 0, 0});
  });
}
/// The sum of all elements that an element was repeated to.
/// y[t, c] = sum over the windows j that reach t of x[c * K + t + p0 - j * s0, j]
void runCol2im1d(const Run &run, const ggml_tensor *op) {
  const ggml_type type = op->src[0]->type;
  cells(run, "col2im_1d", op, {.i = ints(op, 0, 3)},
        [=](const Traced &p, const Place &at) -> Numeric {
          const TracedOperand &x = p.x[1];
          const Int32 step = p.i[1], kernel = x.extent[0] / p.i[2], place = at[0] + p.i[3];
          const Int32 first = (fx::max(place - kernel + 1, 0) + step - 1) / step,
                      last(fx::min(place / step, Numeric(x.extent[1] - 1)));
          fx::Var<fx::Float32> sum(0.0f);
          for (Int32 j : fx::range(first, last + 1, 1))
            sum += valueAt(x, type, {at[1] * kernel + place - j * step, j, 0, 0});
          return sum.get();
        });
}
void runRepeatBack(const Run &run, const ggml_tensor *op) {
  cells(run, "repeat_back", op, {}, [](const Traced &p, const Place &at) -> Numeric {
    const TracedOperand &x = p.x[1], &y = p.x[0];
    fx::Var<fx::Float32> sum(0.0f);
    for (Int32 i3 : fx::range(at[3], x.extent[3], y.extent[3]))
      for (Int32 i2 : fx::range(at[2], x.extent[2], y.extent[2]))
        for (Int32 i1 : fx::range(at[1], x.extent[1], y.extent[1]))
          for (Int32 i0 : fx::range(at[0], x.extent[0], y.extent[0]))
            sum += rawAt(x, GGML_TYPE_F32, {i0, i1, i2, i3});
    return sum.get();
  });
}

//===-- Convolutions ---------------------------------------------------------===//

/// y[ox, oy, c, n]: kernels (kw, kh, channels in, channels out), inputs (w, h, channels in, n).
void runConv2d(const Run &run, const ggml_tensor *op) {
  const ggml_type type = op->src[0]->type;
  cells(run, "conv_2d", op, {.i = ints(op, 0, 6)}, // s0, s1, p0, p1, d0, d1
        [=](const Traced &p, const Place &at) -> Numeric {
          const TracedOperand &w = p.x[1], &x = p.x[2];
          fx::Var<fx::Float32> sum(0.0f);
          for (Int32 c : fx::range(0, w.extent[2], 1))
            for (Int32 kh : fx::range(0, w.extent[1], 1))
              for (Int32 kw : fx::range(0, w.extent[0], 1)) {
                const Int32 i0 = at[0] * p.i[1] + kw * p.i[5] - p.i[3],
                            i1 = at[1] * p.i[2] + kh * p.i[6] - p.i[4];
                sum += ifInside(x, 2, {i0, i1, c, at[3]}, [&](const Place &from) {
                  return valueAt(x, GGML_TYPE_F32, from) * valueAt(w, type, {kw, kh, c, at[2]});
                });
              }
          return sum.get();
        });
}
/// y[ox, oy, oz, (n, c)]: kernels (kw, kh, kd, (out, in)), inputs (w, h, d, (n, in)).
void runConv3d(const Run &run, const ggml_tensor *op) {
  const ggml_type type = op->src[0]->type;
  std::vector<std::int32_t> own = ints(op, 0, 10); // strides, padding, dilations, channels in
  own.push_back(intParam(op, 11));                 // and out
  cells(run, "conv_3d", op, {.i = own}, [=](const Traced &p, const Place &at) -> Numeric {
    const TracedOperand &w = p.x[1], &x = p.x[2];
    const Int32 in = p.i[10], to = at[3] % p.i[11], batch = at[3] / p.i[11];
    fx::Var<fx::Float32> sum(0.0f);
    for (Int32 c : fx::range(0, in, 1))
      for (Int32 kd : fx::range(0, w.extent[2], 1))
        for (Int32 kh : fx::range(0, w.extent[1], 1))
          for (Int32 kw : fx::range(0, w.extent[0], 1)) {
            const Int32 i0 = at[0] * p.i[1] + kw * p.i[7] - p.i[4],
                        i1 = at[1] * p.i[2] + kh * p.i[8] - p.i[5],
                        i2 = at[2] * p.i[3] + kd * p.i[9] - p.i[6];
            sum += ifInside(x, 3, {i0, i1, i2, batch * in + c}, [&](const Place &from) {
              return valueAt(x, GGML_TYPE_F32, from) *
                     valueAt(w, type, {kw, kh, kd, to * in + c});
            });
          }
    return sum.get();
  });
}
/// The same of a plane with a kernel (kw, kh, 1, channels) for each channel.
void runConv2dDw(const Run &run, const ggml_tensor *op) {
  const ggml_type type = op->src[0]->type;
  cells(run, "conv_2d_dw", op, {.i = ints(op, 0, 6)},
        [=](const Traced &p, const Place &at) -> Numeric {
          const TracedOperand &w = p.x[1], &x = p.x[2];
          fx::Var<fx::Float32> sum(0.0f);
          for (Int32 kh : fx::range(0, w.extent[1], 1))
            for (Int32 kw : fx::range(0, w.extent[0], 1)) {
              const Int32 i0 = at[0] * p.i[1] + kw * p.i[5] - p.i[3],
                          i1 = at[1] * p.i[2] + kh * p.i[6] - p.i[4];
              sum += ifInside(x, 2, {i0, i1, at[2], at[3]}, [&](const Place &from) {
                return valueAt(x, GGML_TYPE_F32, from) * valueAt(w, type, {kw, kh, 0, at[2]});
              });
            }
          return sum.get();
        });
}
/// y[o, c]: kernels (k, channels out, channels in), inputs (l, channels in).
void runConvTranspose1d(const Run &run, const ggml_tensor *op) {
  const ggml_type type = op->src[0]->type;
  cells(run, "conv_transpose_1d", op, {.i = {intParam(op, 0)}},
        [=](const Traced &p, const Place &at) -> Numeric {
          const TracedOperand &w = p.x[1], &x = p.x[2];
          fx::Var<fx::Float32> sum(0.0f);
          for (Int32 k : fx::range(0, w.extent[0], 1)) {
            const Int32 from = at[0] - k, i = from / p.i[1];
            const fx::Boolean inside = from >= 0 && from % p.i[1] == 0 && i < x.extent[0];
            for (Int32 c : fx::range(0, w.extent[2], 1))
              sum += fx::select(inside,
                                valueAt(x, GGML_TYPE_F32, {safe(inside, i), c, 0, 0}) *
                                    valueAt(w, type, {k, at[1], c, 0}),
                                0.0f);
          }
          return sum.get();
        });
}
/// y[ox, oy, c, n]: kernels (kw, kh, channels out, channels in), inputs (w, h, channels in, n).
void runConvTranspose2d(const Run &run, const ggml_tensor *op) {
  const ggml_type type = op->src[0]->type;
  cells(run, "conv_transpose_2d", op, {.i = {intParam(op, 0)}},
        [=](const Traced &p, const Place &at) -> Numeric {
          const TracedOperand &w = p.x[1], &x = p.x[2];
          fx::Var<fx::Float32> sum(0.0f);
          for (Int32 kh : fx::range(0, w.extent[1], 1))
            for (Int32 kw : fx::range(0, w.extent[0], 1)) {
              const Int32 from0 = at[0] - kw, from1 = at[1] - kh, i0 = from0 / p.i[1],
                          i1 = from1 / p.i[1];
              const fx::Boolean inside = from0 >= 0 && from1 >= 0 && from0 % p.i[1] == 0 &&
                                         from1 % p.i[1] == 0 && i0 < x.extent[0] &&
                                         i1 < x.extent[1];
              for (Int32 c : fx::range(0, w.extent[3], 1))
                sum += fx::select(
                    inside,
                    valueAt(x, GGML_TYPE_F32, {safe(inside, i0), safe(inside, i1), c, at[3]}) *
                        valueAt(w, type, {kw, kh, at[2], c}),
                    0.0f);
            }
          return sum.get();
        });
}

bool isConvolution(const ggml_tensor *op) {
  return isF32(op) && isFloat(op->src[0]->type) && isF32(op->src[1]);
}
bool supportsPool(const ggml_tensor *op) { return isF32(op) && isFloat(op->src[0]->type); }

constexpr Op kOps[] = {
    {GGML_OP_PAD, f32ToF32, runPad},
    {GGML_OP_PAD_REFLECT_1D, f32ToF32, runPadReflect},
    {GGML_OP_ROLL, f32ToF32, runRoll},
    {GGML_OP_POOL_1D, supportsPool, runPool},
    {GGML_OP_POOL_2D, supportsPool, runPool},
    {GGML_OP_IM2COL,
     [](const ggml_tensor *op) { return isFloat(op->type) && isFloat(op->src[1]->type); }, runIm2col},
    {GGML_OP_IM2COL_3D,
     [](const ggml_tensor *op) { return isFloat(op->type) && isFloat(op->src[1]->type); },
     runIm2col3d},
    {GGML_OP_CONV_3D, isConvolution, runConv3d},
    {GGML_OP_ARANGE, [](const ggml_tensor *op) { return isF32(op); }, runArange},
    {GGML_OP_TIMESTEP_EMBEDDING, f32ToF32, runTimestep},
    {GGML_OP_TRI, f32ToF32, runTri},
    {GGML_OP_DIAG, f32ToF32, runDiag},
    {GGML_OP_DIAG_MASK_INF, f32ToF32, runDiagMask},
    {GGML_OP_DIAG_MASK_ZERO, f32ToF32, runDiagMask},
    {GGML_OP_ADD_ID,
     [](const ggml_tensor *op) {
       return f32ToF32(op) && isF32(op->src[1]) && op->src[2]->type == GGML_TYPE_I32;
     },
     runAddId},
    {GGML_OP_COL2IM_1D,
     [](const ggml_tensor *op) { return isFloat(op->type) && isFloat(op->src[0]->type); },
     runCol2im1d},
    {GGML_OP_REPEAT_BACK, f32ToF32, runRepeatBack},
    {GGML_OP_CONV_2D, isConvolution, runConv2d},
    {GGML_OP_CONV_2D_DW, isConvolution, runConv2dDw},
    {GGML_OP_CONV_TRANSPOSE_1D, isConvolution, runConvTranspose1d},
    {GGML_OP_CONV_TRANSPOSE_2D, isConvolution, runConvTranspose2d},
};

} // namespace

std::span<const Op> cellOps() { return kOps; }

} // namespace flydsl_ggml
