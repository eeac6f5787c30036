// What products refuse, and with which words.
#include "support/product.h"

#include <flydsl/kernels/parts.h>

using namespace kernel_tests;

namespace {

/// Requires that a call with changed arguments is refused, with the line of this file.
template <class Change>
void expectRefused(const fk::GemmPlan &plan, fk::GemmArgs args, const Change &change,
                   const char *part) {
  change(args);
  const std::string text = messageOf([&] { plan(args); });
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  CHECK(text.find("gemm_refusals_test.cpp") != std::string::npos);
}

/// Why gfx942 has no product for a problem.
std::string why(const GemmProblem &problem) {
  return fk::supported(problem, fx::Target::parse("gfx942")).why;
}

/// Why a configuration does not fit a problem.
std::string why(const GemmProblem &problem, const GemmConfig &config,
                const char *target = "gfx942") {
  return fk::supported(problem, config, fx::Target::parse(target)).why;
}

/// Why a configuration does not fit a small product.
std::string whyNot(const GemmConfig &config) { return why({.n = 64, .k = 64}, config); }

GemmProblem blockScales() {
  return {.a = fx::f8E4M3FNUZ,
          .b = fx::f8E4M3FNUZ,
          .n = 256,
          .k = 256,
          .scale_a = Scales::per_block,
          .scale_b = Scales::per_block};
}

} // namespace

TEST_CASE("few tiles of a long K share it, as long as its steps take more than their sums") {
  const auto parts = [](const char *target, int m, int n, int k) {
    return fk::choose(GemmProblem{.a = fx::bf16,
                                  .b = fx::bf16,
                                  .c = fx::bf16,
                                  .b_layout = fk::OperandLayout::rows,
                                  .n = n,
                                  .k = k},
                      m, fx::Target::parse(target))
        .split_k;
  };
  for (const char *target : {"gfx942", "gfx950", "gfx1250"}) {
    CAPTURE(target);
    CHECK(parts(target, 256, 128, 7168) == 8); // 32 tiles of 56 steps
    CHECK(parts(target, 256, 256, 3072) == 4); // 64 tiles of 24 steps
    CHECK(parts(target, 128, 256, 1536) == 1); // 12 steps: a launch takes as long
    CHECK(parts(target, 512, 512, 4096) == 1); // as many tiles as compute units
  }
  CHECK(parts("gfx1201", 512, 512, 4096) == 1);
}

