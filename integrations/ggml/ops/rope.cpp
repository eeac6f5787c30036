// Rotary positions: pairs of neighbours or of halves, sections of several positions, YaRN. Source:
// ggml_compute_forward_rope_flt in ggml-cpu/ops.cpp.
#include "ops/fusion.h"

#include <algorithm>
#include <cmath>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

/// The properties of the op that the code depends on.
struct Form {
  ggml_type type;
  int mode;
  bool factors, yarn, forward;
  /// The result's rows go to rows of a cache of another type, whose numbers are of this type; COUNT: they
  /// stay where they are.
  ggml_type to, numbers = GGML_TYPE_COUNT;
};
/// The operands of a launch; kCache and kNumbers are there if the rows go to a cache.
enum Operand { kResult, kSource, kPositions, kFactors, kCache, kNumbers };
/// What a launch passes, in its order; int 0 is the number of threads.
enum Int { kDims = 1, kFirst, kSection0 };
enum Float { kFreqScale, kExtFactor, kAttention, kLow, kHigh, kThetaScaleLog2, kMagnitude };

/// The position whose angle pair `pair` takes, among four rows of positions.
Int32 rowOfPositions(const Form &form, const Int32 &pair, const Int32 *sections) {
  const Int32 first = sections[0], second = sections[1], third = sections[2], fourth = sections[3];
  const Int32 total = first + second + third + fourth, sector = pair % total;
  const auto when = [](const fx::Boolean &condition, int row, const Numeric &other) {
    return Int32(fx::select(condition, row, other));
  };
  if (form.mode == GGML_ROPE_TYPE_IMROPE) {
    const Int32 turn = sector % 3;
    return when(turn == 1 && sector < second * 3, 1,
                when(turn == 2 && sector < third * 3, 2,
                     when(turn == 0 && sector < first * 3, 0, Int32(3))));
  }
  return when(sector < first, 0,
              when(sector < first + second, 1, when(sector < first + second + third, 2, Int32(3))));
}
/// The exponent of the pair's frequency: the pair's number, or that inside of its section where each
/// section begins anew.
Int32 exponentOf(const Form &form, const Int32 &pair, const Int32 *sections) {
  if (form.mode != GGML_ROPE_TYPE_VISION)
    return pair;
  const Int32 first = sections[0], second = sections[1], third = sections[2];
  const Int32 total = first + second + third + sections[3], sector = pair % total;
  return Int32(
      fx::select(sector < first, sector,
                 fx::select(sector < first + second, sector - first,
                            fx::select(sector < first + second + third, sector - first - second,
                                       sector - first - second - third))));
}

/// A thread turns a pair, or copies two neighbours outside of the turned dimensions.
void body(const Form &form, const Traced &p, const fx::UInt32 &index) {
  const TracedOperand &y = p.x[0], &x = p.x[1];
  const Place at = placeOf(index, {Int32(y.extent[0] / 2), y.extent[1], y.extent[2], y.extent[3]});
  // The rows of all heads of a token are one row of a cache.
  const auto inCache = [&] {
    const TracedOperand &cache = p.x[kCache], &numbers = p.x[kNumbers];
    const Numeric row = rawAt(numbers, form.numbers, {at[2], at[3] % numbers.extent[1], 0, 0});
    return Int64(cache.address + row.to(fx::i64) * cache.stride[1] +
                 at[3].to(fx::i64) * cache.stride[2] +
                 (at[1] * y.extent[0]).to(fx::i64) * cache.stride[0]);
  };
  const bool caches = form.numbers != GGML_TYPE_COUNT;
  const Int64 from = rowAddress(x, at[1], at[2], at[3]),
              to = caches ? inCache() : rowAddress(y, at[1], at[2], at[3]);
  const Int64 step = caches ? p.x[kCache].stride[0] : y.stride[0];
  const Int32 dims = p.i[kDims], first = p.i[kFirst], half = dims / 2;
  const bool vision = form.mode == GGML_ROPE_TYPE_VISION,
             neighbours = form.mode == GGML_ROPE_TYPE_NORMAL,
             several = form.mode & GGML_ROPE_TYPE_MROPE;

  // Pairs before the turned ones, the turned ones, and those after them.
  const Int32 pair = vision ? at[0] : Int32(at[0] - first / 2);
  const fx::Boolean turned = vision ? fx::Boolean(true) : fx::Boolean(pair >= 0 && pair < half);
  const Int32 inside(fx::select(turned, pair, 0));
  const Int32 low = neighbours ? Int32(first + inside * 2)
                    : vision   ? inside
                               : Int32(first + inside);
  const Int32 high = neighbours ? Int32(low + 1) : vision ? Int32(low + dims) : Int32(low + half);
  const Int32 i0(fx::select(turned, low, at[0] * 2)), i1(fx::select(turned, high, at[0] * 2 + 1));

  const auto load = [&](const Int32 &i) {
    return loadAs(from + i.to(fx::i64) * x.stride[0], dtypeOf(form.type)).to(fx::f32);
  };
  const auto store = [&](const Int32 &i, const Numeric &value) {
    fx::Pointer::from_address(to + i.to(fx::i64) * step, dtypeOf(form.to))
        .store(value.to(dtypeOf(form.to)));
  };
  const Int32 row = several ? rowOfPositions(form, inside, p.i + kSection0) : Int32(0);
  const Numeric position =
      loadAs(p.x[2].address + (row * y.extent[2] + at[2]).to(fx::i64) * p.x[2].stride[0], fx::i32)
          .to(fx::f32);
  const Numeric exponent = exponentOf(form, inside, p.i + kSection0).to(fx::f32);
  const Numeric plain = position * fx::math::exp2(exponent * p.f[kThetaScaleLog2]);
  const Numeric angle =
      form.factors ? plain / loadAs(p.x[3].address + inside.to(fx::i64) * 4, fx::f32) : plain;
  const auto extrapolated = [&]() -> Numeric {
    const Numeric ramp =
        (inside.to(fx::f32) - p.f[kLow]) / fx::max(p.f[kHigh] - p.f[kLow], fx::Float32(0.001f));
    const Numeric mix = (1.0f - fx::math::clampf(ramp, 0.0f, 1.0f)) * p.f[kExtFactor];
    return angle * p.f[kFreqScale] * (1.0f - mix) + angle * mix;
  };
  const Numeric theta = form.yarn ? extrapolated() : Numeric(angle * p.f[kFreqScale]);
  const Numeric c = fx::math::cos(theta) * p.f[kMagnitude],
                s = fx::math::sin(theta) *
                    (form.forward ? Numeric(p.f[kMagnitude]) : Numeric(-p.f[kMagnitude]));
  const Numeric a = load(i0), b = load(i1);
  store(i0, fx::select(turned, a * c - b * s, a));
  store(i1, fx::select(turned, a * s + b * c, b));
}

