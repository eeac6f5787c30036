// Grouped products and mixtures of the microscaling formats, on gfx950 and gfx1250: rows of experts with
// a power of two for each 32 elements of K, and h in such a format between the two products.
#include "support/size_sweep.h"

#include <flydsl/kernels/moe_forward.h>

#include <array>

using namespace kernel_tests;

namespace {

using fk::Activation, fk::GatedPairs, fk::GemmConfig, fk::GroupedGemmProblem, fk::GroupedRows,
    fk::GroupLayout, fk::MoeForwardProblem, fk::RoutedWeights, fk::Scales;

/// The types of a and b.
constexpr std::array kTypes{std::pair(fx::f4E2M1FN, fx::f4E2M1FN),
                            std::pair(fx::f8E4M3FN, fx::f4E2M1FN),
                            std::pair(fx::f8E5M2, fx::f8E4M3FN)};

GroupedGemmProblem mx(fx::DType a, fx::DType b, std::int64_t n, std::int64_t k) {
  return {.a = a,
          .b = b,
          .c = fx::bf16,
          .experts = 3,
          .n = n,
          .k = k,
          .unit = 32,
          .scale_a = Scales::mx,
          .scale_b = Scales::mx,
          .scale = fx::f8E8M0FNU};
}

/// Mixtures in the three pairs of formats: DeepSeek's router and gates above ups; gpt-oss's pairs, whose
/// gates and ups take turns.
std::vector<MoeForwardProblem> mixtures() {
  MoeForwardProblem deepseek{.router = {.experts = 8,
                                        .topk = 2,
                                        .renormalise = true,
                                        .score = fk::GatingScore::sigmoid,
                                        .bias = true,
                                        .scale = 2.5f,
                                        .shared = 1},
                             .x = fx::f4E2M1FN,
                             .scales = Scales::mx,
                             .scale = fx::f8E8M0FNU,
                             .hidden = 256,
                             .inner = 128};
  MoeForwardProblem mixed = deepseek, gptOss = deepseek, bytes = deepseek;
  mixed.x = fx::f8E4M3FN;
  mixed.w = fx::f4E2M1FN;
  bytes.x = fx::f8E4M3FN;
  gptOss = mixed;
  gptOss.router = {.logits = fx::bf16, .experts = 8, .topk = 4, .renormalise = true};
  gptOss.hidden = 192;
  gptOss.inner = 96;
  gptOss.bias = true;
  gptOss.gated = GatedPairs::interleaved;
  gptOss.alpha = 1.702f;
  gptOss.limit = 7;
  gptOss.up_offset = 1;
  return {deepseek, mixed, bytes, gptOss};
}

} // namespace

/// What differs between the targets of these formats is the instruction and who gives it its scales: gfx1250
/// runs the first cases of each list, gfx950 all of them.
std::size_t ofTarget(std::size_t all, std::size_t some) {
  return here().name() == "gfx950" ? all : some;
}

// Each layout, and each way to read an operand: pairs of elements of 4 bits, scales of gathered rows, which
// start at any byte, weights as they lie.
TEST_CASE("grouped products of the microscaling formats, in each layout", "[run]") {
  const auto [four, mixed, bytes] = kTypes;
  std::vector<std::pair<GroupedGemmProblem, std::int64_t>> cases;
  GroupedGemmProblem problem = mx(mixed.first, mixed.second, 80, 384);
  problem.c = fx::f32;
  cases.emplace_back(problem, 150);
  problem = mx(four.first, four.second, 48, 352);
  problem.topk = 2;
  problem.a_rows = GroupedRows::tokens;
  problem.b_layout = fk::OperandLayout::rows;
  cases.emplace_back(problem, 70);
  problem = mx(mixed.first, mixed.second, 80, 384);
  problem.topk = 2;
  problem.c_rows = GroupedRows::slots;
  problem.weights = RoutedWeights::output;
  problem.groups = GroupLayout::masked;
  problem.capacity = 48;
  cases.emplace_back(problem, 100);
  problem = mx(bytes.first, bytes.second, 48, 512);
  problem.groups = GroupLayout::offsets;
  problem.gated = GatedPairs::halves;
  problem.activation = Activation::silu;
  problem.bias = true;
  cases.emplace_back(problem, 50);
  cases.resize(ofTarget(cases.size(), 2));
  SweepCounts counts;
  for (const auto &[each, m] : cases)
    runOnce(each, fk::choose(each, m), m, counts);
  CHECK(counts.compared == cases.size());
}

