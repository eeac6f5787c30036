// What one family writes into a cache, each of the others reads: every writer with every reader. A
// writer's cache is compared with what it was given, place by place as the header of caches describes
// them; a reader's results with attention, in double precision, over what the cache then holds.
#include "support/paged_cache.h"
#include "support/quantised.h"
#include "support/structure.h"

#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/elementwise.h>
#include <flydsl/kernels/mqa_logits.h>
#include <flydsl/kernels/rope.h>
#include <flydsl/kernels/rows/copy_rows.h>
#include <flydsl/kernels/rows/permute.h>

using namespace kernel_tests;

namespace {

using fk::KvCache;
using fk::KvScales;

constexpr std::int64_t kPage = 8, kKv = 2, kQ = 4, kHead = 64, kPack = 8;
const std::vector<int> kLengths{1, 8, 21};
constexpr std::int64_t kTokens = 30;

/// How a cache is made.
struct Form {
  KvCache layout = KvCache::pages;
  fx::DType type = fx::bf16;
  KvScales scales = KvScales::none;
  std::int64_t heads = kKv, head = kHead;
  bool values = true;

  std::string str() const {
    return std::string(layout == KvCache::pages ? "pages" : "packed") + " of " +
           std::string(type.name()) + " scales " + std::to_string(int(scales));
  }
};

/// A cache in device memory, and where its tokens are.
class Cache {
public:
  explicit Cache(const Form &form)
      : form(form), tables(kLengths, kPage), memory{fx::DeviceArray<std::uint8_t>(bytesOf(form)),
                                                    fx::DeviceArray<std::uint8_t>(bytesOf(form))},
        scales{fx::DeviceArray<float>({scalesOf(form)}), fx::DeviceArray<float>({scalesOf(form)})} {
    for (int half = 0; half < 2; ++half) {
      memory[half].poison();
      std::vector<float> given;
      for (std::int64_t i = 0; i < scalesOf(form); ++i)
        given.push_back(form.scales != KvScales::token
                            ? std::ldexp(1.0f, int(i % 2) - (form.type == fx::i8 ? 6 : 8))
                            : std::nanf(""));
      scales[half].copy_from(given);
    }
    for (std::size_t s = 0; s < kLengths.size(); ++s)
      for (int t = 0; t < kLengths[s]; ++t)
        slots.push_back(int(tables.block(s, t) * kPage + t % kPage));
  }

  /// Keys (0) or values (1).
  fx::TensorArg half(int of) const {
    void *data = const_cast<std::uint8_t *>(memory[of].data());
    const std::int64_t b = tables.blocks, h = form.heads, d = form.head;
    if (form.layout == KvCache::pages)
      return fx::tensor(data, form.type, {b, kPage, h, d});
    return of == 0 ? fx::tensor(data, form.type, {b, h, d / kPack, kPage, kPack})
                   : fx::tensor(data, form.type, {b, h, kPage / kPack, d, kPack});
  }
  std::optional<fx::TensorArg> scale(int of) const {
    void *data = const_cast<float *>(scales[of].data());
    if (form.scales == KvScales::none)
      return std::nullopt;
    if (form.scales == KvScales::token)
      return fx::tensor(data, fx::f32, {tables.blocks, kPage, form.heads});
    return fx::tensor(data, fx::f32, {scalesOf(form)});
  }
  /// The same for sequences, which decode and attention take.
  std::optional<fx::TensorArg> scaleOfSequences(int of) const {
    if (form.scales != KvScales::head)
      return scale(of);
    return fx::TensorArg(const_cast<float *>(scales[of].data()), fx::f32,
                         fx::Extents{std::ssize(kLengths), form.heads}, fx::Extents{0, 1});
  }
  /// What the cache holds of token number `token` among all, [head][element].
  std::vector<double> token(int of, std::size_t number) const {
    const auto bytes = memory[of].to_host();
    const auto numbers = fk::host::decode(form.type, bytes);
    const auto ofScales = scales[of].to_host();
    const std::int64_t slot = slots[number], block = slot / kPage, in = slot % kPage;
    std::vector<double> all;
    for (std::int64_t h = 0; h < form.heads; ++h)
      for (std::int64_t e = 0; e < form.head; ++e) {
        const std::int64_t place =
            form.layout == KvCache::pages ? ((block * kPage + in) * form.heads + h) * form.head + e
            : of == 0
                ? (((block * form.heads + h) * (form.head / kPack) + e / kPack) * kPage + in) *
                          kPack +
                      e % kPack
                : (((block * form.heads + h) * (kPage / kPack) + in / kPack) * form.head + e) *
                          kPack +
                      in % kPack;
        const double scale = form.scales == KvScales::none ? 1
                             : form.scales == KvScales::token
                                 ? ofScales[std::size_t(slot * form.heads + h)]
                                 : ofScales[std::size_t(form.scales == KvScales::head ? h : 0)];
        all.push_back(numbers[std::size_t(place)] * scale);
      }
    return all;
  }
  std::vector<std::vector<double>> all(int of) const {
    std::vector<std::vector<double>> tokens;
    for (std::size_t i = 0; i < slots.size(); ++i)
      tokens.push_back(token(of, i));
    return tokens;
  }

