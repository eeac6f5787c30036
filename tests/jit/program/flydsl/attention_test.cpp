// FlyDSL's flash attention, and rotary embedding with the KV cache.
#include "call.h"

using namespace flydsl_programs;

namespace {
/// Causal attention of q (l, heads, d) with k and v (l, heads / group, d), in double precision.
Numbers attention(const Numbers &q, const Numbers &k, const Numbers &v, std::size_t length,
                  std::size_t heads, std::size_t group, std::size_t d) {
  const std::size_t pairs = heads / group;
  Numbers out(q.size());
  for (std::size_t i = 0; i < length; ++i)
    for (std::size_t h = 0; h < heads; ++h) {
      const double *query = &q[(i * heads + h) * d];
      Numbers weight(i + 1);
      double sum = 0, most = -1e30;
      for (std::size_t j = 0; j <= i; ++j) {
        const double *key = &k[(j * pairs + h / group) * d];
        for (std::size_t c = 0; c < d; ++c)
          weight[j] += query[c] * key[c] / std::sqrt(static_cast<double>(d));
        most = std::max(most, weight[j]);
      }
      for (double &w : weight)
        sum += w = std::exp(w - most);
      for (std::size_t j = 0; j <= i; ++j)
        for (std::size_t c = 0; c < d; ++c)
          out[(i * heads + h) * d + c] += weight[j] / sum * v[(j * pairs + h / group) * d + c];
    }
  return out;
}
} // namespace

TEST_CASE("flash attention, causal, with grouped queries") {
  const std::int64_t length = 96, heads = 2, pairs = 1, d = 64;
  const Numbers x = uniform(fx::f16, length * heads * d, 1, 2),
                y = uniform(fx::f16, length * pairs * d, 2, 2),
                z = uniform(fx::f16, length * pairs * d, 3);
  const Operand q = Operand::input(fx::f16, 1, length * heads * d, x),
                k = Operand::input(fx::f16, 1, length * pairs * d, y),
                v = Operand::input(fx::f16, 1, length * pairs * d, z),
                o = Operand::output(fx::f16, 1, length * heads * d);
  const auto wide = [&](const Operand &one) { return shaped(one, {1, length, heads, d}); };
  const auto narrow = [&](const Operand &one) { return shaped(one, {1, length, pairs, d}); };
  call("flash_attention", wide(q), narrow(k), narrow(v), wide(o), wide(o), wide(o), wide(o),
       wide(o), 0, 1, length, length);
  expectNear(o.values(), attention(x, y, z, length, heads, heads / pairs, d), kF16, 0x1p-10);
}

TEST_CASE("flash attention of gfx950, by waves in pairs") {
  const std::int64_t length = 256, d = 64;
  const Numbers x = uniform(fx::bf16, length * d, 4, 2), y = uniform(fx::bf16, length * d, 5, 2),
                z = uniform(fx::bf16, length * d, 6);
  const Operand q = Operand::input(fx::bf16, 1, length * d, x),
                k = Operand::input(fx::bf16, 1, length * d, y),
                v = Operand::input(fx::bf16, 1, length * d, z),
                o = Operand::output(fx::bf16, 1, length * d);
  const auto wide = [&](const Operand &one) { return shaped(one, {1, length, 1, d}); };
  const auto attend = [&] {
    call(module("flash_attention_dualwave", "gfx950"), wide(q), wide(k), wide(v), wide(o), wide(o),
         wide(o), wide(o), wide(o), wide(o), wide(o), wide(o), wide(o), 1, length, length, d, d, d,
         0, 0, 0);
  };
  if (processor() != "gfx950") {
    CHECK_THROWS_WITH(attend(), Catch::Contains("flash_attention_dualwave.mlir:") &&
                                    Catch::Contains(processor()));
    return;
  }
  attend();
  expectNear(o.values(), attention(x, y, z, length, 1, 1, d), kBf16, 0x1p-7);
}

TEST_CASE("rotary embedding of queries and keys, written to the cache") {
  const std::int64_t tokens = 3, heads = 4, pairs = 2, d = 64, positions = 64, block = 16,
                     blocks = 2;
  const Numbers x = uniform(fx::bf16, tokens * heads * d, 1),
                y = uniform(fx::bf16, tokens * pairs * d, 2),
                z = uniform(fx::bf16, tokens * pairs * d, 3),
                cosines = uniform(fx::bf16, positions * d / 2, 4),
                sines = uniform(fx::bf16, positions * d / 2, 5),
                before = uniform(fx::bf16, blocks * block * pairs * d, 6);
  const Numbers at = {5, 63, 0}, slots = {17, 2, 31};
  const auto input = [](fx::DType dtype, const Numbers &values) {
    return Operand::input(dtype, 1, static_cast<std::int64_t>(values.size()), values);
  };
  const Operand q = input(fx::bf16, x), k = input(fx::bf16, y), v = input(fx::bf16, z),
                cosine = input(fx::bf16, cosines), sine = input(fx::bf16, sines),
                position = input(fx::i32, at), slot = input(fx::i32, slots),
                keys = Operand::both(fx::bf16, 1, blocks * block * pairs * d, before),
                values = Operand::both(fx::bf16, 1, blocks * block * pairs * d, before),
                qOut = Operand::output(fx::bf16, 1, tokens * heads * d),
                kOut = Operand::output(fx::bf16, 1, tokens * pairs * d),
                scale = input(fx::f32, {1});
  const fx::Extents wide = {tokens, heads, d}, narrow = {tokens, pairs, d},
                    cache = {blocks, block, pairs, d}, table = {positions, d / 2};
  call("rope_cache", shaped(q, wide), shaped(k, narrow), shaped(v, narrow), position.vector(),
       shaped(cosine, table), shaped(sine, table), slot.vector(), shaped(keys, cache),
       shaped(values, cache), shaped(qOut, wide), shaped(kOut, narrow), tokens, scale.vector(),
       scale.vector());

  const auto rotated = [&](const Numbers &from, std::int64_t count) {
    Numbers out(from.size());
    const auto half = static_cast<std::size_t>(d / 2);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t token = i / static_cast<std::size_t>(count * d), c = i % (2 * half);
      const std::size_t row = static_cast<std::size_t>(at[token]) * half + c % half;
      const double other = c < half ? -from[i + half] : from[i - half];
      out[i] = from[i] * cosines[row] + other * sines[row];
    }
    return out;
  };
  const Numbers keysRotated = rotated(y, pairs);
  expectNear(qOut.values(), rotated(x, heads), kBf16, 0x1p-7);
  expectNear(kOut.values(), keysRotated, kBf16, 0x1p-7);
  Numbers keysAfter = before, valuesAfter = before;
  for (std::size_t token = 0; token < slots.size(); ++token)
    for (std::int64_t c = 0; c < pairs * d; ++c) {
      const auto to = static_cast<std::size_t>(static_cast<std::int64_t>(slots[token]) * pairs * d +
                                               c),
                 from = token * static_cast<std::size_t>(pairs * d) + static_cast<std::size_t>(c);
      keysAfter[to] = keysRotated[from];
      valuesAfter[to] = z[from];
    }
  expectNear(keys.values(), keysAfter, kBf16, 0x1p-7);
  CHECK(values.values() == valuesAfter);
}