TEST_CASE("products say what they do not support") {
  CHECK(why({.n = 0, .k = 64}) == "n is 0; it is 1 to 268435456");
  CHECK(why({.n = 64, .k = 100}) == "k is 100: a row of 200 bytes is no multiple of 16 bytes");
  CHECK(why({.n = 64, .k = 0}) == "k is 0; it is 1 to 2097152");
  CHECK(why({.a = fx::i8, .b = fx::i8, .n = 64, .k = 131056}) == "");
  CHECK(why({.a = fx::i8, .b = fx::i8, .n = 64, .k = 131072}) ==
        "k is 131072, and sums of i8 are integers of 32 bits, which hold 131071 products with b of "
        "type i8. Multiply parts of k by themselves, each with the result of the one before as its "
        "residual");
  CHECK(why({.c = fx::i8, .n = 64, .k = 64}) ==
        "c is of type i8, which needs a scale: scale_c is per_tensor, per_block or mx");
  CHECK(
      why({.b = fx::bf16, .n = 64, .k = 64}) ==
      "a is of type f16 and b of type bf16; gfx942 has products where both are f16, or both bf16, "
      "or both i8, or each is f8E4M3FNUZ or f8E5M2FNUZ, or both f32");
  CHECK(why({.a = fx::f8E4M3FN, .b = fx::f8E4M3FN, .n = 64, .k = 64}) ==
        "a is of type f8E4M3FN and b of type f8E4M3FN; gfx942 has products where both are f16, or "
        "both bf16, or both i8, or each is f8E4M3FNUZ or f8E5M2FNUZ, or both f32");
  CHECK(why({.a = fx::f4E2M1FN, .b = fx::f4E2M1FN, .n = 64, .k = 64}) ==
        "a is of type f4E2M1FN and b of type f4E2M1FN; gfx942 has products where both are f16, or "
        "both bf16, or both i8, or each is f8E4M3FNUZ or f8E5M2FNUZ, or both f32. Operands of "
        "f4E2M1FN have "
        "scale_a and scale_b of Scales::mx");
  CHECK(why({.b_layout = fk::OperandLayout::columns, .n = 1 << 22, .k = 64}) ==
        "n is 4194304; it is up to 4194296 where b lies by columns");
  CHECK(fk::supported(GemmProblem{.a = fx::f8E4M3FN, .b = fx::f8E4M3FN, .n = 64, .k = 64},
                      fx::Target::parse("gfx1100"))
            .why == "a is of type f8E4M3FN and b of type f8E4M3FN; gfx1100 has products where both "
                    "are f16, or both bf16, or both i8");
  CHECK(fk::supported(GemmProblem{.n = 64, .k = 64}, fx::Target::parse("gfx1250")).why == "");
  CHECK(fk::supported(GemmProblem{.a = fx::f8E4M3FNUZ, .b = fx::f8E4M3FNUZ, .n = 64, .k = 64},
                      fx::Target::parse("gfx1250"))
            .why ==
        "a is of type f8E4M3FNUZ and b of type f8E4M3FNUZ; gfx1250 has products where both are "
        "f16, or both bf16, or both i8, or each is f8E4M3FN or f8E5M2, or both f32");
  CHECK(why({.n = 72, .k = 64, .gated = true}) ==
        "n is 72; in gated pairs it is a multiple of 16, the rows of a block");
  using enum fk::OperandLayout;
  CHECK(why({.a_layout = prepared, .n = 64, .k = 64}) ==
        "a is never prepared; it lies by rows or by columns");
  CHECK(why({.a = fx::i8, .b = fx::i8, .b_layout = columns, .n = 64, .k = 64}) ==
        "b lies by columns and is of type i8; f16 and bf16 may do so");
  CHECK(why({.b_layout = columns, .n = 100, .k = 64}) ==
        "n is 100; it is a multiple of 8 where b lies by columns");
  CHECK(why({.b_layout = rows, .n = 64, .k = 64, .gated = true}) ==
        "gated pairs take prepared weights");
  CHECK(why({.c = fx::f32, .n = 64, .k = 64, .rounding = fk::Rounding::stochastic}) ==
        "c is of type f32, which is not rounded; stochastic rounding is for f16 and bf16");
  CHECK(messageOf([&] { fk::prepared_size({.dtype = fx::f6E2M3FN, .n = 16, .k = 64}); })
            .find("weight: elements are of type f6E2M3FN; f4E2M1FN and types of one, two and four "
                  "bytes are supported") != std::string::npos);
}

TEST_CASE("products say which scales of blocks they do not support") {
  const auto changed = [&](const auto &change) {
    GemmProblem problem = blockScales();
    change(problem);
    return why(problem);
  };
  CHECK(changed([](auto &p) { p.scale_b = Scales::none; }) ==
        "one operand has scales of blocks; both have them, or none");
  CHECK(changed([](auto &p) { p.scale = fx::f16; }) ==
        "scales are of type f16; f32 is supported, and f8E8M0FNU for scales of blocks");
  CHECK(changed([](auto &p) {
          p.scale_a = p.scale_b = Scales::per_row;
          p.scale = fx::f8E8M0FNU;
        }) == "scales are of type f8E8M0FNU; f32 is supported, and f8E8M0FNU for scales of blocks");
  CHECK(changed([](auto &p) { p.a = p.b = fx::i8; }) ==
        "scales of blocks belong to 8-bit floats; a is of type i8");
  CHECK(changed([](auto &p) { p.gated = true, p.n = 144; }) ==
        "n is 144; in gated pairs it is a multiple of 128, the rows of a scale");
  const auto blocksWhyNot = [](const GemmConfig &config) { return why(blockScales(), config); };
  CHECK(blocksWhyNot({.tile_m = 64, .tile_n = 64, .tile_k = 64}) ==
        "tile 64x64x64 of 256 threads: scales of blocks need a tile_k of a multiple of 128");
  CHECK(blocksWhyNot({.tile_m = 32, .tile_n = 192, .tile_k = 128}) ==
        "tile 32x192x128 of 256 threads: scales of blocks need columns of c in a tile, here 192, "
        "that divide 128 or that 128 divides");
  CHECK(blocksWhyNot({.tile_m = 48, .tile_n = 384, .tile_k = 128, .threads = 192}) ==
        "tile 48x384x128 of 192 threads: scales of blocks need 1, 2, 4 or 8 waves side by side");
  CHECK(
      blocksWhyNot({.tile_m = 32, .tile_n = 64, .tile_k = 256, .waves_k = 2}) ==
      "tile 32x64x256 of 256 threads: scales of blocks are of whole steps, which waves of the ring "
      "do not share; waves_k is 1");
}

