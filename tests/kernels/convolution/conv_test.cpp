// Convolutions against their definition in double precision.
#include "reference/conv.h"
#include "support/structure.h"

#include <flydsl/kernels/conv.h>

using namespace kernel_tests;

namespace {

using fk::ConvAxis, fk::ConvProblem;
using Values = std::vector<double>;
using Image = std::array<std::int64_t, 3>; ///< (d, h, w); 1 where the rank has no such mode

/// The extents of a tensor of images or filters.
std::vector<std::int64_t> extentsOf(const ConvProblem &problem, std::int64_t first,
                                    const Image &image, std::int64_t last) {
  std::vector<std::int64_t> all{first};
  for (int axis = 3 - problem.rank; axis < 3; ++axis)
    all.push_back(image[std::size_t(axis)]);
  all.push_back(last);
  return all;
}
/// A contiguous tensor, or one whose last mode has `gap` elements after it.
fx::TensorArg tensorOver(const Operand &operand, const std::vector<std::int64_t> &shape,
                         std::int64_t gap = 0) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t mode = shape.size() - 1; mode > 0; --mode)
    strides[mode - 1] = mode + 1 == shape.size() ? shape[mode] + gap : strides[mode] * shape[mode];
  return fx::tensor(operand.tensor().data(), operand.dtype(), shape, strides);
}

struct Run {
  ConvProblem problem;
  std::int64_t images;
  Image in;
};

/// Runs a convolution whose pixels have gaps of NaNs between them, and compares.
void expectConv(const Run &run, std::optional<fk::GemmConfig> given = {}, bool exact = false) {
  const ConvProblem &problem = run.problem;
  const ConvAxis axes[] = {problem.depth, problem.height, problem.width};
  Image out, taps;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    out[axis] = axes[axis].outputs(run.in[axis]);
    taps[axis] = axes[axis].kernel;
  }
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
  const Operand x = Operand::input(problem.x, pixels, problem.channels, inputs.at("x"), gap),
                weight =
                    Operand::input(problem.weight, problem.filters, ofFilter, inputs.at("weight")),
                bias = Operand::input(problem.y, 1, problem.bias ? problem.filters : 0,
                                      problem.bias ? inputs.at("bias") : Values{}),
                y = Operand::output(problem.y, m, problem.filters);
  const auto bytes = static_cast<std::int64_t>(fk::workspace_bytes(problem, config, m));
  const fx::DeviceArray<std::uint8_t> workspace({std::max<std::int64_t>(bytes, 1)});
  fk::ConvArgs args{
      .x = tensorOver(x, extentsOf(problem, run.images, run.in, problem.channels), gap),
      .weight = tensorOver(
          weight, extentsOf(problem, problem.filters, taps, problem.channels / problem.groups)),
      .y = tensorOver(y, extentsOf(problem, run.images, out, problem.filters))};
  if (problem.bias)
    args.bias = bias.vector();
  if (bytes)
    args.workspace = workspace.tensor();
  const fx::Stream stream;
  fk::ConvPlan(problem, config)(args, stream);
  stream.synchronize();
  fk::reference::Expected expected = fk::reference::convolved(problem, run.images, run.in, inputs);
  if (exact)
    std::fill(expected.bound.begin(), expected.bound.end(), 0.0);
  expectWithin(y.values(), expected.values, expected.bound);
}

constexpr ConvAxis kThree{.kernel = 3, .before = 1, .after = 1};
constexpr ConvAxis kOdd{.kernel = 3, .stride = 2, .dilation = 3, .before = 4, .after = 1};

/// The shapes of FlyDSL's tests (tests/kernels/test_conv3d_implicit.py): images, channels, filters,
/// extents (d, h, w) of which 1 stands for a mode that there is not, taps, stride and padding. Channels
/// are multiples of 8 here, to which a program pads them, and extents that are long are cut so that the
/// same tails are left of tiles.
struct Shape {
  std::int64_t images;
  int channels, filters;
  Image in;
  std::array<int, 3> taps;
  int stride;
  std::array<int, 3> padding;
};
constexpr Shape kShapes[] = {
    {1, 32, 64, {8, 16, 16}, {3, 3, 3}, 1, {0, 0, 0}},
    {1, 32, 96, {5, 17, 9}, {3, 3, 3}, 1, {1, 1, 1}},
    {2, 64, 192, {3, 9, 6}, {3, 3, 3}, 1, {1, 1, 1}},
    {1, 32, 64, {10, 20, 20}, {3, 3, 3}, 2, {1, 1, 1}},
    {1, 16, 16, {6, 16, 10}, {3, 3, 3}, 1, {1, 1, 1}},
    {1, 16, 384, {4, 12, 8}, {3, 3, 3}, 1, {1, 1, 1}},
    {1, 8, 32, {4, 12, 12}, {3, 3, 3}, 1, {1, 1, 1}},
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
};

} // namespace

