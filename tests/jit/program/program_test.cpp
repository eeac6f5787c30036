// What FlyDSL wrote (modules/README.md), called.
#include <flydsl/flydsl.h>
#include <flydsl/host/compile_ir.h>
#include <flydsl/host/program.h>
#include <flydsl/host/stats.h>

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>

namespace fx = flydsl;

namespace {
fx::Program load(const std::string &name) { return fx::load_program(MODULES + name + ".mlir"); }

std::vector<float> counted(int count, float step) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = step * static_cast<float>(i);
  return values;
}
fx::DeviceArray<float> device(const std::vector<float> &values) {
  return fx::DeviceArray<float>::from_host(values, {static_cast<std::int64_t>(values.size())});
}
} // namespace

TEST_CASE("a program runs for any length, with the grid that its host function computes") {
  const fx::Program program = load("vector_add");
  CHECK(program.functions() == std::vector<std::string>{"vector_add"});
  CHECK(program.parameters("vector_add") ==
        std::vector<std::string>{"!fly.memref<f32, global, ?:1>", "!fly.memref<f32, global, ?:1>",
                                 "!fly.memref<f32, global, ?:1>", "i32", "!gpu.async.token"});
  fx::Stream stream;
  for (int n : {1, 64, 65, 200}) {
    const std::vector<float> x = counted(n, 1), y = counted(n, 0.5f);
    const fx::DeviceArray<float> a = device(x), b = device(y);
    fx::DeviceArray<float> c = device(counted(n + 1, 0)); // one more than is written
    program("vector_add", a, b, c, n, stream);
    stream.synchronize();
    const std::vector<float> sum = c.to_host();
    for (int i = 0; i <= n; ++i)
      CHECK(sum[static_cast<std::size_t>(i)] == (i < n ? 1.5f * static_cast<float>(i) : 0.0f));
  }
}

TEST_CASE("a plan is made once for the values that decide") {
  const fx::Program program = load("add_and_scale");
  const fx::DeviceArray<float> a = device(counted(70, 1)), b = device(counted(70, 2));
  fx::DeviceArray<float> c = device(counted(70, 0));
  CHECK(program.evaluated() == 0);
  program("add_and_scale", a, b, c, 2.0f, 70, nullptr);
  CHECK(program.evaluated() == 1);
  program("add_and_scale", b, a, c, 3.0f, 70, nullptr); // the factor is the kernel's alone
  CHECK(program.evaluated() == 1);
  CHECK(c.to_host()[69] == 3 * 207.0f);
  program("add_and_scale", a, b, c, 3.0f, 60, nullptr);
  CHECK(program.evaluated() == 2);
}

TEST_CASE("launches run in the order of the function") {
  const fx::Program program = load("add_and_scale");
  const fx::DeviceArray<float> a = device(counted(100, 1)), b = device(counted(100, 1));
  fx::DeviceArray<float> c = device(counted(100, 0));
  fx::Stream stream;
  program("add_and_scale", a, b, c, -0.5, 100, stream);
  stream.synchronize();
  const std::vector<float> out = c.to_host();
  for (std::size_t i = 0; i < out.size(); ++i)
    CHECK(out[i] == -static_cast<float>(i));
}

TEST_CASE("block and dynamic shared memory follow a number of the call") {
  const fx::Program program = load("reverse");
  for (int n : {1, 33, 256}) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), 7);
    const auto x = fx::DeviceArray<std::int32_t>::from_host(values, {n});
    fx::DeviceArray<std::int32_t> y({n});
    program("reverse", x, y, n, nullptr);
    std::ranges::reverse(values);
    CHECK(y.to_host() == values);
  }
  const auto x = fx::DeviceArray<std::int32_t>::from_host(std::vector<std::int32_t>(8), {8});
  CHECK_THROWS_WITH(program("reverse", x, x, 2000, nullptr),
                    Catch::Contains("program_test.cpp") && Catch::Contains("2000"));
}

TEST_CASE("dynamic extents and strides are the tensor's") {
  const fx::Program program = load("rows");
  const int m = 3, pitch = 40;
  const std::vector<float> values = counted(m * pitch, 1);
  const fx::DeviceArray<float> x = device(values);
  fx::DeviceArray<float> y = device(counted(m * 32, 0));
  program("rows", fx::tensor(x.data(), {m, 32}, {pitch, 1}), fx::tensor(y.data(), {m, 32}),
          nullptr);
  const std::vector<float> out = y.to_host();
  for (int r = 0; r < m; ++r)
    for (int t = 0; t < 32; ++t)
      CHECK(out[static_cast<std::size_t>(r * 32 + t)] ==
            values[static_cast<std::size_t>(r * pitch + t)] + 1);
}

TEST_CASE("a program compiles once per device, whoever comes first") {
  const fx::Program program = load("vector_add");
  const std::uint64_t before = fx::stats().loads;
  const fx::DeviceArray<float> a = device(counted(64, 1));
  std::vector<fx::DeviceArray<float>> out;
  for (int i = 0; i < 4; ++i)
    out.push_back(device(counted(64, 0)));
  std::vector<std::jthread> threads;
  for (fx::DeviceArray<float> &c : out)
    threads.emplace_back([&] {
      fx::Stream stream;
      program("vector_add", a, a, c, 64, stream);
      stream.synchronize();
    });
  threads.clear();
  for (const fx::DeviceArray<float> &c : out)
    CHECK(c.to_host()[63] == 126);
  CHECK(fx::stats().loads == before + 1);
}

TEST_CASE("a kernel that compile_ir has read takes arguments") {
  std::ifstream file(MODULES "vector_add.mlir");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const fx::Executable kernel = fx::compile_ir(text);
  const fx::DeviceArray<float> a = device(counted(128, 1)), b = device(counted(128, 2));
  fx::DeviceArray<float> c = device(counted(128, 0));
  kernel(a, b, c, 128).launch({.grid = 2}); // the block is the module's known_block_size
  CHECK(c.to_host()[127] == 381);
  CHECK_THROWS_WITH(kernel(a, b, c).launch({.grid = 2}),
                    Catch::Contains("kernel add_kernel_0: 3 arguments were given; it takes 4") &&
                        Catch::Contains("program_test.cpp"));
  CHECK_THROWS_WITH(kernel(a, b, 1, 128).launch({.grid = 2}),
                    Catch::Contains("argument 2 (!fly.memref<f32, global, ?:1>): the integer 1 was "
                                    "given; a tensor is expected"));
  CHECK_THROWS_WITH(kernel(a, b, c, 128).launch({.grid = 2, .block = 32}), Catch::Contains("64"));
}
