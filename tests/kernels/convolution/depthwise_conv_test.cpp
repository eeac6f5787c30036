// Depthwise convolutions against their definition in double precision.
#include "convolution/images.h"
#include "reference/conv.h"
#include "support/structure.h"

#include <flydsl/kernels/conv/depthwise_conv.h>

using namespace kernel_tests;

namespace {

using fk::ConvAxis, fk::DepthwiseConvProblem;

struct Run {
  DepthwiseConvProblem problem;
  std::int64_t images;
  Image in;
  Image more = {}; ///< elements of y beyond the fewest, of a transposed convolution
};

/// Runs a convolution whose pixels have gaps of NaNs between them, and compares.
void expectConv(const Run &run, std::optional<fk::DepthwiseConvConfig> given = {},
                bool exact = false) {
  const DepthwiseConvProblem &problem = run.problem;
  const ConvAxis axes[] = {problem.depth, problem.height, problem.width};
  Image out, taps;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    out[axis] = problem.transposed ? axes[axis].inputs(run.in[axis]) + run.more[axis]
                                   : axes[axis].outputs(run.in[axis]);
    taps[axis] = axes[axis].kernel;
  }
  const std::int64_t pixels = run.images * run.in[0] * run.in[1] * run.in[2],
                     m = run.images * out[0] * out[1] * out[2], gap = 16;
  const int filters = problem.filters();
  const fk::DepthwiseConvConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const auto numbers = [&](fx::DType type, std::int64_t count, std::uint64_t seed) {
    return exact ? integers(count, seed, -3, 3) : uniform(type, count, seed);
  };
  fk::reference::Inputs inputs{{"x", numbers(problem.x, pixels * problem.channels, 1)},
                               {"weight", numbers(problem.weight, problem.taps() * filters, 2)}};
  if (problem.bias)
    inputs["bias"] = numbers(problem.y, filters, 3);
  const Operand x = Operand::input(problem.x, pixels, problem.channels, inputs.at("x"), gap),
                weight =
                    Operand::input(problem.weight, problem.taps(), filters, inputs.at("weight")),
                bias = Operand::input(problem.y, 1, problem.bias ? filters : 0,
                                      problem.bias ? inputs.at("bias") : Values{}),
                y = Operand::output(problem.y, m, filters);
  std::vector<std::int64_t> ofWeight = extentsOf(problem.rank, 1, taps, filters);
  ofWeight.erase(ofWeight.begin());
  fk::DepthwiseConvArgs args{
      .x = tensorOver(x, extentsOf(problem.rank, run.images, run.in, problem.channels), gap),
      .weight = tensorOver(weight, ofWeight),
      .y = tensorOver(y, extentsOf(problem.rank, run.images, out, filters))};
  if (problem.bias)
    args.bias = bias.vector();
  const fx::Stream stream;
  fk::DepthwiseConvPlan(problem, config)(args, stream);
  stream.synchronize();
  fk::reference::Expected expected =
      fk::reference::convolved(problem, run.images, run.in, out, inputs);
  if (exact)
    std::fill(expected.bound.begin(), expected.bound.end(), 0.0);
  expectWithin(y.values(), expected.values, expected.bound);
}

constexpr ConvAxis kThree{.kernel = 3, .before = 1, .after = 1};
constexpr ConvAxis kOdd{.kernel = 3, .stride = 2, .dilation = 3, .before = 4, .after = 1};

} // namespace

TEST_CASE("depthwise convolutions of one, two and three dimensions", "[run]") {
  expectConv({{.channels = 24, .height = kThree, .width = kThree, .bias = true}, 2, {1, 6, 9}});
  expectConv({{.x = fx::f16,
               .weight = fx::f32,
               .y = fx::f32,
               .rank = 1,
               .channels = 20,
               .width = kOdd,
               .bias = true,
               .activation = fk::Activation::silu},
              3,
              {1, 1, 29}});
  expectConv({{.rank = 3,
               .channels = 16,
               .depth = {.kernel = 2, .after = 1},
               .height = kOdd,
               .width = {.kernel = 5, .before = 2, .after = 2}},
              2,
              {3, 8, 5}});
  // Channels that no vector divides; more channels than a block has threads for; no zeros around x.
  expectConv({{.channels = 13, .height = kThree, .width = kThree}, 2, {1, 4, 5}});
  expectConv({{.rank = 1, .channels = 2056, .width = {.kernel = 4}}, 2, {1, 1, 9}});
  // Seven taps by seven, as of ConvNeXt: more lines than are under way together.
  expectConv({{.channels = 8,
               .height = {.kernel = 7, .before = 3, .after = 3},
               .width = {.kernel = 7, .before = 3, .after = 3},
               .bias = true},
              1,
              {1, 9, 10}});
}

TEST_CASE("depthwise convolutions with several filters of a channel", "[run]") {
  for (const int multiplier : {2, 3, 5})
    expectConv({{.channels = 16,
                 .multiplier = multiplier,
                 .height = kThree,
                 .width = kOdd,
                 .bias = true,
                 .activation = fk::Activation::relu},
                1,
                {1, 5, 11}});
  expectConv({{.rank = 1, .channels = 3, .multiplier = 64, .width = kThree}, 2, {1, 1, 7}});
}