TEST_CASE("products say which tiles do not fit") {
  CHECK(whyNot({.tile_m = 24, .tile_n = 64, .tile_k = 64}) ==
        "tile 24x64x64 of 256 threads: tile_m is a multiple of 16, up to 256");
  CHECK(whyNot({.tile_m = 32, .tile_n = 96, .tile_k = 64}) ==
        "tile 32x96x64 of 256 threads: tile_n is a multiple of 16 for each wave, up to 512");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 48}) ==
        "tile 32x64x48 of 256 threads: a row of tile_k elements is a power of two of bytes, from "
        "64 to 1024");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 268435520}) == // 128 bytes in 32 bits
        "tile 32x64x268435520 of 256 threads: a row of tile_k elements is a power of two of "
        "bytes, from 64 to 1024");
  CHECK(whyNot({.tile_m = 16, .tile_n = 64, .tile_k = 64}) ==
        "tile 16x64x64 of 256 threads: the tile of a, 16 rows of 128 bytes, is no multiple of the "
        "4096 bytes that the block loads at a time");
  CHECK(whyNot({.tile_m = 256, .tile_n = 64, .tile_k = 128}) ==
        "tile 256x64x128 of 256 threads: 2 tiles of a take 131072 bytes of LDS; there are "
        "65536");
  CHECK(whyNot({.tile_m = 256, .tile_n = 256, .tile_k = 64}) ==
        "tile 256x256x64 of 256 threads: a lane keeps 480 registers (256 of sums, 128 of fragments "
        "of a, 64 of fragments of b, 32 of tiles under way); 464 are free");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 64, .threads = 96}) ==
        "tile 32x64x64 of 96 threads: a block is a number of waves of 64, up to 1024 threads");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 64, .split_k = 2}) ==
        "tile 32x64x64 of 256 threads: k is 64, no multiple of split_k * tile_k, 128");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 64, .split_k = 0}) ==
        "tile 32x64x64 of 256 threads: split_k is 1 to 64");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 64, .parts_sum = fk::PartsSum::last_block}) ==
        "tile 32x64x64 of 256 threads: parts_sum is of split_k > 1");
  CHECK(whyNot({.tile_m = 32,
                .tile_n = 64,
                .tile_k = 64,
                .split_k = 17,
                .parts_sum = fk::PartsSum::last_block}) ==
        "tile 32x64x64 of 256 threads: split_k is up to 16 with PartsSum::last_block");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 64, .waves_k = 4}) ==
        "tile 32x64x64 of 256 threads: waves_k is 4; waves of the ring share tile_k by 32 elements "
        "each");
  CHECK(whyNot({.tile_m = 16,
                .tile_n = 64,
                .tile_k = 64,
                .loop = fk::GemmLoop::registers,
                .waves_k = 3}) ==
        "tile 16x64x64 of 256 threads: waves_k is 3; it divides the waves of a block, 4");
  CHECK(whyNot({.tile_m = 16,
                .tile_n = 512,
                .tile_k = 64,
                .threads = 512,
                .loop = fk::GemmLoop::registers,
                .waves_k = 8}) == "tile 16x512x64 of 512 threads: the sums of the waves that share "
                                  "k take 229376 bytes of LDS; there are 65536");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 64, .waves_m = 3}) ==
        "tile 32x64x64 of 256 threads: waves_m is 3; it divides the waves of a block, 4");
  CHECK(
      whyNot({.tile_m = 48, .tile_n = 64, .tile_k = 128, .waves_m = 2}) ==
      "tile 48x64x128 of 256 threads: tile_m is a multiple of 16 for each row of waves, up to 256");
  CHECK(whyNot({.tile_m = 16,
                .tile_n = 64,
                .tile_k = 64,
                .loop = fk::GemmLoop::registers,
                .waves_m = 2}) ==
        "tile 16x64x64 of 256 threads: waves_m is of GemmLoop::ring and GemmLoop::groups");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 64, .stages = 4}) ==
        "tile 32x64x64 of 256 threads: stages is 4; it is 2, or with dma 2 to 8");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 64, .dma = true}) ==
        "tile 32x64x64 of 256 threads: dma: gfx942 has neither loads of 16 bytes to LDS nor a "
        "tensor data mover");
  CHECK(why({.n = 64, .k = 64, .gated = true}, {.tile_m = 32, .tile_n = 64, .tile_k = 64}) ==
        "tile 32x64x64 of 256 threads: tile_n is a multiple of 32 for each wave, 16 gates "
        "and 16 ups, up to 512");
  CHECK(whyNot({.order = {.group = 0}}) ==
        "order: group is 1 to 4096, xcds 1 to 64, chunk 0 to 4096");
}

