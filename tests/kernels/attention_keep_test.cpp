// Attention that keeps less in registers (fk::impl::Keep), which `choose` never asks for: whatever the
// code computes or loads again, the results are the same bytes.
#include "attention/attend.h"
#include "support/attention_case.h"

using namespace kernel_tests;

namespace {
namespace impl = fk::impl;

struct KeepSpec {
  AttentionProblem problem;
  AttentionConfig config;
  impl::Keep keep;
};
const fx::Kernel attend_by_row{
    "attend_by_row", [](const impl::AttentionTraced &params, fx::Constexpr<KeepSpec> spec) {
      impl::attend(params, spec->problem, spec->config, false, spec->keep);
    }};

constexpr int kQueries = 150, kKeys = 203, kPage = 16, kPages = 13; // the last page is not full

/// The results of one sequence with a head of each tensor, as bytes.
std::vector<std::uint8_t> attended(const KeepSpec &spec) {
  const AttentionProblem &problem = spec.problem;
  const int head = problem.head, columns = kPages * kPage;
  const auto random = [](fx::DType type, std::int64_t count, std::uint64_t seed) {
    return Operand::input(type, 1, count, uniform(type, count, seed));
  };
  const auto integers = [](const std::vector<double> &values) {
    return Operand::input(fx::i32, 1, std::int64_t(values.size()), values);
  };
  std::vector<double> order(kPages);
  for (int i = 0; i < kPages; ++i)
    order[std::size_t(i)] = i * 5 % kPages;
  const Operand q = random(problem.q, kQueries * head, 1),
                k = random(problem.kv, columns * head, 2),
                v = random(problem.kv, columns * head, 3),
                bias = random(problem.bias_type, kQueries * columns, 4),
                slope = random(fx::f32, 1, 5),
                descale = Operand::input(fx::f32, 1, 1, std::vector<double>{0.75}),
                o = Operand::output(problem.y, kQueries, head), starts = integers({0, kQueries}),
                startsKv = integers({0, kKeys}), lengths = integers({kKeys}),
                table = integers(order);
  const auto at = [](const Operand &operand) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(operand.tensor().data()));
  };
  const std::int64_t block = problem.cache == KvCache::none ? 0 : kPage * head;
  const fx::Strided<fx::OnHost, 2> one{.address = at(descale), .stride = {}};
  const impl::AttentionParams<fx::OnHost> params{
      .q = {.address = at(q), .stride = {0, head, 0}},
      .k = {.address = at(k), .stride = {block, head, 0}},
      .v = {.address = at(v), .stride = {block, head, 0}},
      .o = {.address = at(o), .stride = {0, head, 0}},
      .bias = {.rows = {.address = at(bias), .stride = {0, 0, columns}}, .columns = columns},
      .lse = {},
      .sequences = {.startsQ = fx::strided<0>(starts.tensor()),
                    .startsKv = fx::strided<0>(startsKv.tensor()),
                    .lengthsKv = fx::strided<0>(lengths.tensor())},
      .table = {.address = at(table), .stride = {kPages}},
      .csr = {},
      .slopes = {.address = at(slope), .stride = {}},
      .sink = {},
      .mask = {},
      .descale = {.q = one, .k = one, .v = one},
      .tokenScale = {},
      .parts = {},
      .size = {.queries = kQueries, .keys = kKeys, .tokens = kQueries, .batch = 1},
      .window = {.left = 90, .right = 20}};
  const fx::Stream stream;
  const unsigned blocks =
      (kQueries + unsigned(spec.config.tile_q) - 1) / unsigned(spec.config.tile_q);
  attend_by_row(params, spec)
      .launch({.grid = blocks, .block = unsigned(spec.config.threads), .stream = stream});
  stream.synchronize();
  return o.bytes();
}

void expectSameBytes(const AttentionProblem &problem, const AttentionConfig &config) {
  INFO(fx::to_config(problem).str() << " " << fx::to_config(config).str());
  REQUIRE(fk::supported(problem, config, fx::Device::current().target()));
  const std::vector<std::uint8_t> first = attended({problem, config, impl::kKeeps[0]});
  for (std::size_t row = 1; row < std::size(impl::kKeeps); ++row) {
    INFO("row " << row);
    CHECK(attended({problem, config, impl::kKeeps[row]}) == first);
  }
}

/// Problems that take all of the ways to load a tile, and all terms.
std::vector<AttentionProblem> problems() {
  AttentionProblem plain{.q = fx::bf16, .kv = fx::bf16, .y = fx::bf16};
  plain.q_heads = plain.kv_heads = 1;
  plain.head = 64;
  std::vector<AttentionProblem> all(3, plain);
  all[0].causal = all[0].varlen = all[0].bias = all[0].alibi = true;
  all[0].soft_cap = 30;
  all[1].cache = KvCache::pages;
  all[1].window = true;
  all[2].cache = KvCache::packed;
  all[2].kv = fx::f8E4M3FN;
  all[2].scales = fk::KvScales::tensor;
  all[2].causal = true;
  return all;
}

} // namespace

TEST_CASE("attention in fewer registers gives the same bytes", "[run]") {
  const int wave = fx::Device::current().target().wave_size();
  int queries = 64; // 16 or 32 for each wave
  for (const AttentionProblem &problem : problems()) {
    expectSameBytes(problem, {.tile_q = queries, .tile_k = 32, .threads = 4 * wave});
    queries = 192 - queries;
  }
}

TEST_CASE("groups of waves in fewer registers give the same bytes", "[groups]") {
  for (const AttentionProblem &problem : problems())
    if (problem.cache != KvCache::packed)
      expectSameBytes(
          problem,
          {.tile_q = 128, .tile_k = 64, .threads = 512, .loop = fk::AttentionLoop::groups});
}