// Both types of results and both orders of pairs, by tiles of few and of more rows.
TEST_CASE("grouped products whose results have scales of 32 columns", "[run]") {
  struct Case {
    std::pair<fx::DType, fx::DType> types;
    fx::DType c;
    GatedPairs gated;
    std::int64_t m;
  };
  const auto [four, mixed, bytes] = kTypes;
  std::vector<Case> cases{{four, fx::f4E2M1FN, GatedPairs::halves, 160},
                          {mixed, fx::f8E4M3FN, GatedPairs::interleaved, 32},
                          {bytes, fx::f4E2M1FN, GatedPairs::interleaved, 160},
                          {bytes, fx::f8E4M3FN, GatedPairs::halves, 32}};
  cases.erase(cases.begin() + std::ptrdiff_t(ofTarget(cases.size(), 2)), cases.end());
  SweepCounts counts;
  for (const Case &each : cases) {
    GroupedGemmProblem problem = mx(each.types.first, each.types.second, 96, 256);
    problem.c = each.c;
    problem.scale_c = Scales::mx;
    problem.a_rows = GroupedRows::tokens;
    problem.gated = each.gated;
    problem.activation = Activation::silu;
    problem.bias = true;
    problem.bias_type = fx::bf16;
    runOnce(problem, fk::choose(problem, each.m), each.m, counts);
  }
  CHECK(counts.compared == cases.size());
}

// gpt-oss's mixture by a type of x and a type of weights; DeepSeek's in each type alone, whose router and
// sorting are the same kernels.
TEST_CASE("mixtures in the microscaling formats", "[run]") {
  const std::vector<MoeForwardProblem> all = mixtures();
  std::vector<std::pair<MoeForwardProblem, std::int64_t>> cases{
      {all[3], 3}, {all[0], 9}, {all[2], 9}};
  cases.resize(ofTarget(cases.size(), 1));
  SweepCounts counts;
  for (const auto &[problem, m] : cases)
    runOnce(problem, fk::choose(problem, m), m, counts);
  CHECK(counts.compared == cases.size());
}

// On gfx950, with blocks and waves from the last to the first: see moe_mx_backwards.
TEST_CASE("a mixture in the microscaling formats: another run, a graph, a file", "[backwards]") {
  const MoeForwardProblem problem = mixtures()[0];
  expectStructure(problem, fk::choose(problem, 9), 9);
}

