#include "fake.h"
#include "fake_params.h"

#include <flydsl/host/device_array.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;
using Catch::Contains;

namespace {
const fx::Kernel kernel{"checked", [](FakeTensor, FakeInt32) {}};

/// The message of the error that a launch throws; checks that it carries this file and a line.
template <class E = fx::TraceError>
std::string refused(const fx::TensorArg &x, std::int64_t n, const fx::LaunchConfig &config) {
  const std::size_t launches = fake().launches.size();
  try {
    kernel(x, n).launch(config);
  } catch (const E &error) {
    CHECK_THAT(error.where().file, Contains("launch_errors_test.cpp"));
    CHECK(fake().launches.size() == launches);
    return error.what();
  }
  return "no error";
}
} // namespace

TEST_CASE("arguments that can't be are refused with kernel and position") {
  fx::DeviceArray<float> x({8});
  CHECK_THAT(refused(fx::tensor(static_cast<float *>(nullptr), {8}), 1, {.block = 64}),
             Contains("kernel checked: argument 0: the tensor's pointer is null"));
  CHECK_THAT(refused(x, std::int64_t{1} << 32, {.block = 64}),
             Contains("kernel checked: argument 1: the integer is out of the parameter's range"));
}

TEST_CASE("dimensions that can't be are refused, new signature or not") {
  fx::DeviceArray<float> x({8});
  kernel(x, 1).launch({.block = 64});
  CHECK_THAT(refused(x, 1, {.grid = 0, .block = 64}),
             Contains("the grid (0, 1, 1) has a dimension below 1; with .allow_empty = true"));
  CHECK_THAT(refused(x, 1, {.grid = {1, -4}, .block = 64}), Contains("the grid (1, -4, 1)"));
  CHECK_THAT(refused(x, 1, {.grid = std::int64_t{1} << 40, .block = 64}),
             Contains("2^32 work-items"));
  CHECK_THAT(refused(x, 1, {.grid = 1u << 31, .block = 64}), Contains("2^32 work-items"));
  CHECK_THAT(refused(x, 1, {.block = 0}), Contains("the launch gives no block"));
  CHECK_THAT(refused(x, 1, {.block = {64, 0}}),
             Contains("the block (64, 0, 1) has a dimension below 1"));
  CHECK_THAT(refused(x, 1, {.block = -64}), Contains("has a dimension below 1"));
  CHECK_THAT(refused(x, 1, {.block = 1025}), Contains("the block (1025, 1, 1) has more than 1024"));
  CHECK_THAT(refused(x, 1, {.block = {64, 64}}), Contains("4096 work-items; 1024 is the most"));
  CHECK_THAT(refused(x, 1, {.block = 65536 + 64}), Contains("more than 1024"));
  CHECK_THAT(refused(x, 1, {.block = 64, .smem = 65537}),
             Contains("65537 bytes of dynamic shared memory"));
  CHECK_THAT(refused(x, 1, {.block = 64, .cluster = 2}),
             Contains("a cluster of workgroups (2, 1, 1), but gfx942") &&
                 Contains("has no clusters; leave .cluster out"));
  CHECK_THAT(refused(x, 1, {.block = 64, .cluster = {2, 0}}),
             Contains("the cluster (2, 0, 1) has a dimension below 1"));
}

TEST_CASE("dynamic shared memory counts with the kernel's own") {
  fx::Kernel own{"own_shared", [](FakeInt32) {}};
  fakeBuild().sharedBytes = 60000;
  own(1).launch({.block = 64, .smem = 5536});
  CHECK_THROWS_WITH(
      own(1).launch({.block = 64, .smem = 5537}),
      Contains("5537 bytes of dynamic shared memory and 60000 of its own are over the 65536"));
  fakeBuild().sharedBytes = 70000;
  fx::Kernel over{"over_shared", [](FakeInt32) {}};
  CHECK_THROWS_WITH(over(1).launch({.block = 64}), Contains("needs 70000 bytes of LDS"));
  fakeBuild().sharedBytes = 0;
}

TEST_CASE("dynamic shared memory that the kernel uses is asked for") {
  fx::Kernel uses{"uses_dynamic", [](FakeInt32) {}};
  fakeBuild().dynamicBytes = 1024;
  CHECK_THROWS_WITH(uses(1).launch({.block = 64}),
                    Contains("launch_errors_test.cpp") && Contains("kernel uses_dynamic") &&
                        Contains("it uses 1024 bytes of dynamic shared memory or more, the launch "
                                 "gives 0; .smem = 1024 is the least"));
  CHECK_THROWS_WITH(uses(1).launch({.block = 64, .smem = 1023}), Contains("gives 1023"));
  uses(1).launch({.block = 64, .smem = 1024});
  uses(1).launch({.block = 64, .smem = 65536});
  CHECK_THROWS_WITH(uses(1).launch({.block = 64, .smem = 65537}), Contains("over the 65536"));
  auto compiled = uses(1).compile({.block = 64});
  CHECK_THROWS_WITH(compiled(1).launch({}), Contains(".smem = 1024 is the least"));
  fakeBuild().sharedBytes = 65000;
  fx::Kernel never{"never", [](FakeInt32) {}};
  CHECK_THROWS_WITH(never(1).launch({.block = 64, .smem = 1024}),
                    Contains("needs 65000 bytes of LDS and 1024 of dynamic shared memory; gfx942 "
                             "has 65536"));
  fakeBuild().sharedBytes = 0;
  fakeBuild().dynamicBytes = 0;
}