TEST_CASE("convolutions of FlyDSL's shapes", "[.shapes]") {
  for (const Shape &shape : kShapes) {
    ConvProblem problem{.rank = shape.in[0] > 1   ? 3
                                : shape.in[1] > 1 ? 2
                                                  : 1,
                        .channels = shape.channels,
                        .filters = shape.filters,
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
    if (fk::supported(problem, target))
      expectConv({problem, 1, {1, 6, 9}});
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
  const ConvProblem problem{.channels = 16, .filters = 32, .height = kThree, .width = kThree};
  fk::GemmConfig config = fk::choose(problem, 40, target);
  config.split_k = 2;
  config.parts_sum = fk::PartsSum::last_block;
  CHECK(fk::supported(problem, config, target).why ==
        "parts_sum is last_block; a second kernel adds the parts of a convolution");
  config.parts_sum = fk::PartsSum::kernel;
  CHECK(fk::supported(problem, config, target).why.find("no multiple of split_k * tile_k") !=
        std::string::npos);

  const fk::ConvPlan plan(problem, fk::choose(problem, 40));
  Operands<ConvProblem> operands(problem, plan.config(), 40);
  const auto message = [&](const auto &change) {
    fk::ConvArgs args = operands.args();
    change(args);
    return messageOf([&] { plan(args); });
  };
  using A = fk::ConvArgs;
  const auto has = [](const std::string &text, const char *part) {
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(message([](A &a) {
              a.x = fx::tensor(a.x.data(), fx::bf16, {1, 40, 16});
            }),
            "x has 3 modes; a convolution of rank 2 takes 4"));
  CHECK(has(message([](A &a) { a.y = a.x; }), "y has the shape"));
  CHECK(has(message([](A &a) { a.weight = a.x; }), "weight has the shape"));
  CHECK(
      has(message([](A &a) { a.bias = a.x; }), "bias is given, and the problem does not have it"));
  const ConvProblem narrow{.channels = 16, .filters = 32, .height = {.kernel = 5}};
  const fk::ConvPlan other(narrow, fk::choose(narrow, 40));
  CHECK(has(messageOf([&] { other(operands.args()); }),
            "height of x is 1; with its zeros it is at least the 5 elements"));
  const ConvProblem deep{.channels = 1024, .filters = 16, .width = kThree};
  const fk::ConvPlan split(deep, fk::choose(deep, 12));
  Operands<ConvProblem> ofDeep(deep, split.config(), 12);
  fk::ConvArgs without = ofDeep.args();
  without.workspace.reset();
  CHECK(has(messageOf([&] { split(without); }), "workspace"));
  // Images of more than 1 GiB, whose pixels a tile's offsets do not reach.
  CHECK(has(message([](A &a) {
              a.x = fx::tensor(a.x.data(), fx::bf16, {1, 8192, 8192, 16});
            }),
            "the images of a tile of y"));
}

TEST_CASE("conv refuses images that the offsets of a tile do not reach") {
  const ConvProblem problem{.channels = 8, .filters = 16, .height = kThree, .width = kThree};
  const std::int64_t stride = 3ll << 29; // elements
  const fk::ConvPlan plan(problem, fk::choose(problem, 8));
  Operands<ConvProblem> operands(problem, plan.config(), 8);
  fk::ConvArgs args = operands.args();
  args.x = fx::tensor(args.x.data(), fx::bf16, {2, 4, 4, 8}, {stride, 32, 8, 1});
  args.y = fx::tensor(args.y.data(), fx::bf16, {2, 4, 4, 16});
  const std::string text = messageOf([&] { plan(args); });
  INFO(text);
  // A tile that has rows of two such images is refused, in words.
  CHECK(text.find("the images of a tile of y") != std::string::npos);
}
