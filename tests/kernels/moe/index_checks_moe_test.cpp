// Checked plans of mixtures of experts, and of the choice of tokens: see index_checks_test.cpp.
#include "support/index_case.h"

#include <flydsl/kernels/experts/ggml_experts.h>
#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/moe_forward.h>
#include <flydsl/kernels/moe_reduce.h>
#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/sampling.h>
#include <flydsl/kernels/topk_gating.h>

using namespace kernel_tests;

TEST_CASE("checked experts that are given", "[run]") {
  const fk::TopkGatingProblem problem{.experts = 6, .topk = 2, .given = true};
  std::vector<Wrong> wrong = outside("ids", 5, -1, 6);
  wrong.push_back({"ids", 3, 9, "ids[1, 1] is 9; it is -1 or from 0 to 5"});
  expectCase<fk::TopkGatingProblem>(
      {problem, chosen(problem, 3), {{"ids", {5, 0, -1, 3, 3, 1}}}, {{"ids", 2}}, wrong}, 3);
}

TEST_CASE("checked experts of slots, their map and the tokens", "[run]") {
  const fk::MoeSortProblem problem{
      .experts = 6, .topk = 2, .unit = 16, .local = 3, .tokens = true, .places = true};
  std::vector<Wrong> wrong = outside("ids", 7, -1, 6);
  for (const Wrong &other : outside("expert_map", 5, -1, 3))
    wrong.push_back(other);
  for (const Wrong &other : outside("tokens", 0, 0, 5))
    wrong.push_back(other);
  wrong.push_back({"ids", 5, 6, "ids[2, 1] is 6; it is -1 or from 0 to 5"});
  wrong.push_back(
      {"expert_map", 5, 2, "expert_map[5] is 2, as expert_map[3] is; no two are equal"});
  for (const fk::MoeSortConfig &config :
       {fk::MoeSortConfig{.block = 64}, fk::MoeSortConfig{.block = 64, .blocks = 3}})
    expectCase<fk::MoeSortProblem>({problem,
                                    config,
                                    {{"ids", {0, 5, -1, 3, 3, 1, 2, 0}},
                                     {"expert_map", {0, -1, -1, 2, -1, 1}},
                                     {"tokens", {4}}},
                                    {{"ids", 2}},
                                    wrong},
                                   4);
}

TEST_CASE("checked drafts and sequences of sampling", "[run]") {
  const fk::SamplingProblem problem{.vocabulary = 6, .draft = fk::Draft::token};
  std::vector<Wrong> wrong = outside("drafts", 2, -1, 6);
  for (const Wrong &other : outside("starts", 4, 0, 5))
    wrong.push_back(other);
  expectCase<fk::SamplingProblem>({problem,
                                   {.block = 256},
                                   {{"drafts", {0, 5, -1, 3}}, {"starts", {0, 2, 2, 3, 4}}},
                                   {},
                                   wrong},
                                  4);
}

TEST_CASE("checked places of experts", "[run]") {
  fk::GroupedGemmProblem problem{.experts = 4,
                                 .n = 32,
                                 .k = 64,
                                 .unit = 16,
                                 .topk = 2,
                                 .a_rows = fk::GroupedRows::tokens,
                                 .c_rows = fk::GroupedRows::slots};
  const double slot = 1 << 24;
  // 4 experts of 16 places; 2 slots of each of 16 tokens take 8 of these.
  std::vector<double> ids;
  for (int place = 0; place < 64; ++place) {
    const int taken = place / 16 * 8 + place % 16;
    ids.push_back(place % 16 < 8 ? taken % 16 + taken / 16 * slot : 2 * slot + 16);
  }
  std::vector<Wrong> wrong = outside("unit_experts", 3, -1, 4);
  for (const Wrong &other : outside("counts", 3, 0, 65))
    wrong.push_back(other);
  for (const Wrong &other : outside("sorted_ids", 63, 0, 2 * slot + 17))
    wrong.push_back(other);
  wrong.push_back({"sorted_ids", 3, slot + 16,
                   "sorted_ids[3] is 16777232; it is slot << 24 | token, with a slot below 2 and a "
                   "token below 16, or 33554448 for padding"});
  wrong.push_back({"sorted_ids", 3, 2 * slot});
  wrong.push_back({"offsets", 2, 50, "offsets[3] is 48, after 50", {{3}}, 48});
  wrong.push_back({"offsets", 4, 65, "offsets[4] is 65; it is from 48 to 64, the places"});
  const std::map<std::string, std::vector<double>> right{{"unit_experts", {0, 1, 2, 3}},
                                                         {"offsets", {0, 16, 32, 48, 64}},
                                                         {"counts", {8, 8, 8, 8}},
                                                         {"sorted_ids", ids}};
  expectCase<fk::GroupedGemmProblem>({problem, chosen(problem, 64), right, {}, wrong}, 64);
}

