#include "fake.h"
#include "fake_params.h"

#include <flydsl/host/device_array.h>

#include <catch2/catch.hpp>

#include <thread>

namespace fx = flydsl;

namespace {
FakeLaunch lastLaunch() {
  std::lock_guard<std::mutex> lock(fake().mutex);
  REQUIRE_FALSE(fake().launches.empty());
  return fake().launches.back();
}

template <class T> T argument(const FakeLaunch &launch, std::size_t offset) {
  T value;
  REQUIRE(offset + sizeof value <= launch.arguments.size());
  std::memcpy(&value, launch.arguments.data() + offset, sizeof value);
  return value;
}
} // namespace

TEST_CASE("a call launches what it says") {
  int traced = 0;
  fx::Kernel kernel{"axpy", [&](FakeTensor, FakeInt32, fx::Constexpr<int> unroll) {
                      CHECK(unroll == 4);
                      ++traced;
                    }};
  fx::DeviceArray<float> x({10, 20});
  fx::Stream stream;
  kernel(x, 42, 4).launch({.grid = {3, 2}, .block = 128, .smem = 256, .stream = stream});
  FakeLaunch launch = lastLaunch();
  CHECK(launch.kernel == "axpy");
  CHECK(launch.grid[0] == 3);
  CHECK(launch.grid[1] == 2);
  CHECK(launch.grid[2] == 1);
  CHECK(launch.block[0] == 128);
  CHECK(launch.block[1] == 1);
  CHECK(launch.sharedBytes == 256);
  CHECK(launch.stream == stream.native());
  REQUIRE(launch.arguments.size() == 8 + 16 + 4);
  CHECK(argument<float *>(launch, 0) == x.data());
  CHECK(argument<int>(launch, 8) == 10);
  CHECK(argument<int>(launch, 12) == 20);
  CHECK(argument<std::int64_t>(launch, 16) == 20);
  CHECK(argument<int>(launch, 24) == 42);

  // Other shapes, pointers and scalars are the same code; a native stream is taken as it is.
  fx::DeviceArray<float> y({7, 9});
  kernel(y, -1, 4).launch({.grid = 1, .block = 128, .stream = stream.native()});
  CHECK(argument<int>(lastLaunch(), 8) == 7);
  CHECK(argument<int>(lastLaunch(), 24) == -1);
  CHECK(lastLaunch().stream == stream.native());
  CHECK(traced == 1);
}

TEST_CASE("a new signature is a new kernel") {
  fx::Kernel kernel{"k", [](FakeTensor, fx::Constexpr<int>, FakeStatic) {}};
  fx::DeviceArray<float> x({8});
  const int before = fakeBuild().builds;
  auto run = [&](const fx::TensorArg &t, int c, int s, int block) {
    FakeStatic value{};
    value.value = s;
    kernel(t, c, value).launch({.grid = 1, .block = block});
    return fakeBuild().builds - before;
  };
  CHECK(run(x, 1, 1, 64) == 1);
  CHECK(run(x, 1, 1, 64) == 1);
  CHECK(run(x, 2, 1, 64) == 2);
  CHECK(run(x, 1, 2, 64) == 3);
  CHECK(run(x, 1, 1, 128) == 4);
  CHECK(run(fx::TensorArg(x).mark_layout_static(), 1, 1, 64) == 5);
  CHECK(run(x, 1, 2, 64) == 5);
  CHECK(run(x, 1, 1, 128) == 5);
}

TEST_CASE("copies of a kernel share what was compiled") {
  fx::Kernel kernel{"shared", [](FakeInt32) {}};
  auto copy = kernel;
  const int before = fakeBuild().builds;
  kernel(1).launch({.block = 64});
  copy(2).launch({.block = 64});
  CHECK(fakeBuild().builds == before + 1);
}

TEST_CASE("each device has its own module") {
  fx::Kernel kernel{"two_devices", [](FakeInt32) {}};
  const int loaded = fake().modulesLoaded, builds = fakeBuild().builds;
  fx::Stream first{fx::Device(0)}, second{fx::Device(1)};
  kernel(1).launch({.block = 64, .stream = first});
  CHECK(lastLaunch().device == 0);
  kernel(1).launch({.block = 64, .stream = second});
  CHECK(lastLaunch().device == 1);
  CHECK(fake().modulesLoaded == loaded + 2);
  kernel(1).launch({.block = 64, .stream = first});
  kernel(1).launch({.block = 64, .stream = second});
  CHECK(lastLaunch().device == 1);
  CHECK(fake().modulesLoaded == loaded + 2);
  CHECK(fakeBuild().builds - builds <= 2);
  CHECK(fx::Device::current().ordinal() == 0);
}

TEST_CASE("modules are unloaded with the last copy of the kernel") {
  const int unloaded = fake().modulesUnloaded;
  {
    fx::Kernel kernel{"short_lived", [](FakeInt32) {}};
    kernel(1).launch({.block = 64});
    CHECK(fake().modulesUnloaded == unloaded);
  }
  CHECK(fake().modulesUnloaded == unloaded + 1);
}

TEST_CASE("many threads call one kernel") {
  fx::Kernel kernel{"threads", [](FakeInt32, fx::Constexpr<int>) {}};
  const std::size_t before = fake().launches.size();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i)
        kernel(i, (t + i) % 16).launch({.grid = t + 1, .block = 64});
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(fake().launches.size() == before + 1600);
}

TEST_CASE("a compiled kernel launches without a look-up") {
  fx::Kernel kernel{"compiled", [](FakeTensor, FakeInt32) {}};
  fx::DeviceArray<float> x({8});
  auto compiled = kernel(x, 1).compile({.block = 256});
  CHECK(compiled.name() == "compiled");
  const int builds = fakeBuild().builds;
  compiled(x, 5).launch({.grid = 2, .block = 256});
  CHECK(argument<int>(lastLaunch(), 12) == 5);
  CHECK(fakeBuild().builds == builds);

  auto any = kernel.compile(x, 1);
  any(x, 6).launch({.block = 64});
  any(x, 7).launch({.block = 512});
  CHECK(lastLaunch().block[0] == 512);
}

TEST_CASE("compiling needs no pointer, and a named target no device of it") {
  fx::Kernel kernel{"elsewhere", [](FakeTensor) {}};
  auto compiled =
      kernel(fx::tensor(static_cast<float *>(nullptr), {8})).compile({.arch = "gfx950"});
  CHECK(compiled.target() == "gfx950");
}

TEST_CASE("COMPILE_ONLY compiles and does not launch") {
  fx::Kernel kernel{"compile_only", [](FakeInt32) {}};
  setenv("COMPILE_ONLY", "1", 1);
  setenv("ARCH", "gfx1201", 1);
  const std::size_t launches = fake().launches.size();
  const int builds = fakeBuild().builds;
  kernel(1).launch({.block = 64});
  unsetenv("COMPILE_ONLY");
  unsetenv("ARCH");
  CHECK(fake().launches.size() == launches);
  CHECK(fakeBuild().builds == builds + 1);
}
