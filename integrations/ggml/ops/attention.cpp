// FLASH_ATTN_EXT for all types, strides, masks and sizes of heads: a block takes a query of a head, and its
// waves take keys in turns. The lanes of a wave take a key each, then share the columns of the values. Source:
// ggml_compute_forward_flash_attn_ext in ggml-cpu/ops.cpp.
#include "ops/attention_plans.h"

#include <limits>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

/// The properties of the op that the code depends on.
struct Form {
  ggml_type k, v, mask; ///< mask: GGML_TYPE_COUNT if there is none
  bool alibi, cap, sinks;
  int width;  ///< elements of a key that are loaded together
  int pieces; ///< columns of the values of a lane
  int waves;  ///< of a block
  int wave;
};
enum Float { kScale, kCap, kSlope };

/// From so many keys on, a block has several waves.
constexpr std::int64_t kManyKeys = 256;
constexpr int kMostWaves = 8;

/// What a wave has of its keys, each lane of its own columns: sums of values by their weights, the sum of
/// the weights, and the score that they are relative to.
struct Part {
  fx::Var<fx::Float32> largest, total;
  std::vector<fx::Var<fx::Float32>> sums;
};
/// Adds up the parts of the waves of a block, in their order; the first wave has the result.
void combine(const Form &form, const Part &part, const Int32 &wave, const Int32 &lane) {
  const int floats = form.wave * (form.pieces + 2);
  const fx::Pointer memory =
      fx::SharedAllocator().allocate(form.waves * floats * 4, 16).recast(fx::f32);
  const auto at = [&](const Numeric &ofWave, int piece) {
    return memory + Int32(ofWave * floats + (piece * form.wave + lane));
  };
  at(wave, 0).store(part.largest.get());
  at(wave, 1).store(part.total.get());
  for (int i = 0; i < form.pieces; ++i)
    at(wave, 2 + i).store(part.sums[static_cast<std::size_t>(i)].get());
  fx::gpu::barrier();
  fx::exit_if(wave > 0);
  for (Int32 other : fx::range(1, form.waves, 1)) {
    const Numeric theirs = at(other, 0).load(), before = part.largest.get(),
                  now = fx::max(before, theirs);
    const Numeric base = fx::select(now == -std::numeric_limits<float>::infinity(), 0.0f, now);
    const Numeric mine = fx::math::exp(before - base), factor = fx::math::exp(theirs - base);
    part.largest = now;
    part.total = part.total.get() * mine + at(other, 1).load() * factor;
    for (int i = 0; i < form.pieces; ++i) {
      const auto &sum = part.sums[static_cast<std::size_t>(i)];
      sum = sum.get() * mine + at(other, 2 + i).load() * factor;
    }
  }
}

void body(const Form &form, const Traced &p) {
  const TracedOperand &y = p.x[0], &q = p.x[1], &k = p.x[2], &v = p.x[3], &mask = p.x[4];
  constexpr float least = -std::numeric_limits<float>::infinity();
  const Int32 lane = fx::thread_idx().x % form.wave,
              wave = form.waves > 1 ? Int32(fx::gpu::uniform(fx::thread_idx().x / form.wave))
                                    : Int32(0),
              query = fx::block_idx().x, head = fx::block_idx().y, batch = fx::block_idx().z;
  const auto headOf = [&](const TracedOperand &x) { // heads of keys and values are shared
    return std::pair(Int32(head / (q.extent[2] / x.extent[2])),
                     Int32(batch / (q.extent[3] / x.extent[3])));
  };
  const auto [headK, batchK] = headOf(k);
  const auto [headV, batchV] = headOf(v);
  const Int64 queryRow = rowAddress(q, query, head, batch), keys = rowAddress(k, 0, headK, batchK),
              values = rowAddress(v, 0, headV, batchV);
  const bool masked = form.mask != GGML_TYPE_COUNT;
  const Int64 maskRow =
      masked ? rowAddress(mask, query, head % mask.extent[2], batch % mask.extent[3]) : Int64(0);
  const Numeric slope = form.alibi ? slopeOf(head, p.f + kSlope) : Numeric(fx::Float32(1.0f));

  Part part{fx::Var<fx::Float32>(least), fx::Var<fx::Float32>(0.0f), {}};
  auto &[largest, total, sums] = part;
  for (int i = 0; i < form.pieces; ++i)
    sums.emplace_back(fx::Float32(0.0f));
  const Int32 count = k.extent[1], dim = k.extent[0], columns = v.extent[0];
  for (Int32 first : fx::range(wave * form.wave, count, form.waves * form.wave)) {
    const Int32 key = first + lane;
    const fx::Boolean inside = key < count;
    const Int32 place(fx::select(inside, key, count - 1));
    const Int64 keyRow = keys + place.to(fx::i64) * k.stride[1];
    fx::Var<fx::Float32> dot(0.0f);
    for (Int32 d : fx::range(0, dim, form.width)) {
      const auto a = neighboursInRow(GGML_TYPE_F32, queryRow, q.stride[0], d, form.width),
                 b = neighboursInRow(form.k, keyRow, k.stride[0], d, form.width);
      for (std::size_t i = 0; i < a.size(); ++i)
        dot = fx::math::fma(a[i], b[i], dot.get());
    }
    const Numeric scaled = dot.get() * p.f[kScale];
    const Numeric capped = form.cap ? p.f[kCap] * fx::math::tanh(scaled) : scaled;
    const Numeric score = fx::select(
        inside, masked ? capped + slope * inRow(form.mask, maskRow, mask.stride[0], place) : capped,
        least);

    const Numeric before = largest.get();
    const Numeric now = fx::max(before, fx::gpu::warp_reduce(score, fx::Reduction::max));
    const fx::Boolean none = now == least; // all keys so far are masked
    const Numeric base = fx::select(none, 0.0f, now);
    const Numeric weight = fx::math::exp(score - base), factor = fx::math::exp(before - base);
    largest = now;
    total = total.get() * factor + fx::gpu::warp_reduce(weight, fx::Reduction::add);
    for (const auto &sum : sums)
      sum *= factor;
    const Int32 left(fx::min(count - first, form.wave));
    for (Int32 j : fx::range(0, left, 1)) {
      const Numeric w = fx::gpu::shuffle_idx(weight, fx::IntTuple(j));
      const Int64 row = values + (first + j).to(fx::i64) * v.stride[1];
      for (int i = 0; i < form.pieces; ++i) {
        const Int32 column = lane + i * form.wave;
        const Int32 valid(fx::min(column, columns - 1));
        sums[static_cast<std::size_t>(i)] = fx::math::fma(w, inRow(form.v, row, v.stride[0], valid),
                                                          sums[static_cast<std::size_t>(i)].get());
      }
    }
  }

  if (form.waves > 1)
    combine(form, part, wave, lane);
  fx::Var<fx::Float32> scale(1.0f);
  if (form.sinks) {
    const Numeric sink = loadAs(p.x[5].address + head.to(fx::i64) * 4, fx::f32);
    const Numeric now = fx::max(largest.get(), sink);
    scale = fx::math::exp(largest.get() - now);
    total = total.get() * scale.get() + fx::math::exp(sink - now);
  }
  const Numeric factor = fx::select(total.get() == 0.0f, 0.0f, scale.get() / total.get());
  for (int i = 0; i < form.pieces; ++i) {
    const Int32 column = lane + i * form.wave;
    fx::if_(column < columns, [&] {
      storeAt(y, GGML_TYPE_F32, {column, head, query, batch},
              sums[static_cast<std::size_t>(i)].get() * factor);
    });
  }
}