TEST_CASE("transposed depthwise convolutions", "[run]") {
  expectConv({{.channels = 16,
               .height = {.kernel = 4, .stride = 2, .before = 1, .after = 1},
               .width = {.kernel = 3, .stride = 2, .before = 1, .after = 1},
               .bias = true,
               .transposed = true},
              2,
              {1, 5, 7},
              {0, 1, 1}});
  expectConv({{.y = fx::f32,
               .rank = 3,
               .channels = 6,
               .multiplier = 2,
               .depth = {.kernel = 1, .stride = 2},
               .height = {.kernel = 2, .stride = 4, .dilation = 2, .before = 1},
               .width = {.kernel = 5, .stride = 3, .dilation = 2, .before = 4, .after = 3},
               .transposed = true},
              2,
              {2, 3, 6},
              {1, 3, 0}});
}

TEST_CASE("depthwise convolutions of integers are exact", "[run]") {
  DepthwiseConvProblem problem{
      .y = fx::f32, .channels = 24, .height = kOdd, .width = kThree, .bias = true};
  for (const fk::DepthwiseConvConfig &config : fk::configs(problem, 100))
    expectConv({problem, 2, {1, 7, 10}}, config, true);
  problem.transposed = true;
  problem.multiplier = 2;
  expectConv({problem, 2, {1, 5, 6}, {0, 1, 0}}, {}, true);
}

TEST_CASE("depthwise conv: another run, a graph, a file", "[run]") {
  const DepthwiseConvProblem problem{.channels = 16, .height = kThree, .width = kThree};
  expectStructure<DepthwiseConvProblem>(problem, fk::choose(problem, 40), 40);
}

TEST_CASE("runs of a depthwise convolution are shorter where y has few elements") {
  const DepthwiseConvProblem problem{.channels = 64, .height = kThree, .width = kThree};
  const fk::DepthwiseConvConfig config = fk::choose(problem, 1 << 20);
  CHECK(config.channels == 8);
  CHECK(config.outputs == 4);
  CHECK(fk::choose(problem, 100).outputs == 1);
}

TEST_CASE("depthwise conv says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const DepthwiseConvProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({}) == "channels is 0; it is 1 to 1048576");
  CHECK(why({.rank = 4, .channels = 8}) == "rank is 4; it is 1 to 3");
  CHECK(why({.channels = 8, .multiplier = 65}) == "multiplier is 65; it is 1 to 64");
  CHECK(why({.channels = 8, .width = {.stride = 0}}) == "width.stride is 0; it is 1 to 64");
  CHECK(why({.channels = 8, .depth = kThree}) == "depth is given, and images of rank 2 have none");
  CHECK(why({.x = fx::i8, .channels = 8}) != "");
  const DepthwiseConvProblem problem{.channels = 16, .height = kThree, .width = kThree};
  const auto whyNot = [&](const fk::DepthwiseConvConfig &config) {
    return fk::supported(problem, config, target).why;
  };
  CHECK(whyNot({.channels = 16}) == "channels is 16 of a thread; it is a power of two up to 8");
  CHECK(whyNot({.channels = 3}) == "channels is 3 of a thread; it is a power of two up to 8");
  CHECK(whyNot({.outputs = 3}) == "outputs is 3; it is a power of two up to 16");
  CHECK(whyNot({.outputs = 16}) == "a thread has 128 sums; it has at most 64");
  CHECK(whyNot({.block = 32}) == "block is 32; it is a multiple of 64 up to 1024");

  const fk::DepthwiseConvPlan plan(problem, fk::choose(problem, 40));
  Operands<DepthwiseConvProblem> operands(problem, plan.config(), 40);
  const auto message = [&](const auto &change) {
    fk::DepthwiseConvArgs args = operands.args();
    change(args);
    return messageOf([&] { plan(args); });
  };
  using A = fk::DepthwiseConvArgs;
  expectPart(message([](A &a) {
               a.x = fx::tensor(a.x.data(), fx::bf16, {1, 40, 16});
             }),
             "x has 3 modes; a convolution of rank 2 takes 4");
  expectPart(message([](A &a) { a.weight = a.x; }), "weight has the shape");
  expectPart(message([](A &a) { a.y = a.x; }), "y shares memory with x");
  expectPart(message([](A &a) { a.bias = a.weight; }),
             "bias is given, and the problem does not have it");
  expectPart(message([](A &a) {
               a.x = fx::tensor(a.x.data(), fx::bf16, {1, 1, 40, 16}, {680, 680, 17, 1});
             }),
             "as many channels are moved at a time");
  // Images whose pixels the offsets of a block do not reach.
  expectPart(
      message([](A &a) {
        a.x = fx::tensor(a.x.data(), fx::bf16, {1, 8192, 8192, 16});
      }),
      "the images of a tile of y, that is 1 along n and 8192 along h and 8192 along w, spans "
      "less than 1 GiB; give each call a part of the tensor");
}
