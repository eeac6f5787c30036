// Checked plans: for each argument that kernels find memory by, each kind of wrong number is told
// with its argument, place and value, and the call writes nothing; right numbers give the same bytes
// as a plan that is not checked; in graphs and from files too.
#include "support/index_case.h"

#include <flydsl/kernels/attention.h>
#include <flydsl/kernels/causal_conv.h>
#include <flydsl/kernels/decode.h>
#include <flydsl/kernels/delta_rule.h>
#include <flydsl/kernels/ggml_rows.h>
#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/moe_forward.h>
#include <flydsl/kernels/moe_reduce.h>
#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/mqa_logits.h>
#include <flydsl/kernels/rope.h>
#include <flydsl/kernels/rows/top_k.h>
#include <flydsl/kernels/sampling.h>
#include <flydsl/kernels/softmax.h>
#include <flydsl/kernels/topk_gating.h>

#include <thread>

using namespace kernel_tests;

TEST_CASE("checked rows of an embedding", "[run]") {
  const fk::GgmlRowsProblem problem{.index = fx::i64, .n = 8, .k = 64};
  std::vector<Wrong> wrong = outside("ids", 4, -1, 8);
  wrong[0].says = "ggml_rows: ids[0] is -2; it is -1 or from 0 to 7, the rows of b";
  wrong.push_back({"ids", 3, 0x1p40});
  expectCase<fk::GgmlRowsProblem>(
      {problem, chosen(problem, 5), {{"ids", {7, -1, 0, 3, 7}}}, {}, wrong}, 5);
}

TEST_CASE("checked windows of logits", "[run]") {
  const fk::MqaLogitsProblem problem{.x = fx::bf16, .heads = 16, .head = 64};
  expectCase<fk::MqaLogitsProblem>({problem,
                                    chosen(problem, 5),
                                    {{"first", {0, 1, 5, 0, 2}}, {"last", {5, 1, 0, 3, 4}}},
                                    {},
                                    joined({outside("first", 4, 0, 6), outside("last", 4, 0, 6)})},
                                   5);
}

TEST_CASE("checked pages of logits", "[run]") {
  const fk::MqaLogitsProblem problem{
      .x = fx::bf16, .heads = 16, .head = 64, .paged = true, .page = 2};
  // One sequence of five tokens, with three blocks of two.
  std::vector<Wrong> wrong = outside("seq_lens", 0, 0, 6);
  for (double value : {-1.0, kLeast, 3.0, kHuge})
    wrong.push_back({"block_table", 2, value});
  wrong.push_back({"cu_seqlens_q", 1, 6});
  wrong.push_back({"cu_seqlens_q", 0, -1});
  expectCase<fk::MqaLogitsProblem>(
      {problem,
       chosen(problem, 5),
       {{"seq_lens", {5}}, {"block_table", {2, 0, 1}}, {"cu_seqlens_q", {0, 5}}},
       {{"block_table", 3}},
       wrong},
      5);
}

TEST_CASE("checked lengths and sequences of rows whose largest elements are sought", "[run]") {
  const fk::TopKProblem problem{
      .k = 3, .lengths = true, .slots = true, .page = 4, .sequences = true, .n = 10};
  expectCase<fk::TopKProblem>(
      {problem,
       chosen(problem, 4),
       {{"lengths", {0, 10, 3, 1}}, {"sequences", {3, 0, 0, 2}}},
       {},
       joined({outside("lengths", 3, 0, 11), outside("sequences", 3, 0, 4)})},
      4);
}

TEST_CASE("checked positions and slots", "[run]") {
  for (const fx::DType index : {fx::i32, fx::i64}) {
    const fk::RopeProblem problem{.index = index,
                                  .q_heads = 2,
                                  .kv_heads = 1,
                                  .head = 32,
                                  .cache = fk::KvCache::pages,
                                  .page = 4};
    // Six tokens have two blocks of 4.
    std::vector<Wrong> wrong = joined({outside("positions", 5, 0, 6), outside("slots", 5, -1, 8)});
    wrong.push_back({"slots", 4, 7, "slots[4] is 7, as slots[0] is; no two are equal"});
    wrong.push_back({"slots", 0, 2, "slots[5] is 2, as slots[0] is", {{5}}, 2});
    // Of two wrong arguments the first is told, of two equal pairs that of the smallest number.
    expectCase<fk::RopeProblem>(
        {problem,
         chosen(problem, 6),
         {{"positions", {0, 5, 5, 1, 2, 3}}, {"slots", {7, -1, 0, -1, 1, 2}}},
         {},
         wrong},
        6);
  }
}