bool supportsAttention(const ggml_tensor *op) {
  const ggml_tensor *q = op->src[0], *k = op->src[1], *v = op->src[2], *mask = op->src[3],
                    *sinks = op->src[4];
  return isF32(op) && isF32(q) && reads(k->type) && reads(v->type) && rowsFollow(q) &&
         rowsFollow(k) && rowsFollow(v) && (!mask || isFloat(mask->type)) &&
         (!sinks || isF32(sinks)) && q->ne[2] % k->ne[2] == 0 && q->ne[2] % v->ne[2] == 0 &&
         v->ne[0] <= 1024;
}

void runAttention(const Run &run, const ggml_tensor *op) {
  if (attentionByPlan(run, op))
    return;
  const ggml_tensor *q = op->src[0], *k = op->src[1], *v = op->src[2], *mask = op->src[3],
                    *sinks = op->src[4];
  const float cap = floatParam(op, 2), bias = floatParam(op, 1),
              scale = cap != 0 ? floatParam(op, 0) / cap : floatParam(op, 0);
  const auto [heads, base, root] = slopeNumbers(q->ne[2], bias);
  const bool wide =
      widthOf(operandOf(q), q->type, 4) == 4 && widthOf(operandOf(k), k->type, 4) == 4;
  const Form form{k->type,
                  v->type,
                  mask ? mask->type : GGML_TYPE_COUNT,
                  mask && bias > 0,
                  cap != 0,
                  sinks != nullptr,
                  wide ? 4 : 1,
                  static_cast<int>(ceilDiv(v->ne[0], run.wave)),
                  k->ne[1] >= kManyKeys ? kMostWaves : 1,
                  run.wave};
  std::string name = std::string("attention_") + ggml_type_name(form.k) + "_" +
                     ggml_type_name(form.v) + "_w" + std::to_string(form.width) + "_p" +
                     std::to_string(form.pieces);
  if (mask)
    name += std::string("_mask_") + ggml_type_name(form.mask);
  name += std::string(form.alibi ? "_alibi" : "") + (form.cap ? "_cap" : "") +
          (form.sinks ? "_sinks" : "");
  run({.name = name,
       .x = {operandOf(op), operandOf(q), operandOf(k), operandOf(v), operandOf(mask),
             operandOf(sinks)},
       .f = {scale, cap, heads, base, root},
       .grid = {q->ne[1], q->ne[2], q->ne[3]},
       .block = form.waves * run.wave},
      [=](const Traced &p) { body(form, p); });
}

constexpr Op kOps[] = {{GGML_OP_FLASH_ATTN_EXT, supportsAttention, runAttention}};

} // namespace

std::span<const Op> attentionOps() { return kOps; }

} // namespace flydsl_ggml
