// Examples of docs/kernels/write-your-own-attention.md.
#include "example.h"

#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/parts/attention.h>

#include <cmath>

namespace fk = flydsl::kernels;
namespace parts = flydsl::kernels::parts;
using fx::_;

namespace {

// region: documents
/// Attention inside of documents that are packed one after another: q and o (tokens, q_heads,
/// head), k and v (tokens, kv_heads, head). A token sees those of its document that are not after
/// it, and scores fall with the logarithm of the distance, by a factor of each head.
const fx::Kernel attention_in_documents{
    "attention_in_documents",
    [](fx::Tensor q, fx::Tensor k, fx::Tensor v, fx::Tensor documents, fx::Tensor factors,
       fx::Tensor o, fx::Constexpr<parts::AttentionSpec> spec) {
  const fx::Int32 tokens(q.shape()[0]);
  const parts::QueryScheduler tiles(spec.value(), 1, tokens); // one sequence
  const parts::QueryTile tile = tiles.at(fx::block_idx().x);
  const auto keys =
      parts::KeysAndValues::rows(k(_, tile.kv_head, _), v(_, tile.kv_head, _)); // (tokens, head)
  parts::Attention attention(spec.value(), tile, q(_, tile.head, _), keys);
  const fx::Numeric factor = factors(tile.head);
  attention.score([&](const fx::Numeric &score, const parts::ScoreAt &at) -> fx::Numeric {
    const fx::Int32 distance = fx::math::abs(fx::Int32(at.query + at.offset - at.key));
    return score - factor * fx::math::log(fx::Numeric(distance.to(fx::f32) + 1.0f));
  });
  attention.sees([&](const parts::ScoreAt &at) -> fx::Boolean {
    return documents(at.query) == documents(at.key_inside());
  });
  attention.store(o(_, tile.head, _)); // (tokens, head)
    },
    {.waves_per_eu = 2}};
// endregion

// region: gate
/// Results are multiplied by the sigmoid of a gate (tokens, q_heads, head) before they are rounded.
const fx::Kernel gated_attention{"gated_attention",
                                 [](fx::Tensor q, fx::Tensor k, fx::Tensor v, fx::Tensor gate,
                                    fx::Tensor o, fx::Constexpr<parts::AttentionSpec> spec) {
  const parts::QueryTile tile =
      parts::QueryScheduler(spec.value(), 1, fx::Int32(q.shape()[0])).at(fx::block_idx().x);
  const auto keys = parts::KeysAndValues::rows(k(_, tile.kv_head, _), v(_, tile.kv_head, _));
  const fx::Tensor gates = gate(_, tile.head, _); // (tokens, head)
  parts::Attention(spec.value(), tile, q(_, tile.head, _), keys)
      .then([&](const fx::Vector &values, const fx::Int32 &query, const fx::Int32 &element) {
        const fx::Tensor of = fx::make_view(gates.iter() + gates.layout()(query, element),
                                            fx::make_layout(values.size())); // (V)
        return values / (1.0f + fx::math::exp(of.load().to(fx::f32) * -1.0f));
      })
      .store(o(_, tile.head, _));
                                 },
                                 {.waves_per_eu = 2}};
// endregion

constexpr int kTokens = 44, kHeads = 2, kHead = 64;

/// Heads for a parameter: their elements are neighbours, and they start at multiples of 16 bytes.
fx::TensorArg headsOf(const fx::DeviceArray<fx::bfloat16_t> &array) {
  fx::TensorArg tensor = array.tensor();
  return tensor.mark_layout_dynamic(2, 8);
}

/// The attention of a head by the definition. `seen` and `score` are those of a query and a key.
template <class Seen, class Score>
std::vector<double>
attended(const std::vector<fx::bfloat16_t> &q, const std::vector<fx::bfloat16_t> &k,
         const std::vector<fx::bfloat16_t> &v, int token, int head, Seen seen, Score score) {
  std::vector<double> result(kHead);
  double total = 0;
  for (int key = 0; key < kTokens; ++key) {
    if (!seen(key))
      continue;
    double product = 0;
    for (int e = 0; e < kHead; ++e)
      product += double(float(q[std::size_t((token * kHeads + head) * kHead + e)])) *
                 double(float(k[std::size_t(key * kHead + e)]));
    const double weight = std::exp(score(product / 8, key));
    total += weight;
    for (int e = 0; e < kHead; ++e)
      result[std::size_t(e)] += weight * double(float(v[std::size_t(key * kHead + e)]));
  }
  for (double &value : result)
    value /= total;
  return result;
}

/// The operands of both examples.
struct Heads {
  fx::DeviceArray<fx::bfloat16_t> q = fx::DeviceArray<fx::bfloat16_t>::random(
                                      {kTokens, kHeads, kHead}, 1),
                                  k = fx::DeviceArray<fx::bfloat16_t>::random({kTokens, 1, kHead},
                                                                              2),
                                  v = fx::DeviceArray<fx::bfloat16_t>::random({kTokens, 1, kHead},
                                                                              3),
                                  o{{kTokens, kHeads, kHead}};
};

} // namespace