TEST_CASE("checked slots of a large cache", "[run]") {
  // Few are compared pair by pair; of many, bits say which were seen, 2^18 places at a time.
  for (const std::int64_t m : {30, 1500}) {
    const std::int64_t blocks = 40000;
    const fk::RopeProblem problem{.kv_heads = 1,
                                  .head = 2,
                                  .rotary = 0,
                                  .cache = fk::KvCache::pages,
                                  .page = 8,
                                  .v_cached = false};
    Named operands;
    fk::RopeArgs args = fk::make_args(problem, chosen(problem, m), m, operands.sampler());
    args.k_cache = operands.make("k_cache", fx::f16, {blocks, 8, 1, 2}, fk::Role::output);
    std::vector<double> slots;
    for (std::int64_t i = 0; i < m; ++i)
      slots.push_back(double(i * 211 % (blocks * 8)));
    slots[3] = slots[20] = -1;
    slots[7] = double(blocks * 8 - 1); // among the last bits
    const std::size_t last = std::size_t(m - 1);
    const Case<fk::RopeProblem> given{
        problem,
        chosen(problem, m),
        {{"slots", slots}},
        {},
        {{"slots", last, double(blocks * 8)},
         {"slots", last, -2},
         {"slots", last - 3, slots[2], "is 422, as slots[2] is"},
         {"slots", last, slots[7], "as slots[7] is"},
         {"slots", 5, slots[last - 1], "is", {{m - 2}}, std::int64_t(slots[last - 1])}}};
    Trial<fk::RopeProblem>(given, operands, args).run();
  }
}

TEST_CASE("checked starts and states", "[run]") {
  const fk::DeltaRuleProblem problem{.key = 32, .value = 16};
  std::vector<Wrong> wrong = outside("state_slots", 4, -1, 5);
  wrong.push_back({"state_slots", 4, 3, "as state_slots[0] is"});
  for (double value : {-1.0, kLeast, 6.0, kHuge}) {
    wrong.push_back({"starts", 0, value});
    wrong.push_back({"starts", 5, value});
  }
  wrong.push_back({"starts", 1, 4, "starts[2] is 2, after 4; the numbers do not fall", {{2}}, 2});
  wrong.push_back({"starts", 5, 2, "starts[5] is 2, after 3"});
  expectCase<fk::DeltaRuleProblem>(
      {problem,
       chosen(problem, 5),
       {{"starts", {0, 1, 2, 2, 3, 5}}, {"state_slots", {3, 0, -1, -1, 1}}},
       {},
       wrong},
      5);
}

TEST_CASE("checked starts, states and drafts of a causal convolution", "[run]") {
  const fk::CausalConvProblem problem{.channels = 16, .drafts = 2};
  std::vector<Wrong> wrong = outside("state_slots", 3, -1, 4);
  wrong.push_back({"state_slots", 3, 2, "as state_slots[0] is"});
  for (double value : {-1.0, kLeast, 6.0, kHuge}) {
    wrong.push_back({"starts", 0, value});
    wrong.push_back({"starts", 4, value});
  }
  wrong.push_back({"starts", 1, 3, "starts[2] is 2, after 3; the numbers do not fall", {{2}}, 2});
  for (double value : {-1.0, 4.0, kHuge})
    wrong.push_back({"accepted", 2, value});
  expectCase<fk::CausalConvProblem>(
      {problem,
       chosen(problem, 4),
       {{"starts", {0, 1, 2, 2, 4}}, {"state_slots", {2, -1, 0, 1}}, {"accepted", {1, 3, 2, 1}}},
       {},
       wrong},
      4);
}

TEST_CASE("checked lengths for a worklist", "[run]") {
  const fk::WorklistProblem problem{.workers = 3, .unit = 32};
  expectCase<fk::WorklistProblem>({problem,
                                   chosen(problem, 4),
                                   {{"seq_lens", {0, 40, 1 << 20, 31}}},
                                   {},
                                   outside("seq_lens", 3, 0, double((1 << 30) + 1))},
                                  4);
}