TEST_CASE("a launch says its block, or the hint or the compile does") {
  fx::DeviceArray<float> x({8});
  CHECK_THAT(refused(x, 1, {}), Contains("kernel checked: the launch gives no block") &&
                                    Contains(".block = 1 where one is meant"));
  kernel(x, 1).launch({.block = 1});
  CHECK_THAT(refused(x, 1, {.grid = 4}), Contains("the launch gives no block"));

  fx::Kernel hinted{"hinted", [](FakeInt32) {}, {.known_block_size = {32, 4}}};
  hinted(1).launch({.grid = 2});
  CHECK(fake().launches.back().block[0] == 32);
  CHECK(fake().launches.back().block[1] == 4);
  CHECK(fake().launches.back().block[2] == 1);
  auto made = kernel(x, 1).compile({.block = 96});
  made(x, 1).launch({.grid = 2});
  CHECK(fake().launches.back().block[0] == 96);
  auto any = kernel(x, 1).compile();
  CHECK_THROWS_WITH(any(x, 1).launch({.grid = 2}), Contains("the launch gives no block"));
  any(x, 1).launch({.grid = 2, .block = 1});
}

TEST_CASE("a grid of nothing launches nothing where that is asked for") {
  fx::DeviceArray<float> x({8});
  const std::size_t launches = fake().launches.size();
  kernel(x, 1).launch({.grid = 0, .block = 64, .allow_empty = true});
  kernel(x, 1).launch({.grid = {4, 0}, .block = 64, .allow_empty = true});
  kernel(x, 1).compile({.block = 64})(x, 1).launch({.grid = 0, .allow_empty = true});
  CHECK(fake().launches.size() == launches);
  kernel(x, 1).launch({.grid = 3, .block = 64, .allow_empty = true});
  CHECK(fake().launches.size() == launches + 1);
  // All else is checked as for any launch.
  CHECK_THAT(refused(x, 1, {.grid = {0, -1}, .block = 64, .allow_empty = true}),
             Contains("the grid (0, -1, 1) has a dimension below 1"));
  CHECK_THAT(refused(x, 1, {.grid = 0, .allow_empty = true}), Contains("gives no block"));
  CHECK_THAT(refused(x, 1, {.grid = 0, .block = 64, .smem = 65537, .allow_empty = true}),
             Contains("65537 bytes"));
}

TEST_CASE("an array and a stream that were moved from are no arguments of a launch") {
  fx::DeviceArray<float> x({8});
  fx::DeviceArray<float> y = std::move(x);
  const unsigned line = __LINE__ + 2;
  try {
    kernel(x, 1).launch({.block = 64});
    FAIL("no error");
  } catch (const fx::TraceError &error) {
    CHECK(error.where().line == line);
    CHECK_THAT(error.what(), Contains("kernel checked: argument 0: the array was moved from"));
  }
  fx::Stream stream, other = std::move(stream);
  CHECK_THROWS_WITH(kernel(y, 1).launch({.block = 64, .stream = stream}),
                    Contains("a Stream that was moved from"));
  kernel(y, 1).launch({.block = 64, .stream = other});
}

TEST_CASE("a kernel that was moved from is still there") {
  fx::Kernel first{"moved_kernel", [](FakeInt32) {}};
  auto second = std::move(first);
  first(1).launch({.block = 64});
  auto compiled = second(1).compile({.block = 64});
  auto taken = std::move(compiled);
  compiled(1).launch({.block = 64});
  taken(1).launch({.block = 64});
}

TEST_CASE("a reset loads the device's kernels again") {
  fx::Kernel again{"again", [](FakeInt32) {}};
  fx::Stream second{fx::Device(1)};
  again(1).launch({.block = 64});
  again(1).launch({.block = 64, .stream = second});
  const int loaded = fake().modulesLoaded, unloaded = fake().modulesUnloaded;
  fx::Device(0).reset();
  const int gone = fake().modulesUnloaded - unloaded;
  CHECK(gone >= 1);
  CHECK(fake().modulesLoaded - loaded == gone);
  again(1).launch({.block = 64});
  CHECK(fake().launches.back().kernel == "again");
  CHECK(fake().modulesLoaded - loaded == gone);
}

