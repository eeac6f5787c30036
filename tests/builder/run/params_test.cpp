// Structs as parameters of kernels that run: traced, compiled, bound, exported.
#include "run.h"

#include <flydsl/host/aot.h>

#include <catch2/catch.hpp>

#include <cstdio>
#include <filesystem>

namespace fx = flydsl;

namespace {

template <class Side> struct Affine {
  fx::Param<Side, fx::Float32> factor;
  fx::Param<Side, std::optional<fx::Tensor>> bias = {};
};
template <class Side> struct AffineParams {
  fx::Param<Side, fx::Tensor> x, y;
  fx::Param<Side, fx::Constexpr<int>> each; // elements of a thread
  Affine<Side> affine;
};

const fx::Kernel affine{"affine", [](AffineParams<fx::OnDevice> p) {
                          const int each = p.each;
                          auto first = (fx::block_idx().x * 64 + fx::thread_idx().x) * each;
                          for (int i = 0; i < each; ++i) {
                            auto value = p.affine.factor * p.x(first + i);
                            p.y(first + i) =
                                p.affine.bias ? value + (*p.affine.bias)(first + i) : value;
                          }
                        }};

struct Arrays {
  fx::DeviceArray<float> x = fx::DeviceArray<float>::random({256}, 1),
                         bias = fx::DeviceArray<float>::random({256}, 2), y{{256}};
  void expect(float factor, bool hasBias) const {
    const auto in = x.to_host(), add = bias.to_host(), out = y.to_host();
    for (std::size_t i = 0; i < in.size(); ++i)
      REQUIRE(out[i] == Approx(factor * in[i] + (hasBias ? add[i] : 0)).margin(1e-6));
  }
};

} // namespace

TEST_CASE("a kernel takes a struct of tensors, numbers, constants and optional ones") {
  Arrays a;
  a.y.poison();
  affine({.x = a.x, .y = a.y, .each = 2, .affine = {.factor = 3, .bias = a.bias}})
      .launch({.grid = 2, .block = 64});
  a.expect(3, true);
  a.y.poison();
  affine({.x = a.x, .y = a.y, .each = 4, .affine = {.factor = -0.5f}}).launch({.block = 64});
  a.expect(-0.5f, false);
}

TEST_CASE("a compiled kernel takes its struct, and refuses one with another optional field") {
  Arrays a;
  const auto code =
      affine({.x = a.x, .y = a.y, .each = 4, .affine = {.factor = 1}}).compile({.block = 64});
  a.y.poison();
  code({.x = a.x, .y = a.y, .each = 4, .affine = {.factor = 7}}).launch({.block = 64});
  a.expect(7, false);
  CHECK_THROWS_WITH(
      code({.x = a.x, .y = a.y, .each = 4, .affine = {.factor = 7, .bias = a.bias}})
          .launch({.block = 64}),
      Catch::Contains("leaf argument 4 is an argument that is given, it was compiled for an "
                      "argument that is left out"));
}

TEST_CASE("an exported kernel takes the run-time fields of its struct") {
  Arrays a;
  const std::string file =
      (std::filesystem::temp_directory_path() / ("params_test." + std::to_string(getpid())))
          .string();
  affine({.x = a.x, .y = a.y, .each = 4, .affine = {.factor = 1, .bias = a.bias}})
      .export_aot(file, {.block = 64});
  const fx::AotKernel kernel = fx::load_aot(file).kernel("affine");
  std::filesystem::remove(file);
  struct RunTime { // constants are part of the code
    fx::TensorArg x, y;
    struct {
      float factor;
      std::optional<fx::TensorArg> bias;
    } affine;
  };
  a.y.poison();
  kernel(RunTime{.x = a.x, .y = a.y, .affine = {.factor = 2, .bias = a.bias}})
      .launch({.block = 64});
  a.expect(2, true);
  CHECK_THROWS_AS(kernel(RunTime{.x = a.x, .y = a.y, .affine = {.factor = 2, .bias = {}}})
                      .launch({.block = 64}),
                  fx::TraceError);
}

TEST_CASE("an optional tensor may be a parameter by itself") {
  const fx::Kernel copy{"copy_or_zero", [](std::optional<fx::Tensor> x, fx::Tensor y) {
                          auto i = fx::thread_idx().x;
                          y(i) = x ? fx::Numeric((*x)(i)) : fx::Numeric(fx::Float32(0.0f));
                        }};
  Arrays a;
  copy(a.x, a.y).launch({.block = 256});
  a.expect(1, false);
  copy(std::nullopt, a.y).launch({.block = 256});
  a.expect(0, false);
}