TEST_CASE("checked lengths and tables of decoding", "[run]") {
  // Three sequences of up to 5 pages of 8 tokens; those past a length are not looked at.
  const std::map<std::string, std::vector<double>> right{
      {"seq_lens", {40, 9, 0}},
      {"block_table", {14, 0, 3, 3, 7, 1, 2, -1, 99, -5, kHuge, -1, -1, -1, kLeast}}};
  const std::map<std::string, std::int64_t> columns{{"block_table", 5}};
  std::vector<Wrong> wrong = outside("seq_lens", 2, 0, 41);
  for (std::size_t at : {0u, 4u, 5u, 6u})
    for (double value : {-1.0, kLeast, 15.0, kHuge})
      wrong.push_back({"block_table", at, value});
  wrong.push_back({"seq_lens",
                   1,
                   17, // the third page is one that was not in use
                   "block_table[1, 2] is -1; it is from 0 to 14, the blocks of k",
                   {{1, 2}},
                   -1,
                   "block_table"});
  for (const fk::KvCache cache : {fk::KvCache::pages, fk::KvCache::packed})
    for (int splits : {1, 3}) {
      const fk::DecodeProblem problem{
          .q_heads = 2, .kv_heads = 1, .head = 64, .cache = cache, .page = 8, .context = 40};
      fk::DecodeConfig config = chosen(problem, 3);
      config.splits = splits;
      expectCase<fk::DecodeProblem>({problem, config, right, columns, wrong}, 3);
    }
}

TEST_CASE("checked lengths and tables of latent decoding", "[run]") {
  const fk::DecodeProblem problem{
      .q_heads = 16, .head = 192, .page = 8, .latent = 128, .context = 40};
  std::vector<Wrong> wrong = outside("seq_lens", 1, 0, 41);
  for (double value : {-1.0, kLeast, 10.0, kHuge})
    wrong.push_back({"block_table", 4, value});
  expectCase<fk::DecodeProblem>(
      {problem,
       chosen(problem, 2),
       {{"seq_lens", {40, 9}}, {"block_table", {9, 0, 3, 3, 7, 1, 2, -1, 99, -5}}},
       {{"block_table", 5}},
       wrong},
      2);
}

TEST_CASE("checked tables of decoding with a window", "[run]") {
  // Two queries see the 38 keys before their own, so kernels read from key 80 - 2 - 38 = 40 on, or
  // from the multiple of 32 before it: from page 4 on.
  const fk::DecodeProblem problem{.q_heads = 2,
                                  .kv_heads = 1,
                                  .head = 64,
                                  .page = 8,
                                  .queries = 2,
                                  .window = true,
                                  .context = 80};
  const fk::DecodeConfig config = chosen(problem, 2);
  Named operands;
  fk::DecodeArgs args = fk::make_args(problem, config, 2, operands.sampler());
  args.window_left = 38;
  const Case<fk::DecodeProblem> given{
      problem,
      config,
      {{"seq_lens", {80}}, {"block_table", {-1, -1, 99, -7, 0, 1, 9, 3, 2, 8}}},
      {{"block_table", 10}},
      {{"block_table", 4, -1}, {"block_table", 9, 10}}};
  Trial<fk::DecodeProblem>(given, operands, args).run();
}

TEST_CASE("checked queries and lengths of decoding with varlen, a bias and a mask", "[run]") {
  const fk::DecodeProblem problem{.q_heads = 2,
                                  .kv_heads = 1,
                                  .head = 64,
                                  .page = 8,
                                  .varlen = true,
                                  .bias = true,
                                  .tree_mask = true,
                                  .context = 80};
  const fk::DecodeConfig config = chosen(problem, 3);
  Named operands;
  fk::DecodeArgs args = fk::make_args(problem, config, 60, operands.sampler());
  args.seq_lens = operands.make("seq_lens", fx::i32, {3}, fk::Role::input);
  args.block_table = operands.make("block_table", fx::i32, {3, 10}, fk::Role::input);
  args.cu_seqlens_q = operands.make("cu_seqlens_q", fx::i32, {4}, fk::Role::input);
  args.bias = operands.make("bias", fx::f32, {2, 60, 70}, fk::Role::input); // 70 tokens at most
  std::vector<Wrong> wrong = outside("seq_lens", 1, 0, 71);
  for (double value : {-1.0, kLeast, 61.0, kHuge})
    wrong.push_back({"cu_seqlens_q", 3, value});
  wrong.push_back({"cu_seqlens_q", 1, 9, "cu_seqlens_q[2] is 7, after 9", {{2}}, 7});
  wrong.push_back({"cu_seqlens_q", 3, 40, "than tree_mask has bits"}); // 33 queries, of 32 bits
  const Case<fk::DecodeProblem> given{problem,
                                      config,
                                      {{"seq_lens", {70, 9, 40}},
                                       {"block_table", std::vector<double>(30, 5.0)},
                                       {"cu_seqlens_q", {0, 7, 7, 39}}},
                                      {{"block_table", 10}},
                                      wrong};
  Trial<fk::DecodeProblem>(given, operands, args).run();
}