  Form form;
  BlockTables tables;
  fx::DeviceArray<std::uint8_t> memory[2];
  fx::DeviceArray<float> scales[2];
  std::vector<int> slots;

private:
  static fx::Extents bytesOf(const Form &form) {
    return {BlockTables(kLengths, kPage).blocks * kPage * form.heads * form.head *
            form.type.bytes()};
  }
  static std::int64_t scalesOf(const Form &form) {
    if (form.scales == KvScales::token)
      return BlockTables(kLengths, kPage).blocks * kPage * form.heads;
    return form.scales == KvScales::head ? form.heads : 1;
  }
};

fx::DeviceArray<int> toDevice(const std::vector<int> &numbers) {
  return fx::DeviceArray<int>::from_host(numbers, {std::ssize(numbers)});
}
/// Tensors whose memory lives as long as a call.
struct Given {
  std::vector<double> values;
  Operand operand;
  fx::TensorArg heads(std::int64_t count, std::int64_t head) const {
    return fx::tensor(operand.tensor().data(), operand.dtype(), {kTokens, count, head});
  }
};
Given given(std::int64_t heads, std::int64_t head, std::uint64_t seed) {
  auto values = uniform(fx::bf16, kTokens * heads * head, seed);
  return {values, Operand::input(fx::bf16, kTokens, heads * head, values)};
}

/// Requires that a cache holds what was given, as far as its type can.
void expectHeld(const Cache &cache, int of, const std::vector<double> &values) {
  const std::size_t ofToken = std::size_t(cache.form.heads * cache.form.head);
  const auto ofScales = cache.scales[of].to_host();
  for (std::size_t t = 0; t < std::size_t(kTokens); ++t) {
    const auto held = cache.token(of, t);
    for (std::size_t i = 0; i < ofToken; ++i) {
      const double value = values[t * ofToken + i];
      const std::size_t h = i / std::size_t(cache.form.head);
      const double scale = cache.form.scales == KvScales::none ? 1
                           : cache.form.scales == KvScales::token
                               ? ofScales[std::size_t(cache.slots[t] * cache.form.heads) + h]
                               : ofScales[cache.form.scales == KvScales::head ? h : 0];
      const double rounding = cache.form.type == fx::i8
                                  ? 0.5 * scale
                                  : std::max(std::fabs(value) * unit(cache.form.type),
                                             underflow(cache.form.type) * scale);
      if (!(std::fabs(held[i] - value) <= rounding * (1 + 0x1p-18)))
        FAIL("token " << t << " element " << i << ": " << value << " is held as " << held[i]);
    }
  }
  SUCCEED();
}

//===-- Writers -------------------------------------------------------------===//

/// rope, without a rotation.
void writeByRope(Cache &cache, const Given &k, const Given &v) {
  const Form &form = cache.form;
  const fk::RopeProblem problem{.x = fx::bf16,
                                .kv_heads = int(form.heads),
                                .head = int(form.head),
                                .rotary = 0,
                                .k_out = false,
                                .cache = form.layout,
                                .cached = form.type,
                                .page = int(kPage),
                                .pack = int(kPack),
                                .v_pack = int(kPack),
                                .cache_scales = form.scales};
  const auto slots = toDevice(cache.slots);
  const fx::Stream stream;
  fk::RopePlan(problem, fk::choose(problem, kTokens))({.k = k.heads(form.heads, form.head),
                                                       .v = v.heads(form.heads, form.head),
                                                       .slots = slots,
                                                       .k_cache = cache.half(0),
                                                       .v_cache = cache.half(1),
                                                       .k_cache_scale = cache.scale(0),
                                                       .v_cache_scale = cache.scale(1)},
                                                      stream);
  stream.synchronize();
}
/// A chain that scatters rows of pages: of 16 bits as they are, of 8 with a scale for each head.
void writeByChain(Cache &cache, const Given &k, const Given &v) {
  const Form &form = cache.form;
  const fk::ElementwiseChain same{"same", [](const fx::Vector &x) { return x; }};
  const bool byToken = form.scales == KvScales::token;
  const std::int64_t n = form.heads * form.head, places = cache.tables.blocks * kPage;
  const fk::ElementwisePlan plan(same,
                                 {.x = {{fx::bf16}},
                                  .y = {{.type = form.type, .group = byToken ? int(form.head) : 0}},
                                  .n = n,
                                  .scatter = true});
  const auto slots = toDevice(cache.slots);
  const fx::Stream stream;
  for (int of = 0; of < 2; ++of) {
    const Given &x = of == 0 ? k : v;
    plan(
        {.x = {x.operand.tensor()},
         .y = {fx::tensor(static_cast<void *>(cache.memory[of].data()), form.type, {places, n})},
         .scales = {byToken ? std::optional(fx::tensor(static_cast<void *>(cache.scales[of].data()),
                                                       fx::f32, {places, form.heads}))
                            : std::nullopt},
         .to = slots},
        stream);
  }
  stream.synchronize();
}
/// All blocks of a cache go to other blocks of another one, as vLLM's copy_blocks and swap_blocks move
/// them; scales of tokens go along.
void writeByCopy(Cache &cache, const Given &k, const Given &v) {
  Cache source(cache.form);
  writeByRope(source, k, v);
  // Another order of the blocks: the tables of the copy are those of the source, turned around.
  const int blocks = int(cache.tables.blocks);
  std::vector<int> from, to;
  for (int block = 0; block < blocks; ++block) {
    from.push_back(block);
    to.push_back(blocks - 1 - block);
  }
  for (std::vector<int> &row : cache.tables.ofSequence)
    for (int &block : row)
      block = blocks - 1 - block;
  for (int &slot : cache.slots)
    slot = int((blocks - 1 - slot / kPage) * kPage + slot % kPage);
  const auto deviceFrom = toDevice(from), deviceTo = toDevice(to);
  const fx::Stream stream;
  const auto copy = [&](fx::DType type, std::int64_t n, void *x, void *y) {
    const fk::CopyRowsProblem problem{.type = type, .n = n, .gather = true, .scatter = true};
    fk::CopyRowsPlan(problem, fk::choose(problem, blocks))({.x = fx::tensor(x, type, {blocks, n}),
                                                            .from = deviceFrom,
                                                            .to = deviceTo,
                                                            .y = fx::tensor(y, type, {blocks, n})},
                                                           stream);
  };
  for (int of = 0; of < 2; ++of) {
    copy(cache.form.type, kPage * cache.form.heads * cache.form.head, source.memory[of].data(),
         cache.memory[of].data());
    if (cache.form.scales == KvScales::token)
      copy(fx::f32, kPage * cache.form.heads, source.scales[of].data(), cache.scales[of].data());
  }
  stream.synchronize();
}
/// Pages become packed blocks, or packed blocks become pages.
void writeByPermute(Cache &cache, const Given &k, const Given &v) {
  Form form = cache.form;
  form.layout = form.layout == KvCache::pages ? KvCache::packed : KvCache::pages;
  Cache source(form);
  writeByRope(source, k, v);
  const bool toPages = cache.form.layout == KvCache::pages;
  const std::int64_t blocks = cache.tables.blocks;
  const fx::Stream stream;
  // pages as (blocks, page, heads, head / x, x) and (blocks, page / y, y, heads, head).
  const auto ofPages = [&](const Cache &of, int half) {
    void *data = const_cast<std::uint8_t *>(of.memory[half].data());
    return half == 0 ? fx::tensor(data, form.type, {blocks, kPage, kKv, kHead / kPack, kPack})
                     : fx::tensor(data, form.type, {blocks, kPage / kPack, kPack, kKv, kHead});
  };
  // k: (blocks, page, heads, head / x, x) <-> (blocks, heads, head / x, page, x)
  // v: (blocks, page / y, y, heads, head) <-> (blocks, heads, page / y, head, y)
  const std::array<int, 5> order[2][2] = {{{0, 2, 3, 1, 4}, {0, 3, 1, 4, 2}},
                                          {{0, 3, 1, 2, 4}, {0, 2, 4, 1, 3}}};
  for (int half = 0; half < 2; ++half) {
    const fk::PermuteProblem problem{
        .type = form.type, .rank = 5, .order = order[toPages][half], .row_align = 8};
    fk::PermutePlan(problem, fk::choose(problem, 64))(
        {.x = toPages ? source.half(half) : ofPages(source, half),
         .y = toPages ? ofPages(cache, half) : cache.half(half)},
        stream);
    cache.scales[half].copy_from(source.scales[half].to_host());
  }
  stream.synchronize();
}

//===-- Readers -------------------------------------------------------------===//

/// Attention of the last `queries` of each sequence, over tokens that a cache holds.
std::vector<double> attended(const std::vector<double> &q, const std::vector<int> &queries,
                             const std::vector<std::vector<double>> &k,
                             const std::vector<std::vector<double>> &v, std::int64_t head,
                             std::int64_t headV, std::int64_t heads, std::int64_t kv) {
  std::vector<double> y;
  std::size_t first = 0, row = 0;
  for (std::size_t s = 0; s < kLengths.size(); first += std::size_t(kLengths[s]), ++s)
    for (int i = 0; i < queries[s]; ++i, ++row)
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t of = h / (heads / kv), seen = kLengths[s] - queries[s] + i + 1;
        std::vector<double> weights, sum(std::size_t(headV), 0);
        double total = 0;
        for (std::int64_t t = 0; t < seen; ++t) {
          double score = 0;
          for (std::int64_t e = 0; e < head; ++e)
            score += q[(row * std::size_t(heads) + std::size_t(h)) * std::size_t(head) +
                       std::size_t(e)] *
                     k[first + std::size_t(t)][std::size_t(of * head + e)];
          weights.push_back(std::exp(score / std::sqrt(double(head))));
          total += weights.back();
        }
        for (std::int64_t t = 0; t < seen; ++t)
          for (std::int64_t e = 0; e < headV; ++e)
            sum[std::size_t(e)] +=
                weights[std::size_t(t)] / total *
                v[first + std::size_t(t)]
                 [std::size_t(of * (v[0].size() / std::size_t(kv)) + std::size_t(e))];
        y.insert(y.end(), sum.begin(), sum.end());
      }
  return y;
}
/// Scores are small, so that weights err by their rounding to bf16 and the result by its own: 2^-8 of the
/// largest value each, and as much for what is between.
void expectAttended(const std::vector<double> &got, const std::vector<double> &wanted) {
  double largest = 0;
  for (double value : wanted)
    largest = std::max(largest, std::fabs(value));
  expectWithin(got, wanted, std::vector<double>(wanted.size(), std::max(largest, 0.5) * 0x1p-6));
}
void readByDecode(const Cache &cache) {
  INFO("decode");
  const Form &form = cache.form;
  const fk::DecodeProblem problem{.q = fx::bf16,
                                  .kv = form.type,
                                  .y = fx::bf16,
                                  .q_heads = int(kQ),
                                  .kv_heads = int(kKv),
                                  .head = int(kHead),
                                  .cache = form.layout,
                                  .page = int(kPage),
                                  .pack = int(kPack),
                                  .v_pack = int(kPack),
                                  .scales = form.scales,
                                  .context = 32};
  const std::int64_t n = std::ssize(kLengths);
  const auto values = uniform(fx::bf16, n * kQ * kHead, 31);
  const Operand q = Operand::input(fx::bf16, n, kQ * kHead, values),
                y = Operand::output(fx::bf16, n, kQ * kHead), tables = cache.tables.operand();
  const auto contexts = toDevice(kLengths);
  const auto heads = [&](const Operand &of) {
    return fx::tensor(of.tensor().data(), fx::bf16, {n, kQ, kHead});
  };
  const fk::DecodePlan plan(problem, fk::choose(problem, n));
  fx::DeviceArray<std::uint8_t> workspace({std::int64_t(plan.workspace_bytes(n)) + 16});
  const fx::Stream stream;
  plan({.q = heads(q),
        .k = cache.half(0),
        .v = cache.half(1),
        .o = heads(y),
        .k_scale = cache.scaleOfSequences(0),
        .v_scale = cache.scaleOfSequences(1),
        .seq_lens = contexts,
        .block_table = tables.tensor(),
        .workspace = workspace},
       stream);
  stream.synchronize();
  expectAttended(y.values(), attended(values, std::vector<int>(kLengths.size(), 1), cache.all(0),
                                      cache.all(1), kHead, kHead, kQ, kKv));
}
/// All tokens are queries: a prompt over the cache that it was written to.
void readByAttention(const Cache &cache) {
  INFO("attention");
  const Form &form = cache.form;
  const fk::AttentionProblem problem{.q = fx::bf16,
                                     .kv = form.type,
                                     .y = fx::bf16,
                                     .scales = form.scales,
                                     .q_heads = int(kQ),
                                     .kv_heads = int(kKv),
                                     .head = int(kHead),
                                     .causal = true,
                                     .varlen = true,
                                     .cache = form.layout,
                                     .page = int(kPage),
                                     .pack = int(kPack),
                                     .v_pack = int(kPack)};
  const auto values = uniform(fx::bf16, kTokens * kQ * kHead, 32);
  const Operand q = Operand::input(fx::bf16, kTokens, kQ * kHead, values),
                o = Operand::output(fx::bf16, kTokens, kQ * kHead), tables = cache.tables.operand();
  std::vector<int> starts{0};
  for (int length : kLengths)
    starts.push_back(starts.back() + length);
  const auto cuSeqlens = toDevice(starts), lengths = toDevice(kLengths);
  const auto heads = [&](const Operand &of) {
    return fx::tensor(of.tensor().data(), fx::bf16, {kTokens, kQ, kHead});
  };
  const fk::AttentionPlan plan(problem, fk::choose(problem, kTokens));
  fx::DeviceArray<std::uint8_t> workspace({std::int64_t(plan.workspace_bytes(kTokens)) + 16});
  const fx::Stream stream;
  plan({.q = heads(q),
        .k = cache.half(0),
        .v = cache.half(1),
        .o = heads(o),
        .k_scale = cache.scaleOfSequences(0),
        .v_scale = cache.scaleOfSequences(1),
        .cu_seqlens_q = cuSeqlens,
        .seq_lens = lengths,
        .block_table = tables.tensor(),
        .workspace = workspace},
       stream);
  stream.synchronize();
  expectAttended(o.values(),
                 attended(values, kLengths, cache.all(0), cache.all(1), kHead, kHead, kQ, kKv));
}

