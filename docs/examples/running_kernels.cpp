// Examples of docs/running-kernels.md.
#include "example.h"

#include <flydsl/host/aot.h>
#include <flydsl/host/compile_async.h>
#include <flydsl/host/copy.h>
#include <flydsl/host/graph.h>
#include <flydsl/host/host_memory.h>
#include <flydsl/host/stats.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

namespace {

// region: axpy
const fx::Kernel axpy{"axpy", [](fx::Tensor x, fx::Tensor y, fx::Float32 a) {
  auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
  y(i) = a * x(i) + y(i);
}};

void run_axpy(float *x, float *y, std::int64_t n, float a, fx::StreamRef stream) {
  axpy(fx::tensor(x, {n}), fx::tensor(y, {n}), a)
      .launch({.grid = n / 64, .block = 64, .stream = stream});
}
// endregion

/// Whether every y is `scale` times its x.
bool scaled(const fx::DeviceArray<float> &x, const fx::DeviceArray<float> &y, double scale) {
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!(std::fabs(out[i] - scale * in[i]) <= 1e-6))
      return false;
  return true;
}

} // namespace

TEST_CASE("running kernels: a launch", "[running]") {
  auto x = fx::DeviceArray<float>::random({1024}, 1);
  fx::DeviceArray<float> y({1024});
  y.fill(0);
  fx::Stream stream;
  run_axpy(x.data(), y.data(), 1024, 0.5f, stream);
  stream.synchronize();
  CHECK(scaled(x, y, 0.5));
}

TEST_CASE("running kernels: a graph", "[running]") {
  auto x = fx::DeviceArray<float>::random({1024}, 1);
  fx::DeviceArray<float> y({1024}), z({1024});
  y.fill(0);
  z.fill(0);
  // region: graph
  fx::Stream stream;
  float a = 0.5f;
  auto step = [&](const fx::Stream &s) {
    axpy(x, y, a).launch({.grid = 16, .block = 64, .stream = s});
    axpy(y, z, a).launch({.grid = 16, .block = 64, .stream = s});
  };
  fx::Graph graph = fx::Graph::capture(stream, step); // nothing runs yet
  graph.launch(stream);
  a = 0.25f;
  graph.update(stream, step); // the same kernels with other arguments
  graph.launch(stream);
  // endregion
  stream.synchronize();
  CHECK(scaled(x, y, 0.75));
  CHECK(scaled(x, z, 0.25 + 0.1875));
}

TEST_CASE("running kernels: copies in a stream", "[running]") {
  fx::DeviceArray<float> x({1024}), y({1024});
  y.fill(2);
  fx::Stream stream;
  // region: copy
  fx::HostMemory pinned(x.bytes());
  fx::copy_async(x.data(), pinned.data(), x.bytes(), stream);
  axpy(x, y, 0.5f).launch({.grid = 16, .block = 64, .stream = stream});
  fx::copy_async(pinned.data(), y.data(), y.bytes(), stream);
  stream.synchronize(); // now the host reads
  // endregion
  const auto *read = static_cast<const float *>(pinned.data());
  for (int i = 0; i < 1024; ++i)
    CHECK(read[i] == 2.0f); // pinned memory is 0 at first
}

TEST_CASE("running kernels: a constant of the code", "[running]") {
  // region: constexpr
  const fx::Kernel power{"power", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<int> exponent) {
    auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
    fx::Var<fx::Float32> product(1.0f);
    for (int e = 0; e < exponent; ++e) // unrolled: each exponent is a kernel of its own
      product *= x(i);
    y(i) = product;
  }};
  // endregion
  auto x = fx::DeviceArray<float>::random({64}, 2);
  fx::DeviceArray<float> y({64});
  const auto before = fx::stats().traces;
  for (int exponent : {3, 3, 4, 3}) {
    power(x, y, exponent).launch({.block = 64});
    fx::Device::current().synchronize();
    const auto in = x.to_host(), out = y.to_host();
    for (std::size_t i = 0; i < 64; ++i)
      CHECK(std::fabs(out[i] - std::pow(double(in[i]), exponent)) < 1e-6);
  }
  CHECK(fx::stats().traces == before + 2);
}

