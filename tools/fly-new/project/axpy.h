// The kernel: y = a * x + y, for any number of elements.
#pragma once

#include <flydsl/flydsl.h>

namespace fx = flydsl;

inline constexpr int axpy_block = 64;

inline const fx::Kernel axpy{"axpy", [](fx::Tensor x, fx::Tensor y, fx::Float32 a) {
  auto i = fx::block_idx().x * axpy_block + fx::thread_idx().x;
  // The last block may reach behind the end.
  fx::if_(i < fx::Int32(y.shape()[0]), [&] { y(i) = a * x(i) + y(i); });
}};

/// Puts the kernel into a stream. `x` and `y` are of one size.
inline void run_axpy(float a, const fx::DeviceArray<float> &x, fx::DeviceArray<float> &y,
                     std::int64_t n, const fx::Stream &stream) {
  axpy(x, y, a).launch({.grid = (n + axpy_block - 1) / axpy_block,
                        .block = axpy_block,
                        .stream = stream,
                        .allow_empty = true});
}