TEST_CASE("checked experts of products with ggml's blocks", "[run]") {
  const fk::GgmlExpertsProblem problem{.experts = 4, .topk = 2, .n = 12, .k = 32};
  std::vector<Wrong> wrong = outside("ids", 5, -1, 4);
  wrong.push_back({"ids", 3, 9, "ids[1, 1] is 9; it is -1 or from 0 to 3"});
  const std::map<std::string, std::vector<double>> right{{"ids", {0, 3, -1, 2, 2, 1}}};
  for (const std::int64_t m : {1, 300})
    expectCase<fk::GgmlExpertsProblem>(
        {problem, fk::choose(problem, m), right, {{"ids", 2}}, wrong}, 3);
  const fk::GgmlGemmProblem bySlots = problem.multiplied(0);
  expectCase<fk::GgmlGemmProblem>({bySlots, chosen(bySlots, 3), right, {{"ids", 2}}, wrong}, 3);

  const fk::GgmlGemmProblem sorted = problem.multiplied(4);
  const double slot = 1 << 24;
  std::vector<Wrong> ofSorted = outside("unit_experts", 3, -1, 4);
  for (const Wrong &other : outside("sorted_ids", 15, 0, 2 * slot + 4))
    ofSorted.push_back(other);
  ofSorted.push_back(
      {"sorted_ids", 3, slot + 3,
       "sorted_ids[3] is 16777219; it is slot << 24 | token, with a slot below 2 and "
       "a token below 3, or 33554435 for padding"});
  const double none = 2 * slot + 3;
  std::vector<double> ids;
  // 4 experts of 4 places; the first 3 experts have 2 slots.
  for (int place = 0; place < 16; ++place)
    ids.push_back(place % 4 < 2 && place < 12 ? double(place / 4) + place % 4 * slot : none);
  expectCase<fk::GgmlGemmProblem>({sorted,
                                   chosen(sorted, 3),
                                   {{"unit_experts", {0, 1, 2, 3}}, {"sorted_ids", ids}},
                                   {},
                                   ofSorted},
                                  3);
}

TEST_CASE("checked places of slots that are summed up", "[run]") {
  const fk::MoeReduceProblem problem{.n = 16, .topk = 2, .places = true};
  std::vector<Wrong> wrong = outside("slot_places", 5, -1, 6);
  wrong.push_back({"slot_places", 3, 7, "slot_places[1, 1] is 7; it is -1 or from 0 to 5"});
  expectCase<fk::MoeReduceProblem>({problem,
                                    chosen(problem, 3),
                                    {{"slot_places", {5, 0, -1, 3, 3, 1}}},
                                    {{"slot_places", 2}},
                                    wrong},
                                   3);
}

TEST_CASE("checked experts of slots that are summed up", "[run]") {
  const fk::MoeReduceProblem problem{.n = 16, .topk = 2, .experts = 4};
  std::vector<Wrong> wrong = outside("ids", 5, -1, 4);
  wrong.push_back({"ids", 3, 4, "ids[1, 1] is 4; it is -1 or from 0 to 3, the experts"});
  expectCase<fk::MoeReduceProblem>(
      {problem, chosen(problem, 3), {{"ids", {3, 0, -1, 2, 2, 1}}}, {{"ids", 2}}, wrong}, 3);
}

TEST_CASE("checked experts of a rank and tokens of a mixture", "[run]") {
  const fk::MoeForwardProblem problem{
      .router = {.experts = 6, .topk = 2}, .hidden = 32, .inner = 32, .local = 3, .tokens = true};
  std::vector<Wrong> wrong = outside("expert_map", 5, -1, 3);
  for (const Wrong &other : outside("tokens", 0, 0, 5))
    wrong.push_back(other);
  wrong.push_back({"expert_map", 5, 2, "as expert_map[3] is; no two are equal"});
  expectCase<fk::MoeForwardProblem>({problem,
                                     chosen(problem, 4),
                                     {{"expert_map", {0, -1, -1, 2, -1, 1}}, {"tokens", {4}}},
                                     {},
                                     wrong},
                                    4);
}
