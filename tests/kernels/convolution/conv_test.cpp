// Convolutions against their definition in double precision.
#include "convolution/images.h"
#include "reference/conv.h"
#include "support/structure.h"

#include <flydsl/kernels/conv.h>

#include <cmath>
#include <limits>

using namespace kernel_tests;

namespace {

using fk::ConvAxis, fk::ConvProblem;
struct Run {
  ConvProblem problem;
  std::int64_t images;
  Image in;
  Image more = {}; ///< elements of y beyond the fewest, of a transposed convolution
};
/// The extents of y.
Image outputsOf(const Run &run) {
  const ConvAxis axes[] = {run.problem.depth, run.problem.height, run.problem.width};
  Image out;
  for (std::size_t axis = 0; axis < 3; ++axis)
    out[axis] = run.problem.transposed ? axes[axis].inputs(run.in[axis]) + run.more[axis]
                                       : axes[axis].outputs(run.in[axis]);
  return out;
}

/// Runs a convolution whose pixels have gaps of NaNs between them, and compares.
void expectConv(const Run &run, std::optional<fk::GemmConfig> given = {}, bool exact = false) {
  const ConvProblem &problem = run.problem;
  const ConvAxis axes[] = {problem.depth, problem.height, problem.width};
  const Image out = outputsOf(run);
  Image taps;
  for (std::size_t axis = 0; axis < 3; ++axis)
    taps[axis] = axes[axis].kernel;
  const std::int64_t pixels = run.images * run.in[0] * run.in[1] * run.in[2],
                     m = run.images * out[0] * out[1] * out[2], gap = 32,
                     ofFilter = problem.taps() * problem.channels / problem.groups;
  const fk::GemmConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const auto numbers = [&](fx::DType type, std::int64_t count, std::uint64_t seed) {
    return exact ? integers(count, seed, -3, 3) : uniform(type, count, seed);
  };
  fk::reference::Inputs inputs{{"x", numbers(problem.x, pixels * problem.channels, 1)},
                               {"weight", numbers(problem.weight, problem.filters * ofFilter, 2)}};
  if (problem.bias)
    inputs["bias"] = numbers(problem.y, problem.filters, 3);
  const auto factors = [&](fk::Scales scales) {
    return scales == fk::Scales::none ? 0 : scales == fk::Scales::per_row ? problem.filters : 1;
  };
  inputs["scale_x"] = uniform(fx::f32, factors(problem.scale_x), 4);
  inputs["scale_weight"] = uniform(fx::f32, factors(problem.scale_weight), 5);
  const Operand x = Operand::input(problem.x, pixels, problem.channels, inputs.at("x"), gap),
                weight =
                    Operand::input(problem.weight, problem.filters, ofFilter, inputs.at("weight")),
                bias = Operand::input(problem.y, 1, problem.bias ? problem.filters : 0,
                                      problem.bias ? inputs.at("bias") : Values{}),
                scaleX = Operand::input(fx::f32, 1, factors(problem.scale_x), inputs.at("scale_x")),
                scaleWeight = Operand::input(fx::f32, 1, factors(problem.scale_weight),
                                             inputs.at("scale_weight")),
                y = Operand::output(problem.y, m, problem.filters);
  const auto bytes = static_cast<std::int64_t>(fk::workspace_bytes(problem, config, m));
  const fx::DeviceArray<std::uint8_t> workspace({std::max<std::int64_t>(bytes, 1)});
  fk::ConvArgs args{
      .x = tensorOver(x, extentsOf(problem.rank, run.images, run.in, problem.channels), gap),
      .weight = tensorOver(weight, extentsOf(problem.rank, problem.filters, taps,
                                             problem.channels / problem.groups)),
      .y = tensorOver(y, extentsOf(problem.rank, run.images, out, problem.filters))};
  if (problem.bias)
    args.bias = bias.vector();
  if (problem.scale_x != fk::Scales::none)
    args.scale_x = scaleX.vector();
  if (problem.scale_weight != fk::Scales::none)
    args.scale_weight = scaleWeight.vector();
  if (bytes)
    args.workspace = workspace.tensor();
  const fx::Stream stream;
  fk::ConvPlan(problem, config)(args, stream);
  stream.synchronize();
  fk::reference::Expected expected =
      fk::reference::convolved(problem, run.images, run.in, out, inputs);
  if (exact)
    std::fill(expected.bound.begin(), expected.bound.end(), 0.0);
  expectWithin(y.values(), expected.values, expected.bound);
}

constexpr ConvAxis kThree{.kernel = 3, .before = 1, .after = 1};
constexpr ConvAxis kOdd{.kernel = 3, .stride = 2, .dilation = 3, .before = 4, .after = 1};

/// The shapes of FlyDSL's tests (tests/kernels/test_conv3d_implicit.py): images, channels, filters,
/// extents (d, h, w), where 1 stands for a mode that there is not, taps, stride and padding. Channels
/// are multiples of 8 here, to which a program pads them, and extents that are long are cut so that the
/// same tails are left of tiles.
struct Shape {
  std::int64_t images;
  int channels, filters;
  Image in;
  std::array<int, 3> taps;
  int stride;
  std::array<int, 3> padding;
  int groups = 1;
};
constexpr Shape kShapes[] = {
    {1, 32, 64, {8, 16, 16}, {3, 3, 3}, 1, {0, 0, 0}},
    {1, 32, 96, {5, 17, 9}, {3, 3, 3}, 1, {1, 1, 1}},
    {2, 64, 192, {3, 9, 6}, {3, 3, 3}, 1, {1, 1, 1}},
    {1, 32, 64, {10, 20, 20}, {3, 3, 3}, 2, {1, 1, 1}},
    {1, 16, 16, {6, 16, 10}, {3, 3, 3}, 1, {1, 1, 1}},
    {1, 16, 384, {4, 12, 8}, {3, 3, 3}, 1, {1, 1, 1}},
    {1, 8, 32, {4, 12, 12}, {3, 3, 3}, 1, {1, 1, 1}},
    {1, 16, 32, {4, 12, 12}, {3, 3, 3}, 1, {1, 1, 1}},
    {2, 8, 48, {4, 10, 14}, {3, 3, 3}, 1, {1, 1, 1}},
    {1, 8, 32, {3, 11, 11}, {3, 3, 3}, 1, {1, 1, 1}},
    {1, 64, 128, {6, 18, 5}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 64, 128, {6, 9, 20}, {3, 1, 1}, 1, {1, 0, 0}},
    {1, 16, 64, {3, 8, 8}, {1, 1, 1}, 1, {0, 0, 0}},
    {1, 64, 64, {3, 8, 8}, {1, 1, 1}, 1, {0, 0, 0}},
    {1, 128, 128, {3, 10, 8}, {3, 3, 3}, 1, {1, 1, 1}},
    {2, 64, 128, {1, 12, 14}, {1, 3, 3}, 1, {0, 1, 1}},
    {2, 64, 128, {1, 24, 14}, {1, 1, 1}, 1, {0, 0, 0}},
    {2, 64, 128, {1, 12, 7}, {1, 5, 5}, 1, {0, 2, 2}},
    {2, 64, 128, {1, 24, 28}, {1, 3, 3}, 2, {0, 1, 1}},
    {1, 8, 64, {1, 32, 32}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 8, 32, {1, 24, 28}, {1, 7, 7}, 2, {0, 3, 3}},
    {1, 16, 32, {1, 16, 16}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 64, 64, {1, 33, 33}, {1, 3, 3}, 2, {0, 0, 0}},
    {1, 128, 64, {1, 17, 17}, {1, 3, 3}, 2, {0, 0, 0}},
    {1, 8, 32, {1, 21, 21}, {1, 3, 3}, 1, {0, 1, 1}},
    {2, 64, 128, {1, 1, 96}, {1, 1, 3}, 1, {0, 0, 1}},
    {2, 64, 128, {1, 1, 96}, {1, 1, 1}, 1, {0, 0, 0}},
    {2, 64, 128, {1, 1, 96}, {1, 1, 5}, 2, {0, 0, 2}},
    // Of the test of tuning; and of two groups and one, whose filters fill most of a tile.
    {1, 128, 128, {6, 10, 12}, {3, 3, 3}, 1, {1, 1, 1}},
    {1, 64, 96, {1, 16, 24}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 128, 192, {1, 16, 24}, {1, 3, 3}, 1, {0, 1, 1}, 2},
    // The encoder and the decoder of Qwen-Image: residual blocks, and steps to half and to twice the size.
    {1, 8, 96, {1, 18, 14}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 96, 96, {1, 18, 14}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 96, 192, {1, 14, 18}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 192, 192, {1, 14, 18}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 192, 384, {1, 10, 12}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 384, 384, {1, 10, 12}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 384, 384, {1, 8, 8}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 384, 384, {1, 6, 22}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 96, 96, {1, 16, 16}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 384, 32, {1, 10, 12}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 16, 384, {1, 10, 12}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 96, 3, {1, 18, 14}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 96, 96, {1, 19, 15}, {1, 3, 3}, 2, {0, 0, 0}},
    {1, 192, 192, {1, 19, 15}, {1, 3, 3}, 2, {0, 0, 0}},
    {1, 384, 384, {1, 11, 13}, {1, 3, 3}, 2, {0, 0, 0}},
    {1, 384, 192, {1, 10, 12}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 384, 192, {1, 14, 18}, {1, 3, 3}, 1, {0, 1, 1}},
    {1, 192, 96, {1, 18, 14}, {1, 3, 3}, 1, {0, 1, 1}},
};

} // namespace