TEST_CASE("checked worklists", "[run]") {
  const fk::DecodeProblem problem{
      .q_heads = 2, .kv_heads = 1, .head = 64, .page = 8, .context = 200};
  fk::DecodeConfig config = chosen(problem, 3);
  config.splits = 1;
  config.workers = 4;
  config.unit = 32;
  Named operands;
  fk::DecodeArgs args = fk::make_args(problem, config, 3, operands.sampler());
  const auto worklist = [&](std::vector<std::int32_t> lengths) {
    const auto list = fk::make_worklist(fk::worklist_of(problem, config), lengths);
    return std::vector<double>(list.begin(), list.end());
  };
  std::map<std::string, std::vector<double>> right{{"seq_lens", {200, 3, 64}},
                                                   {"block_table", std::vector<double>(75, 5.0)}};
  Case<fk::DecodeProblem> own{problem,
                              config,
                              right,
                              {{"block_table", 25}},
                              {{"seq_lens", 1, 201}, {"block_table", 0, 75}}};
  Trial<fk::DecodeProblem>(own, operands, args).run();

  // 7, 1 and 2 units.
  args.worklist = operands.make("worklist", fx::i32, {8}, fk::Role::input);
  right["worklist"] = worklist({200, 3, 64});
  CHECK(right["worklist"] == std::vector<double>{0, 7, 8, 10, 0, 0, 0, 2});
  std::vector<Wrong> wrong;
  for (std::size_t at : {0u, 1u, 3u})
    for (double value : {-1.0, 6.0, kHuge, kLeast})
      wrong.push_back({"worklist", at, value, "for these lengths of sequences it is "});
  for (double value : {-1.0, 1.0, 3.0, kHuge, kLeast})
    wrong.push_back({"worklist", 7, value, "not the sequence of that worker's first unit"});
  // The list of the step before, when a sequence was shorter by a unit.
  wrong.push_back({"seq_lens",
                   1,
                   33,
                   "worklist[2] is 8; for these lengths of sequences it is 9",
                   {{2}},
                   8,
                   "worklist"});
  {
    // Of sequences with different numbers of queries, whose windows begin with the first of them.
    fk::DecodeProblem ragged = problem;
    ragged.varlen = ragged.window = true;
    Named others;
    fk::DecodeArgs given = fk::make_args(ragged, config, 3, others.sampler());
    given.window_left = 20;
    given.worklist = others.make("worklist", fx::i32, {8}, fk::Role::input);
    given.q = others.make("q", fx::bf16, {70, 2, 64}, fk::Role::input);
    given.o = others.make("o", fx::bf16, {70, 2, 64}, fk::Role::output);
    const std::vector<std::int32_t> starts{0, 66, 67, 70};
    const auto list = fk::make_worklist(fk::worklist_of(ragged, config),
                                        std::vector<std::int32_t>{200, 3, 64}, 20, starts);
    CHECK(list[1] ==
          4); // keys 96 to 199: the first of 66 queries stands at 134 and sees from 114 on
    Trial<fk::DecodeProblem>({ragged,
                              config,
                              {{"seq_lens", {200, 3, 64}},
                               {"block_table", std::vector<double>(75, 5.0)},
                               {"cu_seqlens_q", {0, 66, 67, 70}},
                               {"worklist", std::vector<double>(list.begin(), list.end())}},
                              {{"block_table", 25}},
                              {{"worklist", 1, 3, "for these lengths of sequences it is 4"},
                               {"cu_seqlens_q",
                                1,
                                2,
                                "worklist[1] is 4; for these lengths of sequences it is 2",
                                {{1}},
                                4,
                                "worklist"}}},
                             others, given)
        .run();
  }
  Trial<fk::DecodeProblem>({problem, config, right, {{"block_table", 25}}, wrong}, operands, args)
      .run();
}

