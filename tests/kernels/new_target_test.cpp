// A new target is rows of the tables in src/target, which docs/house.md lists, and nothing else.
// Here rows of a made-up processor are added while the program runs, and the whole
// library for hosts is asked about it: the kernel library's objects are linked with the rooms below
// them. The processor is of gfx942's generation and has numbers of its own.
#include "target/processors.h"
#include "target/products.h"

#include <flydsl/host/product.h>
#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/attention/merge_states.h>
#include <flydsl/kernels/causal_conv.h>
#include <flydsl/kernels/conv/depthwise_conv.h>
#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/delta_rule.h>
#include <flydsl/kernels/experts/ggml_experts.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/ggml_gemm.h>
#include <flydsl/kernels/ggml_rows.h>
#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/moe_forward.h>
#include <flydsl/kernels/moe_reduce.h>
#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/mqa_logits.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/norm_backward.h>
#include <flydsl/kernels/quantise.h>
#include <flydsl/kernels/rope.h>
#include <flydsl/kernels/sampling.h>
#include <flydsl/kernels/softmax.h>
#include <flydsl/kernels/softmax_backward.h>
#include <flydsl/kernels/topk_gating.h>
#include <flydsl/kernels/weight.h>
#include <flydsl/kernels/worklist.h>
#include <flydsl/rocdl/matrix_products.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>

namespace fx = flydsl;
namespace fk = flydsl::kernels;
using namespace flydsl::kernels;

namespace {

constexpr fx::detail::Processor kMadeUp{
    .name = "gfx9ff",
    .vendor = fx::Vendor::amd,
    .family = fx::Family::cdna3,
    .waveSize = 64,
    .ldsBytes = 128 << 10,
    .maxBlockSize = 1024,
    .ldsBanks = 64,
    .registers = {.ofSimd = 512, .ofWave = 512, .granule = 8},
    .wavesOfSimd = 8,
    .waitCounters = {.loads = 31, .stores = 31, .lds = 7, .scalar = 7},
    .switches = {.sramecc = true},
    .features = {fx::feature::mfma, fx::feature::accumulation_registers, fx::feature::fnuz_fp8,
                 fx::feature::fp8_conversions, fx::feature::s_waitcnt},
};

constexpr fx::detail::ProductRow productOf(const char *name, int units, int dies) {
  return {.name = name,
          .processor = kMadeUp.name,
          .computeUnits = units,
          .dies = dies,
          .clockMhz = 1000,
          .memoryGigabytes = 1000,
          .memoryClockKhz = 1'000'000,
          .memoryBusBits = 4096,
          .l2Bytes = 1 << 20,
          .l2BytesPerClock = 2048,
          .sustained = {.readPercent = 80, .copyPercent = 80, .clockPercent = {80, 80, 80, 80}}};
}
constexpr std::array kProducts{productOf("Large", 60, 3), productOf("Small", 20, 1)};

/// The target of the rows, which are added at the first question.
const fx::Target &madeUp() {
  static const fx::Target target = [] {
    CHECK_THROWS_AS(fx::Target::parse("gfx9ff"), fx::CompileError);
    CHECK(fx::detail::productsOf("gfx9ff").empty());
    CHECK(fx::detail::addProcessor(kMadeUp));
    CHECK(fx::detail::addProducts(kProducts));
    return fx::Target::parse("GFX9FF:sramecc+");
  }();
  return target;
}

/// Whether the family answers: what is chosen for few and for many rows comes first among its
/// configurations, and each of them is supported.
template <class P> void expectAnswers(const P &problem) {
  INFO(fk::FamilyOf<P>::name);
  const fk::Support answer = fk::supported(problem, madeUp());
  INFO(answer.why);
  REQUIRE(answer);
  for (std::int64_t m : {1, 64, 4096}) {
    const auto all = fk::configs(problem, m, madeUp());
    REQUIRE_FALSE(all.empty());
    CHECK(all.front() == fk::choose(problem, m, madeUp()));
    for (const auto &config : all)
      CHECK(fk::supported(problem, config, madeUp()));
  }
}

} // namespace