TEST_CASE("convolutions of FlyDSL's shapes", "[.shapes]") {
  for (const Shape &shape : kShapes) {
    ConvProblem problem{.rank = shape.in[0] > 1   ? 3
                                : shape.in[1] > 1 ? 2
                                                  : 1,
                        .channels = shape.channels,
                        .filters = shape.filters,
                        .groups = shape.groups,
                        .bias = true};
    ConvAxis *axes[] = {&problem.depth, &problem.height, &problem.width};
    for (std::size_t axis = std::size_t(3 - problem.rank); axis < 3; ++axis)
      *axes[axis] = {.kernel = shape.taps[axis],
                     .stride = shape.stride,
                     .before = shape.padding[axis],
                     .after = shape.padding[axis]};
    expectConv({problem, shape.images, shape.in});
  }
}

// FlyDSL forces 8 tiles on one shape; here it is all tiles that are listed for it.
TEST_CASE("each tile on a shape of FlyDSL's", "[.shapes]") {
  const ConvProblem problem{.rank = 3,
                            .channels = 64,
                            .filters = 192,
                            .depth = kThree,
                            .height = kThree,
                            .width = kThree,
                            .bias = true};
  const std::vector<fk::GemmConfig> all = fk::configs(problem, 324);
  CHECK(all.size() >= 4);
  for (const fk::GemmConfig &config : all)
    expectConv({problem, 2, {3, 9, 6}}, config);
}

