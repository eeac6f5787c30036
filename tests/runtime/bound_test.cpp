// Compiled kernels whose constants are bound: calls that take run-time parameters alone.
#include "fake.h"
#include "fake_params.h"

#include <flydsl/host/device_array.h>

#include <catch2/catch.hpp>

#include <string>

namespace fx = flydsl;
using Catch::Contains;

namespace {

struct Tile {
  int m = 16, n = 32;
};
template <class Side> struct Params {
  fx::Param<Side, FakeTensor> x;
  fx::Param<Side, std::optional<FakeTensor>> bias = {};
  fx::Param<Side, fx::Constexpr<int>> mode;
  fx::Param<Side, FakeInt32> count;
};

/// Constants before, between and after what a call passes.
const fx::Kernel kernel{"bound", [](fx::Constexpr<std::string>, FakeTensor, fx::Constexpr<Tile>,
                                    FakeInt32, std::array<FakeStatic, 2>, FakeStatic) {}};
using Bound = fx::CompiledKernel<void(FakeTensor, FakeInt32)>;

const fx::Kernel ofStruct{"bound_struct", [](fx::Constexpr<Tile>, Params<fx::OnDevice>) {}};

template <class T> T argument(const FakeLaunch &launch, std::size_t at) {
  T value;
  std::memcpy(&value, launch.arguments.data() + at, sizeof value);
  return value;
}
std::string refusal(auto &&call) {
  const std::size_t launches = fake().launches.size();
  try {
    std::forward<decltype(call)>(call)();
  } catch (const fx::TraceError &error) {
    CHECK_THAT(error.where().file, Contains("bound_test.cpp"));
    CHECK(fake().launches.size() == launches);
    return error.what();
  }
  return "no error";
}

} // namespace

TEST_CASE("a bound kernel's calls take its run-time parameters alone") {
  fx::DeviceArray<float> x({8});
  const std::array statics{FakeStatic{1}, FakeStatic{2}};
  auto compiled = kernel(std::string("a long text"), x, Tile{}, 1, statics, FakeStatic{3})
                      .compile({.block = 64});
  const Bound bound = compiled.bound();
  CHECK(bound.name() == compiled.name());
  const int builds = fakeBuild().builds;
  bound(x, 5).launch({.grid = 3, .block = 64});
  const FakeLaunch ofBound = fake().launches.back();
  compiled(std::string("a long text"), x, Tile{}, 5, statics, FakeStatic{3})
      .launch({.grid = 3, .block = 64});
  CHECK(ofBound.arguments == fake().launches.back().arguments);
  CHECK(argument<float *>(ofBound, 0) == x.data());
  CHECK(fakeBuild().builds == builds);
  // It loads nothing of its own, and binding it again changes nothing.
  bound.bound()(x, 6).launch({.block = 64});
}

TEST_CASE("a bound kernel refuses other types, tensors that are gone, and other blocks") {
  fx::DeviceArray<float> x({8});
  fx::DeviceArray<int> wrong({8});
  const std::array statics{FakeStatic{1}, FakeStatic{2}};
  const Bound bound = kernel(std::string("text"), x, Tile{}, 1, statics, FakeStatic{3})
                          .compile({.block = 64})
                          .bound();
  CHECK_THAT(refusal([&] { bound(wrong, 1).launch({.block = 64}); }),
             Contains("argument 0 is tensor<i32, ?:1>") &&
                 Contains("compiled for tensor<f32, ?:1>"));
  CHECK_THAT(refusal([&] { bound(x, std::int64_t{1} << 40).launch({.block = 64}); }),
             Contains("argument 1: the integer is out of the parameter's range"));
  CHECK_THAT(refusal([&] {
               bound(fx::tensor(static_cast<float *>(nullptr), {8}), 1).launch({.block = 64});
             }),
             Contains("argument 0: the tensor's pointer is null"));
  CHECK_THAT(refusal([&] { bound(x, 1).launch({.block = 128}); }),
             Contains("the block (128, 1, 1)"));
}

TEST_CASE(
    "a bound kernel takes a struct whole, and compares its constants and what it leaves out") {
  fx::DeviceArray<float> x({8});
  auto bound =
      ofStruct(Tile{}, {.x = x, .bias = x, .mode = 3, .count = 1}).compile({.block = 64}).bound();
  bound({.x = x, .bias = x, .mode = 3, .count = 7}).launch({.block = 64});
  CHECK_THAT(refusal([&] { bound({.x = x, .mode = 3, .count = 7}).launch({.block = 64}); }),
             Contains("leaf argument 1 is an argument that is left out, it was compiled for an "
                      "argument that is given"));
  CHECK_THAT(
      refusal([&] { bound({.x = x, .bias = x, .mode = 4, .count = 7}).launch({.block = 64}); }),
      Contains("leaf argument 2 is constant 4, it was compiled for constant 3"));
}

TEST_CASE("of two optional arguments the one that is given is not taken for the other") {
  fx::Kernel two{"two_optional",
                 [](std::optional<FakeTensor>, std::optional<FakeTensor>, fx::Constexpr<int>) {}};
  fx::DeviceArray<float> x({8});
  auto bound = two(x, std::nullopt, 1).compile({.block = 64}).bound();
  bound(x, std::nullopt).launch({.block = 64});
  CHECK_THAT(refusal([&] { bound(std::nullopt, x).launch({.block = 64}); }), Contains("left out"));
}

TEST_CASE("what a bound kernel takes is known while compiling") {
  static_assert(std::is_same_v<
                decltype(std::declval<fx::CompiledKernel<void(fx::Constexpr<int>, FakeStatic)>>()
                             .bound()),
                fx::CompiledKernel<void()>>);
  static_assert(
      std::is_same_v<decltype(std::declval<fx::CompiledKernel<void(
                                  std::array<fx::Constexpr<int>, 2>, std::array<FakeTensor, 2>)>>()
                                  .bound()),
                     fx::CompiledKernel<void(std::array<FakeTensor, 2>)>>);
  SUCCEED();
}
