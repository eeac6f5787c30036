// Ops of DeepSeek's models: the scores by which sparse attention chooses keys, and the streams that stand
// for a residual (hyper-connections). Source: the functions of these names in ggml-cpu/ops.cpp.
#include "ops/cell.h"
#include "ops/indexer_plans.h"

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

//===-- Scores of keys -------------------------------------------------------===//

bool supportsIndexer(const ggml_tensor *op) {
  const ggml_tensor *q = op->src[0], *k = op->src[1], *w = op->src[2], *mask = op->src[3];
  return isF32(op) && isF32(q) && isF32(w) && reads(k->type) && isFloat(mask->type) &&
         rowsFollow(q) && rowsFollow(k);
}
/// y[key, token] = sum over heads of weight[head, token] * max(q[head, token] . k[key], 0) + mask[key,
/// token]. Without a plan, a thread has a key of a token, which it reads once for some heads.
void runIndexer(const Run &run, const ggml_tensor *op) {
  if (indexerByPlan(run, op))
    return;
  const ggml_tensor *q = op->src[0], *k = op->src[1];
  const ggml_type type = k->type, maskType = op->src[3]->type;
  const int width = widthOf(operandOf(q), q->type, widthOf(operandOf(k), type, 4));
  const int together = q->ne[1] % 8 == 0 ? 8 : 1;
  cells(run, "lightning_indexer_v" + std::to_string(width) + "_h" + std::to_string(together), op,
        {}, [=](const Traced &p, const Place &at) -> Numeric {
          const TracedOperand &queries = p.x[1], &keys = p.x[2], &weights = p.x[3], &mask = p.x[4];
          const Int32 token = at[1], stream = at[3];
          const Int64 key = rowAddress(keys, 0, at[0], stream);
          fx::Var<fx::Float32> score(0.0f);
          for (Int32 first : fx::range(0, queries.extent[1], together)) {
            std::vector<fx::Var<fx::Float32>> dots;
            for (int h = 0; h < together; ++h)
              dots.emplace_back(fx::Float32(0.0f));
            for (Int32 d : fx::range(0, queries.extent[0], width)) {
              const auto b = neighboursInRow(type, key, keys.stride[0], d, width);
              for (int h = 0; h < together; ++h) {
                const auto a =
                    neighboursInRow(GGML_TYPE_F32, rowAddress(queries, first + h, token, stream),
                                    queries.stride[0], d, width);
                const auto &dot = dots[static_cast<std::size_t>(h)];
                for (std::size_t v = 0; v < a.size(); ++v)
                  dot = fx::math::fma(a[v], b[v], dot.get());
              }
            }
            for (int h = 0; h < together; ++h)
              score += fx::max(dots[static_cast<std::size_t>(h)].get(), fx::Float32(0.0f)) *
                       rawAt(weights, GGML_TYPE_F32, {first + h, token, 0, stream});
          }
          return score.get() + valueAt(mask, maskType, {at[0], token, 0, stream % mask.extent[3]});
        });
}

//===-- Hyper-connections ----------------------------------------------------===//

bool areF32(const ggml_tensor *op) {
  for (const ggml_tensor *source : op->src)
    if (source && !isF32(source))
      return false;
  return isF32(op);
}

constexpr int kStreams = 4;