using Writer = void (*)(Cache &, const Given &, const Given &);
void expectPair(const char *name, Writer write, const Form &form) {
  INFO(name << " into " << form.str());
  const Given k = given(form.heads, form.head, 11), v = given(form.heads, form.head, 12);
  Cache cache(form);
  write(cache, k, v);
  expectHeld(cache, 0, k.values);
  expectHeld(cache, 1, v.values);
  readByDecode(cache);
  readByAttention(cache);
}

} // namespace

TEST_CASE("what is written into caches of 16 bits is read", "[run]") {
  for (const KvCache layout : {KvCache::pages, KvCache::packed}) {
    const Form form{.layout = layout};
    expectPair("rope", writeByRope, form);
    expectPair("copy", writeByCopy, form);
    expectPair("permute", writeByPermute, form);
  }
  expectPair("chain", writeByChain, {});
}

TEST_CASE("what is written into caches of 8 bits is read", "[run]") {
  for (const KvCache layout : {KvCache::pages, KvCache::packed}) {
    for (const KvScales scales : {KvScales::tensor, KvScales::head, KvScales::token}) {
      const Form form{.layout = layout, .type = hardwareFp8(), .scales = scales};
      expectPair("rope", writeByRope, form);
      expectPair("copy", writeByCopy, form);
      expectPair("permute", writeByPermute, form);
    }
  }
  expectPair("chain", writeByChain, {.type = hardwareFp8(), .scales = KvScales::token});
}

