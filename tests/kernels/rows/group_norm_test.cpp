// Group norms against the reference in double precision.
#include "support/size_sweep.h"
#include "support/structure.h"

#include <flydsl/kernels/rows/group_norm.h>

using namespace kernel_tests;

namespace {

using fk::GroupNormProblem;
using fk::ImageLayout;

constexpr ImageLayout kLayouts[] = {ImageLayout::channels_last, ImageLayout::channels_first};

} // namespace

TEST_CASE("group norms of all layouts and types", "[run]") {
  SweepCounts counts;
  const auto expect = [&](const GroupNormProblem &problem, std::int64_t m,
                          fk::GroupNormConfig config = {.block = 64}) {
    runOnce(problem, config, m, counts);
  };
  for (const ImageLayout layout : kLayouts) {
    for (const fx::DType type : {fx::DType(fx::bf16), fx::DType(fx::f16), fx::DType(fx::f32)})
      for (const fk::Activation activation : {fk::Activation::none, fk::Activation::silu})
        expect({.x = type,
                .weight = fx::f32,
                .y = type,
                .channels = 64,
                .groups = 8,
                .layout = layout,
                .activation = activation,
                .row_align = layout == ImageLayout::channels_first ? 16 / type.bytes() : 0},
               2);
    // Groups of 3 channels, of one and of all; other types; no weights; a large block.
    expect({.y = fx::f32, .channels = 12, .groups = 4, .layout = layout}, 3);
    expect({.channels = 10, .groups = 10, .layout = layout, .affine = false}, 1);
    expect({.weight = fx::bf16, .channels = 24, .groups = 1, .layout = layout}, 1, {.block = 256});
    const GroupNormProblem problem{.channels = 64, .layout = layout};
    expect(problem, 1, fk::choose(problem, 1));
  }
  CHECK(counts.compared == counts.runs);
}

TEST_CASE("group norms of images whose mean is far above their deviation, with gaps, in place",
          "[run]") {
  for (const ImageLayout layout : kLayouts) {
    const bool isLast = layout == ImageLayout::channels_last;
    const GroupNormProblem problem{
        .x = fx::f32, .y = fx::f32, .channels = 8, .groups = 2, .layout = layout, .affine = false};
    constexpr std::int64_t images = 2, pixels = 50, channels = 8;
    const std::int64_t rows = isLast ? pixels : channels, columns = isLast ? channels : pixels;
    std::vector<double> values = uniform(fx::f32, images * rows * columns, 7);
    for (double &value : values)
      value = 3000 + value;
    values = decode(fx::f32, encode(fx::f32, values));
    const Operand x = Operand::both(fx::f32, images * rows, columns, values, 8);
    const fx::TensorArg tensor(x.tensor().data(), fx::f32, fx::Extents{images, rows, columns},
                               fx::Extents{rows * (columns + 8), columns + 8, 1});
    const fx::Stream stream;
    fk::GroupNormPlan(problem, {.block = 64})({.x = tensor, .y = tensor}, stream);
    stream.synchronize();
    const auto reference =
        fk::reference::expected(problem, fk::GroupNormConfig{.block = 64}, images, {{"x", values}});
    expectWithin(x.values(), reference.at("y").values, reference.at("y").bound);
  }
}

TEST_CASE("group norm: another run, a graph, a file", "[run]") {
  expectStructure<GroupNormProblem>({.channels = 32, .groups = 4}, {.block = 64}, 2);
}

TEST_CASE("group norms read an image twice and write it once", "[run]") {
  const GroupNormProblem problem{.channels = 64, .groups = 8, .affine = false};
  const auto counters = countersOf(problem, {.block = 64}, 2);
  REQUIRE(counters.size() == 1);
  const std::int64_t bytes = 2 * 36 * 64 * 2;
  CHECK(std::int64_t(counters[0]["globalBytesRead"]) == 2 * bytes);
  CHECK(std::int64_t(counters[0]["globalBytesWritten"]) == bytes);
}

TEST_CASE("group norms have a configuration for every problem that they support") {
  std::vector<GroupNormProblem> problems;
  for (int channels : {1, 3, 32, 320, 1280, 65536})
    for (const ImageLayout layout : kLayouts)
      for (int align : {0, 1, 8})
        problems.push_back(
            {.channels = channels, .groups = 1, .layout = layout, .row_align = align});
  expectTotal(problems);
}

TEST_CASE("group norms say what they do not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const GroupNormProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({.channels = 64}).empty());
  CHECK(why({.channels = 60}) == "groups is 32; it divides the 60 channels");
  CHECK(why({.channels = 64, .groups = 0}) == "groups is 0; it divides the 64 channels");
  CHECK(why({.channels = 0}) == "channels is 0; it is 1 to 65536");
  CHECK(why({.x = fx::i8, .channels = 64}) == "x is of type i8; f32, f16 and bf16 are supported");
  CHECK(why({.channels = 64, .eps = -1}) ==
        "eps is -1.000000; it is a finite number of at least 0");
  CHECK(why({.channels = 64, .row_align = 3}).find("row_align is 3") == 0);
  CHECK(fk::supported(GroupNormProblem{.channels = 64}, {.block = 96}, target).why ==
        "block is 96; it is a power of two from 64 to 1024");

  const GroupNormProblem first{.x = fx::f32,
                               .y = fx::f32,
                               .channels = 4,
                               .groups = 2,
                               .layout = ImageLayout::channels_first,
                               .affine = false,
                               .row_align = 4};
  const fk::GroupNormPlan plan(first, {.block = 64});
  const Operand x = Operand::output(fx::f32, 4, 12), weight = Operand::output(fx::f32, 1, 4);
  const auto message = [&](const fk::GroupNormArgs &args) {
    return messageOf([&] { plan(args); });
  };
  const auto images = [&](std::int64_t channels, std::int64_t pixels) {
    return fx::TensorArg(x.tensor().data(), fx::f32, fx::Extents{1, channels, pixels},
                         fx::Extents{48, 12, 1});
  };
  CHECK(message({.x = images(4, 12), .y = images(4, 12)}) == "no error");
  CHECK(message({.x = x.tensor(), .y = x.tensor()})
            .find("group_norm: x has 2 modes; it has 3, with the pixels of an image as one") !=
        std::string::npos);
  CHECK(message({.x = images(3, 12), .y = images(3, 12)})
            .find("group_norm: x has the shape (1, 3, 12); (n, channels, pixels) = (1, 4, 12) is "
                  "expected") != std::string::npos);
  CHECK(message({.x = images(4, 10), .y = images(4, 10)})
            .find("group_norm: an image has 10 pixels, no multiple of 4") != std::string::npos);
  CHECK(message({.x = images(4, 12), .weight = weight.vector(), .y = images(4, 12)})
            .find("group_norm: weight is given, and the problem does not have it") !=
        std::string::npos);
}