TEST_CASE("checked sequences of attention", "[run]") {
  const fk::AttentionProblem problem{
      .q_heads = 2, .kv_heads = 1, .head = 32, .causal = true, .varlen = true, .bias = true};
  const fk::AttentionConfig config = chosen(problem, 20);
  Named operands;
  fk::AttentionArgs args = fk::make_args(problem, config, 20, operands.sampler());
  args.cu_seqlens_q = operands.make("cu_seqlens_q", fx::i32, {4}, fk::Role::input);
  args.cu_seqlens_kv = operands.make("cu_seqlens_kv", fx::i32, {4}, fk::Role::input);
  args.bias = operands.make("bias", fx::f32, {2, 20, 12}, fk::Role::input); // 12 keys at most
  std::vector<Wrong> wrong;
  for (const char *name : {"cu_seqlens_q", "cu_seqlens_kv"}) {
    for (double value : {-1.0, kLeast, 21.0, kHuge}) {
      wrong.push_back({name, 0, value});
      wrong.push_back({name, 3, value});
    }
    wrong.push_back({name, 3, 6, "; the numbers do not fall"});
  }
  wrong.push_back({"cu_seqlens_q", 1, 9, "cu_seqlens_q[2] is 7, after 9", {{2}}, 7});
  wrong.push_back({"cu_seqlens_kv", 3, 20, "than the bias has columns"});
  // Sequences of 7, 0 and 11 tokens with 5, 2 and 12 keys; the last tokens are no sequence's.
  const Case<fk::AttentionProblem> given{
      problem,
      config,
      {{"cu_seqlens_q", {0, 7, 7, 18}}, {"cu_seqlens_kv", {0, 5, 7, 19}}},
      {},
      wrong};
  Trial<fk::AttentionProblem>(given, operands, args).run();
}

TEST_CASE("checked pages of sequences one after another", "[run]") {
  const auto wrong = [](double indices, double blocks, double page) {
    std::vector<Wrong> all;
    for (double value : {-1.0, kLeast, indices + 1, kHuge}) {
      all.push_back({"kv_indptr", 0, value});
      all.push_back({"kv_indptr", 2, value});
    }
    for (double value : {-1.0, kLeast, blocks, kHuge})
      all.push_back({"kv_indices", 3, value});
    for (double value : {-1.0, kLeast, page + 1, kHuge})
      all.push_back({"kv_last_page_len", 1, value});
    return all;
  };
  const fk::DecodeProblem decode{
      .q_heads = 2, .kv_heads = 1, .head = 64, .page = 8, .csr = true, .context = 40};
  Named ofDecode;
  const fk::DecodeConfig config = chosen(decode, 2);
  const fk::DecodeArgs args = fk::make_args(decode, config, 2, ofDecode.sampler()); // 10 blocks
  Trial<fk::DecodeProblem>({decode,
                            config,
                            {{"kv_indptr", {0, 4, 10}},
                             {"kv_indices", {9, 0, 3, 3, 7, 1, 2, 5, 6, 0}},
                             {"kv_last_page_len", {8, 1}}},
                            {},
                            wrong(10, 10, 8)},
                           ofDecode, args)
      .run();
  const fk::AttentionProblem attention{
      .q_heads = 2, .kv_heads = 1, .head = 32, .cache = fk::KvCache::pages, .page = 8, .csr = true};
  Named ofAttention;
  const fk::AttentionConfig chosenOne = chosen(attention, 40);
  fk::AttentionArgs given = fk::make_args(attention, chosenOne, 40, ofAttention.sampler());
  Trial<fk::AttentionProblem>(
      {attention,
       chosenOne,
       {{"kv_indptr", {0, 5}}, {"kv_indices", {4, 0, 3, 3, 1}}, {"kv_last_page_len", {8}}},
       {},
       {{"kv_indptr", 1, 6}, {"kv_indices", 4, 5}, {"kv_last_page_len", 0, 9}}},
      ofAttention, given)
      .run();
}