TEST_CASE("a latent cache that rope writes, and its copy, are read by latent decoding", "[run]") {
  // Keys of 192 elements; 128 of them are the value: a small MLA.
  constexpr std::int64_t head = 192, latent = 128, heads = 16;
  const Form form{.heads = 1, .head = head, .values = false};
  const Given k = given(1, head, 21);
  Cache cache(form);
  const fk::RopeProblem write{.x = fx::bf16,
                              .kv_heads = 1,
                              .head = int(head),
                              .rotary = 0,
                              .k_out = false,
                              .cache = KvCache::pages,
                              .cached = fx::bf16,
                              .page = int(kPage),
                              .v_cached = false};
  const auto slots = toDevice(cache.slots);
  const fx::Stream stream;
  fk::RopePlan(write, fk::choose(write, kTokens))(
      {.k = k.heads(1, head), .slots = slots, .k_cache = cache.half(0)}, stream);
  stream.synchronize();
  expectHeld(cache, 0, k.values);

  Cache copied(form);
  const std::int64_t ofBlock = kPage * head;
  const fk::CopyRowsProblem copy{.type = fx::bf16, .n = ofBlock, .gather = true};
  std::vector<int> same(std::size_t(cache.tables.blocks));
  std::iota(same.begin(), same.end(), 0);
  const auto numbers = toDevice(same);
  const auto blocks = [&](Cache &of) {
    return fx::tensor(static_cast<void *>(of.memory[0].data()), fx::bf16,
                      {of.tables.blocks, ofBlock});
  };
  fk::CopyRowsPlan(copy, fk::choose(copy, cache.tables.blocks))(
      {.x = blocks(cache), .from = numbers, .y = blocks(copied)}, stream);
  stream.synchronize();
  expectHeld(copied, 0, k.values);

  const fk::DecodeProblem problem{.q_heads = int(heads),
                                  .kv_heads = 1,
                                  .head = int(head),
                                  .page = int(kPage),
                                  .latent = int(latent),
                                  .context = 32};
  const std::int64_t n = std::ssize(kLengths);
  const auto values = uniform(fx::bf16, n * heads * head, 33);
  const Operand q = Operand::input(fx::bf16, n, heads * head, values),
                tables = cache.tables.operand();
  const auto contexts = toDevice(kLengths);
  const fk::DecodePlan plan(problem, fk::choose(problem, n));
  fx::DeviceArray<std::uint8_t> workspace({std::int64_t(plan.workspace_bytes(n)) + 16});
  for (const Cache *of : {&cache, &copied}) {
    const Operand y = Operand::output(fx::bf16, n, heads * latent);
    plan({.q = fx::tensor(q.tensor().data(), fx::bf16, {n, heads, head}),
          .k = of->half(0),
          .o = fx::tensor(y.tensor().data(), fx::bf16, {n, heads, latent}),
          .seq_lens = contexts,
          .block_table = tables.tensor(),
          .workspace = workspace},
         stream);
    stream.synchronize();
    expectAttended(y.values(), attended(values, std::vector<int>(kLengths.size(), 1), of->all(0),
                                        of->all(0), head, latent, heads, 1));
  }
}

