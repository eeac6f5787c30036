// What is chosen for narrow weights: whatever is supported as a problem has a tile, for any number
// of rows.
#include "support/product.h"
#include "support/product_sizes.h"

#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/moe_forward.h>

using namespace kernel_tests;

namespace {

using fk::GatedPairs, fk::GroupedGemmProblem, fk::GroupedRows, fk::MoeForwardProblem,
    fk::ScaleGroups;

/// The types of narrow weights, and those of the other operand.
const std::vector<fx::DType> kTypes{fx::u4,     fx::i4,         fx::u8,
                                    fx::i8,     fx::f4E2M1FN,   fx::f8E4M3FN,
                                    fx::f8E5M2, fx::f8E4M3FNUZ, fx::f8E5M2FNUZ};
const std::vector<fx::DType> kOthers{fx::bf16, fx::f16};

/// All groups that a problem may have, and none.
std::vector<ScaleGroups> allGroups() {
  std::vector<ScaleGroups> all{{}};
  for (int size : {32, 64, 128})
    for (fx::DType scale :
         {fx::DType(fx::f32), fx::DType(fx::f16), fx::DType(fx::bf16), fx::DType(fx::f8E8M0FNU)})
      for (bool zeros : {false, true})
        all.push_back({size, scale, zeros});
  return all;
}

/// Both sides of the numbers of rows at which tiles change.
const std::vector<std::int64_t> kRows{0, 1, 16, 17, 32, 33, 64, 65, 129, 777, 4096};

/// Counts the problems that are supported, and requires that all of their choices are.
class Choices {
public:
  template <class P> void expect(const P &problem) {
    for (const fx::Target &target : targets())
      if (fk::supported(problem, target)) {
        ++supported_;
        for (std::int64_t m : kRows) {
          INFO(target.name() << ": " << fx::to_config(problem).str() << " m=" << m);
          const auto config = fk::choose(problem, m, target);
          if (const fk::Support answer = fk::supported(problem, config, target); !answer) {
            INFO(fx::to_config(config).str() << ": " << answer.why);
            FAIL("the choice is not supported");
          }
        }
      }
  }
  std::size_t supported() const { return supported_; }

private:
  std::size_t supported_ = 0;
};

} // namespace

TEST_CASE("every problem of narrow weights that is supported has a tile for any number of rows") {
  Choices plain, grouped;
  for (fx::DType a : kOthers)
    for (fx::DType b : kTypes)
      for (const ScaleGroups &groups : allGroups())
        for (const auto &[n, k] : {std::pair(16, 128), std::pair(2048, 2048)}) {
          for (bool gated : {false, true})
            plain.expect(GemmProblem{
                .a = a, .b = b, .c = a, .n = n, .k = k, .b_groups = groups, .gated = gated});
          for (GatedPairs gated : {GatedPairs::none, GatedPairs::interleaved})
            grouped.expect(GroupedGemmProblem{.a = a,
                                              .b = b,
                                              .c = a,
                                              .experts = 8,
                                              .n = n,
                                              .k = k,
                                              .unit = 16,
                                              .b_groups = groups,
                                              .gated = gated});
        }
  CHECK(plain.supported() > 5000);
  CHECK(grouped.supported() > 5000);
}

TEST_CASE("weights of 4 bits under 8 bits have a tile for any number of rows") {
  Choices plain, grouped;
  for (fx::DType a : {fx::DType(fx::i8), fx::DType(fx::f8E4M3FN), fx::DType(fx::f8E5M2),
                      fx::DType(fx::f8E4M3FNUZ), fx::DType(fx::f8E5M2FNUZ)})
    for (fx::DType b : {fx::DType(fx::u4), fx::DType(fx::i4)})
      for (const ScaleGroups &groups : allGroups())
        for (const auto &[n, k] : {std::pair(16, 128), std::pair(2048, 2048)}) {
          for (bool gated : {false, true})
            plain.expect(GemmProblem{
                .a = a, .b = b, .c = fx::bf16, .n = n, .k = k, .b_groups = groups, .gated = gated});
          for (GatedPairs gated : {GatedPairs::none, GatedPairs::interleaved})
            grouped.expect(GroupedGemmProblem{.a = a,
                                              .b = b,
                                              .c = fx::bf16,
                                              .experts = 8,
                                              .n = n,
                                              .k = k,
                                              .unit = 16,
                                              .b_groups = groups,
                                              .gated = gated});
        }
  CHECK(plain.supported() > 500);
  CHECK(grouped.supported() > 500);
}

TEST_CASE("narrow weights of the sizes of real models have tiles") {
  REQUIRE(publishedSizes().size() > 300);
  Choices choices;
  for (const ProductSize &size : publishedSizes())
    for (const auto &[b, groups, gated] :
         {std::tuple(fx::DType(fx::u4), ScaleGroups{128, fx::f16, true}, false),
          std::tuple(fx::DType(fx::u4), ScaleGroups{128, fx::bf16, true}, true),
          std::tuple(fx::DType(fx::f4E2M1FN), ScaleGroups{32, fx::f8E8M0FNU}, false),
          std::tuple(fx::DType(fx::f4E2M1FN), ScaleGroups{32, fx::f8E8M0FNU}, true),
          std::tuple(fx::DType(fx::f8E4M3FN), ScaleGroups{}, false)})
      choices.expect(GemmProblem{.a = fx::bf16,
                                 .b = b,
                                 .c = fx::bf16,
                                 .n = size.n,
                                 .k = size.k,
                                 .b_groups = groups,
                                 .gated = gated,
                                 .zeroed_workspace = gated});
  CHECK(choices.supported() > 8000);
}

TEST_CASE("narrow weights of mixtures of real models have tiles") {
  // Of aiter's tables of tuned mixtures, from the fewest experts to the most.
  struct Size {
    int experts, topk;
    std::int64_t hidden, inner;
  };
  Choices choices;
  for (const Size &size : std::initializer_list<Size>{{8, 2, 2304, 1536},
                                                      {16, 8, 4096, 1536},
                                                      {33, 9, 7168, 2048},
                                                      {41, 10, 5120, 1536},
                                                      {128, 4, 3072, 512},
                                                      {128, 8, 2048, 192},
                                                      {129, 5, 6144, 384},
                                                      {161, 9, 5120, 192},
                                                      {256, 8, 7168, 256},
                                                      {385, 7, 7168, 384},
                                                      {512, 10, 8192, 256},
                                                      {513, 11, 2048, 128},
                                                      {896, 16, 3584, 3072}})
    for (const auto &[w, groups] :
         {std::pair(fx::DType(fx::u4), ScaleGroups{64, fx::bf16, true}),
          std::pair(fx::DType(fx::f4E2M1FN), ScaleGroups{32, fx::f8E8M0FNU}),
          std::pair(fx::DType(fx::i8), ScaleGroups{})})
      for (GatedPairs gated : {GatedPairs::halves, GatedPairs::interleaved})
        choices.expect(MoeForwardProblem{.router = {.experts = size.experts, .topk = size.topk},
                                         .w = w,
                                         .w_groups = groups,
                                         .hidden = size.hidden,
                                         .inner = size.inner,
                                         .gated = gated});
  CHECK(choices.supported() >= 390);
}
