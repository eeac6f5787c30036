// Numbers of 16 and 8 bits, from host arrays and scalars through kernels and back.
#include <flydsl/flydsl.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;

namespace {
template <class T> void scaleArray() {
  const fx::Kernel scale{"scale_small_floats", [](fx::Tensor x, fx::Tensor y, fx::Float32 by) {
                           auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
                           y(i) = x(i).to(fx::f32) * by;
                         }};
  auto x = fx::DeviceArray<T>::random({256}, 3);
  fx::DeviceArray<float> y({256});
  fx::Stream stream;
  scale(x, y, 2.0f).launch({.grid = 4, .block = 64, .stream = stream});
  stream.synchronize();
  const std::vector<T> in = x.to_host();
  const std::vector<float> out = y.to_host();
  bool varied = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    CHECK(out[i] == 2.0f * in[i]);
    varied |= in[i] != in[0];
  }
  CHECK(varied);
}
} // namespace

TEST_CASE("device arrays hold 16-bit floats") {
  scaleArray<fx::half_t>();
  scaleArray<fx::bfloat16_t>();
}

TEST_CASE("a scalar of 16 bits, from a host number or a float") {
  const fx::Kernel add{"add_half", [](fx::Tensor x, fx::Tensor y, fx::Float16 a, fx::BFloat16 b) {
                         auto i = fx::thread_idx().x;
                         y(i) = x(i) + a.to(fx::f32) + b.to(fx::f32);
                       }};
  auto x = fx::DeviceArray<float>::from_host(std::vector<float>(64, 1.0f), {64});
  fx::DeviceArray<float> y({64});
  fx::Stream stream;
  add(x, y, fx::half_t(0.25f), 8.0f).launch({.block = 64, .stream = stream});
  stream.synchronize();
  CHECK(y.to_host() == std::vector<float>(64, 9.25f));
}