TEST_CASE("attention inside of documents") {
  const Heads heads;
  const auto &[q, k, v, o] = heads;
  const std::int64_t tokens = kTokens;
  std::vector<std::int32_t> ids(kTokens);
  for (int i = 0; i < kTokens; ++i)
    ids[std::size_t(i)] = i < 13 ? 0 : i < 40 ? 1 : 2;
  fx::DeviceArray<std::int32_t> documents({kTokens});
  documents.copy_from(ids);
  fx::DeviceArray<float> factors({kHeads});
  factors.copy_from(std::vector<float>{0.5f, 2});

  // region: call
  const fk::AttentionProblem problem{.q = fx::bf16,
                                     .kv = fx::bf16,
                                     .y = fx::bf16,
                                     .q_heads = 2,
                                     .kv_heads = 1,
                                     .head = 64,
                                     .causal = true};
  const parts::AttentionSpec spec{problem, fk::choose(problem, tokens)};
  const fx::Target target = fx::Device::current().target();
  if (const fk::Support answer = parts::supported(spec, target); !answer)
    throw fx::Error(answer.why);
  const fx::Stream stream;
  attention_in_documents(headsOf(q), headsOf(k), headsOf(v), documents, factors, headsOf(o), spec)
      .launch(
          {.grid = parts::tiles(spec, 1, tokens), .block = spec.config.threads, .stream = stream});
  // endregion
  stream.synchronize();
  const auto hostQ = q.to_host(), hostK = k.to_host(), hostV = v.to_host(), got = o.to_host();
  for (int token : {0, 12, 13, 39, 40, 43})
    for (int head : {0, 1}) {
      const auto expected = attended(
          hostQ, hostK, hostV, token, head,
          [&](int key) { return key <= token && ids[std::size_t(key)] == ids[std::size_t(token)]; },
          [&](double score, int key) {
        return score - (head ? 2 : 0.5) * std::log(double(token - key) + 1);
          });
      for (int e = 0; e < kHead; ++e)
        if (std::fabs(double(float(got[std::size_t((token * kHeads + head) * kHead + e)])) -
                      expected[std::size_t(e)]) > 0.02)
          FAIL("element " << e << " of head " << head << " of token " << token);
    }
}

TEST_CASE("attention with a gate on its results") {
  const Heads heads;
  const auto &[q, k, v, o] = heads;
  const auto gate = fx::DeviceArray<fx::bfloat16_t>::random({kTokens, kHeads, kHead}, 4);
  const fk::AttentionProblem problem{
      .q = fx::bf16, .kv = fx::bf16, .y = fx::bf16, .q_heads = 2, .kv_heads = 1, .head = 64};
  const parts::AttentionSpec spec{problem, fk::choose(problem, kTokens)};
  const fx::Stream stream;
  gated_attention(headsOf(q), headsOf(k), headsOf(v), headsOf(gate), headsOf(o), spec)
      .launch(
          {.grid = parts::tiles(spec, 1, kTokens), .block = spec.config.threads, .stream = stream});
  stream.synchronize();
  const auto hostQ = q.to_host(), hostK = k.to_host(), hostV = v.to_host(), got = o.to_host(),
             gates = gate.to_host();
  for (int token : {0, 15, 43}) {
    const auto expected = attended(
        hostQ, hostK, hostV, token, 1, [](int) { return true; },
        [](double score, int) { return score; });
    for (int e = 0; e < kHead; ++e) {
      const auto at = std::size_t((token * kHeads + 1) * kHead + e);
      if (std::fabs(double(float(got[at])) -
                    expected[std::size_t(e)] / (1 + std::exp(-double(float(gates[at]))))) > 0.02)
        FAIL("element " << e << " of token " << token);
    }
  }
}