/// Rotates, and puts the rows into a cache if there is `setRows`.
void rotate(const Run &run, const ggml_tensor *op, const ggml_tensor *setRows) {
  const ggml_tensor *x = op->src[0], *factors = op->src[2];
  const int dims = intParam(op, 1), mode = intParam(op, 2), trained = intParam(op, 4);
  const float base = floatParam(op, 5), scale = floatParam(op, 6), extension = floatParam(op, 7),
              attention = floatParam(op, 8);
  float corrections[2];
  ggml_rope_yarn_corr_dims(dims, trained, base, floatParam(op, 9), floatParam(op, 10), corrections);
  const bool yarn = extension != 0;
  const float magnitude = yarn ? attention * (1 + 0.1f * std::log(1 / scale)) : attention;
  Form form{x->type, mode, factors != nullptr, yarn, op->op == GGML_OP_ROPE, x->type};
  std::string name = std::string("rope_") + ggml_type_name(form.type) + "_" + std::to_string(mode) +
                     (form.factors ? "_factors" : "") + (yarn ? "_yarn" : "") +
                     (form.forward ? "" : "_back");
  std::vector<HostOperand> operands{operandOf(op), operandOf(x), operandOf(op->src[1]),
                                    operandOf(factors)};
  if (setRows) {
    form.to = setRows->type;
    form.numbers = setRows->src[1]->type;
    name += std::string("_to_") + ggml_type_name(form.to) + "_" + ggml_type_name(form.numbers);
    operands.push_back(operandOf(setRows));
    operands.push_back(operandOf(setRows->src[1]));
  }
  run.threads(
      ggml_nelements(op) / 2,
      {.name = name,
       .x = operands,
       .i = {dims, intParam(op, 15), intParam(op, 11), intParam(op, 12), intParam(op, 13),
             intParam(op, 14)},
       .f = {scale, extension, attention, corrections[0], corrections[1],
             static_cast<float>(std::log2(static_cast<double>(base)) * -2 / dims), magnitude}},
      [=](const Traced &p, const fx::UInt32 &index) { body(form, p, index); });
}

void runRope(const Run &run, const ggml_tensor *op) { rotate(run, op, nullptr); }

bool supportsRope(const ggml_tensor *op) {
  const ggml_tensor *x = op->src[0];
  constexpr int modes[] = {GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_MROPE,
                           GGML_ROPE_TYPE_IMROPE, GGML_ROPE_TYPE_VISION};
  return isFloat(x->type) && op->type == x->type && op->src[1]->type == GGML_TYPE_I32 &&
         (!op->src[2] || isF32(op->src[2])) && op->ne[0] % 2 == 0 &&
         std::find(std::begin(modes), std::end(modes), intParam(op, 2)) != std::end(modes);
}

constexpr Op kOps[] = {
    {GGML_OP_ROPE, supportsRope, runRope},
    {GGML_OP_ROPE_BACK, supportsRope, runRope},
};

} // namespace

std::span<const Op> ropeOps() { return kOps; }

bool ropeThenSetRows(const Run &run, const ggml_tensor *rope, const ggml_tensor *setRows) {
  const ggml_tensor *rows = setRows->src[0], *numbers = setRows->src[1];
  // A row has the heads of a token; one plane has the tokens of a sequence.
  const bool fits = isFloat(setRows->type) && rows->ne[0] == rope->ne[0] * rope->ne[1] &&
                    rows->ne[1] == rope->ne[2] && rows->ne[2] == rope->ne[3] && rows->ne[3] == 1 &&
                    numbers->ne[2] == 1;
  if (!fits)
    return false;
  rotate(run, rope, setRows);
  return true;
}

} // namespace flydsl_ggml