TEST_CASE("products say which tiles do not fit how operands lie") {
  using enum fk::OperandLayout;
  const auto layoutsWhyNot = [](OperandLayout a, OperandLayout b, const GemmConfig &config,
                                const char *target = "gfx950") {
    return why({.a_layout = a, .b_layout = b, .n = 64, .k = 64}, config, target);
  };
  CHECK(layoutsWhyNot(columns, prepared,
                      {.tile_m = 32, .tile_n = 64, .tile_k = 128, .dma = true}) == "");
  CHECK(
      layoutsWhyNot(columns, prepared, {.tile_m = 48, .tile_n = 64, .tile_k = 128, .dma = true}) ==
      "tile 48x64x128 of 256 threads: an operand that lies by columns comes by loads of LDS's own "
      "in "
      "tiles of a power of two of columns, here 48");
  CHECK(
      layoutsWhyNot(rows, rows,
                    {.tile_m = 16, .tile_n = 64, .tile_k = 64, .loop = fk::GemmLoop::registers}) ==
      "tile 16x64x64 of 256 threads: GemmLoop::registers takes rows of a and prepared weights");
  CHECK(layoutsWhyNot(columns, prepared, {.tile_m = 32, .tile_n = 64, .tile_k = 64}) ==
        "tile 32x64x64 of 256 threads: an operand that lies by columns needs rows of 256 bytes, as "
        "many as LDS has banks for");
  CHECK(layoutsWhyNot(columns, prepared, {.tile_m = 96, .tile_n = 64, .tile_k = 64}, "gfx942") ==
        "tile 96x64x64 of 256 threads: an operand that lies by columns is loaded by 1, 2, 4 or a "
        "multiple of 8 times 16 bytes a thread, here 3");
  CHECK(layoutsWhyNot(rows, rows,
                      {.tile_m = 256, .tile_n = 256, .tile_k = 64, .threads = 512, .waves_m = 2},
                      "gfx942") == "tile 256x256x64 of 512 threads: the tiles of a and b take "
                                   "131072 bytes of LDS; there are 65536");
  // The last block's word needs LDS beside tiles that fill it.
  GemmConfig full{.tile_m = 64, .tile_n = 64, .tile_k = 128, .waves_m = 2, .split_k = 2};
  const GemmProblem asTheyAre{.b_layout = rows, .n = 64, .k = 256};
  CHECK(why(asTheyAre, full).empty());
  full.parts_sum = fk::PartsSum::last_block;
  CHECK(why(asTheyAre, full) == "tile 64x64x128 of 256 threads: the tiles of a and b take 65540 "
                                "bytes of LDS; there are 65536");
}

