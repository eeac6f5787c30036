// What decode does not support, and calls that it refuses.
#include "support/decode_case.h"

#include <algorithm>
#include <array>
#include <span>

using namespace kernel_tests;
using namespace kernel_tests::decoding;

TEST_CASE("decode says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const DecodeProblem &problem) { return fk::supported(problem, target).why; };
  CHECK(why({.q = fx::f32}) == "q is of type f32; f16 and bf16 are supported, and the floats of 8 "
                               "bits that products of gfx942 take");
  CHECK(why({.q = fx::f8E4M3FN, .kv = fx::f8E4M3FN}).find("q is of type f8E4M3FN; f16") == 0);
  CHECK(why({.q = fx::i8, .kv = fx::i8}).find("q is of type i8; f16") == 0);
  CHECK(why({.q = fx::f8E4M3FNUZ}) == "kv is of type bf16; it has the type of q, f8E4M3FNUZ");
  CHECK(why({.q = fx::f8E4M3FNUZ, .kv = fx::f8E4M3FNUZ, .scales = KvScales::token}) == "");
  CHECK(
      why({.float8_products = true}) ==
      "kv is of type bf16; with float8_products it is a float of 8 bits; gfx942 has products where "
      "both are f16, or both bf16, or both i8, or each is f8E4M3FNUZ or f8E5M2FNUZ; without it, "
      "floats of 8 bits become q's type");
  CHECK(why({.kv = fx::f8E4M3FN, .float8_products = true}).find("kv is of type f8E4M3FN; with") ==
        0);
  CHECK(
      why({.q = fx::f32, .kv = fx::f8E4M3FNUZ, .float8_products = true}).find("q is of type f32") ==
      0);
  CHECK(why({.kv = fx::f8E4M3FNUZ, .float8_products = true, .scales = KvScales::token}) == "");
  CHECK(why({.kv = fx::f8E4M3FNUZ, .float8_products = true}) == "");
  CHECK(why({.kv = fx::f16}) == "kv is of type f16; it has the type of q, or is a float of 8 bits");
  CHECK(why({.kv = fx::i8}) == "kv is of type i8; it has the type of q, or is a float of 8 bits");
  CHECK(why({.scales = KvScales::token}) ==
        "scales belong to a cache of 8 bits; kv is of type bf16");
  CHECK(why({.q_heads = 6, .kv_heads = 4}) ==
        "q_heads is 6 and kv_heads is 4; q_heads is a multiple of kv_heads, up to 65535");
  CHECK(why({.head = 84}) == "head is 84; it is a multiple of 8 from 8 to 512");
  CHECK(why({.head_v = 520}) == "head_v is 520; it is a multiple of 8 from 8 to 512");
  CHECK(why({.queries = 0}) == "queries is 0; a sequence has 1 to 65535");
  CHECK(why({.q_heads = 64, .kv_heads = 64, .queries = 65535})
            .find("262144 blocks of a sequence, "
                  "and there are at most 65535") != std::string::npos);
  CHECK(why({.soft_cap = -1}) ==
        "soft_cap is -1.000000; it is not negative, and 0 for the default");
  CHECK(why({.bias = true, .bias_type = fx::i32}).find("bias_type is of type i32") == 0);
  CHECK(why({.cache = KvCache::none}).find("keys are read from a cache") != std::string::npos);
  CHECK(why({.page = 0}) == "page is 0; it is 1 to 65536");
  CHECK(why({.cache = KvCache::packed, .pack = 4}) ==
        "pack is 4; it is a power of two from 8 that divides head, which is 128");
  CHECK(why({.cache = KvCache::packed, .v_pack = 6}) ==
        "v_pack is 6; it is a multiple of 8 that divides page, which is 16");
  CHECK(why({.scale = -1}).find("it is not negative") != std::string::npos);
  CHECK(why({.head = 576, .latent = 500}) ==
        "latent is 500; it is a multiple of 128 up to head, which is 576");
  CHECK(why({.head = 576, .head_v = 512, .latent = 512}) ==
        "head_v is 512 and latent is 512; with latent a value is the start of its key, and head_v "
        "is 0");
  CHECK(
      why({.q_heads = 16, .kv_heads = 2, .head = 576, .latent = 512}).find("kv_heads is 1 then") !=
      std::string::npos);
  CHECK(why({.head = 608, .latent = 512}) ==
        "head is 608; with latent it is a multiple of 64 up to 640");
  CHECK(fk::supported(DecodeProblem{.head = 576, .latent = 512}, {.block = 192, .rows = 32}, target)
            .why.find("each wave has 16 rows") != std::string::npos);
  const auto config = [&](const DecodeConfig &config) {
    return fk::supported(DecodeProblem{.head = 256}, config, target).why;
  };
  CHECK(config({.rows = 24}) == "rows is 24; it is 16, 32, 48 or 64");
  CHECK(config({.rows = 64}).find("do not fit the registers") != std::string::npos);
  CHECK(config({.splits = 0}) == "splits is 0; a sequence has 1 to 1024");
  CHECK(config({.splits = 2, .workers = 3}).find("a worklist makes the parts") !=
        std::string::npos);
  CHECK(fk::supported(DecodeProblem{.varlen = true}, {.workers = 3}, target));
  CHECK(fk::supported(DecodeProblem{.csr = true, .varlen = true}, {.workers = 3}, target)
            .why.find("workers is 3; with csr and varlen it is 0") == 0);
  CHECK(config({.workers = 3, .unit = 40}) == "unit is 40; it is a multiple of 32 up to 65536");
  // Registers for the waves of a block, and pairs of waves with the same keys.
  CHECK(
      fk::supported(DecodeProblem{.head = 576, .latent = 512}, {.block = 1024, .rows = 64}, target)
          .why.find("up to 512 threads, for whose waves there are registers") != std::string::npos);
  CHECK(fk::supported(DecodeProblem{.head = 256}, {.block = 96}, fx::Target::parse("gfx1201"))
            .why.find("2 waves have the same keys; the waves of a block are a multiple of that") !=
        std::string::npos);
  CHECK(config({.block = 1024}).find("does not fit shared memory") != std::string::npos);

  const DecodeProblem problem{.q_heads = 2, .kv_heads = 1, .head = 32, .queries = 2, .context = 8};
  const fk::DecodePlan plan(problem, {.block = 64, .splits = 2});
  const Operands<DecodeProblem> operands(problem, plan.config(), 4);
  const auto message = [&](auto change) {
    fk::DecodeArgs args = operands.args();
    change(args);
    return messageOf([&] { plan(args); });
  };
  CHECK(message([](fk::DecodeArgs &args) {
          args.workspace.reset();
        }).find("workspace is missing; this call needs") != std::string::npos);
  // A workspace for sequences, not for their queries.
  CHECK(message([&](fk::DecodeArgs &args) {
          args.workspace = fx::tensor(args.workspace->data(), fx::u8,
                                      {fk::workspace_bytes(problem, plan.config(), 2)});
        }).find("workspace_bytes of the call's m: its rows, or tokens of q") != std::string::npos);
  CHECK(message([](fk::DecodeArgs &args) {
          args.q_scale = args.seq_lens;
        }).find("q_scale is given, and the problem does not have it") != std::string::npos);
  CHECK(message([](fk::DecodeArgs &args) {
          args.window_left = 3;
        }).find("window_left is given, and the problem has no window") != std::string::npos);
  CHECK(message([](fk::DecodeArgs &args) {
          args.seq_lens = args.block_table;
        }).find("seq_lens has the shape (2, 1)") != std::string::npos);
  CHECK(message([](fk::DecodeArgs &args) {
          args.q = fx::tensor(args.q.data(), args.q.dtype(), {3, 2, 32});
        }).find("q has 3 tokens and seq_lens 2 sequences; each sequence has 2") !=
        std::string::npos);
  CHECK(message([](fk::DecodeArgs &args) {
          const fx::TensorArg &k = args.k;
          args.k =
              fx::tensor(k.data(), k.dtype(), {k.shape()[0], 16, 1, 32}, {1 << 30, 1 << 26, 32, 1});
        }).find("a block, that is 16 along page, spans less than 2 GiB; pass a contiguous copy") !=
        std::string::npos);
  // Scales of tokens are near as their keys are.
  DecodeProblem ofTokens = problem;
  ofTokens.kv = fx::f8E4M3FN;
  ofTokens.scales = KvScales::token;
  const fk::DecodePlan tokenPlan(ofTokens, plan.config());
  const Operands<DecodeProblem> withTokens(ofTokens, plan.config(), 4);
  fk::DecodeArgs farScales = withTokens.args();
  const fx::TensorArg &scale = *farScales.v_scale;
  farScales.v_scale =
      fx::tensor(scale.data(), fx::f32, {scale.shape()[0], 16, 1}, {1 << 29, 1 << 25, 1});
  CHECK(messageOf([&] { tokenPlan(farScales); })
            .find("the scales of a block, that is 16 along page, spans less than 2 GiB; pass a "
                  "contiguous "
                  "copy") != std::string::npos);
  // Scales of heads where the code has one for all of them.
  DecodeProblem scaled = problem;
  scaled.kv = fx::f8E4M3FN;
  scaled.scales = KvScales::tensor;
  const fk::DecodePlan ofTensor(scaled, plan.config());
  const Operands<DecodeProblem> given(scaled, plan.config(), 4);
  fk::DecodeArgs args = given.args();
  args.v_scale = fx::tensor(args.v_scale->data(), fx::f32, {2, 1});
  CHECK(
      messageOf([&] { ofTensor(args); })
          .find(
              "v_scale has 2 modes, as scales of sequences and heads have; scales is tensor, which "
              "takes one number, and KvScales::head takes these") != std::string::npos);
}