TEST_CASE("convolutions of one, two and three dimensions", "[run]") {
  expectConv({{.rank = 1,
               .channels = 32,
               .filters = 48,
               .width = kOdd,
               .bias = true,
               .activation = fk::Activation::silu},
              3,
              {1, 1, 29}});
  expectConv({{.x = fx::f16,
               .weight = fx::f16,
               .y = fx::f32,
               .channels = 16,
               .filters = 40,
               .height = kThree,
               .width = kOdd},
              2,
              {1, 7, 13}});
  expectConv({{.rank = 3,
               .channels = 8,
               .filters = 20,
               .depth = {.kernel = 2, .after = 1},
               .height = kOdd,
               .width = kThree},
              2,
              {3, 8, 5}});
  // Of taps that are channels alone, a product; and one that zeros surround by far.
  expectConv(
      {{.channels = 64, .filters = 64, .height = {}, .width = {.stride = 3}}, 1, {1, 5, 11}});
  expectConv({{.channels = 8,
               .filters = 16,
               .height = {.kernel = 2, .before = 5, .after = 3},
               .width = {.kernel = 5, .before = 7}},
              1,
              {1, 1, 2}});
}

TEST_CASE("convolutions of groups", "[run]") {
  expectConv({{.channels = 48,
               .filters = 24,
               .groups = 3,
               .height = kThree,
               .width = kThree,
               .bias = true},
              2,
              {1, 6, 7}});
  expectConv(
      {{.rank = 1, .channels = 64, .filters = 200, .groups = 2, .width = kOdd}, 5, {1, 1, 33}});
}

TEST_CASE("transposed convolutions", "[run]") {
  // Each phase of 2 has two taps of 4; of 3 one has one tap and one has two.
  const ConvAxis even{.kernel = 4, .stride = 2, .before = 1, .after = 1},
      odd{.kernel = 3, .stride = 2, .before = 1, .after = 1};
  expectConv({{.channels = 16,
               .filters = 24,
               .height = even,
               .width = odd,
               .bias = true,
               .activation = fk::Activation::silu,
               .transposed = true},
              2,
              {1, 5, 7},
              {0, 1, 1}});
  // Phases without a tap, whose elements are the bias alone; stride and dilation with a common divisor;
  // groups, and filters that no group of neighbours divides.
  expectConv({{.y = fx::f32,
               .rank = 3,
               .channels = 32,
               .filters = 14,
               .groups = 2,
               .depth = {.kernel = 1, .stride = 2},
               .height = {.kernel = 2, .stride = 4, .dilation = 2, .before = 1},
               .width = {.kernel = 5, .stride = 3, .dilation = 2, .before = 4, .after = 3},
               .bias = true,
               .transposed = true},
              2,
              {2, 3, 6},
              {1, 3, 0}});
  // Without a stride it is a convolution by filters that are turned around.
  expectConv({{.rank = 1, .channels = 8, .filters = 40, .width = kThree, .transposed = true},
              3,
              {1, 1, 21}});
  // The tail of y goes far beyond what x reaches, and much of it is left out.
  expectConv({{.rank = 1,
               .channels = 8,
               .filters = 16,
               .width = {.kernel = 3, .stride = 7, .before = 9, .after = 2},
               .transposed = true},
              1,
              {1, 1, 9},
              {0, 0, 6}});
}

TEST_CASE("transposed convolutions of integers are exact", "[run]") {
  const ConvProblem problem{.y = fx::f32,
                            .channels = 24,
                            .filters = 33,
                            .height = {.kernel = 5, .stride = 3, .before = 1},
                            .width = kOdd,
                            .bias = true,
                            .transposed = true};
  int tried = 0;
  for (const fk::GemmConfig &config : fk::configs(problem, 200))
    if (++tried <= 4)
      expectConv({problem, 2, {1, 5, 6}, {0, 2, 1}}, config, true);
  expectStructure<ConvProblem>(problem, fk::choose(problem, 60), 60);
}