TEST_CASE("keys of an indexer that are written by slot are gathered for its logits", "[run]") {
  // One head of keys of 8 bits with a scale of each, as DeepSeek-V3.2 caches them.
  constexpr std::int64_t head = 128, heads = 16;
  const Form form{.type = hardwareFp8(), .scales = KvScales::token, .heads = 1, .head = head};
  const Given k = given(1, head, 41), v = given(1, head, 42);
  Cache cache(form);
  writeByRope(cache, k, v);
  expectHeld(cache, 0, k.values);
  // The tokens of all sequences, one after another.
  const std::int64_t places = cache.tables.blocks * kPage;
  const auto slots = toDevice(cache.slots);
  fx::DeviceArray<std::uint8_t> keys({kTokens, head});
  fx::DeviceArray<float> scales({kTokens});
  const fx::Stream stream;
  const auto gather = [&](fx::DType type, std::int64_t n, void *x, void *y) {
    const fk::CopyRowsProblem problem{.type = type, .n = n, .gather = true};
    fk::CopyRowsPlan(problem,
                     fk::choose(problem, kTokens))({.x = fx::tensor(x, type, {places, n}),
                                                    .from = slots,
                                                    .y = fx::tensor(y, type, {kTokens, n})},
                                                   stream);
  };
  gather(form.type, head, cache.memory[0].data(), keys.data());
  gather(fx::f32, 1, cache.scales[0].data(), scales.data());

  const fk::MqaLogitsProblem problem{.x = form.type, .heads = int(heads), .head = int(head)};
  if (!fk::supported(problem))
    return; // no matrix instructions for the type
  constexpr std::int64_t m = 3;
  const auto q = uniform(form.type, m * heads * head, 43),
             weights = uniform(fx::f32, m * heads, 44);
  const Operand deviceQ = Operand::input(form.type, m, heads * head, q),
                deviceWeights = Operand::input(fx::f32, m, heads, weights),
                logits = Operand::output(fx::f32, m, kTokens);
  const auto first = toDevice({0, 1, 9}), last = toDevice({1, 9, 30});
  fk::MqaLogitsPlan(problem, fk::choose(problem, m))(
      {.q = fx::tensor(deviceQ.tensor().data(), form.type, {m, heads, head}),
       .k = fx::tensor(static_cast<void *>(keys.data()), form.type, {kTokens, head}),
       .k_scale = scales,
       .weights = deviceWeights.tensor(),
       .first = first,
       .last = last,
       .logits = logits.tensor()},
      stream);
  stream.synchronize();
  const auto got = logits.values();
  const auto held = cache.all(0);
  const int ends[m][2] = {{0, 1}, {1, 9}, {9, 30}};
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < kTokens; ++j) {
      const double value = got[std::size_t(i * kTokens + j)];
      if (j < ends[i][0] || j >= ends[i][1]) {
        CHECK((std::isinf(value) && value < 0));
        continue;
      }
      double sum = 0, magnitude = 0;
      for (std::int64_t h = 0; h < heads; ++h) {
        double product = 0, all = 0;
        for (std::int64_t e = 0; e < head; ++e) {
          const double term =
              q[std::size_t((i * heads + h) * head + e)] * held[std::size_t(j)][std::size_t(e)];
          product += term;
          all += std::fabs(term);
        }
        const double weight = weights[std::size_t(i * heads + h)];
        sum += weight * std::max(product, 0.0);
        magnitude += std::fabs(weight) * all;
      }
      if (std::fabs(value - sum) > magnitude * 0x1p-14)
        FAIL("logit " << i << ", " << j << " is " << value << ", not " << sum);
    }
}