TEST_CASE("products refuse arguments that do not fit") {
  const GemmProblem problem{.n = 64, .k = 64, .bias = true};
  const fk::GemmPlan plan(problem, {.tile_m = 32, .tile_n = 64, .tile_k = 64});
  const Operand a = Operand::input(fx::f16, 4, 64, std::vector<double>(256)),
                b = prepared(problem, std::vector<double>(64 * 64)),
                c = Operand::output(fx::f16, 4, 64),
                bias = Operand::input(fx::f16, 1, 64, std::vector<double>(64));
  const fk::GemmArgs good{
      .a = a.tensor(), .b = preparedArg(problem, b), .c = c.tensor(), .bias = bias.vector()};
  const auto expect = [&](const auto &change, const char *part) {
    expectRefused(plan, good, change, part);
  };
  void *data = a.tensor().data();
  expect(
      [&](auto &args) {
        args.c = fx::tensor(data, fx::f16, {3, 64});
      },
      "gemm: c has the shape (3, 64); (m, n) = (4, 64) is expected");
  expect(
      [&](auto &args) {
        args.b = fk::PreparedWeight{problem.weight(), fx::tensor(data, fx::f16, {64, 64})};
      },
      "gemm: b has the shape (64, 64); (prepared_size) = (4096) is expected");
  expect([&](auto &args) { args.bias = std::nullopt; },
         "gemm: bias is missing; the problem has it");
  expect([&](auto &args) { args.scale_a = args.bias; },
         "gemm: scale_a is given, and the problem does not have it");
  expect(
      [&](auto &args) {
        args.a = fx::tensor(data, fx::f16, {4, 64}, {68, 1});
      },
      "gemm: a has the shape (4, 64) and the strides (68, 1); the stride of m, 68, is no multiple "
      "of 8; 16 bytes are loaded at a time");
  expect(
      [&](auto &args) {
        args.c = fx::tensor(data, fx::f16, {4, 64}, {66, 1});
      },
      "gemm: c has the shape (4, 64) and the strides (66, 1); the stride of m, 66, is no multiple "
      "of 4; as many of n are moved at a time");
  expect(
      [&](auto &args) {
        args.a = fx::tensor(data, fx::f16, {4, 64}, {1 << 24, 1});
      },
      "gemm: a has the shape (4, 64) and the strides (16777216, 1); a tile, that is 32 along m, "
      "spans less than 1 GiB");
  expect(
      [&](auto &args) {
        args.c = fx::tensor(data, fx::f16, {4, 64}, {32, 1});
      },
      "gemm: c has the shape (4, 64) and the strides (32, 1); by them some elements share their "
      "place; what is written has one for each");
  for (std::int64_t stride : {-64, -48})
    expect(
        [&](auto &args) {
          args.a = fx::tensor(data, fx::f16, {4, 64}, {stride, 1});
        },
        "the stride of m is negative, and elements follow one another in rising order; pass a "
        "contiguous copy");
  // A workspace that the call does not need is taken as it is.
  fk::GemmArgs more = good;
  more.workspace = good.bias;
  CHECK(messageOf([&] { plan(more); }) == "no error");
  fx::Device::current().synchronize();

  const fk::GemmPlan split({.n = 64, .k = 128},
                           {.tile_m = 32, .tile_n = 64, .tile_k = 64, .split_k = 2});
  const Operand a2 = Operand::input(fx::f16, 4, 128, std::vector<double>(512)),
                b2 = prepared({.n = 64, .k = 128}, std::vector<double>(64 * 128));
  fk::GemmArgs args{.a = a2.tensor(), .b = preparedArg({.n = 64, .k = 128}, b2), .c = c.tensor()};
  CHECK(messageOf([&] {
          split(args);
        }).find("gemm: workspace is missing; this call needs 2048 bytes") != std::string::npos);
  args.workspace = fx::tensor(data, fx::u8, {2047});
  CHECK(messageOf([&] { split(args); })
            .find("gemm: workspace has the shape (2047); a vector of at least 2048 bytes is "
                  "expected") != std::string::npos);
}