TEST_CASE("transposed convolutions whose K several blocks share", "[run]") {
  // Phases of 2 x 2, 2 x 1, 1 x 2 and 1 x 1 of the 2 x 2 taps that the largest has: parts of K end
  // between taps that exist and those that do not. Also of groups, whose filters fill no piece.
  ConvProblem problem{.y = fx::f32,
                      .channels = 128,
                      .filters = 36,
                      .groups = 2,
                      .height = {.kernel = 3, .stride = 2, .before = 1},
                      .width = {.kernel = 3, .stride = 2, .after = 1},
                      .bias = true,
                      .activation = fk::Activation::relu,
                      .transposed = true};
  int tried = 0;
  for (fk::GemmConfig config : fk::configs(problem, 100)) {
    config.split_k = 2;
    if (tried == 2 || !fk::supported(problem, config))
      continue;
    ++tried;
    expectConv({problem, 2, {1, 4, 5}, {0, 1, 0}}, config, true);
  }
  CHECK(tried == 2);
  // Few elements of y of many channels: parts are chosen.
  problem = {
      .channels = 1024, .filters = 16, .width = {.kernel = 4, .stride = 2}, .transposed = true};
  const fk::GemmConfig chosen = fk::choose(problem, 12);
  CHECK(chosen.split_k > 1);
  expectConv({problem, 1, {1, 2, 2}});
  expectStructure<ConvProblem>(problem, chosen, 12);
}

TEST_CASE("taps that a phase does not have give no terms", "[run]") {
  // Infinite weights of taps that an element does not have do not make it NaN.
  const ConvProblem problem{.rank = 1,
                            .channels = 8,
                            .filters = 16,
                            .width = {.kernel = 3, .stride = 2},
                            .transposed = true};
  std::vector<double> weight(16 * 3 * 8, 1.0);
  for (std::size_t f = 0; f < 16; ++f)
    for (std::size_t c = 0; c < 8; ++c)
      weight[(f * 3 + 1) * 8 + c] = std::numeric_limits<double>::infinity();
  const Operand x = Operand::input(fx::bf16, 4, 8, Values(32, 1.0)),
                filters = Operand::input(fx::bf16, 16, 24, weight),
                y = Operand::output(fx::bf16, 9, 16);
  const fx::Stream stream;
  fk::ConvPlan(problem, fk::choose(problem, 9))({.x = tensorOver(x, {1, 4, 8}),
                                                 .weight = tensorOver(filters, {16, 3, 8}),
                                                 .y = tensorOver(y, {1, 9, 16})},
                                                stream);
  stream.synchronize();
  const Values values = y.values();
  for (std::size_t at = 0; at < 9; ++at)
    // Odd elements have tap 1 alone; even ones tap 0, tap 2, or both.
    CHECK(values[at * 16] == (at % 2               ? std::numeric_limits<double>::infinity()
                              : at == 0 || at == 8 ? 8.0
                                                   : 16.0));
}

TEST_CASE("convolutions of integers are exact", "[run]") {
  const ConvProblem problem{
      .y = fx::f32, .channels = 24, .filters = 33, .height = kOdd, .width = kThree, .bias = true};
  // Each configuration that is listed; the K of 216 ends inside of a step.
  for (const fk::GemmConfig &config : fk::configs(problem, 100))
    expectConv({problem, 3, {1, 9, 10}}, config, true);
  ConvProblem bytes = problem;
  bytes.x = bytes.weight = fx::i8;
  bytes.channels = 32;
  expectConv({bytes, 2, {1, 9, 10}}, {}, true);
}

TEST_CASE("convolutions whose K several blocks share", "[run]") {
  // Of 4 taps and a multiple of them: parts end inside of a tap and between taps.
  ConvProblem problem{.y = fx::f32,
                      .channels = 96,
                      .filters = 36,
                      .groups = 2,
                      .height = {.kernel = 2, .before = 1},
                      .width = {.kernel = 2, .stride = 2, .after = 1},
                      .bias = true,
                      .activation = fk::Activation::relu};
  int tried = 0;
  for (fk::GemmConfig config : fk::configs(problem, 40))
    for (const int parts : {2, 3}) {
      config.split_k = parts;
      if (tried == 3 || !fk::supported(problem, config))
        continue;
      ++tried;
      expectConv({problem, 2, {1, 5, 7}}, config, true);
    }
  CHECK(tried == 3);
  // A few elements of y and many channels: parts are chosen, and they do not change what is computed.
  problem = {.channels = 1024, .filters = 16, .width = kThree};
  const fk::GemmConfig chosen = fk::choose(problem, 12);
  CHECK(chosen.split_k > 1);
  expectConv({problem, 1, {1, 3, 4}});
  expectStructure<ConvProblem>(problem, chosen, 12);
}

TEST_CASE("convolutions of 8-bit floats", "[run]") {
  const fx::Target target = fx::Device::current().target();
  for (const fx::DType type : {fx::DType(fx::f8E4M3FN), fx::DType(fx::f8E4M3FNUZ)}) {
    const ConvProblem problem{
        .x = type, .weight = type, .channels = 32, .filters = 32, .height = kThree, .width = kOdd};
    if (!fk::supported(problem, target))
      continue;
    expectConv({problem, 1, {1, 6, 9}});
    // With scales of tensors, and of each filter; also of groups, of parts of K, and transposed.
    ConvProblem scaled = problem;
    scaled.scale_x = fk::Scales::per_tensor;
    scaled.scale_weight = fk::Scales::per_row;
    scaled.groups = 2;
    scaled.bias = true;
    expectConv({scaled, 2, {1, 6, 9}});
    scaled.transposed = true;
    expectConv({scaled, 1, {1, 6, 9}});
    ConvProblem deep{.x = type, .weight = type, .channels = 2048, .filters = 16, .width = kThree};
    deep.scale_x = deep.scale_weight = fk::Scales::per_tensor;
    CHECK(fk::choose(deep, 12).split_k > 1);
    expectConv({deep, 1, {1, 3, 4}});
    // Waves that share K multiply half of a step each, by the longest instruction for that. (A
    // product would take one for the whole step: gfx950 has one of 128.)
    const fk::GemmConfig sliced{.tile_m = 32,
                                .tile_n = 64,
                                .tile_k = 128,
                                .threads = 256,
                                .loop = fk::GemmLoop::ring,
                                .waves_k = 2};
    INFO(fk::supported(deep, sliced, target).why);
    CHECK(fk::supported(deep, sliced, target));
    expectConv({deep, 1, {1, 3, 4}}, sliced);
  }
}