// With one expert, weights that are ones and zeros and values that the formats have, each product and
// each scale is exact, so that a scale of another row or block would show.
TEST_CASE("each scale of gathered rows and of h belongs to its 32 elements", "[run]") {
  constexpr std::int64_t k = 256, tokens = 24, experts = 2;
  for (const auto &[a, b] : kTypes) {
    GroupedGemmProblem problem = mx(a, b, 64, k);
    problem.experts = experts;
    problem.unit = 16;
    problem.c = fx::f32;
    problem.a_rows = GroupedRows::tokens;
    const std::vector<double> ones(std::size_t(tokens * k), 1);
    std::vector<std::uint8_t> scaleA, scaleB;
    for (std::int64_t i = 0; i < tokens * k / 32; ++i)
      scaleA.push_back(std::uint8_t(120 + i * 5 % 13));
    for (std::int64_t i = 0; i < experts * 64 * k / 32; ++i)
      scaleB.push_back(std::uint8_t(121 + i * 7 % 11));
    const std::vector<std::uint8_t> weights = encode(b, std::vector<double>(experts * 64 * k, 1));
    std::vector<std::uint8_t> prepared(std::size_t(fk::prepared_size(problem.weight())));
    fk::prepare_weight(problem.weight(), weights.data(), prepared.data());
    // Expert 0 has tokens 23, 22, ... 13 and expert 1 the others.
    std::vector<double> ids;
    for (std::int64_t place = 0; place < 32; ++place)
      ids.push_back(place < 11   ? double(23 - place)
                    : place < 16 ? double(1 << 24 | tokens)
                    : place < 29 ? double(28 - place)
                                 : double(1 << 24 | tokens));
    const auto device = [](const std::vector<std::uint8_t> &bytes) {
      fx::DeviceArray<std::uint8_t> memory(fx::Extents{std::int64_t(bytes.size())});
      memory.copy_from(bytes);
      return memory;
    };
    const auto x = device(encode(a, ones)), w = device(prepared), sa = device(scaleA),
               sb = device(scaleB);
    const Operand sorted = Operand::input(fx::i32, 1, 32, ids),
                  units = Operand::input(fx::i32, 1, 2, std::vector<double>{0, 1}),
                  offsets = Operand::input(fx::i32, 1, 3, std::vector<double>{0, 16, 32}),
                  counts = Operand::input(fx::i32, 1, 2, std::vector<double>{11, 13}),
                  c = Operand::output(fx::f32, 32, 64);
    const fx::Stream stream;
    for (const std::int64_t rows : {16, 400}) {
      const GemmConfig config = fk::choose(problem, rows);
      fk::run(
          problem,
          {.a = fx::tensor(x.data(), a, {tokens, k}),
           .b = fk::PreparedWeight{problem.weight(),
                                   fx::tensor(w.data(), b.memory_bits() < 8 ? fx::DType(fx::u8) : b,
                                              {std::int64_t(prepared.size())})},
           .c = c.tensor(),
           .unit_experts = units.vector(),
           .offsets = offsets.vector(),
           .counts = counts.vector(),
           .sorted_ids = sorted.vector(),
           .scale_a = fx::tensor(sa.data(), fx::f8E8M0FNU, {tokens, k / 32}),
           .scale_b = fx::tensor(sb.data(), fx::f8E8M0FNU, {experts, 64, k / 32})},
          stream, &config);
      stream.synchronize();
      const std::vector<double> got = decode(fx::f32, c.bytes());
      for (std::int64_t place = 0; place < 32; ++place) {
        const auto token = std::int64_t(ids[std::size_t(place)]);
        if (token >= tokens)
          continue;
        for (std::int64_t j = 0; j < 64; ++j) {
          double sum = 0;
          for (std::int64_t block = 0; block < k / 32; ++block)
            sum += 32 * std::exp2(scaleA[std::size_t(token * k / 32 + block)] - 127) *
                   std::exp2(scaleB[std::size_t((place / 16 * 64 + j) * k / 32 + block)] - 127);
          if (got[std::size_t(place * 64 + j)] != sum)
            FAIL("place " << place << ", column " << j << ": " << got[std::size_t(place * 64 + j)]
                          << " is not " << sum);
        }
      }
    }
  }
}

TEST_CASE("every mixture of the microscaling formats that is supported has a configuration") {
  const fx::Target target = fx::Target::parse("gfx950");
  for (MoeForwardProblem problem : mixtures())
    for (const std::int64_t inner : {32, 128, 2048, 2880}) {
      problem.inner = inner;
      problem.hidden = 2880;
      if (problem.weight_type() != fx::f4E2M1FN)
        problem.hidden = 7168;
      if (!fk::supported(problem, target)) {
        CHECK((problem.weight_type() != fx::f4E2M1FN && inner % 128));
        continue;
      }
      for (const std::int64_t m : {0, 1, 33, 500, 20000}) {
        const fk::MoeForwardConfig config = fk::choose(problem, m, target);
        INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
        CHECK(fk::supported(problem, config, target).why == "");
      }
    }
}

TEST_CASE("mixtures of real models have configurations in the microscaling formats") {
  // Of aiter's tables of tuned mixtures of MXFP4 and MXFP8 on gfx950.
  struct Size {
    int experts, topk;
    std::int64_t hidden, inner;
  };
  const fx::Target target = fx::Target::parse("gfx950");
  std::size_t supported = 0;
  for (const Size &size : std::initializer_list<Size>{{16, 7, 4096, 1536},
                                                      {48, 6, 7168, 3072},
                                                      {128, 4, 3072, 3072},
                                                      {128, 8, 4096, 1536},
                                                      {129, 5, 6144, 768},
                                                      {256, 6, 4096, 256},
                                                      {257, 9, 7168, 256},
                                                      {257, 9, 6144, 1024},
                                                      {384, 6, 7168, 512},
                                                      {385, 7, 7168, 1536},
                                                      {385, 9, 7168, 1024},
                                                      {512, 10, 4096, 512},
                                                      {513, 11, 8192, 256}})
    for (const auto &[x, w] : kTypes)
      for (const GatedPairs gated : {GatedPairs::halves, GatedPairs::interleaved}) {
        const MoeForwardProblem problem{.router = {.experts = size.experts, .topk = size.topk},
                                        .x = x,
                                        .scales = Scales::mx,
                                        .scale = fx::f8E8M0FNU,
                                        .w = w,
                                        .hidden = size.hidden,
                                        .inner = size.inner,
                                        .gated = gated};
        if (!fk::supported(problem, target))
          continue;
        ++supported;
        for (const std::int64_t m : {1, 16, 64, 512, 4096, 32768}) {
          INFO(fx::to_config(problem).str() << " m=" << m);
          CHECK(fk::supported(problem, fk::choose(problem, m, target), target).why == "");
        }
      }
  // f8E5M2 is another type than f8E4M3FN: mixtures have one type of weights of 8 bits, x's.
  CHECK(supported == 13 * 2 * 2);
}