TEST_CASE("running kernels: compiling ahead", "[running]") {
  auto x = fx::DeviceArray<float>::random({256}, 3);
  fx::DeviceArray<float> y({256});
  y.fill(0);
  fx::Stream stream;
  // region: compile
  const std::int64_t n = 256;
  float *unknown = nullptr; // compiling needs types, no data
  auto any = fx::tensor(unknown, {n});
  auto compiled = axpy(any, any, 0.0f).compile({.block = 64});
  if (compiled.spills() != 0)
    std::printf("%s", compiled.summary().c_str());

  for (int step = 0; step < 3; ++step) // no look-up, no lock, no allocation
    compiled(x, y, 1.0f).launch({.grid = n / 64, .block = 64, .stream = stream});
  // endregion
  stream.synchronize();
  CHECK(compiled.spills() == 0);
  CHECK(scaled(x, y, 3));
}

TEST_CASE("running kernels: bound constants", "[running]") {
  auto x = fx::DeviceArray<float>::random({256}, 1);
  fx::DeviceArray<float> y({256});
  y.fill(0);
  fx::Stream stream;
  // region: bound
  fx::Kernel times{"times", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<int> factor) {
    auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
    y(i) = factor * x(i);
  }};
  auto thrice = times(x, y, 3).compile({.block = 64}).bound(); // takes (x, y)
  thrice(x, y).launch({.grid = 4, .block = 64, .stream = stream});
  // endregion
  stream.synchronize();
  const auto in = x.to_host(), out = y.to_host();
  for (std::size_t i = 0; i < in.size(); ++i)
    REQUIRE(out[i] == 3 * in[i]);
}

TEST_CASE("running kernels: many at once", "[running]") {
  // region: compile-all
  float *unknown = nullptr;
  std::vector<fx::CompileRequest> requests;
  for (std::int64_t n : {64, 128, 256})
    requests.push_back({"axpy of " + std::to_string(n), [=] {
      auto fixed = fx::tensor(unknown, {n}).mark_layout_static();
      return axpy(fixed, fixed, 0.0f).compile({.block = 64});
    }});
  auto show = [](const fx::CompileOutcome &outcome, std::size_t done, std::size_t total) {
    std::printf("%s\n", fx::progress_line(outcome, done, total).c_str());
  };
  for (const fx::CompileOutcome &outcome : fx::compile_all(requests, show))
    if (outcome.error)
      std::rethrow_exception(outcome.error);
  // endregion
  CHECK(requests.size() == 3);
}

TEST_CASE("running kernels: ahead of time", "[running]") {
  auto x = fx::DeviceArray<float>::random({256}, 4);
  fx::DeviceArray<float> y({256});
  y.fill(0);
  fx::Stream stream;
  const std::string path = example::scratchPath("axpy.flyaot");
  // region: aot
  float *unknown = nullptr;
  auto any = fx::tensor(unknown, {256});
  axpy(any, any, 0.0f).export_aot(path, {.block = 64, .archs = {"gfx942", "gfx950"}});

  fx::AotKernel shipped = fx::load_aot(path).kernel("axpy");
  shipped(x, y, 2.0f).launch({.grid = 4, .block = 64, .stream = stream});
  // endregion
  stream.synchronize();
  std::filesystem::remove(path);
  CHECK(shipped.targets().size() == 2);
  CHECK(scaled(x, y, 2));
}

TEST_CASE("running kernels: variants in one file", "[running]") {
  fx::DeviceArray<float> x({256}), y({256});
  x.fill(0.5f);
  fx::Stream stream;
  const std::string path = example::scratchPath("powers.flyaot");
  // region: aot-variants
  const fx::Kernel power{"power", [](fx::Tensor x, fx::Tensor y, fx::Constexpr<int> exponent) {
    auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
    fx::Var<fx::Float32> product(1.0f);
    for (int e = 0; e < exponent; ++e)
      product *= x(i);
    y(i) = product;
  }};
  float *unknown = nullptr;
  auto any = fx::tensor(unknown, {256});
  for (int exponent : {2, 3})
    power(any, any, exponent)
        .export_aot(path, {.block = 64, .archs = {"gfx942", "gfx1201"}, .append = true});

  fx::AotModule file = fx::load_aot(path);
  for (const std::string &variant : file.variants("power")) // "2", "3"
    std::printf("power has a variant %s\n", variant.c_str());
  fx::AotKernel cube = file.kernel("power", fx::variant_name(3));
  cube(x, y).launch({.grid = 4, .stream = stream});
  // endregion
  stream.synchronize();
  std::filesystem::remove(path);
  CHECK(file.variants("power").size() == 2);
  CHECK(y.to_host().back() == 0.125f);
}
