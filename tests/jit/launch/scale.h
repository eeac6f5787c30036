// The kernel of these tests: y = a * x + y with one element per thread. Sizes are multiples of the
// block.
#pragma once

#include <flydsl/flydsl.h>

#include <cmath>
#include <vector>

inline constexpr int axpyBlock = 64;

/// Makes the kernel; `name` tells kernels of several tests apart.
inline auto makeAxpy(const char *name) {
  namespace fx = flydsl;
  return fx::Kernel{name, [](fx::Tensor x, fx::Tensor y, fx::Float32 a) {
                      auto i = fx::block_idx().x * axpyBlock + fx::thread_idx().x;
                      y(i) = a * x(i) + y(i);
                    }};
}

inline flydsl::DeviceArray<float> onDevice(const std::vector<float> &values) {
  return flydsl::DeviceArray<float>::from_host(values, {static_cast<std::int64_t>(values.size())});
}

/// Whether `y` holds a * x + before, as one or two roundings give it.
inline bool isAxpy(const std::vector<float> &y, float a, const std::vector<float> &x,
                   const std::vector<float> &before) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double exact = double(a) * x[i] + before[i];
    if (!(std::abs(y[i] - exact) <=
          1e-6 * (std::abs(double(a) * x[i]) + std::abs(before[i])) + 1e-12))
      return false;
  }
  return !y.empty();
}