TEST_CASE("mixtures and grouped products of the microscaling formats that are wrong are refused") {
  const fx::Target target = fx::Target::parse("gfx950");
  const auto why = [&](auto change, const char *name = "gfx950") {
    MoeForwardProblem problem = mixtures()[1];
    change(problem);
    return fk::supported(problem, fx::Target::parse(name)).why;
  };
  CHECK(why([](auto &) {}).empty());
  CHECK(why([](auto &) {}, "gfx942").find("gfx942 has no matrix instructions") !=
        std::string::npos);
  CHECK(why([](auto &p) { p.scales = Scales::per_block; }) ==
        "w is of type f4E2M1FN; under x of 8 bits it is x's, u4 or i4, or with Scales::mx "
        "f4E2M1FN; under 4 bits it is x's");
  CHECK(why([](auto &p) { p.x = fx::f4E2M1FN, p.w = {}, p.scales = Scales::per_tensor; }) ==
        "x is of type f4E2M1FN, which has scales: mx");
  CHECK(why([](auto &p) { p.scale = fx::f32; }) ==
        "the first product: scale is f32; with Scales::mx it is f8E8M0FNU");
  CHECK(why([](auto &p) { p.inner = 48; }) ==
        "the first product: n is 48; with scales of blocks of c it is a multiple of 32");
  GroupedGemmProblem grouped = mx(fx::f8E4M3FN, fx::f4E2M1FN, 64, 256);
  grouped.c = fx::f8E4M3FN;
  CHECK(fk::supported(grouped, target)
            .why.find("needs a scale: scale_c is per_tensor, per_block or mx") !=
        std::string::npos);
  grouped.scale_c = Scales::mx;
  CHECK(fk::supported(grouped, target).why == "");
  grouped.c_rows = GroupedRows::slots;
  CHECK(fk::supported(grouped, target).why ==
        "scale_c is mx and c_rows is slots; scales of blocks of c are of rows of places");
  grouped.c_rows = GroupedRows::places;
  grouped.c = fx::f4E2M1FN;
  grouped.scale_c = Scales::per_tensor;
  CHECK(fk::supported(grouped, target).why ==
        "c is of type f4E2M1FN; it has scales of 32 of its columns, scale_c of Scales::mx");
  // The columns of a wave's tile are half of a block, and there is no other tile.
  grouped.scale_c = Scales::mx;
  CHECK(fk::supported(grouped, {.tile_m = 16, .tile_n = 16, .tile_k = 256, .threads = 64}, target)
            .why.find(
                "scales of 32 columns of c need tiles of a multiple of 32 columns of c, here 16") !=
        std::string::npos);
}

TEST_CASE("calls of mixtures and grouped products of the microscaling formats that do not fit are "
          "refused",
          "[run]") {
  const MoeForwardProblem problem = mixtures()[1];
  const fk::MoeForwardPlan plan(problem, fk::choose(problem, 6));
  const Operands<MoeForwardProblem> operands(problem, plan.config(), 6);
  const auto refusal = [&](auto change) {
    fk::MoeForwardArgs args = operands.args();
    change(args);
    return messageOf([&] { plan(args); });
  };
  expectPart(refusal([](auto &args) { args.scale_x.reset(); }),
             "scale_x is missing; the problem has it");
  expectPart(refusal([](auto &args) {
               args.scale_x = fx::tensor(args.scale_x->data(), fx::f8E8M0FNU, {6, 2});
             }),
             "scale_x has the shape (6, 2); (m, hidden / 32) = (6, 8) is expected");
  expectPart(refusal([](auto &args) { std::swap(args.scale1, args.scale2); }),
             "(experts, rows of w1, hidden / 32) = (9, 256, 8) is expected");
  expectPart(refusal([](auto &args) {
               args.scale2 = fx::tensor(args.scale2->data(), fx::f32, {9, 256, 4});
             }),
             "scale2 is of type f32; the problem says f8E8M0FNU");
}