TEST_CASE("conv: another run, a graph, a file", "[run]") {
  const ConvProblem problem{.channels = 16, .filters = 32, .height = kThree, .width = kThree};
  expectStructure<ConvProblem>(problem, fk::choose(problem, 40), 40);
}

TEST_CASE("conv says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const ConvProblem &problem) { return fk::supported(problem, target).why; };
  CHECK(why({.channels = 8}) == "filters is 0; it is 1 to 1048576");
  CHECK(why({.rank = 4, .channels = 8, .filters = 8}) == "rank is 4; it is 1 to 3");
  CHECK(why({.channels = 8, .filters = 8, .width = {.stride = 0}}) ==
        "width.stride is 0; it is 1 to 64");
  CHECK(why({.channels = 8, .filters = 8, .depth = kThree}) ==
        "depth is given, and images of rank 2 have none");
  CHECK(why({.channels = 24, .filters = 8, .groups = 3, .height = kThree}) ==
        "groups is 3; it divides channels, 24, and filters, 8");
  CHECK(why({.channels = 3, .filters = 8, .height = kThree}) ==
        "a group has 3 channels; it has a multiple of 8, because 16 bytes are loaded at a time. "
        "Pad x and the filters with zeros");
  CHECK(why({.x = fx::f32, .channels = 8, .filters = 8}) != "");
  CHECK(why({.channels = 8, .filters = 8, .groups = 8, .height = kThree}).find("depthwise_conv") !=
        std::string::npos);
  CHECK(why({.channels = 8, .filters = 8, .scale_x = fk::Scales::per_row}) ==
        "scale_x has scales of rows or blocks; a convolution takes none, or Scales::per_tensor");
  CHECK(why({.channels = 8, .filters = 8, .scale_weight = fk::Scales::mx}) ==
        "scale_weight has scales of blocks; a convolution takes none, Scales::per_tensor, or "
        "Scales::per_row, one for each filter");
  const ConvProblem problem{.channels = 16, .filters = 32, .height = kThree, .width = kThree};
  fk::GemmConfig config = fk::choose(problem, 40, target);
  config.split_k = 2;
  config.parts_sum = fk::PartsSum::last_block;
  CHECK(fk::supported(problem, config, target).why ==
        "parts_sum is last_block; a second kernel adds the parts of a convolution");
  config.parts_sum = fk::PartsSum::kernel;
  CHECK(fk::supported(problem, config, target).why.find("no multiple of split_k * tile_k") !=
        std::string::npos);
  config.waves_k = 0;
  CHECK(fk::supported(problem, config, target).why.find("waves_k is 0; it divides the waves") !=
        std::string::npos);

  const fk::ConvPlan plan(problem, fk::choose(problem, 40));
  Operands<ConvProblem> operands(problem, plan.config(), 40);
  const auto message = [&](const auto &change) {
    fk::ConvArgs args = operands.args();
    change(args);
    return messageOf([&] { plan(args); });
  };
  using A = fk::ConvArgs;
  expectPart(message([](A &a) {
               a.x = fx::tensor(a.x.data(), fx::bf16, {1, 40, 16});
             }),
             "x has 3 modes; a convolution of rank 2 takes 4");
  expectPart(message([](A &a) { a.y = a.x; }), "y has the shape");
  expectPart(message([](A &a) { a.weight = a.x; }), "weight has the shape");
  expectPart(message([](A &a) { a.bias = a.x; }),
             "bias is given, and the problem does not have it");
  const ConvProblem square{.channels = 16, .filters = 16, .height = kThree, .width = kThree};
  const fk::ConvPlan inPlace(square, fk::choose(square, 40));
  Operands<ConvProblem> ofSquare(square, inPlace.config(), 40);
  fk::ConvArgs shared = ofSquare.args();
  shared.y = shared.x;
  expectPart(messageOf([&] { inPlace(shared); }), "y shares memory with x");
  // Also if x has gaps between its elements.
  const std::vector<std::int64_t> shape(shared.x.shape().begin(), shared.x.shape().end());
  shared.x = fx::tensor(shared.x.data(), fx::bf16, shape,
                        {32 * shape[1] * shape[2], 32 * shape[2], 32, 1});
  expectPart(messageOf([&] { inPlace(shared); }), "y shares memory with x");
  const ConvProblem narrow{.channels = 16, .filters = 32, .height = {.kernel = 5}};
  const fk::ConvPlan other(narrow, fk::choose(narrow, 40));
  expectPart(messageOf([&] { other(operands.args()); }),
             "height of x is 1; with its zeros it is at least the 5 elements");
  const ConvProblem deep{.channels = 1024, .filters = 16, .width = kThree};
  const fk::ConvPlan split(deep, fk::choose(deep, 12));
  Operands<ConvProblem> ofDeep(deep, split.config(), 12);
  fk::ConvArgs without = ofDeep.args();
  without.workspace.reset();
  expectPart(messageOf([&] { split(without); }), "workspace");
  // Lines of 640 MiB, where a tile reads 3 together; and images of more than 1 GiB whose modes are
  // not nested, so that no element is the first of a tile's.
  expectPart(
      message([](A &a) {
        a.x = fx::tensor(a.x.data(), fx::bf16, {1, 4, 64, 16}, {5ll << 28, 5ll << 26, 16, 1});
      }),
      "the images of a tile of y");
  expectPart(message([](A &a) {
               a.x = fx::tensor(a.x.data(), fx::bf16, {1, 64, 64, 16}, {1ll << 30, 16, 1 << 24, 1});
             }),
             "the images of a tile of y");
  // Of a large image as convolutions have it, y is what does not fit.
  expectPart(message([](A &a) {
               a.x = fx::tensor(a.x.data(), fx::bf16, {1, 8192, 8192, 16});
             }),
             "y has the shape");
}