TEST_CASE("decode says which calls a worklist is given to, and what a window is") {
  const DecodeConfig workers{.block = 64, .workers = 2, .unit = 32};
  const auto message = [&](const DecodeProblem &problem, const DecodeConfig &config, auto change) {
    const fk::DecodePlan plan(problem, config);
    const Operands<DecodeProblem> operands(problem, config, 1);
    fk::DecodeArgs args = operands.args();
    change(args);
    return messageOf([&] { plan(args); });
  };
  DecodeProblem problem{.q_heads = 2, .kv_heads = 1, .head = 32, .varlen = true, .context = 8};
  expectPart(message(problem, workers, [](auto &) {}), "worklist is missing; with varlen");
  problem.varlen = false;
  problem.csr = true;
  expectPart(message(problem, workers, [](auto &args) { args.worklist = args.kv_indices; }),
             "worklist is given; with csr the plan makes its own");
  problem.csr = false;
  problem.window = true;
  expectPart(message(problem, {.block = 64}, [](auto &args) { args.window_left = -2; }),
             "window_left is -2; it is a number of tokens below 2^30, or -1 for all");
  expectPart(message(problem, {.block = 64}, [](auto &args) { args.window_left = 1 << 30; }),
             "window_left is 1073741824; it is a number of tokens below 2^30");
}