TEST_CASE("checked sequences of attention with a mask", "[run]") {
  const fk::AttentionProblem problem{
      .q_heads = 2, .kv_heads = 1, .head = 32, .varlen = true, .mask = true};
  const fk::AttentionConfig config = chosen(problem, 20);
  Named operands;
  fk::AttentionArgs args = fk::make_args(problem, config, 20, operands.sampler());
  args.cu_seqlens_q = operands.make("cu_seqlens_q", fx::i32, {4}, fk::Role::input);
  args.cu_seqlens_kv = operands.make("cu_seqlens_kv", fx::i32, {4}, fk::Role::input);
  args.mask = operands.make("mask", fx::u8, {20, 2}, fk::Role::input); // 16 keys at most
  const Case<fk::AttentionProblem> given{
      problem,
      config,
      {{"cu_seqlens_q", {0, 7, 7, 18}}, {"cu_seqlens_kv", {0, 1, 3, 19}}},
      {},
      {{"cu_seqlens_kv", 3, 20, "than the mask has bits"}}};
  Trial<fk::AttentionProblem>(given, operands, args).run();
}

TEST_CASE("checked pages of attention", "[run]") {
  for (const bool varlen : {true, false})
    for (const bool window : {false, true}) {
      const fk::AttentionProblem problem{.q_heads = 2,
                                         .kv_heads = 1,
                                         .head = 32,
                                         .causal = true,
                                         .window = window,
                                         .varlen = varlen,
                                         .cache = fk::KvCache::pages,
                                         .page = 8};
      fk::AttentionConfig config = chosen(problem, 20);
      config.tile_k = 32;
      const std::int64_t n = varlen ? 3 : 1;
      Named operands;
      fk::AttentionArgs args = fk::make_args(problem, config, 80, operands.sampler());
      args.q =
          operands.make("q", fx::f16, varlen ? fx::Extents{20, 2, 32} : fx::Extents{1, 20, 2, 32},
                        fk::Role::input);
      args.o =
          operands.make("o", fx::f16, varlen ? fx::Extents{20, 2, 32} : fx::Extents{1, 20, 2, 32},
                        fk::Role::output);
      args.max_seqlen_q = varlen ? 20 : 0;
      args.seq_lens = operands.make("seq_lens", fx::i32, {n}, fk::Role::input);
      args.block_table = operands.make("block_table", fx::i32, {n, 10}, fk::Role::input);
      if (varlen)
        args.cu_seqlens_q = operands.make("cu_seqlens_q", fx::i32, {4}, fk::Role::input);
      if (window)
        args.window_left = 10;
      // The first sequence has 80 keys. With the window its 7 queries, or 20, see those from 63 on, or
      // 50; a tile of 32 keys begins at key 32, page 4.
      const double unread = window ? -1 : 4;
      std::map<std::string, std::vector<double>> right{
          {"seq_lens", {80}}, {"block_table", {unread, unread, unread, unread, 0, 9, 2, 3, 1, 7}}};
      std::vector<Wrong> wrong = outside("seq_lens", std::size_t(n - 1), 0, 81);
      for (double value : {-1.0, kLeast, 10.0, kHuge}) {
        wrong.push_back({"block_table", 4, value});
        wrong.push_back({"block_table", 9, value});
      }
      if (varlen) {
        right["cu_seqlens_q"] = {0, 7, 7, 20};
        right["seq_lens"] = {80, 0, 13};
        for (double block : {-1, 99, -1, 99, -1, 99, -1, 99, -1, 99, // no keys
                             6,  5,  -1, -1, -1, -1, -1, -1, -1, -1})
          right["block_table"].push_back(block);
        wrong.push_back({"block_table", 20, 10});
        wrong.push_back({"cu_seqlens_q", 3, 21});
      }
      const Case<fk::AttentionProblem> given{problem, config, right, {{"block_table", 10}}, wrong};
      Trial<fk::AttentionProblem>(given, operands, args).run();
    }
}