TEST_CASE("a block that the hint rules out") {
  fx::Kernel fixed{"fixed", [](FakeInt32) {}, {.known_block_size = {128}}};
  fixed(1).launch({.block = 128});
  CHECK_THROWS_WITH(fixed(1).launch({.block = 256}), Contains("is not the (128, 1, 1)"));
  auto compiled = fixed.compile(1);
  compiled(1).launch({.block = 128});
  CHECK_THROWS_WITH(compiled(1).launch({.block = 64}), Contains("is not the (128, 1, 1)"));
}

TEST_CASE("a block over what the code was made for") {
  fakeBuild().maxBlock = 256;
  fx::Kernel small{"small", [](FakeInt32) {}};
  auto compiled = small.compile(1);
  compiled(1).launch({.block = 256});
  CHECK_THROWS_WITH(compiled(1).launch({.block = 257}),
                    Contains("it was compiled for at most 256"));
  fakeBuild().maxBlock = 1024;
}

TEST_CASE("a compiled kernel refuses arguments of other types") {
  fx::DeviceArray<float> x({8});
  fx::DeviceArray<int> wrong({8});
  fx::DeviceArray<float> matrix({2, 4});
  auto compiled = kernel(x, 1).compile({.block = 64});
  CHECK_THROWS_AS(compiled(wrong, 1).launch({.block = 64}), fx::TraceError);
  CHECK_THROWS_WITH(
      compiled(matrix, 1).launch({.block = 64}),
      Contains("kernel checked: argument 0 is tensor<f32, (?,?):(?{i64},1)> aligned to 4, it was "
               "compiled for tensor<f32, ?:1> aligned to 4; compile or export it"));
  CHECK_THROWS_WITH(compiled(wrong, 1).launch({.block = 64}),
                    Contains("argument 0 is tensor<i32, ?:1>") && Contains("tensor<f32, ?:1>"));
  CHECK_THROWS_WITH(compiled(x.assume_aligned(64), 1).launch({.block = 64}),
                    Contains("aligned to 64, it was compiled for tensor<f32, ?:1> aligned to 4"));
  CHECK_THROWS_WITH(
      compiled(fx::tensor(static_cast<float *>(nullptr), {8}), 1).launch({.block = 64}),
      Contains("argument 0: the tensor's pointer is null"));
  compiled(x, 1).launch({.block = 64});
}

TEST_CASE("code for another target is not loaded") {
  const auto launchFor = [](const char *target) {
    fakeBuild().target = target;
    fx::Kernel other{"other_target", [](FakeInt32) {}};
    other(1).launch({.block = 64});
  };
  CHECK_THROWS_WITH(launchFor("gfx950"),
                    Contains("its code is for gfx950, device 0 is gfx942:sramecc+:xnack-"));
  CHECK_THROWS_AS(launchFor("gfx942:xnack+"), fx::RuntimeError);
  launchFor("gfx942:xnack-");
  launchFor("amdgcn-amd-amdhsa--gfx942:XNACK-"); // as Target::parse reads them
  CHECK_THROWS_WITH(launchFor("gfx1100"),
                    Contains("its code is for gfx1100, device 0 is gfx942"));
  fakeBuild().target.clear();
}

TEST_CASE("what HIP refuses is a RuntimeError that names the kernel") {
  fx::DeviceArray<float> x({8});
  kernel(x, 1).launch({.block = 64});
  fake().failNext = 719;
  std::string text = refused<fx::RuntimeError>(x, 1, {.block = 64});
  CHECK_THAT(text, Contains("launching kernel checked on device 0: hipErrorLaunchFailure (719)"));
  CHECK_THAT(text, Contains("answers every call with this until Device::reset()"));
  for (const int stays : {700, 702, 710}) { // an illegal address, a time limit, an assertion
    fake().failNext = stays;
    CHECK_THAT(refused<fx::RuntimeError>(x, 1, {.block = 64}), Contains("until Device::reset()"));
  }
  fx::Kernel unloadable{"unloadable", [](FakeInt32) {}};
  fake().failNext = 200;
  CHECK_THROWS_WITH(unloadable(1).launch({.block = 64}),
                    Contains("loading kernel unloadable on device 0: hipErrorInvalidImage (200)") &&
                        !Contains("Device::reset"));
  unloadable(1).launch({.block = 64});
}

TEST_CASE("an error in the body comes out and the next call tries again") {
  bool broken = true;
  fx::Kernel throwing{"throwing", [&](FakeInt32) {
                        if (broken)
                          throw fx::TraceError("mistake");
                      }};
  CHECK_THROWS_AS(throwing(1).launch({.block = 64}), fx::TraceError);
  broken = false;
  throwing(1).launch({.block = 64});
}

TEST_CASE("no target is an error that lists the supported ones") {
  setenv("ARCH", "gfx000", 1);
  fx::Kernel nowhere{"nowhere", [](FakeInt32) {}};
  CHECK_THROWS_WITH(nowhere.compile(1), Contains("gfx942"));
  unsetenv("ARCH");
}