TEST_CASE("decode refuses terms of scores that do not fit its problem") {
  const DecodeProblem problem{.q_heads = 2,
                              .kv_heads = 1,
                              .head = 32,
                              .queries = 40,
                              .bias = true,
                              .alibi = true,
                              .sink = true,
                              .tree_mask = true,
                              .context = 48};
  const fk::DecodePlan plan(problem, {.block = 64});
  const Operands<DecodeProblem> operands(problem, plan.config(), 80);
  const auto message = [&](auto change) {
    fk::DecodeArgs args = operands.args();
    change(args);
    return messageOf([&] { plan(args); });
  };
  expectPart(message([](fk::DecodeArgs &args) { args.sink.reset(); }), "sink is missing");
  expectPart(message([](fk::DecodeArgs &args) { args.bias.reset(); }), "bias is missing");
  expectPart(message([](fk::DecodeArgs &args) { args.tree_mask.reset(); }), "tree_mask is missing");
  expectPart(message([](fk::DecodeArgs &args) { args.alibi_slopes.reset(); }),
             "alibi_slopes is missing");
  expectPart(message([](fk::DecodeArgs &args) { args.cu_seqlens_q = args.seq_lens; }),
             "cu_seqlens_q is given, and the problem does not have it");
  expectPart(message([](fk::DecodeArgs &args) {
               args.tree_mask = fx::tensor(args.tree_mask->data(), fx::i32, {80, 1});
             }),
             "tree_mask has 1 words of 32 bits for a query; 2 are the fewest");
  expectPart(message([](fk::DecodeArgs &args) {
               args.bias = fx::tensor(args.bias->data(), fx::f32, {2, 80, 0});
             }),
             "bias has no columns; it has one for each token");
  expectPart(message([](fk::DecodeArgs &args) {
               args.bias = fx::tensor(args.bias->data(), fx::f32, {1, 80, 48});
             }),
             "bias has the shape (1, 80, 48)");
  expectPart(message([](fk::DecodeArgs &args) {
               args.alibi_slopes = fx::tensor(args.alibi_slopes->data(), fx::f32, {1, 2});
             }),
             "alibi_slopes has the shape (1, 2)");
  expectPart(message([](fk::DecodeArgs &args) {
               args.sink = fx::tensor(args.sink->data(), fx::f32, {1});
             }),
             "sink has the shape (1)");
}

TEST_CASE("decoding of no sequences launches nothing, in parts and with a workspace, too") {
  const DecodeProblem problem{.q_heads = 2, .kv_heads = 1, .head = 32, .context = 8};
  const fk::DecodePlan plan(problem, {.block = 64, .splits = 2});
  const Operands<DecodeProblem> operands(problem, plan.config(), 1);
  fk::DecodeArgs args = operands.args();
  const auto none = [](const fx::TensorArg &of) { // its first extent is 0
    std::array<std::int64_t, fx::TensorArg::maxRank> shape{};
    std::copy(of.shape().begin(), of.shape().end(), shape.begin());
    shape[0] = 0;
    return fx::TensorArg(of.data(), of.dtype(), std::span(shape).first(std::size_t(of.rank())),
                         of.strides());
  };
  for (fx::TensorArg *of : {&args.q, &args.o, &*args.block_table, &*args.seq_lens})
    *of = none(*of);
  REQUIRE(args.workspace);
  CHECK(fx::Device::current().count_launches([&] { plan(args); }).empty());
  args.workspace.reset();
  CHECK(fx::Device::current().count_launches([&] { plan(args); }).empty());
}