namespace {

/// A call of rows of an embedding; each row has ids of its own.
struct Embedding {
  fk::GgmlRowsProblem problem{.n = 8, .k = 64};
  fk::GgmlRowsConfig config = fk::choose(problem, 4);
  Named operands;
  fk::GgmlRowsArgs args = fk::make_args(problem, config, 4, operands.sampler());
  std::vector<std::uint8_t> of(const fk::GgmlRowsPlan &plan, const fx::Stream &stream) {
    operands.reset();
    plan(args, stream);
    stream.synchronize();
    return operands.results();
  }
};

std::string errorOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const fk::IndexError &error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("the next call of a checked plan tells of the one before", "[run]") {
  Embedding rows;
  const fk::GgmlRowsPlan plan(rows.problem, rows.config, kChecked);
  const fx::Stream stream;
  rows.operands.set("ids", {0, 1, 2, 3});
  const auto right = rows.of(plan, stream);
  rows.operands.reset();
  const auto blank = rows.operands.results();
  rows.operands.set("ids", {0, 9, 2, 8});
  plan(rows.args, stream);
  stream.synchronize();
  CHECK(errorOf([&] { plan(rows.args, stream); }).find("ids[1] is 9") != std::string::npos);
  stream.synchronize();
  CHECK(rows.operands.results() == blank);
  // Calls that were put into the stream before the first one's check ended.
  const Replay replay(stream, [&] {
    for (int i = 0; i < 3; ++i)
      plan(rows.args, stream);
  });
  replay();
  CHECK(errorOf([&] {
          plan.check(stream);
        }).find("3 calls of the plan failed since it was last asked") != std::string::npos);
  rows.operands.set("ids", {0, 1, 2, 3});
  CHECK(rows.of(plan, stream) == right);
}

TEST_CASE("a plan whose failed calls can't be told apart any more says so") {
  Embedding rows;
  const fk::GgmlRowsPlan plan(rows.problem, rows.config, kChecked);
  const fx::Stream stream;
  rows.operands.set("ids", {0, 1, 2, 8});
  // Calls that are captured and never launched take the numbers between those of one lane.
  const auto toSameLane = [&] {
    const Replay unused(stream, [&] {
      for (std::int64_t i = 1; i < fx::kernels::impl::kIndexLanes; ++i)
        plan(rows.args, stream);
    });
  };
  for (std::int64_t failed = 0; failed <= fx::kernels::impl::kIndexWays; ++failed) {
    plan(rows.args, stream);
    CHECK(errorOf([&] { plan.check(stream); }).find("ids[3] is 8") != std::string::npos);
    toSameLane();
  }
  rows.operands.set("ids", {0, 1, 2, 3});
  rows.operands.reset();
  const auto blank = rows.operands.results();
  plan(rows.args, stream);
  CHECK(errorOf([&] { plan.check(stream); }).find("make the plan anew") != std::string::npos);
  CHECK(rows.operands.results() == blank);
  // Calls of other lanes go on.
  plan(rows.args, stream);
  plan.check(stream);
  CHECK(rows.operands.results() != blank);
}

TEST_CASE("the operands that tools and tuning take are right") {
  const auto check = [](const auto &problem, std::int64_t m) {
    using P = std::decay_t<decltype(problem)>;
    const auto config = fk::choose(problem, m);
    const fk::Plan<P> plan(problem, config, kChecked);
    Operands<P> operands(problem, config, m);
    operands.fill(1);
    const fx::Stream stream;
    INFO(fx::to_config(problem).str());
    plan(operands.args(), stream);
    CHECK(errorOf([&] { plan.check(stream); }) == "");
  };
  fk::AttentionProblem attention{.q_heads = 2, .kv_heads = 1, .head = 32, .varlen = true};
  check(attention, 40);
  attention.cache = fk::KvCache::pages;
  check(attention, 40);
  check(fk::DecodeProblem{.q_heads = 2, .kv_heads = 1, .head = 64, .context = 40}, 3);
  fk::DeltaRuleProblem delta{.key = 32, .value = 16};
  check(delta, 5);
  delta.prefill = true;
  check(delta, 5);
  check(fk::CausalConvProblem{.channels = 16}, 5);
  check(fk::CausalConvProblem{.channels = 16, .prefill = true}, 5);
  check(fk::CausalConvProblem{.channels = 16, .drafts = 1}, 5);
  check(fk::GgmlRowsProblem{.n = 8, .k = 64}, 5);
  fk::GroupedGemmProblem grouped{
      .experts = 5, .n = 32, .k = 64, .topk = 2, .a_rows = fk::GroupedRows::tokens};
  check(grouped, 100);
  grouped.groups = fk::GroupLayout::offsets;
  check(grouped, 33);
  grouped.groups = fk::GroupLayout::masked;
  grouped.capacity = 32;
  grouped.c_rows = fk::GroupedRows::slots;
  check(grouped, 50);
  check(fk::MoeForwardProblem{.router = {.experts = 8, .topk = 2},
                              .hidden = 32,
                              .inner = 32,
                              .local = 3,
                              .tokens = true},
        5);
  check(fk::MoeReduceProblem{.n = 16, .topk = 2, .places = true}, 5);
  check(fk::MoeReduceProblem{.n = 16, .topk = 2, .experts = 4}, 5);
  check(fk::MoeSortProblem{.experts = 9, .topk = 2, .local = 4, .tokens = true}, 5);
  check(fk::MqaLogitsProblem{.x = fx::bf16, .heads = 16, .head = 64}, 5);
  check(fk::MqaLogitsProblem{.x = fx::bf16, .heads = 16, .head = 64, .paged = true, .page = 4}, 5);
  check(
      fk::TopKProblem{
          .k = 3, .lengths = true, .slots = true, .page = 4, .sequences = true, .n = 10},
      4);
  check(fk::RopeProblem{.q_heads = 2, .kv_heads = 1, .head = 32, .cache = fk::KvCache::pages}, 6);
  check(fk::TopkGatingProblem{.experts = 9, .topk = 2, .given = true}, 5);
  check(fk::SamplingProblem{.vocabulary = 40, .temperature = true, .draft = fk::Draft::token}, 4);
  check(fk::WorklistProblem{.workers = 3, .unit = 32}, 4);
  check(fk::WorklistProblem{.workers = 3, .unit = 32, .varlen = true}, 4);
}

TEST_CASE("plans without indices, and plans that are not checked, have the same code") {
  const fk::SoftmaxProblem softmax{.n = 64};
  const fk::SoftmaxPlan plain(softmax, fk::choose(softmax, 4), kUnchecked),
      same(softmax, fk::choose(softmax, 4), kChecked);
  CHECK_FALSE(same.checks_indices());
  REQUIRE(same.executables().size() == plain.executables().size());
  CHECK(same.executables()[0].isa() == plain.executables()[0].isa());
  const fk::GgmlRowsProblem rows{.n = 8, .k = 64};
  const fk::GgmlRowsPlan off(rows, fk::choose(rows, 4), kUnchecked),
      on(rows, fk::choose(rows, 4), kChecked);
  CHECK_FALSE(off.checks_indices());
  CHECK(off.executables().size() == 1);
  CHECK(on.executables().size() == 2);
  for (const fx::Executable &code : on.executables()) {
    INFO(code.summary());
    CHECK(code.spills() == 0);
    CHECK(code.scratch_bytes() == 0);
  }
}

TEST_CASE("the environment asks for checked plans") {
  const fk::GgmlRowsProblem rows{.n = 8, .k = 64};
  setenv("FLYDSL_KERNELS_CHECK_INDICES", "1", 1);
  CHECK(fk::GgmlRowsPlan(rows, fk::choose(rows, 4)).checks_indices());
  CHECK_FALSE(fk::GgmlRowsPlan(rows, fk::choose(rows, 4), kUnchecked).checks_indices());
  unsetenv("FLYDSL_KERNELS_CHECK_INDICES");
  CHECK_FALSE(fk::GgmlRowsPlan(rows, fk::choose(rows, 4)).checks_indices());
}

TEST_CASE("a file without the checked plan says what it has") {
  const fk::GgmlRowsProblem rows{.n = 8, .k = 64};
  const auto config = fk::choose(rows, 4);
  const ScratchFile file;
  fk::export_aot(rows, config, file.path(), {}, kUnchecked);
  const std::string text = messageOf(
      [&] { (void)fk::GgmlRowsPlan::load(fx::load_aot(file.path()), rows, config, kChecked); });
  CHECK(text.find("checked") != std::string::npos);
}

TEST_CASE("checked calls in several streams do not stop one another", "[run]") {
  const fk::GgmlRowsProblem problem = Embedding().problem;
  const fk::GgmlRowsPlan plan(problem, fk::choose(problem, 4), kChecked),
      unchecked(problem, fk::choose(problem, 4), kUnchecked);
  std::atomic<int> told = 0, wrongResults = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      Embedding rows;
      const fx::Stream stream;
      const bool isWrong = thread % 2;
      rows.operands.set("ids", {0, 1, 2, 3});
      const auto right = rows.of(unchecked, stream);
      rows.operands.reset();
      const auto blank = rows.operands.results();
      rows.operands.set("ids", {0, 1, 2, isWrong ? 8.0 : 3.0});
      for (int i = 0; i < 40; ++i) {
        rows.operands.reset();
        for (bool launched = false; !launched;)
          try {
            plan(rows.args, stream);
            launched = true;
          } catch (const fk::IndexError &) {
            ++told; // of any thread's call before it
          }
        stream.synchronize();
        if (rows.operands.results() != (isWrong ? blank : right))
          ++wrongResults;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrongResults == 0);
  CHECK(told > 0);
}
