// Images in another size: UPSCALE. Source: ggml_compute_forward_upscale_f32 in ggml-cpu/ops.cpp.
#include "ops/cell.h"

#include <algorithm>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Numeric;

/// What a launch passes: the ratio of sizes of each dimension, the offset of a pixel's centre, and with
/// antialiasing how far the filter reaches on either side in dimensions 0 and 1.
enum Float { kRatio, kOffset = 4, kReach };

/// The pixel of the source in whose place one of the result is.
Int32 nearest(const Traced &p, const Place &at, std::size_t d) {
  return Int32(fx::min((at[d].to(fx::f32) / p.f[d]).to(fx::i32), p.x[1].extent[d] - 1));
}
Int32 clamped(const Numeric &i, const Int32 &extent) {
  return Int32(fx::max(fx::min(i, Numeric(extent - 1)), 0));
}
/// A pixel of the plane that the result's belongs to.
Numeric pixel(const Traced &p, const Place &at, const Int32 &i0, const Int32 &i1) {
  return rawAt(p.x[1], GGML_TYPE_F32, {i0, i1, nearest(p, at, 2), nearest(p, at, 3)});
}
/// Where the result's pixel is in the source.
Numeric centre(const Traced &p, const Place &at, std::size_t d) {
  return (at[d].to(fx::f32) + p.f[kOffset]) / p.f[d] - p.f[kOffset];
}

Numeric bilinear(const Traced &p, const Place &at) {
  struct Between {
    Int32 low, high;
    Numeric part;
  };
  const auto between = [&](std::size_t d) -> Between {
    const Numeric place = centre(p, at, d), first = fx::math::floor(place).to(fx::i32);
    const Int32 low = clamped(first, p.x[1].extent[d]), high = clamped(first + 1, p.x[1].extent[d]);
    return {low, high, fx::max(fx::min(place - low.to(fx::f32), 1.0f), 0.0f)};
  };
  const Between a = between(0), b = between(1);
  const auto value = [&](const Int32 &i0, const Int32 &i1) { return pixel(p, at, i0, i1); };
  return value(a.low, b.low) * (1.0f - a.part) * (1.0f - b.part) +
         value(a.high, b.low) * a.part * (1.0f - b.part) +
         value(a.low, b.high) * (1.0f - a.part) * b.part + value(a.high, b.high) * a.part * b.part;
}

/// A triangle over the pixels in reach, whose weights are made to add up to 1.
Numeric antialiased(const Traced &p, const Place &at) {
  struct Range {
    Numeric place, inverse;
    Int32 first, end;
  };
  const auto rangeOf = [&](std::size_t d) -> Range {
    const Numeric place = (at[d].to(fx::f32) + p.f[kOffset]) / p.f[d], reach = p.f[kReach + d];
    return {place, 1.0f / reach, Int32(fx::max((place - reach + p.f[kOffset]).to(fx::i32), 0)),
            Int32(fx::min((place + reach + p.f[kOffset]).to(fx::i32), p.x[1].extent[d]))};
  };
  const auto weightOf = [&](const Range &range, const Int32 &i) {
    return fx::max(
        1.0f - fx::math::abs((i.to(fx::f32) - range.place + p.f[kOffset]) * range.inverse), 0.0f);
  };
  const Range x = rangeOf(0), y = rangeOf(1);
  fx::Var<fx::Float32> sum(0.0f), total(0.0f);
  for (Int32 i1 : fx::range(y.first, y.end, 1))
    for (Int32 i0 : fx::range(x.first, x.end, 1)) {
      const Numeric weight = weightOf(x, i0) * weightOf(y, i1);
      sum += weight * pixel(p, at, i0, i1);
      total += weight;
    }
  return fx::select(total.get() > 0.0f, sum.get() / total.get(), sum.get());
}

/// The four weights of neighbours, with a = -0.75.
std::array<Numeric, 4> cubicWeights(const Numeric &part) {
  constexpr float a = -0.75f;
  const auto inner = [](const Numeric &x) { return ((a + 2) * x - (a + 3)) * x * x + 1.0f; };
  const auto outer = [](const Numeric &x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {outer(part + 1.0f), inner(part), inner(1.0f - part), outer(2.0f - part)};
}
Numeric bicubic(const Traced &p, const Place &at) {
  const Numeric x = centre(p, at, 0), y = centre(p, at, 1);
  const Numeric x0 = fx::math::floor(x), y0 = fx::math::floor(y);
  const auto ofX = cubicWeights(x - x0), ofY = cubicWeights(y - y0);
  fx::Var<fx::Float32> sum(0.0f);
  for (int j = 0; j < 4; ++j) {
    const Int32 i1 = clamped(y0.to(fx::i32) + (j - 1), p.x[1].extent[1]);
    for (int i = 0; i < 4; ++i) {
      const Int32 i0 = clamped(x0.to(fx::i32) + (i - 1), p.x[1].extent[0]);
      sum += pixel(p, at, i0, i1) * ofX[static_cast<std::size_t>(i)] *
             ofY[static_cast<std::size_t>(j)];
    }
  }
  return sum.get();
}

/// A way to find a pixel; `antialias` for the one that has this flag.
struct Mode {
  int mode;
  bool antialias;
  const char *name;
  Numeric (*value)(const Traced &p, const Place &at);
};
constexpr Mode kModes[] = {
    {GGML_SCALE_MODE_NEAREST, false, "upscale_nearest",
     [](const Traced &p, const Place &at) {
       return pixel(p, at, nearest(p, at, 0), nearest(p, at, 1));
     }},
    {GGML_SCALE_MODE_BILINEAR, false, "upscale_bilinear", bilinear},
    {GGML_SCALE_MODE_BILINEAR, true, "upscale_antialiased", antialiased},
    {GGML_SCALE_MODE_BICUBIC, false, "upscale_bicubic", bicubic},
};
const Mode *modeOf(const ggml_tensor *op) {
  const int flags = intParam(op, 0);
  for (const Mode &row : kModes)
    if (row.mode == (flags & 0xff) && row.antialias == ((flags & GGML_SCALE_FLAG_ANTIALIAS) != 0))
      return &row;
  return nullptr;
}

void runUpscale(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *x = op->src[0];
  const bool corners = intParam(op, 0) & GGML_SCALE_FLAG_ALIGN_CORNERS;
  std::vector<float> numbers;
  for (int d = 0; d < 4; ++d) {
    const bool stretched = corners && d < 2 && op->ne[d] > 1 && x->ne[d] > 1;
    numbers.push_back(stretched
                          ? static_cast<float>(op->ne[d] - 1) / static_cast<float>(x->ne[d] - 1)
                          : static_cast<float>(op->ne[d]) / static_cast<float>(x->ne[d]));
  }
  numbers.push_back(corners ? 0.0f : 0.5f);
  for (std::size_t d = 0; d < 2; ++d)
    numbers.push_back(std::max(1.0f, 1.0f / numbers[d]));
  const Mode &mode = *modeOf(op);
  cells(run, mode.name, op, {.f = numbers},
        [value = mode.value](const Traced &p, const Place &at) { return value(p, at); });
}

constexpr Op kOps[] = {
    {GGML_OP_UPSCALE, [](const ggml_tensor *op) { return f32ToF32(op) && modeOf(op); }, runUpscale},
};

} // namespace

std::span<const Op> upscaleOps() { return kOps; }

} // namespace flydsl_ggml