TEST_CASE("convolutions of images that span more than 4 GiB", "[.large]") {
  // Images at a stride of 480 MiB. Only what is used is touched. It runs without checks, whose notes of the
  // memory take as much memory again.
  const ConvProblem problem{.y = fx::f32,
                            .channels = 16,
                            .filters = 32,
                            .height = kThree,
                            .width = {.kernel = 3, .stride = 2, .before = 1}};
  const std::int64_t images = 10, ofImage = 5 * 9 * 16, apart = std::int64_t(240) << 20;
  for (const bool transposed : {false, true}) {
    ConvProblem own = problem;
    own.transposed = transposed;
    const Run run{own, images, {1, 5, 9}};
    const Image out = outputsOf(run);
    const std::int64_t m = images * out[1] * out[2];
    fk::reference::Inputs inputs{{"x", integers(images * ofImage, 1, -3, 3)},
                                 {"weight", integers(32 * 9 * 16, 2, -3, 3)}};
    const fx::DeviceArray<fx::bfloat16_t> x({(images - 1) * apart + ofImage});
    const std::vector<std::uint8_t> bytes = fk::host::encode(fx::bf16, inputs.at("x"));
    const std::size_t size = std::size_t(ofImage) * 2;
    for (std::int64_t i = 0; i < images; ++i)
      REQUIRE(HIP(hipMemcpy)(const_cast<fx::bfloat16_t *>(x.data()) + i * apart,
                             bytes.data() + std::size_t(i) * size, size,
                             hipMemcpyHostToDevice) == hipSuccess);
    const Operand weight = Operand::input(fx::bf16, 32, 9 * 16, inputs.at("weight")),
                  y = Operand::output(fx::f32, m, 32);
    const fx::Stream stream;
    int tried = 0;
    // Tiles of 16 rows have rows of one image or of two, which span less than 1 GiB.
    for (const fk::GemmConfig &config : fk::configs(own, m)) {
      if (config.tile_m > 16)
        continue;
      ++tried;
      fk::ConvPlan(own, config)({.x = fx::tensor(const_cast<fx::bfloat16_t *>(x.data()), fx::bf16,
                                                 {images, 5, 9, 16}, {apart, 9 * 16, 16, 1}),
                                 .weight = tensorOver(weight, {32, 3, 3, 16}),
                                 .y = tensorOver(y, {images, out[1], out[2], 32})},
                                stream);
      stream.synchronize();
      CHECK(y.values() == fk::reference::convolved(own, images, {1, 5, 9}, out, inputs).values);
    }
    CHECK(tried > 0);
  }
}

