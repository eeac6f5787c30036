// Families over heads, and products with ggml's blocks, at every size where what the library answers
// for them changes: see support/size_sweep.h. A share of the runs is made by default, all by "[all]".
#include "ggml/ggml_rules.h"
#include "support/size_sweep.h"

using namespace kernel_tests;

namespace {

using fk::AttentionProblem, fk::CausalConvProblem, fk::ConvProblem, fk::DecodeProblem,
    fk::DeltaRuleProblem, fk::GgmlGemmProblem, fk::GgmlRowsProblem, fk::GroupedGemmProblem,
    fk::MqaLogitsProblem, fk::RopeProblem;
using Rows = std::vector<std::int64_t>;

fx::DType float8Here() { return here().has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN; }
/// Numbers of a set of limits, and their neighbours.
Rows around(std::initializer_list<std::int64_t> limits, std::int64_t most) {
  std::set<std::int64_t> all;
  for (const std::int64_t limit : limits)
    for (const std::int64_t number : {limit - 1, limit, limit + 1})
      if (number > 0 && number <= most)
        all.insert(number);
  return {all.begin(), all.end()};
}

/// Heads of q and of k and v of models, as few of them as have the same shape: Llama, Qwen, SmolLM,
/// GLM, gpt-oss, Gemma, and multi-query attention.
constexpr int kHeads[][2] = {{4, 1}, {7, 1}, {5, 1}, {8, 8}, {9, 3}, {12, 1}, {8, 1}, {16, 2}};

void sweepAttention(const SweepShare &share) {
  std::vector<AttentionProblem> all;
  for (int head = 32; head <= 256; head += 32)
    for (const auto &[q, kv] : {std::pair(2, 1), std::pair(3, 3), std::pair(7, 1)})
      for (int kind = 0; kind < 8; ++kind) {
        AttentionProblem problem{.q_heads = q, .kv_heads = kv, .head = head};
        problem.causal = kind % 2;
        switch (kind) {
        case 2: // DeepSeek's heads of 192 have values of 128
          problem.head_v = head == 192 ? 128 : 32;
          problem.lse = true;
          break;
        case 3:
          problem.q = problem.kv = problem.y = fx::bf16;
          problem.cache = fk::KvCache::pages;
          problem.page = 5;
          break;
        case 4:
          problem.q = problem.kv = float8Here();
          problem.scales = fk::KvScales::tensor;
          problem.float8_products = true;
          break;
        case 5:
          problem.kv = float8Here();
          problem.scales = head % 64 ? fk::KvScales::tensor : fk::KvScales::token;
          problem.sink = problem.alibi = true;
          break;
        case 6:
          problem.cache = fk::KvCache::packed;
          problem.pack = 16;
          break;
        case 7:
          problem.varlen = problem.bias = true;
          break;
        default:
          break;
        }
        all.push_back(problem);
      }
  sweep<AttentionProblem>(
      all,
      [](const AttentionProblem &problem, const fk::AttentionConfig &config) {
        const int most = problem.head > 128 ? 140 : 300;
        return around({1, 16, 32, config.tile_q, config.tile_k, config.tile_k * 2,
                       config.tile_k * config.splits},
                      most);
      },
      share);
}

void sweepDecode(const SweepShare &share) {
  std::vector<DecodeProblem> all;
  for (int head = 32; head <= 256; head += 32)
    for (const auto &[q, kv] : kHeads)
      for (const int page : {1, 3, 16, 64})
        for (const int context : {1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129, 255, 257, 511, 513})
          for (int kind = 0; kind < 4; ++kind) {
            DecodeProblem problem{
                .q_heads = q, .kv_heads = kv, .head = head, .page = page, .context = context};
            problem.queries = context % 4 + 1 <= context ? context % 4 + 1 : 1;
            problem.lse = kind == 1;
            if (kind == 2) {
              problem.kv = float8Here();
              problem.scales = page == 3 ? fk::KvScales::token : fk::KvScales::tensor;
            }
            if (kind == 3) {
              problem.q = problem.y = problem.kv = fx::f16;
              problem.cache = fk::KvCache::packed;
              problem.page = page * 8;
            }
            all.push_back(problem);
          }
  // Latent attention: DeepSeek's and Kimi's 512 of 576, and other sizes that are taken.
  for (const auto &[head, latent] :
       {std::pair(576, 512), std::pair(192, 128), std::pair(320, 256), std::pair(640, 512),
        std::pair(448, 384), std::pair(640, 640), std::pair(128, 128)})
    for (const int heads : {1, 8, 15, 16, 17, 32, 33, 64, 65, 128})
      for (const int context : {1, 17, 63, 64, 65, 127, 129, 300})
        all.push_back({.q_heads = heads,
                       .kv_heads = 1,
                       .head = head,
                       .page = context % 2 ? 1 : 64,
                       .queries = heads == 16 && context > 1 ? 2 : 1,
                       .latent = latent,
                       .context = context});
  sweep<DecodeProblem>(
      all,
      [](const DecodeProblem &problem, const fk::DecodeConfig &) {
        return Rows{problem.queries, 3 * problem.queries};
      },
      share);
}

void sweepMqaLogits(const SweepShare &share) {
  std::vector<MqaLogitsProblem> all;
  for (const fx::DType type : {fx::DType(fx::bf16), float8Here()})
    for (int heads = 16; heads <= 128; heads += heads < 64 ? 16 : 32)
      for (int head = 64; head <= 256; head += 64)
        for (bool scale : {false, true})
          all.push_back({.x = type, .heads = heads, .head = head, .k_scale = scale});
  sweep<MqaLogitsProblem>(
      all,
      [](const MqaLogitsProblem &, const fk::MqaLogitsConfig &config) {
        return around({1, 8, 16, 32, config.rows, config.keys}, 140);
      },
      share);
}

void sweepCausalConv(const SweepShare &share) {
  std::vector<CausalConvProblem> all;
  for (const int channels : {1, 6, 72, 1000, 4096})
    for (int width = 2; width <= 8; ++width)
      for (int kind = 0; kind < 4; ++kind)
        all.push_back({.x = kind == 0 ? fx::DType(fx::f32) : fx::DType(fx::bf16),
                       .channels = channels,
                       .width = width,
                       .bias = kind == 1,
                       .activation = fk::Activation::silu,
                       .order = kind % 2 ? fk::ConvStateOrder::columns_last
                                         : fk::ConvStateOrder::channels_last,
                       .drafts = kind == 3 ? 15 : 0,
                       .prefill = kind == 2});
  sweep<CausalConvProblem>(
      all,
      [](const CausalConvProblem &problem, const fk::CausalConvConfig &config) {
        return problem.prefill ? around({1, config.tokens, 2 * config.tokens}, 70) : Rows{1, 3};
      },
      share);
}

void sweepDeltaRule(const SweepShare &share) {
  std::vector<DeltaRuleProblem> all;
  for (int key = 16; key <= 256; key += 16)
    for (const int value : {16, 48, 64, 128, 144, 256, 512})
      for (int kind = 0; kind < 7; ++kind) {
        DeltaRuleProblem problem{.x = kind == 0 ? fx::DType(fx::f32) : fx::DType(fx::bf16),
                                 .heads = 1,
                                 .v_heads = kind == 0 ? 1 : 2,
                                 .key = key,
                                 .value = value,
                                 .normalise = kind == 1,
                                 .fresh = kind == 0,
                                 .prefill = kind == 2 || kind == 4 || kind == 6};
        if (kind == 3 || kind == 4) { // Mamba-2's SSD
          problem.update = fk::StateUpdate::add;
          problem.decay = fk::DecayGate::softplus;
          problem.strength = fk::UpdateStrength::step;
          problem.skip = true;
        } else if (kind >= 5) { // Kimi Delta Attention
          problem.decay = fk::DecayGate::softplus;
          problem.strength = fk::UpdateStrength::sigmoid;
          problem.by_channel = true;
        }
        all.push_back(problem);
      }
  sweep<DeltaRuleProblem>(
      all,
      [](const DeltaRuleProblem &problem, const fk::DeltaRuleConfig &) {
        return problem.prefill ? Rows{1, 15, 16, 17, 31, 32, 33, 65} : Rows{1, 3};
      },
      share);
}

void sweepRope(const SweepShare &share) {
  std::vector<RopeProblem> all;
  for (const int head : {2, 6, 16, 30, 32, 64, 80, 96, 112, 120, 128, 192, 256, 512, 576})
    for (const auto &[q, kv] : kHeads)
      for (int kind = 0; kind < 7; ++kind) {
        RopeProblem problem{.q_heads = q, .kv_heads = kv, .head = head};
        switch (kind) {
        case 1: // GLM and Phi turn a part of a head
          problem.rotary = head / 4 * 2;
          problem.style = fk::RopeStyle::gptj;
          break;
        case 2: // DeepSeek's rotary part is the end
          problem.rotary = head / 4 / 2 * 2;
          problem.tail = true;
          break;
        case 3: // Qwen3 norms each head
          problem.q_norm = problem.k_norm = fk::HeadNorm::weighted;
          problem.x = problem.y = problem.cached = problem.weight = fx::bf16;
          problem.cache = fk::KvCache::pages;
          problem.page = 3;
          break;
        case 4:
          problem.quantise = fk::Quantisation::row;
          problem.y = fx::i8;
          problem.group = head % 32 == 0 ? 32 : 0;
          break;
        case 5:
          problem.cache = fk::KvCache::packed;
          problem.pack = head % 8 == 0 ? 8 : 2;
          problem.cached = fx::i8;
          break;
        case 6:
          problem.q_heads = 0;
          problem.quantise = fk::Quantisation::fixed;
          problem.y = float8Here();
          break;
        default:
          break;
        }
        all.push_back(problem);
      }
  sweep<RopeProblem>(
      all,
      [](const RopeProblem &problem, const fk::RopeConfig &config) {
        // Groups of lanes that a block has, and one more.
        const std::int64_t heads = problem.q_heads + 2 * problem.kv_heads,
                           groups = config.block / config.lanes;
        return Rows{1, 3, std::min<std::int64_t>(40, groups / heads + 1)};
      },
      share);
}

/// Rows of weights at the limits of what threads share, and of models.
std::vector<std::int64_t> blockRows(fk::GgmlFormat format, std::int64_t most) {
  const std::int64_t unit = fk::ggml_block(format).weights,
                     ofThread = fk::impl::ggmlRow(format).unitWeights();
  std::set<std::int64_t> all{unit, 2 * unit, 3 * unit};
  for (const int lanes : {4, 8, 16, 32, 64})
    for (const std::int64_t more : {-unit, std::int64_t(0), unit})
      all.insert((lanes * ofThread + unit - 1) / unit * unit + more);
  for (const std::int64_t size : kModelSizes)
    if (size % unit == 0)
      all.insert(size);
  all.erase(all.begin(), all.lower_bound(unit));
  all.erase(all.upper_bound(most), all.end());
  return {all.begin(), all.end()};
}
const std::vector<fk::GgmlFormat> kFormats = fk::host::ggmlFormats();

void sweepGgmlGemm(const SweepShare &share) {
  std::vector<GgmlGemmProblem> all;
  for (const fk::GgmlFormat format : kFormats)
    for (const fx::DType type : {fx::DType(fx::f32), fx::DType(fx::bf16)})
      for (const std::int64_t k : blockRows(format, 14336))
        for (const std::int64_t n : {1, 3, 15, 16, 17, 63, 64, 65, 129})
          for (bool gated : {false, true})
            if (k <= 2048 || n <= 65)
              all.push_back({.format = format,
                             .layout = n % 2 ? fk::GgmlLayout::planes : fk::GgmlLayout::blocks,
                             .a = type,
                             .n = n,
                             .k = k,
                             .activation = gated ? fk::Activation::silu : fk::Activation::none,
                             .gated = gated});
  sweep<GgmlGemmProblem>(
      all,
      [](const GgmlGemmProblem &problem, const fk::GgmlGemmConfig &config) {
        return around({1, 8, 16, config.tile_m}, problem.k > 2048 ? 17 : 70);
      },
      share);
}
void sweepGgmlExperts(const SweepShare &share) {
  std::vector<fk::GgmlExpertsProblem> all;
  for (const fk::GgmlFormat format : kFormats)
    for (const std::int64_t k : blockRows(format, 2048))
      for (const std::int64_t n : {1, 15, 17, 64, 65, 129})
        for (const std::int64_t experts : {1, 3, 16})
          for (bool gated : {false, true})
            all.push_back({.format = format,
                           .layout = n % 2 ? fk::GgmlLayout::planes : fk::GgmlLayout::blocks,
                           .a = k % 3 ? fx::DType(fx::f32) : fx::DType(fx::bf16),
                           .experts = experts,
                           .topk = experts == 16 ? 4 : int(experts),
                           .n = n,
                           .k = k,
                           .activation = gated ? fk::Activation::silu : fk::Activation::none,
                           .gated = gated,
                           .q8_1 = experts == 3 && fk::impl::ggmlRow(format).factors});
  sweep<fk::GgmlExpertsProblem>(
      all,
      [](const fk::GgmlExpertsProblem &, const fk::GgmlExpertsConfig &config) {
        return around({1, config.unit}, 40);
      },
      share);
}
void sweepGgmlRows(const SweepShare &share) {
  std::vector<GgmlRowsProblem> all;
  for (const fk::GgmlFormat format : kFormats)
    for (const std::int64_t k : blockRows(format, 18432))
      for (const std::int64_t n : {1, 5})
        all.push_back({.format = format,
                       .layout = k % 5 ? fk::GgmlLayout::planes : fk::GgmlLayout::blocks,
                       .y = k % 3 ? fx::DType(fx::f16) : fx::DType(fx::f32),
                       .n = n,
                       .k = k});
  sweep<GgmlRowsProblem>(
      all,
      [](const GgmlRowsProblem &, const fk::GgmlRowsConfig &) {
        return Rows{1, 3};
      },
      share);
}

void sweepGroupedGemm(const SweepShare &share) {
  // Groups of one row to more than a tile, columns that end in a tile, and k in a part of a step.
  std::vector<GroupedGemmProblem> all;
  for (const fx::DType type : {fx::DType(fx::bf16), fx::DType(fx::f16)})
    for (const std::int64_t n : {16, 48, 64, 208})
      for (const std::int64_t k : {8, 64, 136, 520})
        for (int kind = 0; kind < 12; ++kind) {
          GroupedGemmProblem problem{
              .a = type, .b = type, .c = type, .experts = 5, .n = n, .k = k, .topk = 2};
          problem.groups = fk::GroupLayout(kind % 3);
          problem.capacity = problem.groups == fk::GroupLayout::masked ? 48 : 0;
          problem.unit = kind % 2 ? 16 : 64;
          problem.a_rows = kind % 4 < 2 ? fk::GroupedRows::tokens : fk::GroupedRows::places;
          problem.c_rows = kind % 5 == 0 ? fk::GroupedRows::slots : fk::GroupedRows::places;
          problem.gated = fk::GatedPairs(kind / 4);
          problem.activation = fk::Activation::silu;
          problem.bias = kind % 7 == 0;
          all.push_back(problem);
        }
  sweep<GroupedGemmProblem>(
      all,
      [](const GroupedGemmProblem &problem, const fk::GemmConfig &config) {
        return around({1, problem.unit, 5 * problem.unit, 2 * config.tile_m}, 330);
      },
      share);
}

void sweepConv(const SweepShare &share) {
  // Channels that end in a step and in a tile, taps from one to 27, and images of each rank.
  std::vector<ConvProblem> all;
  for (const fx::DType type : {fx::DType(fx::bf16), fx::DType(fx::f16)})
    for (const int channels : {16, 48, 80, 272})
      for (const int filters : {16, 24, 72, 208})
        for (int kind = 0; kind < 12; ++kind) {
          const fk::ConvAxis axis{.kernel = kind % 4 ? 3 : 1,
                                  .stride = 1 + kind % 2,
                                  .dilation = 1 + kind % 3 / 2,
                                  .before = kind % 2,
                                  .after = kind % 5 == 0};
          ConvProblem problem{.x = type,
                              .weight = type,
                              .y = type,
                              .rank = 1 + kind % 3,
                              .channels = channels,
                              .filters = filters,
                              .groups = kind % 7 == 3 ? 2 : 1,
                              .width = axis,
                              .bias = kind % 3 == 0,
                              .activation = kind % 5 ? fk::Activation::none : fk::Activation::silu,
                              .transposed = kind >= 8};
          if (problem.rank > 1)
            problem.height = axis;
          if (problem.rank > 2)
            problem.depth = axis;
          all.push_back(problem);
        }
  sweep<ConvProblem>(
      all,
      [](const ConvProblem &, const fk::GemmConfig &config) {
        return around({1, config.tile_m}, 140);
      },
      share);
}

constexpr struct {
  void (*run)(const SweepShare &);
  std::uint64_t every; ///< a long run makes one of so many calls, a default run 1 % of these
} kFamilies[] = {
    {sweepAttention, 50},  {sweepDecode, 266},     {sweepMqaLogits, 20}, {sweepDeltaRule, 10},
    {sweepCausalConv, 13}, {sweepRope, 20},        {sweepGgmlGemm, 533}, {sweepGgmlExperts, 100},
    {sweepGgmlRows, 5},    {sweepGroupedGemm, 10}, {sweepConv, 16},
};

} // namespace

TEST_CASE("a share of the runs of heads and blocks at the limits of tables", "[run][heads]") {
  for (const auto &family : kFamilies)
    family.run({.every = 100 * family.every, .seed = 3});
}

TEST_CASE("heads and blocks at the limits of tables and of models", "[.][sizes][heads]") {
  for (const auto &family : kFamilies)
    family.run({.every = family.every, .seed = 1});
}