/// Softmax over the targets of each source, then sums of sources and of targets are made 1 in turns. A
/// thread has the matrix of a token.
void runComb(const Run &run, const ggml_tensor *op) {
  run.threads(
      op->ne[2],
      {.name = "dsv4_hc_comb",
       .x = {operandOf(op), operandOf(op->src[0]), operandOf(op->src[1]), operandOf(op->src[2])},
       .i = {intParam(op, 1)},
       .f = {floatParam(op, 0)}},
      [](const Traced &p, const fx::UInt32 &index) {
        const Int32 token(index.to(fx::i32));
        const Numeric eps = p.f[0];
        const auto f32At = [](const TracedOperand &x, const Int32 &i, const Int32 &j) {
          return rawAt(x, GGML_TYPE_F32, {i, j, 0, 0});
        };
        const Numeric factor = f32At(p.x[2], 2, 0);
        std::vector<fx::Var<fx::Float32>> comb;
        for (int i = 0; i < kStreams * kStreams; ++i)
          comb.emplace_back(fx::Float32(0.0f));
        const auto of = [&](int target, int source) -> const fx::Var<fx::Float32> & {
          return comb[static_cast<std::size_t>(target + kStreams * source)];
        };
        for (int source = 0; source < kStreams; ++source) {
          std::vector<Numeric> values;
          for (int target = 0; target < kStreams; ++target) {
            const int i = 2 * kStreams + target + kStreams * source;
            values.push_back(f32At(p.x[1], i, token) * factor + f32At(p.x[3], i, 0));
          }
          const Numeric largest =
              fx::max(fx::max(values[0], values[1]), fx::max(values[2], values[3]));
          std::vector<Numeric> exps;
          for (const Numeric &value : values)
            exps.push_back(fx::math::exp(value - largest));
          const Numeric sum = exps[0] + exps[1] + exps[2] + exps[3];
          for (int target = 0; target < kStreams; ++target)
            of(target, source) = exps[static_cast<std::size_t>(target)] / sum + eps;
        }
        const auto scale = [&](bool sources) { // whether the sum is over sources
          for (int a = 0; a < kStreams; ++a) {
            const auto at = [&](int b) -> const fx::Var<fx::Float32> & {
              return sources ? of(a, b) : of(b, a);
            };
            const Numeric inverse =
                1.0f / (at(0).get() + at(1).get() + at(2).get() + at(3).get() + eps);
            for (int b = 0; b < kStreams; ++b)
              at(b) *= inverse;
          }
        };
        scale(true);
        for ([[maybe_unused]] Int32 i : fx::range(1, p.i[1], 1)) {
          scale(false);
          scale(true);
        }
        for (int source = 0; source < kStreams; ++source)
          for (int target = 0; target < kStreams; ++target)
            storeAt(p.x[0], GGML_TYPE_F32, {target, source, token, 0}, of(target, source).get());
      });
}
bool supportsComb(const ggml_tensor *op) {
  return areF32(op) && op->ne[0] == kStreams && op->ne[1] == kStreams &&
         op->src[0]->ne[0] == (2 + kStreams) * kStreams;
}

/// y[i, token] = scale * sum over streams of x[i, stream, token] * weight, which is one for a stream and a
/// token, or the sigmoid of one for each element.
void runPre(const Run &run, const ggml_tensor *op) {
  const bool gated = intParam(op, 1) != 0;
  cells(run, gated ? "dsv4_hc_pre_gated" : "dsv4_hc_pre", op, {.f = {floatParam(op, 0)}},
        [=](const Traced &p, const Place &at) -> Numeric {
          fx::Var<fx::Float32> sum(0.0f);
          for (Int32 stream : fx::range(0, p.x[1].extent[1], 1)) {
            const Place own{at[0], stream, at[1], 0};
            const Numeric raw =
                rawAt(p.x[2], GGML_TYPE_F32, gated ? own : Place{stream, at[1], 0, 0});
            sum += rawAt(p.x[1], GGML_TYPE_F32, own) *
                   (gated ? 1.0f / (fx::math::exp(-raw) + 1.0f) : raw);
          }
          return sum.get() * p.f[0];
        });
}
/// y[i, target, token] = x[i, token] * post[target, token] + sum over sources of residual[i, source,
/// token] * comb[target, source, token]; without comb, the target's own residual is added.
void runPost(const Run &run, const ggml_tensor *op) {
  const bool mixes = op->src[3];
  cells(run, "dsv4_hc_post", op, {}, [=](const Traced &p, const Place &at) -> Numeric {
    const auto f32At = [](const TracedOperand &x, const Int32 &a, const Int32 &b, const Int32 &c) {
      return rawAt(x, GGML_TYPE_F32, {a, b, c, 0});
    };
    const Numeric own = f32At(p.x[1], at[0], at[2], 0) * f32At(p.x[3], at[1], at[2], 0);
    if (!mixes)
      return own + f32At(p.x[2], at[0], at[1], at[2]);
    fx::Var<fx::Float32> sum(own);
    for (Int32 source : fx::range(0, p.x[2].extent[1], 1))
      sum += f32At(p.x[2], at[0], source, at[2]) * f32At(p.x[4], at[1], source, at[2]);
    return sum.get();
  });
}

constexpr Op kOps[] = {
    {GGML_OP_LIGHTNING_INDEXER, supportsIndexer, runIndexer},
    {GGML_OP_DSV4_HC_COMB, supportsComb, runComb},
    {GGML_OP_DSV4_HC_PRE, areF32, runPre},
    {GGML_OP_DSV4_HC_POST, areF32, runPost},
};

} // namespace

std::span<const Op> deepseekOps() { return kOps; }

} // namespace flydsl_ggml