TEST_CASE("convolutions of images of more than 2 GiB each", "[.large]") {
  // What is used lies in lines, planes or images that are 256 MiB apart; the rest is never touched. What
  // is not to be read is looked for 1 GiB after the first element of a tile, where there are elements.
  constexpr std::int64_t apart = std::int64_t(128) << 20; // elements of bf16
  struct Large {
    std::int64_t images;
    Image in;
    int rank;
  };
  // Tiles of 16 rows: a line each, or ends and starts of lines; and of images, where they go from one to
  // the next.
  for (const auto &[images, in, rank] :
       {Large{1, {1, 1, 9 * 16}, 1}, Large{1, {1, 11, 16}, 2}, Large{2, {1, 6, 17}, 2},
        Large{1, {11, 4, 5}, 3}, Large{3, {5, 3, 5}, 3}})
    for (const bool transposed : {false, true}) {
      ConvProblem problem{.y = fx::f32, .rank = rank, .channels = 16, .filters = 32};
      problem.transposed = transposed;
      const ConvAxis near{.kernel = 2, .before = 1};
      if (rank == 3)
        problem.depth = near;
      if (rank >= 2)
        problem.height = rank == 2 ? near : kThree;
      problem.width = kThree;
      INFO(rank << " " << images << " " << transposed);
      // The outermost dimension is far apart; in one dimension, 16 elements together are.
      const std::int64_t planes = rank == 3   ? in[0]
                                  : rank == 2 ? in[1]
                                              : in[2],
                         each = in[0] * in[1] * in[2] / planes * 16;
      const Run run{problem, images, in};
      const Image out = outputsOf(run);
      const std::int64_t m = images * out[0] * out[1] * out[2],
                         distance = rank == 1 ? apart / 16 : apart, k = problem.taps() * 16;
      fk::reference::Inputs inputs{{"x", integers(images * planes * each, 1, 1, 3)},
                                   {"weight", integers(32 * k, 2, -3, 3)}};
      const fx::DeviceArray<fx::bfloat16_t> x({images * planes * distance});
      const std::vector<std::uint8_t> bytes = fk::host::encode(fx::bf16, inputs.at("x"));
      for (std::int64_t i = 0; i < images * planes; ++i)
        REQUIRE(HIP(hipMemcpy)(const_cast<fx::bfloat16_t *>(x.data()) + i * distance,
                               bytes.data() + std::size_t(i * each * 2), std::size_t(each) * 2,
                               hipMemcpyHostToDevice) == hipSuccess);
      std::vector<std::int64_t> strides{planes * distance, distance};
      if (rank == 3)
        strides.push_back(in[2] * 16);
      if (rank >= 2)
        strides.push_back(16);
      strides.push_back(1);
      Image taps{problem.depth.kernel, problem.height.kernel, problem.width.kernel};
      const Operand weight = Operand::input(fx::bf16, 32, k, inputs.at("weight")),
                    y = Operand::output(fx::f32, m, 32);
      const fx::Stream stream;
      int tried = 0;
      for (const fk::GemmConfig &config : fk::configs(problem, m)) {
        if (config.tile_m > 16 || tried == 1)
          continue;
        const fk::ConvPlan plan(problem, config);
        const fk::ConvArgs args{.x = fx::tensor(const_cast<fx::bfloat16_t *>(x.data()), fx::bf16,
                                                extentsOf(rank, images, in, 16), strides),
                                .weight = tensorOver(weight, extentsOf(rank, 32, taps, 16)),
                                .y = tensorOver(y, extentsOf(rank, images, out, 32))};
        // A transposed convolution does not go from one far image to the next.
        if (transposed && images > 1) {
          expectPart(messageOf([&] { plan(args, stream); }), "the images of a tile of y");
          tried = 1;
          continue;
        }
        plan(args, stream);
        stream.synchronize();
        ++tried;
        CHECK(y.values() == fk::reference::convolved(problem, images, in, out, inputs).values);
      }
      CHECK(tried == 1);
    }
}

TEST_CASE("zeros around images of a batch of more than 1 GiB", "[.large]") {
  // 1 GiB after each image is another one, whose elements are no zeros.
  const ConvProblem problem{
      .y = fx::f32, .channels = 16, .filters = 32, .height = kThree, .width = kThree};
  constexpr std::int64_t images = 6, apart = std::int64_t(128) << 20, ofImage = 4 * 4 * 16;
  fk::reference::Inputs inputs{{"x", integers(images * ofImage, 1, 1, 3)},
                               {"weight", integers(32 * 9 * 16, 2, -3, 3)}};
  const fx::DeviceArray<fx::bfloat16_t> x({images * apart});
  const std::vector<std::uint8_t> bytes = fk::host::encode(fx::bf16, inputs.at("x"));
  for (std::int64_t i = 0; i < images; ++i)
    REQUIRE(HIP(hipMemcpy)(const_cast<fx::bfloat16_t *>(x.data()) + i * apart,
                           bytes.data() + std::size_t(i * ofImage * 2), std::size_t(ofImage) * 2,
                           hipMemcpyHostToDevice) == hipSuccess);
  const Operand weight = Operand::input(fx::bf16, 32, 9 * 16, inputs.at("weight")),
                y = Operand::output(fx::f32, images * 16, 32);
  const fx::Stream stream;
  fk::GemmConfig config = fk::choose(problem, 16);
  REQUIRE(config.tile_m == 16);
  fk::ConvPlan(problem, config)({.x = fx::tensor(const_cast<fx::bfloat16_t *>(x.data()), fx::bf16,
                                                 {images, 4, 4, 16}, {apart, 4 * 16, 16, 1}),
                                 .weight = tensorOver(weight, {32, 3, 3, 16}),
                                 .y = tensorOver(y, {images, 4, 4, 32})},
                                stream);
  stream.synchronize();
  CHECK(y.values() ==
        fk::reference::convolved(problem, images, {1, 4, 4}, {1, 4, 4}, inputs).values);
}