TEST_CASE("products refuse weights that are not declared as what they take") {
  // Each memory has the size that the product takes.
  const GemmProblem problem{.n = 64, .k = 128};
  const fk::GemmPlan plan(problem, fk::choose(problem, 4));
  const Operand a = Operand::input(fx::f16, 4, 128, std::vector<double>(4 * 128)),
                b = prepared(problem, std::vector<double>(64 * 128)),
                c = Operand::output(fx::f16, 4, 64);
  const auto refusal = [&](const fk::GemmPlan &plan, const fk::WeightArg &b) {
    return messageOf([&] { plan({.a = a.tensor(), .b = b, .c = c.tensor()}); });
  };
  const auto contains = [](const std::string &text, const char *part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  CHECK(refusal(plan, preparedArg(problem, b)) == "no error");
  const char *plain = "gemm: b is a plain tensor, and the problem takes prepared weights, whose "
                      "elements lie in another order. Pass PreparedWeight{.matrix = "
                      "problem.weight(), .memory = ...}";
  contains(refusal(plan, b.vector()), plain);
  contains(refusal(plan, fx::tensor(b.vector().data(), fx::f16, {64, 128})), plain);
  contains(refusal(plan, fk::PreparedWeight{{.n = 128, .k = 64}, b.vector()}),
           "gemm: b is prepared weights (n, k) = (128, 64) of f16; the problem's are (n, k) = (64, "
           "128) of f16");
  contains(refusal(plan, fk::PreparedWeight{{.dtype = fx::bf16, .n = 64, .k = 128}, b.vector()}),
           "gemm: b is prepared weights (n, k) = (64, 128) of bf16");
  contains(refusal(plan, fk::PreparedWeight{problem.weight(),
                                            fx::tensor(b.vector().data(), fx::bf16, {64 * 128})}),
           "gemm: b is of type bf16; the problem says f16");

  GemmProblem rows = problem;
  rows.b_layout = OperandLayout::rows;
  const fk::GemmPlan ofRows(rows, fk::choose(rows, 4));
  contains(
      refusal(ofRows, preparedArg(problem, b)),
      "gemm: b is prepared weights, and the problem takes a tensor (n, k) as it lies: b_layout "
      "is OperandLayout::rows");

  // The kernel that prepares them.
  const Operand raw = Operand::input(fx::f16, 64, 128, std::vector<double>(64 * 128)),
                out = Operand::output(fx::f16, 1, 64 * 128);
  const fk::WeightPlan weights(problem.weight(), {});
  contains(messageOf([&] {
             weights({.raw = raw.tensor(), .out = {{.n = 128, .k = 64}, out.vector()}});
           }),
           "weight: out is prepared weights (n, k) = (128, 64) of f16; the problem's are (n, k) = "
           "(64, 128) of f16");
  contains(messageOf([&] {
             weights(
                 {.raw = raw.tensor(),
                  .out = {problem.weight(), fx::tensor(raw.tensor().data(), fx::f16, {64 * 128})}});
           }),
           "weight: out shares memory with raw");
  fx::Device::current().synchronize();
}

TEST_CASE("products refuse scales of blocks that do not fit") {
  const GemmProblem problem{.a = fx::f8E4M3FNUZ,
                            .b = fx::f8E4M3FNUZ,
                            .n = 64,
                            .k = 272,
                            .scale_a = Scales::per_block,
                            .scale_b = Scales::per_block};
  const fk::GemmPlan plan(problem, {.tile_m = 32, .tile_n = 64, .tile_k = 128});
  const Operand a = Operand::input(problem.a, 4, 272, std::vector<double>(4 * 272)),
                b = prepared(problem, std::vector<double>(64 * 272)),
                c = Operand::output(fx::f16, 4, 64),
                scaleA = Operand::input(fx::f32, 4, 3, std::vector<double>(12)),
                scaleB = Operand::input(fx::f32, 1, 3, std::vector<double>(3));
  const fk::GemmArgs good{.a = a.tensor(),
                          .b = preparedArg(problem, b),
                          .c = c.tensor(),
                          .scale_a = scaleA.tensor(),
                          .scale_b = scaleB.tensor()};
  const auto expect = [&](const auto &change, const char *part) {
    expectRefused(plan, good, change, part);
  };
  void *data = scaleA.tensor().data();
  expect([&](auto &args) { args.scale_a = std::nullopt; },
         "gemm: scale_a is missing; the problem has it");
  expect([&](auto &args) { args.scale_b = std::nullopt; },
         "gemm: scale_b is missing; the problem has it");
  expect(
      [&](auto &args) {
        args.scale_a = fx::tensor(data, fx::f32, {4, 2});
      },
      "gemm: scale_a has the shape (4, 2); (m, k / 128) = (4, 3) is expected");
  expect(
      [&](auto &args) {
        args.scale_a = fx::tensor(data, fx::f8E8M0FNU, {4, 3});
      },
      "gemm: scale_a is of type f8E8M0FNU");
  expect(
      [&](auto &args) {
        args.scale_a = fx::tensor(data, fx::f32, {4, 3}, {1 << 24, 1});
      },
      "gemm: scale_a has the shape (4, 3) and the strides (16777216, 1); a tile, that is 32 along "
      "m and 3 along k / 128, spans less than 1 GiB");
  expect(
      [&](auto &args) {
        args.scale_b = fx::tensor(data, fx::f32, {3, 1});
      },
      "gemm: scale_b has the shape (3, 1); (n / 128, k / 128) = (1, 3) is expected");
}

TEST_CASE("products refuse operands that lie otherwise than the problem says") {
  const GemmProblem problem{
      .a_layout = OperandLayout::columns, .b_layout = OperandLayout::columns, .n = 64, .k = 72};
  const fk::GemmPlan plan(problem, {.tile_m = 32, .tile_n = 64, .tile_k = 64});
  const Operand a = Operand::input(fx::f16, 72, 16, std::vector<double>(72 * 16)),
                b = Operand::input(fx::f16, 72, 64, std::vector<double>(72 * 64)),
                c = Operand::output(fx::f16, 16, 64);
  void *dataA = a.tensor().data(), *dataB = b.tensor().data();
  const fk::GemmArgs good{.a = fx::tensor(dataA, fx::f16, {16, 72}, {1, 16}),
                          .b = fx::tensor(dataB, fx::f16, {64, 72}, {1, 64}),
                          .c = c.tensor()};
  const auto expect = [&](const auto &change, const char *part) {
    expectRefused(plan, good, change, part);
  };
  CHECK(messageOf([&] { plan(good); }) == "no error");
  expect(
      [&](auto &args) {
        args.a = fx::tensor(dataA, fx::f16, {16, 72}, {72, 1});
      },
      "gemm: a has the shape (16, 72) and the strides (72, 1); the stride of m is 1");
  expect(
      [&](auto &args) {
        args.b = fx::tensor(dataB, fx::f16, {64, 72}, {1, 68});
      },
      "gemm: b has the shape (64, 72) and the strides (1, 68); the stride of k, 68, is no multiple "
      "of 8");
  expect(
      [&](auto &args) {
        args.b = fx::tensor(dataB, fx::f16, {72, 64}, {1, 72});
      },
      "gemm: b has the shape (72, 64); (n, k) = (64, 72) is expected");
  expect(
      [&](auto &args) {
        args.a = fx::tensor(dataA, fx::f16, {12, 72}, {1, 16});
        args.c = fx::tensor(c.tensor().data(), fx::f16, {12, 64});
      },
      "gemm: a has 12 rows; by columns it has a multiple of 8, because 16 bytes are loaded at a "
      "time");
}

TEST_CASE("products refuse to write what they read") {
  const GemmProblem problem{.b_layout = OperandLayout::rows, .n = 64, .k = 64};
  const fk::GemmPlan plan(problem, fk::choose(problem, 16));
  fx::DeviceArray<fx::half_t> ab({160, 64}), c({16, 64}), wide({16, 128});
  ab.fill({});
  wide.fill({});
  const fx::TensorArg a = fx::tensor(ab.data(), {16, 64}),
                      b = fx::tensor(ab.data() + 1024, {64, 64});
  const auto at = [](fx::half_t *data) { return fx::tensor(data, {16, 64}); };
  const fk::GemmArgs args{.a = a, .b = b, .c = c};
  const auto refused = [&](const fx::TensorArg &c, const char *part) {
    expectRefused(
        plan, args, [&](fk::GemmArgs &args) { args.c = c; }, part);
  };
  refused(at(ab.data()), "gemm: c shares memory with a, which is read while it is written");
  refused(at(ab.data() + 4096), "gemm: c shares memory with b");
  // The columns of one matrix are apart.
  plan({.a = fx::tensor(wide.data(), {16, 64}, {128, 1}),
        .b = b,
        .c = fx::tensor(wide.data() + 64, {16, 64}, {128, 1})});
  fx::Device::current().synchronize();
}

TEST_CASE("products of few rows without matrix units are refused where they do not fit") {
  const fx::Target target = fx::Target::parse("gfx942");
  const GemmProblem good{.a = fx::bf16,
                         .b = fx::bf16,
                         .c = fx::bf16,
                         .b_layout = OperandLayout::rows,
                         .n = 64,
                         .k = 512};
  const auto why = [&](const auto &change) {
    GemmProblem problem = good;
    GemmConfig config{.tile_m = 1,
                      .tile_n = 16,
                      .tile_k = 512,
                      .threads = 256,
                      .loop = fk::GemmLoop::vector,
                      .waves_k = 2};
    change(problem, config);
    return fk::supported(problem, config, target).why;
  };
  CHECK(why([](auto &, auto &) {}).empty());
  const std::string of = "tile 1x16x512 of 256 threads: GemmLoop::vector ",
                    layouts = of + "takes operands that lie by rows",
                    waves =
                        of + "has no rows of waves and no parts of k: waves_m and split_k are 1";
  CHECK(why([](auto &p, auto &) { p.b_layout = OperandLayout::prepared; }) == layouts);
  CHECK(why([](auto &p, auto &) { p.a_layout = OperandLayout::columns; }) == layouts);
  CHECK(why([](auto &, auto &c) { c.split_k = 2; }) == waves);
  CHECK(why([](auto &, auto &c) { c.waves_m = 2; }) == waves);
  CHECK(why([](auto &, auto &c) { c.dma = true; }) ==
        "tile 1x16x512 of 256 threads: stages and dma are of GemmLoop::ring");
  CHECK(why([](auto &, auto &c) { c.tile_m = 5; }) ==
        "tile 5x16x512 of 256 threads: GemmLoop::vector keeps all rows of a in registers: tile_m "
        "is 1 to 4");
  for (const int columns : {8, 24, 80})
    CHECK(why([&](auto &, auto &c) { c.tile_n = columns; }) ==
          "tile 1x" + std::to_string(columns) +
              "x512 of 256 threads: GemmLoop::vector finishes 16 columns by a wave: tile_n is a "
              "multiple of 16, up to 64, and of the waves that do not share k, 2");
  CHECK(why([](auto &, auto &c) { c.tile_k = 256; }) ==
        "tile 1x16x256 of 256 threads: GemmLoop::vector loads 16 bytes of a row by each lane: a "
        "row of tile_k elements has 1024 bytes, here 512");
  CHECK(why([](auto &p, auto &c) {
          p.a = p.b = fx::f8E4M3FNUZ;
          p.scale_a = p.scale_b = Scales::per_block;
          c.tile_k = 1024;
        }) == "tile 1x16x1024 of 256 threads: GemmLoop::vector takes no scales of blocks or of 32 "
              "elements of k");
  // A loop of matrix instructions has no such rows, and the parts have no such loop.
  CHECK(why([](auto &, auto &c) {
          c.loop = fk::GemmLoop::ring;
        }).find("tile_m is a multiple of 16") != std::string::npos);
  CHECK(
      fk::parts::supported({.problem = good, .config = fk::choose(good, 1, target)}, target).why ==
      "GemmLoop::vector is GemmPlan's; the parts multiply by matrix instructions, as loop=ring "
      "does");
  GemmProblem counted = good;
  counted.rows = true;
  CHECK(
      fk::parts::supported({.problem = counted, .config = fk::choose(counted, 64, target)}, target)
          .why == "a number of rows in device memory is GemmPlan's; a kernel of parts reads what "
                  "it needs, and gives it to the parts");
}