TEST_CASE("rows make a target") {
  const fx::Target &target = madeUp();
  CHECK(target.id() == "gfx9ff:sramecc+");
  CHECK(target.wave_size() == 64);
  CHECK(target.lds_bytes() == 128 << 10);
  CHECK(target.has(fx::feature::mfma));
  CHECK_FALSE(target.has(fx::feature::buffer_to_lds));
  CHECK(fx::lds_banks(target) == 64);
  CHECK(fx::wait_limits(target).loads == 31);
  CHECK(fx::wait_limits(target).lds == 7);
  CHECK(fx::registers_of_lane(target, 8) == 256);
  CHECK(fx::default_product(target)->name == "Large");
  CHECK(fx::products(target).size() == 2);
  CHECK(fx::detail::findProduct("small") == &kProducts[1]);
  CHECK(fx::detail::diesOf(kMadeUp, 40) == 2); // Large's dies have 20
  CHECK_THAT(fx::detail::processorNames(), Catch::EndsWith(", gfx9ff"));
  // The instructions are those of its generation.
  const auto own = fx::rocdl::matrix_products(target, fx::f16, fx::f16),
             others = fx::rocdl::matrix_products(fx::Target::parse("gfx942"), fx::f16, fx::f16);
  REQUIRE(own.size() == others.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    CHECK(own[i].name == others[i].name);
}

TEST_CASE("rows that contradict others are not added") {
  madeUp();
  CHECK_FALSE(fx::detail::addProcessor(kMadeUp));
  CHECK_FALSE(fx::detail::addProducts(kProducts));
  CHECK_FALSE(fx::detail::addProducts({}));
  static std::array mixed{productOf("One", 1, 1), productOf("Other", 1, 1)};
  mixed[0].processor = mixed[1].processor = "gfx942"; // which has products
  CHECK_FALSE(fx::detail::addProducts(mixed));
  mixed[0].processor = "gfx9fe";
  CHECK_FALSE(fx::detail::addProducts(mixed));
}

TEST_CASE("every family answers for a target that was added") {
  expectAnswers(AttentionProblem{.q_heads = 8, .kv_heads = 2, .head = 128, .causal = true});
  expectAnswers(AttentionProblem{.q = fx::f8E4M3FNUZ,
                                 .kv = fx::f8E4M3FNUZ,
                                 .float8_products = true,
                                 .q_heads = 8,
                                 .kv_heads = 2,
                                 .head = 128});
  expectAnswers(CausalConvProblem{.channels = 8192, .prefill = true});
  expectAnswers(DecodeProblem{});
  expectAnswers(DecodeProblem{.q_heads = 16, .head = 576, .latent = 512});
  expectAnswers(DeltaRuleProblem{.prefill = true});
  expectAnswers(DeltaRuleProblem{.update = StateUpdate::add, .prefill = true});
  expectAnswers(fk::DepthwiseConvProblem{.channels = 512, .width = {.kernel = 3}});
  expectAnswers(GemmProblem{.n = 4096, .k = 4096});
  expectAnswers(
      GemmProblem{.a = fx::f8E4M3FNUZ, .b = fx::f8E4M3FNUZ, .c = fx::bf16, .n = 4096, .k = 4096});
  expectAnswers(GgmlGemmProblem{.n = 4096, .k = 4096});
  expectAnswers(GgmlExpertsProblem{.experts = 8, .topk = 2, .n = 64, .k = 4096});
  expectAnswers(GgmlRowsProblem{.n = 64, .k = 4096});
  expectAnswers(GroupedGemmProblem{.experts = 8, .n = 64, .k = 256});
  expectAnswers(MoeForwardProblem{.router = {.experts = 8, .topk = 2}, .hidden = 64, .inner = 64});
  expectAnswers(MergeStatesProblem{});
  expectAnswers(MoeReduceProblem{.n = 4096, .topk = 8});
  expectAnswers(MoeSortProblem{.experts = 64, .topk = 8});
  expectAnswers(MqaLogitsProblem{.x = fx::f8E4M3FNUZ});
  expectAnswers(NormProblem{.n = 4096});
  expectAnswers(NormBackwardProblem{.n = 4096});
  expectAnswers(QuantiseProblem{.n = 4096});
  expectAnswers(RopeProblem{.q_heads = 8, .kv_heads = 2, .head = 128});
  expectAnswers(SamplingProblem{.vocabulary = 32000});
  expectAnswers(SoftmaxProblem{.n = 4096});
  expectAnswers(SoftmaxBackwardProblem{.n = 4096});
  expectAnswers(TopkGatingProblem{.experts = 64, .topk = 8});
  expectAnswers(WeightProblem{.n = 64, .k = 64});
  expectAnswers(WorklistProblem{.workers = 8});
}

TEST_CASE("what is chosen follows from the rows, not from the processors that were there") {
  const fx::Target gfx942 = fx::Target::parse("gfx942");
  const GemmProblem problem{.n = 4096, .k = 4096};
  // The size of LDS.
  const GemmConfig large{.tile_m = 256, .tile_n = 64, .tile_k = 128};
  CHECK_THAT(fk::supported(problem, large, gfx942).why, Catch::Contains("there are 65536"));
  CHECK_THAT(fk::supported(problem, large, madeUp()).why, !Catch::Contains("bytes of LDS"));
  // The dies to which tiles are dealt: blocks of neighbours stay on one.
  const auto orderOf = [&](const fx::Target &target) {
    return fk::choose(problem, 8192, target).order;
  };
  CHECK(orderOf(madeUp()).xcds == 3);
  CHECK(orderOf(gfx942).xcds == 8);
  // Features that its row does not have.
  GemmConfig dma = fk::choose(problem, 8192, madeUp());
  dma.dma = true;
  CHECK_THAT(fk::supported(problem, dma, madeUp()).why,
             Catch::Contains("gfx9ff has neither loads"));
  // Compute units: a wider GPU shares K among more blocks.
  const auto partsOf = [&](const fx::Target &target) {
    return fk::choose(GemmProblem{.n = 512, .k = 16384}, 16, target).split_k;
  };
  CHECK(partsOf(gfx942) > partsOf(madeUp()));
}