TEST_CASE("zeros around an image times infinite weights are no numbers", "[run]") {
  // The zeros are terms of the sum, as torch's are: 0 times infinity. Elements whose windows lie
  // inside of the image have infinite sums.
  const ConvProblem problem{.rank = 1, .channels = 8, .filters = 16, .width = kThree};
  std::vector<double> weight(16 * 3 * 8, 1.0);
  for (std::size_t f = 0; f < 16; ++f)
    weight[f * 3 * 8] = std::numeric_limits<double>::infinity();
  const Operand x = Operand::input(fx::bf16, 5, 8, Values(40, 1.0)),
                filters = Operand::input(fx::bf16, 16, 24, weight),
                y = Operand::output(fx::bf16, 5, 16);
  const fx::Stream stream;
  fk::ConvPlan(problem, fk::choose(problem, 5))({.x = tensorOver(x, {1, 5, 8}),
                                                 .weight = tensorOver(filters, {16, 3, 8}),
                                                 .y = tensorOver(y, {1, 5, 16})},
                                                stream);
  stream.synchronize();
  const Values values = y.values();
  CHECK(std::isnan(values[0])); // tap 0 of element 0 is before the image
  for (std::size_t at = 1; at < 5; ++at)
    CHECK(values[at * 16] == std::numeric_limits<double>::infinity());
}

TEST_CASE("filters of 8-bit floats that are no numbers stay by themselves", "[run]") {
  // K, 96, ends inside of what the longest instruction multiplies: zeros follow it there, and not
  // the next filter.
  for (const fx::DType type : {fx::DType(fx::f8E4M3FN), fx::DType(fx::f8E4M3FNUZ)}) {
    const ConvProblem problem{
        .x = type, .weight = type, .rank = 1, .channels = 32, .filters = 16, .width = kThree};
    if (!fk::supported(problem, fx::Device::current().target()))
      continue;
    std::vector<double> weight(16 * 3 * 32, 1.0);
    std::fill_n(weight.begin() + 3 * 32, 3 * 32, std::numeric_limits<double>::quiet_NaN());
    const Operand x = Operand::input(type, 5, 32, Values(5 * 32, 1.0)),
                  filters = Operand::input(type, 16, 3 * 32, weight),
                  y = Operand::output(fx::bf16, 5, 16);
    for (const fk::GemmConfig &config : fk::configs(problem, 5)) {
      if (config != fk::choose(problem, 5) && config.tile_m > 16)
        continue;
      const fk::ConvPlan plan(problem, config);
      const fx::DeviceArray<std::uint8_t> workspace({std::int64_t(plan.workspace_bytes(5))});
      const fx::Stream stream;
      plan({.x = tensorOver(x, {1, 5, 32}),
            .weight = tensorOver(filters, {16, 3, 32}),
            .y = tensorOver(y, {1, 5, 16}),
            .workspace = workspace.tensor()},
           stream);
      stream.synchronize();
      const Values values = y.values();
      for (std::size_t at = 0; at < 5; ++at) {
        CHECK(values[at * 16] == (at == 0 || at == 4 ? 64 : 96));
        CHECK(std::isnan(values[at * 16 + 1]));
        CHECK(values[at * 16 + 2] == values[at * 16]);
      }
    }
  }
}

TEST_CASE("a transposed convolution says what it does not support") {
  const ConvProblem problem{.rank = 1,
                            .channels = 16,
                            .filters = 32,
                            .width = {.kernel = 3, .stride = 2, .before = 1, .after = 1},
                            .transposed = true};
  fk::GemmConfig config = fk::choose(problem, 40);
  const fk::ConvPlan plan(problem, config);
  Operands<ConvProblem> operands(problem, plan.config(), 40);
  const auto message = [&](std::int64_t ofX, std::int64_t ofY, int modes = 3) {
    fk::ConvArgs args = operands.args();
    args.x = fx::tensor(args.x.data(), fx::bf16, {1, ofX, 16});
    args.y = modes == 3 ? fx::tensor(args.y.data(), fx::bf16, {1, ofY, 32})
                        : fx::tensor(args.y.data(), fx::bf16, {ofY, 32});
    return messageOf([&] { plan(args); });
  };
  expectPart(message(4, 6), "width of y is 6; for 4 of x it is 7 to 8");
  expectPart(message(4, 9), "width of y is 9; for 4 of x it is 7 to 8");
  expectPart(message(4, 7, 2), "y has 2 modes; a convolution of rank 1 takes 3");
  expectPart(message(0, 7), "width of x is 0; it is 1 to 33554431");
  ConvProblem none = problem;
  none.width = {.kernel = 1, .before = 2, .after = 3};
  const fk::ConvPlan left(none, fk::choose(none, 8));
  fk::ConvArgs args = operands.args();
  args.x = fx::tensor(args.x.data(), fx::bf16, {1, 4, 16});
  expectPart(messageOf([&] { left(args); }), "before and after leave out 5 of 4");
}

TEST_CASE("conv refuses images that the offsets of a tile do not reach") {
  const ConvProblem problem{.channels = 8, .filters = 16, .height = kThree, .width = kThree};
  const std::int64_t stride = 3ll << 29; // elements
  const fk::ConvPlan plan(problem, fk::choose(problem, 8));
  Operands<ConvProblem> operands(problem, plan.config(), 8);
  fk::ConvArgs args = operands.args();
  args.x = fx::tensor(args.x.data(), fx::bf16, {2, 4, 5, 8}, {stride, 40, 8, 1});
  args.y = fx::tensor(args.y.data(), fx::bf16, {2, 4, 5, 16});
  const std::string text = messageOf([&] { plan(args); });
  INFO(text);
  // A tile that has rows of two such images is refused, in words.
  CHECK(text.find("the images of a tile of y") != std::string::npos);
}
